/* The Public Suffix List, read by libpsl, which is loaded when it is first asked. */
#ifndef COFFRET_CPSL_H
#define COFFRET_CPSL_H

/* Whether `host` is `domain`, or lies below it and `domain` is no public suffix. Both are host names of small ASCII letters.
   -1 where the list is not installed. */
int coffret_psl_covers(const char *domain, const char *host);

#endif
