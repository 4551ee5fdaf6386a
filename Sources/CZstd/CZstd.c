/* memmem, explicit_bzero */
#define _GNU_SOURCE
#include "CZstd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
/* Allocation by the caller and frames without magic; both are in the shared library. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

static struct {
    unsigned (*is_error)(size_t);
    size_t (*bound)(size_t);
    ZSTD_CCtx *(*make_writer)(ZSTD_customMem);
    size_t (*set_writer)(ZSTD_CCtx *, ZSTD_cParameter, int);
    size_t (*set_writer_prefix)(ZSTD_CCtx *, const void *, size_t);
    size_t (*write)(ZSTD_CCtx *, void *, size_t, const void *, size_t);
    size_t (*free_writer)(ZSTD_CCtx *);
    ZSTD_CCtx *(*place_writer)(void *, size_t);
    ZSTD_DCtx *(*make_reader)(ZSTD_customMem);
    size_t (*set_reader)(ZSTD_DCtx *, ZSTD_dParameter, int);
    size_t (*set_reader_prefix)(ZSTD_DCtx *, const void *, size_t);
    size_t (*read)(ZSTD_DCtx *, void *, size_t, const void *, size_t);
    size_t (*free_reader)(ZSTD_DCtx *);
    ZSTD_DCtx *(*place_reader)(void *, size_t);
} zstd;

static int is_loaded;

static void load(void) {
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define LOAD(field, name)                                                                                             \
    *(void **)&zstd.field = dlsym(library, name);                                                                     \
    if (!zstd.field)                                                                                                  \
        return;
    LOAD(is_error, "ZSTD_isError")
    LOAD(bound, "ZSTD_compressBound")
    LOAD(make_writer, "ZSTD_createCCtx_advanced")
    LOAD(set_writer, "ZSTD_CCtx_setParameter")
    LOAD(set_writer_prefix, "ZSTD_CCtx_refPrefix")
    LOAD(write, "ZSTD_compress2")
    LOAD(free_writer, "ZSTD_freeCCtx")
    LOAD(place_writer, "ZSTD_initStaticCCtx")
    LOAD(make_reader, "ZSTD_createDCtx_advanced")
    LOAD(set_reader, "ZSTD_DCtx_setParameter")
    LOAD(set_reader_prefix, "ZSTD_DCtx_refPrefix")
    LOAD(read, "ZSTD_decompressDCtx")
    LOAD(free_reader, "ZSTD_freeDCtx")
    LOAD(place_reader, "ZSTD_initStaticDCtx")
#undef LOAD
    is_loaded = 1;
}

static int is_available(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}

/* The library's memory holds texts: it is zeroed before it is given back. Its size stands in front of it, and what
   follows is aligned as malloc aligns. */
union block {
    size_t byte_count;
    max_align_t alignment;
};

static void *allocate(void *opaque, size_t byte_count) {
    (void)opaque;
    union block *block = malloc(sizeof(union block) + byte_count);
    if (!block)
        return NULL;
    block->byte_count = byte_count;
    return block + 1;
}

static void zero_and_free(void *opaque, void *bytes) {
    (void)opaque;
    if (!bytes)
        return;
    union block *block = (union block *)bytes - 1;
    explicit_bzero(bytes, block->byte_count);
    free(block);
}

static const ZSTD_customMem memory = {allocate, zero_and_free, NULL};

static int is_set_up(ZSTD_CCtx *writer) {
    return !zstd.is_error(zstd.set_writer(writer, ZSTD_c_compressionLevel, 3))
           && !zstd.is_error(zstd.set_writer(writer, ZSTD_c_contentSizeFlag, 0))
           && !zstd.is_error(zstd.set_writer(writer, ZSTD_c_checksumFlag, 0))
           && !zstd.is_error(zstd.set_writer(writer, ZSTD_c_format, ZSTD_f_zstd1_magicless));
}

static int is_reader_set_up(ZSTD_DCtx *reader) {
    return !zstd.is_error(zstd.set_reader(reader, ZSTD_d_format, ZSTD_f_zstd1_magicless));
}

/* Making a context asks the processor what it can do. In a virtual machine that leaves the guest, and takes as long as
   1 KiB of text. So contexts for short texts are made once, in memory of ours, and the few bytes that are not zero then are
   kept. They are put back before each use, and all is zeroed behind it: no text stays, and no use sees another. The library
   has nothing of such a context outside that memory. Zeroing what long texts need would take as long as is saved. */
enum { line_byte_count = 64, line_count_max = 128 };

struct kept {
    unsigned char *const bytes;
    const size_t byte_count;
    const int is_reader;
    pthread_mutex_t lock;
    enum { not_made, made, failed } state;
    size_t line_count;
    struct {
        size_t place;
        unsigned char bytes[line_byte_count];
    } lines[line_count_max];
};

/* The room that libzstd 1.5 asks for, rounded up. A library that wants more makes contexts as for long texts. */
enum { short_byte_count_max = 4 << 10 };
static _Alignas(line_byte_count) unsigned char reader_bytes[96 << 10];
static _Alignas(line_byte_count) unsigned char writer_bytes[160 << 10];
static struct kept kept_reader = {reader_bytes, sizeof reader_bytes, 1, .lock = PTHREAD_MUTEX_INITIALIZER};
static struct kept kept_writer = {writer_bytes, sizeof writer_bytes, 0, .lock = PTHREAD_MUTEX_INITIALIZER};

