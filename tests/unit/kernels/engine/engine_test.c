/* The CPU engine: many items from many threads, order, and the end. */
#include <pthread.h>
#include <semaphore.h>

#include "format/err.h"
#include "kernels/engine/engine.h"
#include "tests/check.h"
#include "tests/unit/kernels/engine/rounds.h"

static int rounds = 40;

static enum bale_priority any_priority(uint64_t *state)
{
    return (enum bale_priority)(data_next(state) % BALE_PRIORITIES);
}

static void test_many(unsigned threads)
{
    struct bale_engine *engine;

    REQUIRE(bale_engine_cpu_create(threads, &engine) == BALE_OK);
    CHECK_EQ_STR(engine->ops->name, "cpu");
    rounds_run(&(struct rounds){engine, rounds, any_priority});
    bale_engine_destroy(engine);
}

/* A small item with a chosen completion. */
struct small {
    struct bale_item item;
    uint8_t raw[64];
    uint8_t stored[256];
};

static void prepare_small(struct small *s, enum bale_priority priority,
                          void (*done)(struct bale_item *), void *owner)
{
    s->item = (struct bale_item){
        .kind = BALE_ITEM_ENCODE,
        .priority = priority,
        .setting = {.codec = BALE_CODEC_STORE},
        .frame = {.raw_length = sizeof s->raw, .chunk_log2 = 16},
        .raw = s->raw,
        .stored = s->stored,
        .capacity = sizeof s->stored,
        .done = done,
        .owner = owner,
    };
}

enum { ORDERED = 30 };

struct order {
    sem_t entered;
    sem_t go;
    struct bale_item *seen[ORDERED]; /* by the one worker */
    int count;
};

static void hold_worker(struct bale_item *item)
{
    struct order *order = item->owner;

    sem_post(&order->entered);
    sem_wait(&order->go);
}

static void note_order(struct bale_item *item)
{
    struct order *order = item->owner;

    order->seen[order->count++] = item;
}

/* While the only worker is held, items of all priorities queue up in turns; destroy lets them all
 * finish. */
static void test_order(void)
{
    static struct small items[ORDERED];
    static struct small holder;
    struct order order = {.count = 0};
    struct bale_engine *engine;

    sem_init(&order.entered, 0, 0);
    sem_init(&order.go, 0, 0);
    REQUIRE(bale_engine_cpu_create(1, &engine) == BALE_OK);
    prepare_small(&holder, BALE_PRIORITY_LOW, hold_worker, &order);
    bale_engine_submit(engine, &holder.item);
    sem_wait(&order.entered);
    for (int i = 0; i < ORDERED; i++) {
        prepare_small(&items[i], (enum bale_priority)(BALE_PRIORITIES - 1 - i % BALE_PRIORITIES),
                      note_order, &order);
        bale_engine_submit(engine, &items[i].item);
    }
    sem_post(&order.go);
    bale_engine_destroy(engine);

    CHECK_EQ(order.count, ORDERED);
    for (int i = 1; i < order.count; i++) {
        const struct bale_item *a = order.seen[i - 1];
        const struct bale_item *b = order.seen[i];
        CHECK(a->priority < b->priority || (a->priority == b->priority && a < b));
    }
    sem_destroy(&order.go);
    sem_destroy(&order.entered);
}

static void count_down(struct bale_item *item)
{
    CHECK_EQ(item->status, BALE_OK);
    atomic_fetch_sub((atomic_int *)item->owner, 1);
}

static void test_destroy(void)
{
    enum { ITEMS = 3000 };
    struct small *items = calloc(ITEMS, sizeof *items);
    struct bale_engine *engine;
    atomic_int left = ITEMS;

    REQUIRE(items && bale_engine_cpu_create(3, &engine) == BALE_OK);
    for (int i = 0; i < ITEMS; i++) {
        prepare_small(&items[i], BALE_PRIORITY_NORMAL, count_down, &left);
        items[i].item.next = i > 0 ? &items[i - 1].item : NULL;
    }
    bale_engine_submit(engine, &items[ITEMS - 1].item);
    bale_engine_destroy(engine);
    CHECK_EQ(atomic_load(&left), 0);
    free(items);
    bale_engine_destroy(NULL);
}

struct chain {
    struct bale_engine *engine;
    int left;
};

static void submit_again(struct bale_item *item)
{
    struct chain *chain = item->owner;

    if (--chain->left > 0)
        bale_engine_submit(chain->engine, item);
}

/* An item submitted by a done is among those that destroy waits for. */
static void test_chain(void)
{
    static struct small item;
    struct chain chain = {.left = 1000};

    REQUIRE(bale_engine_cpu_create(2, &chain.engine) == BALE_OK);
    prepare_small(&item, BALE_PRIORITY_NORMAL, submit_again, &chain);
    bale_engine_submit(chain.engine, &item.item);
    bale_engine_destroy(chain.engine);
    CHECK_EQ(chain.left, 0);
}

static void post(struct bale_item *item)
{
    sem_post(item->owner);
}

static void check_status(struct bale_engine *engine, struct small *s, int status)
{
    sem_t finished;

    sem_init(&finished, 0, 0);
    s->item.done = post;
    s->item.owner = &finished;
    bale_engine_submit(engine, &s->item);
    sem_wait(&finished);
    CHECK_EQ(s->item.status, status);
    sem_destroy(&finished);
}

static void test_errors(void)
{
    static struct small s;
    struct bale_engine *engine;

    REQUIRE(bale_engine_cpu_create(0, &engine) == BALE_OK);
    prepare_small(&s, BALE_PRIORITY_NORMAL, NULL, NULL);
    s.item.memory_kind = BALE_MEMORY_DEVICE;
    check_status(engine, &s, BALE_E_INVALID);
    prepare_small(&s, BALE_PRIORITY_NORMAL, NULL, NULL);
    s.item.capacity = bale_frame_bound(sizeof s.raw, 16) - 1;
    check_status(engine, &s, BALE_E_INVALID);
    prepare_small(&s, BALE_PRIORITY_NORMAL, NULL, NULL);
    s.item.frame.chunk_log2 = 255;
    check_status(engine, &s, BALE_E_INVALID);
    prepare_small(&s, BALE_PRIORITY_NORMAL, NULL, NULL);
    s.item.frame.raw_length = 0;
    check_status(engine, &s, BALE_E_INVALID);
    prepare_small(&s, BALE_PRIORITY_NORMAL, NULL, NULL);
    check_status(engine, &s, BALE_OK);
    s.item.kind = BALE_ITEM_DECODE;
    s.stored[s.item.stored_length - 1] ^= 1;
    check_status(engine, &s, BALE_E_CORRUPT);
    bale_engine_destroy(engine);
}

int main(int argc, char **argv)
{
    if (check_few(&argc, argv))
        rounds = 10;
    test_many(1);
    test_many(3);
    test_order();
    test_destroy();
    test_chain();
    test_errors();
    return check_result();
}
