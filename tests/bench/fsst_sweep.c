/* Compresses a file with fsst as it would be with other sizes of its splits and tables of slots
 * (kernels/fsst/sizes.h, which it is compiled with), on one core, for tests/bench/paper-fsst. What
 * it makes stays in memory: no store and no stream ever has it.
 *
 * usage: fsst_sweep FILE. Prints a JSON object: the sizes, bytes raw and stored, and MB/s of the
 * best of RUNS. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "format/err.h"
#include "kernels/codec/codec.h"
#include "kernels/fsst/match.h"
#include "tests/bench/read_file.h"

extern const struct bale_codec bale_codec_fsst;

enum { EXTENT = 1 << 20, CHUNK = 1 << 16, CHUNKS = EXTENT / CHUNK, RUNS = 3 };

struct extent {
    uint32_t length, part_length;
    int64_t stored[CHUNKS]; /* 0: raw */
    uint8_t part[FSST_PART];
    uint8_t chunks[CHUNKS][CHUNK];
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t chunk_length(const struct extent *e, uint32_t at)
{
    return e->length - at < CHUNK ? e->length - at : CHUNK;
}

static bool encode(void *work, struct extent *e, const uint8_t *raw)
{
    static const struct bale_field none;
    int64_t made = bale_codec_fsst.learn(work, 0, &none, 0, 1u << 16, raw, e->length, e->part,
                                         e->length / 8 < FSST_PART ? e->length / 8 : FSST_PART);
    bool fine = made >= 0;

    e->part_length = fine ? (uint32_t)made : 0;
    for (uint32_t at = 0; fine && at < e->length; at += CHUNK) {
        uint32_t length = chunk_length(e, at);
        struct bale_extent_part part = {e->part, e->part_length};
        int64_t *stored = &e->stored[at / CHUNK];
        *stored = bale_codec_fsst.encode(work, 0, part, raw + at, length, e->chunks[at / CHUNK],
                                         length - 1 - length / 64);
        fine = *stored >= 0;
    }
    return fine;
}

static bool decode(void *work, const struct extent *e, uint8_t *raw)
{
    for (uint32_t at = 0; at < e->length; at += CHUNK) {
        uint32_t length = chunk_length(e, at);
        struct bale_extent_part part = {e->part, e->part_length};
        if (e->stored[at / CHUNK] > 0 &&
            bale_codec_fsst.decode(work, 0, part, e->chunks[at / CHUNK],
                                   (uint32_t)e->stored[at / CHUNK], raw + at, length, CHUNK,
                                   (struct bale_wanted){0, length}) != BALE_OK)
            return false;
    }
    return true;
}

/* As the file system stores it: what does not gain is stored raw. */
static uint64_t stored_length(const struct extent *e)
{
    uint64_t stored = e->part_length;

    for (uint32_t at = 0; at < e->length; at += CHUNK)
        stored += e->stored[at / CHUNK] > 0 ? (uint64_t)e->stored[at / CHUNK] : chunk_length(e, at);
    return stored < e->length ? stored : e->length;
}

static bool measure(void *work, struct extent *extents, size_t count, const uint8_t *raw,
                    uint8_t *back, double *in, double *out)
{
    *in = *out = 1e9;
    for (unsigned run = 0; run < RUNS; run++) {
        double begin = now(), between;
        for (size_t i = 0; i < count; i++)
            if (!encode(work, &extents[i], raw + i * EXTENT))
                return false;
        between = now();
        for (size_t i = 0; i < count; i++)
            if (!decode(work, &extents[i], back + i * EXTENT))
                return false;
        *out = now() - between < *out ? now() - between : *out;
        *in = between - begin < *in ? between - begin : *in;
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t at = 0; at < extents[i].length; at += CHUNK)
            if (extents[i].stored[at / CHUNK] > 0 &&
                memcmp(raw + i * EXTENT + at, back + i * EXTENT + at,
                       chunk_length(&extents[i], at)) != 0)
                return false;
    return true;
}

int main(int argc, char **argv)
{
    size_t length = 0, count;
    uint8_t *raw = argc == 2 ? read_file(argv[1], &length) : NULL;
    uint8_t *back = raw ? malloc(length) : NULL;
    struct extent *extents;
    uint64_t stored = 0;
    double in, out;
    void *work;

    count = (length + EXTENT - 1) / EXTENT;
    extents = calloc(count + 1, sizeof *extents);
    if (!back || !extents || bale_codec_fsst.create(&work) != BALE_OK) {
        fprintf(stderr, "fsst_sweep: give one file with something in it\n");
        return 1;
    }
    for (size_t i = 0; i < count; i++)
        extents[i].length = (uint32_t)(length - i * EXTENT < EXTENT ? length - i * EXTENT : EXTENT);
    if (!measure(work, extents, count, raw, back, &in, &out)) {
        fprintf(stderr, "fsst_sweep: %s: other bytes came back than went in\n", argv[1]);
        return 1;
    }
    for (size_t i = 0; i < count; i++)
        stored += stored_length(&extents[i]);
    printf("{\"split\": %d, \"longs\": %d, \"pairs\": %d, \"raw\": %zu, \"stored\": %" PRIu64
           ", \"compress\": %.1f, \"decompress\": %.1f}\n",
           FSST_SPLIT, FSST_LONGS, FSST_PAIRS, length, stored, (double)length / in * 1e-6,
           (double)length / out * 1e-6);
    bale_codec_fsst.destroy(work);
    free(extents);
    free(back);
    free(raw);
    return 0;
}