static int make(struct kept *kept) {
    static const unsigned char zeros[line_byte_count];
    void *context = kept->is_reader ? (void *)zstd.place_reader(kept->bytes, kept->byte_count)
                                    : (void *)zstd.place_writer(kept->bytes, kept->byte_count);
    if (context != kept->bytes || !(kept->is_reader ? is_reader_set_up(context) : is_set_up(context)))
        return 0;
    for (size_t place = 0; place < kept->byte_count; place += line_byte_count) {
        if (!memcmp(kept->bytes + place, zeros, line_byte_count))
            continue;
        if (kept->line_count == line_count_max)
            return 0;
        kept->lines[kept->line_count].place = place;
        memcpy(kept->lines[kept->line_count++].bytes, kept->bytes + place, line_byte_count);
    }
    return 1;
}

/* NULL: another thread has it, or it cannot be made. */
static void *take(struct kept *kept) {
    if (pthread_mutex_trylock(&kept->lock))
        return NULL;
    if (kept->state == not_made) {
        kept->state = make(kept) ? made : failed;
        explicit_bzero(kept->bytes, kept->byte_count);
    }
    if (kept->state == failed) {
        pthread_mutex_unlock(&kept->lock);
        return NULL;
    }
    for (size_t line = 0; line < kept->line_count; line++)
        memcpy(kept->bytes + kept->lines[line].place, kept->lines[line].bytes, line_byte_count);
    return kept->bytes;
}

static void give_back(struct kept *kept) {
    explicit_bzero(kept->bytes, kept->byte_count);
    pthread_mutex_unlock(&kept->lock);
}

size_t coffret_zstd_bound(size_t byte_count) { return is_available() ? zstd.bound(byte_count) : 0; }

ptrdiff_t coffret_zstd_compress(
    const uint8_t *bytes, size_t byte_count, const uint8_t *prefix, size_t prefix_byte_count, uint8_t *frame,
    size_t capacity) {
    if (!is_available())
        return COFFRET_ZSTD_UNAVAILABLE;
    int is_short = byte_count <= short_byte_count_max && prefix_byte_count <= short_byte_count_max;
    ZSTD_CCtx *writer = is_short ? take(&kept_writer) : NULL;
    if (writer) {
        int failed = prefix && zstd.is_error(zstd.set_writer_prefix(writer, prefix, prefix_byte_count));
        size_t written = failed ? 0 : zstd.write(writer, frame, capacity, bytes, byte_count);
        give_back(&kept_writer);
        if (!failed && !zstd.is_error(written))
            return (ptrdiff_t)written;
    }
    writer = zstd.make_writer(memory);
    if (!writer)
        return COFFRET_ZSTD_FAILED;
    int failed = !is_set_up(writer)
                 || (prefix && zstd.is_error(zstd.set_writer_prefix(writer, prefix, prefix_byte_count)));
    size_t written = failed ? 0 : zstd.write(writer, frame, capacity, bytes, byte_count);
    zstd.free_writer(writer);
    return failed || zstd.is_error(written) ? COFFRET_ZSTD_FAILED : (ptrdiff_t)written;
}

int coffret_zstd_resembles(
    const uint8_t *bytes, size_t byte_count, const uint8_t *prefix, size_t prefix_byte_count) {
    enum { piece_count = 8, piece_byte_count = 12 };
    size_t distance = byte_count / piece_count;
    int found = 0;
    if (distance < piece_byte_count)
        return 1;
    for (size_t place = 0; place + piece_byte_count <= byte_count; place += distance)
        found += memmem(prefix, prefix_byte_count, bytes + place, piece_byte_count) != NULL;
    return 2 * found >= piece_count;
}

ptrdiff_t coffret_zstd_decompress(
    const uint8_t *frame, size_t frame_byte_count, const uint8_t *prefix, size_t prefix_byte_count, uint8_t *bytes,
    size_t byte_count) {
    if (!is_available())
        return COFFRET_ZSTD_UNAVAILABLE;
    /* With a prefix the library allocates beside the context. */
    ZSTD_DCtx *reader = prefix ? NULL : take(&kept_reader);
    if (reader) {
        size_t read = zstd.read(reader, bytes, byte_count, frame, frame_byte_count);
        give_back(&kept_reader);
        return zstd.is_error(read) || read != byte_count ? COFFRET_ZSTD_FAILED : (ptrdiff_t)read;
    }
    reader = zstd.make_reader(memory);
    if (!reader)
        return COFFRET_ZSTD_FAILED;
    int failed = !is_reader_set_up(reader)
                 || (prefix && zstd.is_error(zstd.set_reader_prefix(reader, prefix, prefix_byte_count)));
    size_t read = failed ? 0 : zstd.read(reader, bytes, byte_count, frame, frame_byte_count);
    zstd.free_reader(reader);
    return failed || zstd.is_error(read) || read != byte_count ? COFFRET_ZSTD_FAILED : (ptrdiff_t)read;
}
