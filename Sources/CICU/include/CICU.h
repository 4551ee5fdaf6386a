/* Names that look alike, by ICU's table of Unicode's confusables. The library is loaded when the first name is looked at. */
#ifndef COFFRET_CICU_H
#define COFFRET_CICU_H

#include <stddef.h>
#include <stdint.h>

/* The skeleton of a text (Unicode TS 39): texts that look alike have the same one.

   Returns its bytes, at most `capacity` of which are written; -1 if ICU is not installed or the text has no skeleton. */
ptrdiff_t coffret_icu_skeleton(const char *text, size_t byte_count, char *skeleton, size_t capacity);

/* Whether scripts are mixed in a text in a way that no language's writing needs: 1 or 0; -1 if ICU is not installed. */
int coffret_icu_mixes_scripts(const char *text, size_t byte_count);

#endif
