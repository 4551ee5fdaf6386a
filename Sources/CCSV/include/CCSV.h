/* Tables of comma-separated values, read by libcsv, which is loaded when the first table is read. */
#ifndef COFFRET_CCSV_H
#define COFFRET_CCSV_H

#include <stddef.h>
#include <stdint.h>

enum coffret_csv_result {
    /* libcsv is not installed. */
    COFFRET_CSV_UNAVAILABLE = -2,
    /* The text is no table. */
    COFFRET_CSV_FAILED = -1,
    COFFRET_CSV_READ = 0,
    /* A quoted cell has no end. */
    COFFRET_CSV_TRUNCATED = 1,
};

typedef void (*coffret_csv_cell)(void *context, const uint8_t *bytes, size_t byte_count);
/* Nonzero to stop. */
typedef int (*coffret_csv_row)(void *context);

/* Reads a table by RFC 4180; a line break is CR LF, LF or CR, and blanks belong to their cell.

   is_loose: takes a quote within a quoted cell that is not doubled as a part of it.
   The library's copies of cells are zeroed. */
enum coffret_csv_result coffret_csv_read(
    const uint8_t *text, size_t byte_count, char delimiter, int is_loose, coffret_csv_cell cell, coffret_csv_row row,
    void *context);

#endif
