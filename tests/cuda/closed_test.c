/* What is around nvCOMP's codecs in the CUDA engine: the CPU decodes what is encoded, and streams
 * made by hand, with checksums that match, get the CPU's answer. Not for nvCOMP itself, which never
 * ends with some bad streams: the plug-in is the emulated one, whose nvCOMP (emulation/nvcomp.c)
 * checks less than the specifications ask for.
 *
 * usage: closed_test PLUGIN */
#include "format/err.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/cuda/exact_harm.h"
#include "tests/cuda/exact_items.h"
#include "tests/cuda/rig.h"

enum { LENGTH = 100001, WATCHDOG_MS = 600000 };

/* The n-th codec of nvCOMP's, from 0 until NULL. */
static const struct codec_case *closed_case(unsigned n)
{
    const struct codec_case *c;

    for (size_t i = 0; (c = codec_case_at(i)); i++)
        if (bale_codec_about(c->id)->closed && n-- == 0)
            return c;
    return NULL;
}

static void check_encoded(struct exact_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    const struct exact_job *job = &list->jobs[i];
    uint8_t *back = exact_frame(list, i);
    struct bale_frame frame;

    CHECK_EQ(item->status, BALE_OK);
    if (CHECK_EQ(bale_frame_decode(list->scratch, item->stored, item->stored_length, back,
                                   job->length, &frame),
                 BALE_OK)) {
        CHECK_EQ_MEM(back, job->data, job->length);
        CHECK_EQ(frame.codec, job->kind == DATA_RANDOM ? BALE_CODEC_STORE : job->setting.codec);
    }
}

/* Every size of chunks, and data that is stored raw, in whole or in part. */
static void test_encode(struct exact_items *list, const struct codec_case *c)
{
    static const enum data_kind kinds[] = {DATA_TEXT, DATA_MIXED, DATA_RANDOM};
    struct bale_setting setting;

    REQUIRE(codec_grid(c->id, 0, &setting));
    for (uint8_t log2 = 12; log2 <= 16; log2++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            exact_add(list, setting, kinds[k], LENGTH, log2);
    exact_run(list, exact_prepare_encode, check_encoded);
    list->count = 0;
}

int main(int argc, char **argv)
{
    static struct exact_items list;
    const struct bale_gpu_options options = {.verify = true, .watchdog_ms = WATCHDOG_MS};
    const struct codec_case *c;
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc == 2);
    rig_load(&rig, argv[1]);
    exact_items_open(&list, &rig, 12);
    rig_open(&rig, &options);
    for (unsigned n = 0; (c = closed_case(n)); n++) {
        test_encode(&list, c);
        exact_decode_streams(&list, c);
    }
    CHECK_EQ_U(rig_stats(&rig).mismatches, 0);
    CHECK(list.decoded > 0 && list.refused > 0);
    rig_close(&rig);
    exact_items_close(&list);
    return check_result();
}
