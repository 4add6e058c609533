/* What our own codecs make of many inputs, as checksums: those of a GPU are kept, and the CPU has to come to
 * the same.
 *
 * usage: streams_test cpu|gpu [FILE]: prints a line for each codec and kind of data, or compares with FILE's.
 * The GPU's plug-in is found where this program has its libraries. */
#include <inttypes.h>
#include <stdio.h>

#include "format/hash.h"
#include "kernels/api/context.h"
#include "tests/check.h"
#include "tests/unit/kernels/data.h"

enum { LENGTH_MAX = 1000003, LINE = 128 };

static const size_t lengths[] = {1, 63, 4095, 65536, 131075, LENGTH_MAX};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static struct bale_context *context;
static uint8_t raw[LENGTH_MAX];

static void open_context(const char *engine)
{
    struct bale_context_params how = BALE_CONTEXT_PARAMS_INIT;

    how.engine = engine;
    if (bale_context_create(&how, &context) != BALE_API_OK)
        check_skip(bale_context_message(NULL));
}

/* One checksum for the streams of all lengths. */
static uint64_t checksum_of(const char *codec)
{
    struct bale_params params = BALE_PARAMS_INIT;
    uint64_t sums[LENGTHS];

    params.codec = codec;
    for (int l = 0; l < LENGTHS; l++) {
        struct bale_buffer made = {0};
        REQUIRE(bale_compress(context, &params, raw, lengths[l], &made) == BALE_API_OK);
        sums[l] = bale_hash(made.data, made.length);
        bale_buffer_free(&made);
    }
    return bale_hash(sums, sizeof sums);
}

static void tell(FILE *kept, const char *codec, int kind)
{
    char line[LINE], expected[LINE] = "";

    data_fill((enum data_kind)kind, 17, raw, LENGTH_MAX);
    snprintf(line, sizeof line, "%s %d %016" PRIx64 "\n", codec, kind, checksum_of(codec));
    if (!kept)
        fputs(line, stdout);
    else if (!CHECK(fgets(expected, sizeof expected, kept) && strcmp(line, expected) == 0))
        fprintf(stderr, "%s instead of %s", line, expected);
}

static void tell_codec(FILE *kept, const char *codec)
{
    for (int kind = 0; kind < DATA_KINDS; kind++)
        tell(kept, codec, kind);
}

static void tell_all(FILE *kept)
{
    static const int windows[] = {32, 64, 128, 255}, pieces[] = {2048, 4096, 16384, 65536};
    char codec[64];

    tell_codec(kept, "culzss:v=1");
    tell_codec(kept, "culzss:v=2");
    for (int s = 1; s <= 8; s *= 2)
        for (int w = 0; w < 4; w++)
            for (int c = 0; c < 4; c++) {
                snprintf(codec, sizeof codec, "gpulz:s=%d,w=%d,c=%d", s, windows[w], pieces[c]);
                tell_codec(kept, codec);
            }
}

/* Nobody else has done it. */
static void check_who(const char *engine)
{
    struct bale_dispatch_stats stats;

    if (strcmp(engine, "gpu") != 0)
        return;
    bale_dispatch_stats(context->engine, &stats);
    fprintf(stderr, "%s: %" PRIu64 " bytes, the CPU %" PRIu64 "\n", stats.device.device,
            stats.gpu.encoded, stats.cpu.encoded);
    REQUIRE(stats.gpu.encoded > 0 && stats.cpu.encoded == 0);
}

int main(int argc, char **argv)
{
    FILE *kept = NULL;

    REQUIRE(argc == 2 || argc == 3);
    open_context(argv[1]);
    if (argc == 3) {
        kept = fopen(argv[2], "re");
        REQUIRE(kept);
    }
    tell_all(kept);
    check_who(argv[1]);
    bale_context_destroy(context);
    if (!kept)
        return EXIT_SUCCESS;
    CHECK(fgetc(kept) == EOF);
    fclose(kept);
    return check_result();
}
