/* The CUDA engine's codecs whose every byte is defined (tests/codecs/cases.h) against the CPU's: frames are the same
 * to the byte; streams that were made to harm, with checksums that match, get the same answer.
 *
 * usage: exact_test PLUGIN [--few | --fewest]; skipped where there is no GPU.
 *   --few: as much as a checker of memory accesses can follow
 *   --fewest: as much as an emulated device can */
#include "format/err.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/cuda/exact_run.h"

/* How much is done. */
struct amount {
    const char *option;
    int rounds;
    unsigned grid_step,
        length_step; /* of settings and kinds of data, of long chunks: every so many */
};
static const struct amount amounts[] = {
    {"", 80, 1, 1}, {"--few", 3, 37, 1}, {"--fewest", 1, 109, 7}};

enum {
    /* an emulated device is slow */
    PIECE = 2048, /* codecs may cut chunks into pieces of a power of two bytes, from this one on */
    CHUNK = 65536,
};

static void run_if_full(struct exact_items *list)
{
    if (list->count == EXACT_ITEMS)
        exact_run_jobs(list);
}

/* The n-th codec that is tested here, which a device does, from 0 until NULL. */
static const struct codec_case *exact_case(unsigned n)
{
    const struct codec_case *c;

    for (size_t i = 0; (c = codec_case_at(i)); i++)
        if (c->defined && bale_codec_about(c->id)->device && !bale_codec_about(c->id)->built_in &&
            n-- == 0)
            return c;
    return NULL;
}

static const struct codec_case *any_case(struct exact_items *list)
{
    unsigned count = 0;

    while (exact_case(count))
        count++;
    return exact_case(exact_below(list, count));
}

static void add_any(struct exact_items *list, uint32_t length, uint8_t chunk_log2)
{
    const struct codec_case *c = any_case(list);

    exact_add(list, codec_setting_random(c->id, &list->state),
              exact_below(list, codec_case_kinds(c)), length, chunk_log2);
    run_if_full(list);
}

/* Every setting with options at their limits and between, and every kind of data. */
static void test_grid(struct exact_items *list, const struct amount *amount)
{
    const struct codec_case *c;
    struct bale_setting setting;
    unsigned n = 0;

    for (unsigned i = 0; (c = exact_case(i)); i++)
        for (unsigned g = 0; codec_grid(c->id, g, &setting); g++)
            for (unsigned kind = 0; kind < codec_case_kinds(c); kind++, n++)
                if (n % amount->grid_step == 0) {
                    exact_add(list, setting, kind, CHUNK + 4500 - n % 3, 16);
                    run_if_full(list);
                }
    exact_run_jobs(list);
}

/* The shortest chunks, and those about a piece's end. */
static void test_lengths(struct exact_items *list, const struct amount *amount)
{
    for (uint32_t length = 1; length <= 96; length++)
        add_any(list, length, 16);
    for (uint32_t length = PIECE - 16; length <= PIECE + 48; length++)
        for (int twice = 0; twice < 2; twice++) {
            add_any(list, length, 16);
            if (length % amount->length_step == 0)
                add_any(list, CHUNK - PIECE + length, 16);
        }
    exact_run_jobs(list);
}

/* The streams that the codecs' cases make by hand: every rule is broken. */
static void test_streams(struct exact_items *list)
{
    const struct codec_case *c;

    for (unsigned i = 0; (c = exact_case(i)); i++)
        exact_decode_streams(list, c);
}

static void test_random(struct exact_items *list, const struct amount *amount)
{
    static const uint32_t most[] = {300, 5000, 70000, EXACT_LENGTH_MAX - 8};

    for (int round = 0; round < amount->rounds; round++) {
        for (unsigned i = 0; i < EXACT_ITEMS; i++)
            add_any(list, 1 + exact_below(list, most[exact_below(list, 4)]),
                    (uint8_t)(12 + exact_below(list, 5)));
    }
}

/* Frames whose chunks share an extent part, of all chunk sizes: whole, and harmed. */
static void test_parts(struct exact_items *list)
{
    const struct codec_case *c;

    for (unsigned i = 0; (c = exact_case(i)); i++) {
        if (!bale_codec_has_part(c->id))
            continue;
        for (int times = 0; times < 2; times++) {
            for (unsigned n = 0; n < EXACT_ITEMS; n++)
                exact_add(list, codec_setting_random(c->id, &list->state),
                          n % 5 == 4 ? DATA_MIXED : DATA_TEXT,
                          c->least + exact_below(list, n % 4 ? 9000 : 100000),
                          (uint8_t)(12 + n % 5));
            exact_run_jobs(list);
        }
    }
}

/* An open setting is refused: the caller has to choose first. */
static void test_open(struct exact_items *list)
{
    const char *text;

    exact_add(list, codec_setting_random(exact_case(0)->id, &list->state), DATA_TEXT, 100000, 16);
    exact_encode_all(list);
    list->count = 0;
    for (size_t i = 0; (text = codec_settings_next(SETTINGS_ALL, &i));) {
        struct bale_item item = list->items[0];
        item.setting = codec_setting_parse(text);
        if (!bale_setting_is_open(item.setting))
            continue;
        CHECK(!list->rig->gpu->takes(list->rig->engine, &item));
        rig_run(list->rig, &item, 1);
        CHECK_EQ(item.status, BALE_E_INVALID);
    }
}

int main(int argc, char **argv)
{
    static struct exact_items list;
    const struct amount *amount = &amounts[0];
    struct rig rig;

    REQUIRE(argc >= 2);
    for (size_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++)
        if (argc > 2 && strcmp(argv[2], amounts[i].option) == 0)
            amount = &amounts[i];
    exact_begin(&list, &rig, argv[1], 11);
    test_open(&list);
    test_lengths(&list, amount);
    test_streams(&list);
    test_parts(&list);
    test_grid(&list, amount);
    test_random(&list, amount);
    return exact_end(&list);
}
