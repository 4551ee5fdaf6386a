/* zstd frames without magic, size and checksum, by libzstd, which is loaded when the first frame is made or read. */
#ifndef COFFRET_CZSTD_H
#define COFFRET_CZSTD_H

#include <stddef.h>
#include <stdint.h>

enum coffret_zstd_result {
    /* libzstd is not installed. */
    COFFRET_ZSTD_UNAVAILABLE = -2,
    /* No frame, or one that is not exactly as long as it should be; or no memory. */
    COFFRET_ZSTD_FAILED = -1,
};

/* The most bytes that a frame of so many bytes has. */
size_t coffret_zstd_bound(size_t byte_count);

/* Compresses at level 3 with a window of at most 2^24 bytes.

   prefix: older bytes that the frame may refer to; NULL for none.
   Returns the frame's size, at most `capacity`, or a negative result. The library's memory is zeroed. */
ptrdiff_t coffret_zstd_compress(
    const uint8_t *bytes, size_t byte_count, const uint8_t *prefix, size_t prefix_byte_count, uint8_t *frame,
    size_t capacity);

/* Whether so much of the bytes stands in the prefix that a frame with it may be short: of 8 pieces of 12 bytes, at even
   distances, at least half. Costs a small part of a frame that is made in vain. */
int coffret_zstd_resembles(
    const uint8_t *bytes, size_t byte_count, const uint8_t *prefix, size_t prefix_byte_count);

/* Decompresses one frame into exactly `byte_count` bytes.

   Takes some 200 KB beside them, whatever the frame says. Returns `byte_count` or a negative result. */
ptrdiff_t coffret_zstd_decompress(
    const uint8_t *frame, size_t frame_byte_count, const uint8_t *prefix, size_t prefix_byte_count, uint8_t *bytes,
    size_t byte_count);

#endif
