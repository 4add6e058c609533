/* The CUDA engine's decoders of our codecs whose encoders may make any valid stream: what the CPU
 * encoded, streams made by hand, and streams that were made to harm, with checksums that match, get
 * the CPU's answer.
 *
 * usage: decode_test PLUGIN [ROUNDS]; skipped where there is no GPU. */
#include "format/err.h"
#include "tests/check.h"
#include "tests/codecs/cases.h"
#include "tests/cuda/exact_harm.h"
#include "tests/cuda/exact_items.h"
#include "tests/cuda/rig.h"

enum { WATCHDOG_MS = 300000, CHUNK = 65536 };

static unsigned long device_bytes, cpu_bytes;

/* The CPU decodes what the device encoded. It becomes the job's frame. */
static void check_encoded(struct exact_items *list, unsigned i)
{
    const struct bale_item *item = &list->items[i];
    struct exact_job *job = &list->jobs[i];
    unsigned long before = atomic_load(&check_failures);
    uint8_t *raw = malloc(job->length);

    REQUIRE(raw);
    if (CHECK_EQ(item->status, BALE_OK) &&
        CHECK_EQ(bale_frame_decode(list->scratch, item->stored, item->stored_length, raw,
                                   job->length, NULL),
                 BALE_OK) &&
        CHECK_EQ_MEM(raw, job->data, job->length)) {
        device_bytes += item->stored_length;
        cpu_bytes += job->frame_length;
        memcpy(job->frame, item->stored, item->stored_length);
        job->frame_length = item->stored_length;
    }
    exact_check_guards(exact_stored_room(list, i), item->stored, item->stored_length);
    exact_tell(job, "encode", before);
    free(raw);
}

static void run_jobs(struct exact_items *list)
{
    exact_drop_zero(list);
    exact_run(list, exact_prepare_encode, check_encoded);
    list->encoded += list->count;
    exact_decode_all(list);
    for (int twice = 0; twice < 2; twice++) {
        exact_harm_all(list);
        exact_decode_all(list);
    }
    list->count = 0;
}

static void add(struct exact_items *list, const struct codec_case *c, uint32_t length)
{
    exact_add(list, codec_setting_random(c->id, &list->state),
              exact_below(list, codec_case_kinds(c)), length, 16);
    if (list->count == EXACT_ITEMS)
        run_jobs(list);
}

static void test_case(struct exact_items *list, const struct codec_case *c, int rounds)
{
    static const uint32_t most[] = {300, 5000, 20000, CHUNK, EXACT_LENGTH_MAX - 8};

    exact_decode_streams(list, c);
    for (uint32_t length = 40; length <= 96; length += 7)
        add(list, c, length);
    for (int round = 0; round < rounds; round++)
        for (unsigned i = 0; i < EXACT_ITEMS; i++)
            add(list, c, 1 + exact_below(list, most[exact_below(list, 5)]));
    run_jobs(list);
}

int main(int argc, char **argv)
{
    static struct exact_items list;
    const struct bale_gpu_options options = {.verify = true, .watchdog_ms = WATCHDOG_MS};
    const struct codec_case *c;
    struct rig rig;

    setvbuf(stdout, NULL, _IOLBF, 0);
    REQUIRE(argc >= 2);
    rig_load(&rig, argv[1]);
    exact_items_open(&list, &rig, 3);
    rig_open(&rig, &options);
    for (size_t i = 0; (c = codec_case_at(i)); i++)
        if (!c->defined && bale_codec_about(c->id) && !bale_codec_about(c->id)->built_in &&
            !bale_codec_about(c->id)->closed)
            test_case(&list, c, argc > 2 ? atoi(argv[2]) : 40);
    CHECK(!rig_stats(&rig).lost);
    printf("%s: %lu encoded to %lu bytes where the CPU has %lu, %lu decoded, of which %u refused\n",
           rig_stats(&rig).device, list.encoded, device_bytes, cpu_bytes, list.decoded,
           list.refused);
    rig_close(&rig);
    exact_items_close(&list);
    return check_result();
}
