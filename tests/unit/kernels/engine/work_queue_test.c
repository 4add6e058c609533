/* Items that wait: what workers take, what another engine may take from the end, and what is kept
 * for it. */
#include "kernels/engine/work_queue.h"

#include "format/err.h"
#include "format/gpulz.h"
#include "kernels/frame/setting.h"
#include "tests/check.h"

enum {
    ITEMS = 10,
    LENGTH = 100,
    LZ4 = BALE_CODEC_LZ4 * BALE_SPEEDS, /* kinds of work */
    STORE = BALE_CODEC_STORE * BALE_SPEEDS
};

static struct bale_item items[ITEMS];

static void offer_all(struct bale_work_queue *w, unsigned from, unsigned to, unsigned work)
{
    for (unsigned i = from; i < to; i++) {
        items[i] = (struct bale_item){.frame.raw_length = LENGTH};
        bale_work_queue_offer(w, &items[i], work);
    }
}

static struct bale_item *pop(struct bale_work_queue *w)
{
    bool ended;
    struct bale_item *item = bale_work_queue_pop(w, &ended);

    CHECK(!item || !ended);
    return item;
}

static void test_reap(struct bale_work_queue *w)
{
    unsigned count;
    uint64_t bytes;

    offer_all(w, 0, ITEMS, LZ4);
    struct bale_item *list = bale_work_queue_steal(w, LZ4, 3 * LENGTH + 50, &count, &bytes);
    CHECK_EQ_U(count, 3);
    CHECK_EQ_U(bytes, 3 * LENGTH);
    for (int i = 7; i < ITEMS; i++, list = list->next)
        CHECK(list == &items[i]);
    CHECK(!list);
    CHECK(pop(w) == &items[0]);
    CHECK_EQ_U(w->offered[LZ4].count, 6);
    CHECK_EQ_U(w->offered[LZ4].bytes, 6 * LENGTH);
    list = bale_work_queue_steal(w, LZ4, 1, &count, &bytes);
    CHECK(list == &items[6] && !list->next && count == 1);
    list = bale_work_queue_steal(w, LZ4, 1000, &count, &bytes);
    CHECK(list == &items[1] && count == 5 && bytes == 5 * LENGTH);
    CHECK_EQ_U(bale_works_next(&w->works, 0), BALE_WORKS);
    CHECK(!pop(w));
    offer_all(w, 0, 1, LZ4);
    CHECK(pop(w) == &items[0] && !pop(w));
}

static void test_keep(struct bale_work_queue *w)
{
    offer_all(w, 0, 4, LZ4);
    offer_all(w, 4, 6, STORE);
    w->offered[LZ4].reserved = 2 * LENGTH;
    CHECK(pop(w) == &items[4]);
    CHECK(pop(w) == &items[0]); /* in turns */
    CHECK(pop(w) == &items[5]);
    CHECK(pop(w) == &items[1]);
    CHECK(!pop(w));
    w->offered[LZ4].reserved = 0;
    CHECK(pop(w) == &items[2] && pop(w) == &items[3] && !pop(w));
}

/* The last of all kinds takes its turn as well. */
static void test_last(struct bale_work_queue *w)
{
    offer_all(w, 0, 2, BALE_WORKS - 1);
    offer_all(w, 2, 4, LZ4);
    offer_all(w, 4, 5, BALE_WORKS_EACH_WAY);
    w->last = BALE_WORKS_EACH_WAY;
    CHECK(pop(w) == &items[0]);
    CHECK(pop(w) == &items[2]);
    CHECK(pop(w) == &items[4]);
    CHECK(pop(w) == &items[1]);
    CHECK(pop(w) == &items[3] && !pop(w));
    CHECK_EQ_U(bale_works_next(&w->works, 0), BALE_WORKS);
}

/* Order: completed items first, then by priority; offered items after all others. */
static void test_order(struct bale_work_queue *w)
{
    bool ended;

    offer_all(w, 0, 1, LZ4);
    for (int i = 1; i <= BALE_PRIORITIES; i++) {
        items[i] = (struct bale_item){.priority = (enum bale_priority)(i - 1)};
        bale_work_queue_push(w, &items[i]);
    }
    bale_item_list_append(&w->completed, &items[5]);
    CHECK(bale_work_queue_pop(w, &ended) == &items[5] && ended);
    CHECK(pop(w) == &items[1]);
    CHECK(pop(w) == &items[2]);
    CHECK(pop(w) == &items[0]);
    CHECK(pop(w) == &items[3]);
    CHECK(!pop(w));
}

/* Items of one priority: a user who has used much waits for one who has not. */
static void test_turns(struct bale_work_queue *w)
{
    for (int i = 0; i < 5; i++) {
        items[i] = (struct bale_item){.turn.user = i < 4 ? 1001 : 1002};
        bale_work_queue_push(w, &items[i]);
    }
    w->running = 1;
    bale_turns_hold(&w->by_priority[0], 1001, 1);
    bale_work_queue_end(w, items[0].priority, 1001, 1000);
    CHECK(pop(w) == &items[4]);
    for (int i = 0; i < 4; i++)
        CHECK(pop(w) == &items[i]);
    CHECK(!pop(w));
    for (int i = 0; i < 5; i++)
        bale_work_queue_end(w, items[i].priority, items[i].turn.user, 1);
    CHECK_EQ_U(w->running, 0);
}

