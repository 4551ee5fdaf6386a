/* Shamir's secret sharing over GF(256), byte by byte, by libgfshare, which is loaded when a secret is first shared. */
#ifndef COFFRET_CGFSHARE_H
#define COFFRET_CGFSHARE_H

#include <stddef.h>
#include <stdint.h>

enum coffret_gfshare_result {
    COFFRET_GFSHARE_DONE = 0,
    /* libgfshare is not installed. */
    COFFRET_GFSHARE_UNAVAILABLE = 1,
    /* Too little memory. */
    COFFRET_GFSHARE_FAILED = 2,
};

/* Makes the shares x = 1 to count, byte_count bytes each, one behind the other. coefficients has threshold - 1 blocks of
   byte_count random bytes: those of the highest power first. 2 <= threshold <= count <= 255. */
enum coffret_gfshare_result coffret_gfshare_split(
    const uint8_t *secret, size_t byte_count, unsigned threshold, unsigned count, const uint8_t *coefficients,
    uint8_t *shares);

/* The secret out of as many shares as its threshold, each of byte_count bytes, one behind the other. The numbers are
   distinct and not 0. */
enum coffret_gfshare_result coffret_gfshare_join(
    const uint8_t *numbers, unsigned count, const uint8_t *shares, size_t byte_count, uint8_t *secret);

#endif
