/* codec_bench [-e EXTENT] [-c CHUNK_LOG2] [-m MIB] [-s SETTING]... FILE...
 *
 * Encodes and decodes the files' bytes (up to MIB in all) as frames on one core, and prints a line
 * for each setting: MB/s of raw bytes, ratio, and how many frames each codec took. The first line
 * is memcpy with a checksum. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "format/hash.h"
#include "kernels/codec.h"

enum { SETTINGS_MAX = 32, ROUND_SECONDS = 1 };

static const char *settings[SETTINGS_MAX] = {"store", "lz4", "zstd:-1", "zstd:1", "zstd:3", "auto"};

struct bench {
    struct bale_scratch *scratch;
    uint8_t *data;
    uint8_t *stored; /* frames behind each other */
    uint8_t *raw;    /* one extent */
    size_t *lengths; /* of the frames */
    size_t size;
    uint32_t extent;
    uint8_t chunk_log2;
    unsigned frames[256]; /* by codec */
    size_t total;         /* stored bytes */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

_Noreturn static void die(const char *what)
{
    fprintf(stderr, "codec_bench: %s\n", what);
    exit(EXIT_FAILURE);
}

static void *allocate(size_t size)
{
    void *p = malloc(size > 0 ? size : 1);

    if (!p)
        die("out of memory");
    return p;
}

static uint32_t extent_at(const struct bench *b, size_t at)
{
    return b->size - at < b->extent ? (uint32_t)(b->size - at) : b->extent;
}

static void encode_all(struct bench *b, struct bale_setting setting)
{
    size_t i = 0;

    memset(b->frames, 0, sizeof b->frames);
    b->total = 0;
    for (size_t at = 0; at < b->size; at += b->extent, i++) {
        struct bale_frame frame = {
            .offset = at, .raw_length = extent_at(b, at), .chunk_log2 = b->chunk_log2};
        int err = bale_frame_encode(b->scratch, setting, b->data + at, &frame, b->stored + b->total,
                                    &b->lengths[i]);
        if (err < 0)
            die(bale_err_text(err));
        b->total += b->lengths[i];
        b->frames[frame.codec]++;
    }
}

static void decode_all(struct bench *b)
{
    const uint8_t *in = b->stored;
    size_t i = 0;

    for (size_t at = 0; at < b->size; at += b->extent, i++) {
        int err = bale_frame_decode(b->scratch, in, b->lengths[i], b->raw, extent_at(b, at), NULL);
        if (err < 0 || memcmp(b->raw, b->data + at, extent_at(b, at)) != 0)
            die("a frame did not come back");
        in += b->lengths[i];
    }
}

/* memcpy and one checksum: what a frame costs when nothing is compressed. */
static void copy_all(struct bench *b)
{
    for (size_t at = 0; at < b->size; at += b->extent) {
        memcpy(b->stored + at, b->data + at, extent_at(b, at));
        b->total += bale_hash(b->data + at, extent_at(b, at)) & 1;
    }
}

/* MB/s of the fastest round. */
static double measure(struct bench *b, const struct bale_setting *setting, int what)
{
    double best = 1e9;
    double end = now() + ROUND_SECONDS;

    do {
        double start = now();
        if (what == 'e')
            encode_all(b, *setting);
        else if (what == 'd')
            decode_all(b);
        else
            copy_all(b);
        double took = now() - start;
        best = took < best ? took : best;
    } while (now() < end);
    return (double)b->size / best * 1e-6;
}

static void print_setting(struct bench *b, const char *text)
{
    struct bale_setting setting;
    char why[200];

    if (bale_setting_parse(text, &setting, why, sizeof why) < 0)
        die(why);
    double encode = measure(b, &setting, 'e');
    double decode = measure(b, NULL, 'd');
    printf("%-10s %8.0f %8.0f %8.3f ", text, encode, decode, (double)b->size / (double)b->total);
    for (int id = 0; id < 256; id++)
        if (b->frames[id] > 0)
            printf(" %s:%u", bale_codec_name((uint8_t)id), b->frames[id]);
    printf("\n");
    fflush(stdout);
}

static void read_files(struct bench *b, char **names, size_t limit)
{
    b->data = allocate(limit);
    for (; *names && b->size < limit; names++) {
        FILE *f = fopen(*names, "rb");
        if (!f) {
            perror(*names);
            exit(EXIT_FAILURE);
        }
        b->size += fread(b->data + b->size, 1, limit - b->size, f);
        fclose(f);
    }
    if (b->size == 0)
        die("nothing to read");
}

int main(int argc, char **argv)
{
    struct bench b = {.extent = BALE_EXTENT_DEFAULT, .chunk_log2 = BALE_CHUNK_LOG2_DEFAULT};
    size_t limit = (size_t)64 << 20;
    int given = 0;
    int option;

    while ((option = getopt(argc, argv, "e:c:m:s:")) != -1) {
        if (option == 'e')
            b.extent = (uint32_t)strtoul(optarg, NULL, 0);
        else if (option == 'c')
            b.chunk_log2 = (uint8_t)strtoul(optarg, NULL, 0);
        else if (option == 'm')
            limit = (size_t)strtoul(optarg, NULL, 0) << 20;
        else if (option == 's' && given < SETTINGS_MAX - 1)
            settings[given++] = optarg, settings[given] = NULL;
        else
            die("usage: codec_bench [-e EXTENT] [-c CHUNK_LOG2] [-m MIB] [-s SETTING]... FILE...");
    }
    if (b.extent == 0 || b.extent > BALE_EXTENT_MAX)
        die("the extent is out of range");
    read_files(&b, argv + optind, limit);

    size_t extents = (b.size - 1) / b.extent + 1;
    b.lengths = allocate(extents * sizeof *b.lengths);
    b.stored = allocate(extents * bale_frame_bound(b.extent, b.chunk_log2));
    b.raw = allocate(b.extent);
    if (bale_scratch_create(&b.scratch) < 0)
        die("out of memory");

    printf("%zu bytes, extents of %u, chunks of %u\n", b.size, b.extent, 1u << b.chunk_log2);
    printf("%-10s %8s %8s %8s  frames\n", "setting", "encode", "decode", "ratio");
    printf("%-10s %8.0f\n", "copy", measure(&b, NULL, 'c'));
    for (int i = 0; settings[i]; i++)
        print_setting(&b, settings[i]);

    bale_scratch_destroy(b.scratch);
    free(b.raw);
    free(b.stored);
    free(b.lengths);
    free(b.data);
    return EXIT_SUCCESS;
}
