/* kernels/codec/nvcomp.h without nvCOMP, whose kernels are for a GPU: its codecs by their
 * libraries. As nvCOMP does, zstd's encoder declares a window of 1 MiB, and the decoders look
 * neither at windows nor at what follows a frame. */
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_findFrameCompressedSize, ZSTD_d_windowLogMax */
#include "kernels/codec/nvcomp.h"

#include <lz4.h>
#include <zstd.h>

#include "format/err.h"

enum { WINDOW_AT = 5, WINDOW_1M = (20 - 10) << 3 };

static int no_temp(size_t chunks, size_t chunk_bytes, struct nvcomp_options options,
                   size_t *temp_bytes, size_t total_bytes, struct CUstream_st *stream)
{
    (void)chunks, (void)chunk_bytes, (void)options, (void)total_bytes, (void)stream;
    *temp_bytes = 0;
    return 0;
}

static int bound(size_t chunk_bytes, struct nvcomp_options options, size_t *bytes)
{
    (void)options;
    *bytes = ZSTD_compressBound(chunk_bytes) + 16;
    return 0;
}

static size_t lz4_encode(const void *from, size_t length, void *to, size_t room)
{
    return (size_t)LZ4_compress_default(from, to, (int)length, (int)room);
}

static size_t zstd_encode(const void *from, size_t length, void *to, size_t room)
{
    ZSTD_CCtx *cctx = ZSTD_createCCtx();
    size_t got;

    ZSTD_CCtx_setParameter(cctx, ZSTD_c_contentSizeFlag, 0); /* then there is a window */
    got = ZSTD_compress2(cctx, to, room, from, length);
    ZSTD_freeCCtx(cctx);
    if (ZSTD_isError(got))
        return 0;
    ((uint8_t *)to)[WINDOW_AT] = WINDOW_1M;
    return got;
}

static size_t lz4_decode(const void *from, size_t length, void *to, size_t room)
{
    int got = LZ4_decompress_safe(from, to, (int)length, (int)room);

    return got < 0 ? 0 : (size_t)got;
}

static size_t zstd_decode(const void *from, size_t length, void *to, size_t room)
{
    ZSTD_DCtx *dctx = ZSTD_createDCtx();
    size_t frame = ZSTD_findFrameCompressedSize(from, length), got;

    ZSTD_DCtx_setParameter(dctx, ZSTD_d_windowLogMax, ZSTD_WINDOWLOG_MAX);
    got = ZSTD_isError(frame) ? 0 : ZSTD_decompressDCtx(dctx, to, room, from, frame);
    ZSTD_freeDCtx(dctx);
    return ZSTD_isError(got) ? 0 : got;
}

/* Either direction of all chunks. */
static int run(size_t (*code)(const void *, size_t, void *, size_t), const void *const *from,
               const size_t *from_lengths, const size_t *room, size_t same_room, size_t chunks,
               void *const *to, size_t *to_lengths, int *statuses)
{
    for (size_t c = 0; c < chunks; c++) {
        to_lengths[c] = code(from[c], from_lengths[c], to[c], room ? room[c] : same_room);
        statuses[c] = to_lengths[c] == 0;
    }
    return 0;
}

#define FAMILY(name)                                                                               \
    static int name##_compress(const void *const *from, const size_t *from_lengths,                \
                               size_t chunk_bytes, size_t chunks, void *temp, size_t temp_bytes,   \
                               void *const *to, size_t *to_lengths, struct nvcomp_options options, \
                               int *statuses, struct CUstream_st *stream)                          \
    {                                                                                              \
        size_t most;                                                                               \
                                                                                                   \
        (void)temp, (void)temp_bytes, (void)stream;                                                \
        bound(chunk_bytes, options, &most);                                                        \
        return run(name##_encode, from, from_lengths, NULL, most, chunks, to, to_lengths,          \
                   statuses);                                                                      \
    }                                                                                              \
                                                                                                   \
    static int name##_decompress(                                                                  \
        const void *const *from, const size_t *from_lengths, const size_t *room,                   \
        size_t *to_lengths, size_t chunks, void *temp, size_t temp_bytes, void *const *to,         \
        struct nvcomp_options options, int *statuses, struct CUstream_st *stream)                  \
    {                                                                                              \
        (void)temp, (void)temp_bytes, (void)options, (void)stream;                                 \
        return run(name##_decode, from, from_lengths, room, 0, chunks, to, to_lengths, statuses);  \
    }

FAMILY(lz4)
FAMILY(zstd)

int bale_nvcomp_open(struct nvcomp *nvcomp, struct bale_reason *why)
{
    (void)why;
    nvcomp->codecs[NVCOMP_LZ4] =
        (struct nvcomp_codec){no_temp, no_temp, bound, lz4_compress, lz4_decompress};
    nvcomp->codecs[NVCOMP_ZSTD] =
        (struct nvcomp_codec){no_temp, no_temp, bound, zstd_compress, zstd_decompress};
    return BALE_OK;
}

struct nvcomp_options bale_nvcomp_decompress_options(void)
{
    return (struct nvcomp_options){0};
}