/* One user does not get the last worker, whatever the priority of his items. */
static void test_last_worker(void)
{
    struct bale_work_queue queue = {.stop = true, .workers = 3};

    bale_work_queue_init(&queue);
    for (int i = 0; i < 5; i++) {
        items[i] =
            (struct bale_item){.turn.user = i < 4 ? 1001 : 1002,
                               .priority = i == 3 ? BALE_PRIORITY_HIGH : BALE_PRIORITY_NORMAL};
        if (i < 4)
            bale_work_queue_push(&queue, &items[i]);
    }
    CHECK(pop(&queue) == &items[3]);
    CHECK(pop(&queue) == &items[0]);
    CHECK(!pop(&queue));
    bale_work_queue_push(&queue, &items[4]);
    CHECK(pop(&queue) == &items[4]);
    bale_work_queue_end(&queue, items[3].priority, 1001, 1);
    bale_work_queue_end(&queue, items[4].priority, 1002, 1);
    CHECK(pop(&queue) == &items[1]);
    CHECK(!pop(&queue));
    bale_work_queue_end(&queue, items[0].priority, 1001, 1);
    CHECK(pop(&queue) == &items[2]);
    bale_work_queue_destroy(&queue);
}

static void test_set(void)
{
    static const unsigned kinds[] = {0, 1, 63, 64, 130, BALE_WORKS - 1};
    struct bale_works works = {0};
    unsigned work = 0;

    CHECK_EQ_U(bale_works_next(&works, 0), BALE_WORKS);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        works.bits[kinds[i] / 64] |= (uint64_t)1 << kinds[i] % 64;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++, work++)
        CHECK_EQ_U((work = bale_works_next(&works, work)), kinds[i]);
    CHECK_EQ_U(bale_works_next(&works, work), BALE_WORKS);
}

static unsigned encode_work(const char *text)
{
    struct bale_item item = {.kind = BALE_ITEM_ENCODE};

    REQUIRE(bale_setting_parse(text, &item.setting, NULL) == BALE_OK);
    return bale_work_of(&item);
}

/* Each codec and direction has kinds of its own, and what takes much longer has another one. */
static void test_work(void)
{
    struct bale_item item = {.kind = BALE_ITEM_DECODE, .frame.codec = BALE_CODEC_LZ4};

    CHECK_EQ_U(encode_work("lz4"), LZ4);
    CHECK_EQ_U(encode_work("store"), STORE);
    CHECK(encode_work("gpulz:s=1") != encode_work("gpulz:s=4"));
    CHECK_EQ_U(encode_work("gpulz:s=4,c=4096"), encode_work("gpulz:s=4,c=65536"));
    CHECK(encode_work("zstd:1") != encode_work("zstd:19"));
    CHECK(encode_work("culzss:v=1") != encode_work("culzss:v=2"));
    CHECK_EQ_U(encode_work("auto"), BALE_WORKS); /* open */
    CHECK_EQ_U(encode_work("gpulz"), BALE_WORKS);
    CHECK_EQ_U(bale_work_of(&item), BALE_WORKS_EACH_WAY + LZ4);
    CHECK_EQ(bale_work_kind(bale_work_of(&item)), BALE_ITEM_DECODE);
    item.frame.codec = BALE_CODEC_GPULZ;
    unsigned bytes = bale_work_of(&item);
    item.frame.parameter = bale_gpulz_parameter(2, 12, 255);
    CHECK(bale_work_of(&item) != bytes && bale_work_of(&item) < BALE_WORKS);
    item.frame.codec = BALE_WORK_CODECS;
    CHECK_EQ_U(bale_work_of(&item), BALE_WORKS);
}

/* What is asked of a codec's line in the list. */
static void test_speeds(void)
{
    const struct bale_codec_about *about;

    for (size_t i = 0; (about = bale_codec_at(i)); i++)
        for (unsigned p = 0; p <= UINT16_MAX; p++)
            if (about->speed((uint16_t)p) >= BALE_SPEEDS)
                CHECK_EQ_U(about->speed((uint16_t)p), BALE_SPEEDS - 1);
}

/* What is done comes first, several at a time. */
static void test_completed(struct bale_work_queue *w)
{
    bool completed;

    offer_all(w, 0, 1, LZ4);
    for (unsigned i = 1; i < ITEMS; i++)
        bale_item_list_append(&w->completed, &items[i]);
    struct bale_item *list = bale_work_queue_pop(w, &completed);
    CHECK(completed);
    for (unsigned i = 1; i <= BALE_COMPLETED_TOGETHER; i++, list = list->next)
        if (!CHECK(list == &items[i]))
            return;
    CHECK(!list);
    CHECK(bale_work_queue_pop(w, &completed) == &items[ITEMS - 1] && completed);
    CHECK(pop(w) == &items[0] && !pop(w));
}

/* What is left to the other engine is no worker's. */
static void test_takable(struct bale_work_queue *w)
{
    offer_all(w, 0, 3, LZ4);
    offer_all(w, 3, 5, STORE);
    CHECK_EQ_U(bale_work_queue_takable(w), 5);
    w->offered[LZ4].reserved = 3 * LENGTH;
    CHECK_EQ_U(bale_work_queue_takable(w), 2);
    w->offered[LZ4].reserved = 0;
    for (unsigned i = 0; i < 5; i++)
        CHECK(pop(w));
    CHECK_EQ_U(bale_work_queue_takable(w), 0);
}

int main(void)
{
    struct bale_work_queue queue = {.stop = true}; /* pop never waits */

    bale_work_queue_init(&queue);
    test_reap(&queue);
    test_keep(&queue);
    test_last(&queue);
    test_order(&queue);
    test_turns(&queue);
    test_completed(&queue);
    test_takable(&queue);
    test_last_worker();
    test_set();
    test_work();
    test_speeds();
    bale_work_queue_destroy(&queue);
    return check_result();
}
