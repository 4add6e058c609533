/* What the codecs whose every byte is defined make of many inputs, as checksums: those of a GPU are
 * kept, and the CPU has to come to the same.
 *
 * usage: streams_test cpu|gpu [FILE]: prints a line for each setting and kind of data, or compares
 * with FILE's. The GPU's plug-in is found where this program has its libraries. */
#include <inttypes.h>
#include <stdio.h>

#include "format/hash.h"
#include "kernels/api/context.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"

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
static uint64_t checksum_of(const char *setting, int kind)
{
    struct bale_params params = BALE_PARAMS_INIT;
    uint64_t sums[LENGTHS];

    data_fill((enum data_kind)kind, 17, raw, LENGTH_MAX);
    params.codec = setting;
    for (int l = 0; l < LENGTHS; l++) {
        struct bale_buffer made = {0};
        REQUIRE(bale_compress(context, &params, raw, lengths[l], &made) == BALE_API_OK);
        sums[l] = bale_hash(made.data, made.length);
        bale_buffer_free(&made);
    }
    return bale_hash(sums, sizeof sums);
}

/* A line for each setting of the codec's grid and each kind of data. */
static void print_codec(const struct codec_case *c)
{
    struct bale_setting setting;
    char text[BALE_SETTING_TEXT];

    for (unsigned n = 0; codec_grid(c->id, n, &setting); n++)
        for (int kind = 0; kind < DATA_KINDS; kind++) {
            bale_setting_print(setting, text, sizeof text);
            printf("%s %d %016" PRIx64 "\n", text, kind, checksum_of(text, kind));
        }
}

static void print_all(void)
{
    const struct codec_case *c;

    for (size_t i = 0; (c = codec_case_at(i)); i++)
        if (c->defined && !bale_codec_about(c->id)->built_in)
            print_codec(c);
}

/* Each line of the file. */
static void compare_all(const char *path)
{
    FILE *kept = fopen(path, "re");
    char line[LINE], setting[LINE];
    uint64_t expected;
    int kind;

    REQUIRE(kept);
    while (fgets(line, sizeof line, kept)) {
        REQUIRE(sscanf(line, "%127s %d %" SCNx64, setting, &kind, &expected) == 3);
        REQUIRE(kind >= 0 && kind < DATA_KINDS);
        if (!CHECK_EQ_U(checksum_of(setting, kind), expected))
            fprintf(stderr, "    %s", line);
    }
    fclose(kept);
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
    REQUIRE(argc == 2 || argc == 3);
    open_context(argv[1]);
    if (argc == 3)
        compare_all(argv[2]);
    else
        print_all();
    check_who(argv[1]);
    bale_context_destroy(context);
    return argc == 3 ? check_result() : EXIT_SUCCESS;
}
