#include "tests/support/fake_batches.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "kernels/base/clock.h"
#include "kernels/frame/frame.h"
#include "kernels/frame/registry.h"
#include "kernels/round/piece.h"
#include "tests/support/fake_words.h"

struct fake_batch {
    struct fake_batch *next;
    struct bale_item *list;
};

/* ---- Items ---- */

bool fake_batches_leave(const struct bale_item *item)
{
    struct bale_frame head;

    return item->kind == BALE_ITEM_DECODE &&
           bale_frame_head_decode(item->stored, item->stored_length, &head) == BALE_OK &&
           head.codec == BALE_CODEC_ZERO;
}

static int encode(struct fake_batches *batches, struct bale_item *item, const uint8_t *raw)
{
    return bale_frame_encode(batches->scratch, item->setting, raw, &item->frame, item->stored,
                             &item->stored_length);
}

static int encode_rounded(struct fake_batches *batches, struct bale_item *item, const uint8_t *raw)
{
    uint8_t *rounded = malloc(item->frame.raw_length);
    int err;

    if (!rounded)
        abort();
    bale_round_piece(&item->setting.field, item->frame.offset, rounded, raw,
                     item->frame.raw_length);
    err = encode(batches, item, rounded);
    free(rounded);
    return err;
}

static int run_fake_item(struct fake_batches *batches, struct bale_item *item)
{
    uint8_t *raw = fake_memory_real(batches->memory, item->raw);

    if (item->kind == BALE_ITEM_ENCODE &&
        item->capacity < bale_frame_bound(item->frame.raw_length, item->frame.chunk_log2))
        return BALE_E_INVALID;
    if (item->kind == BALE_ITEM_ENCODE)
        return (item->rounds ? encode_rounded : encode)(batches, item, raw);
    if (fake_batches_leave(item))
        return BALE_E_INVALID;
    return bale_frame_decode(batches->scratch, item->stored, item->stored_length, raw,
                             item->frame.raw_length, &item->frame);
}

static int spoil(struct fake_batches *batches, struct bale_item *item, int status)
{
    if (item->kind == BALE_ITEM_ENCODE)
        memset(item->stored, FAKE_RUBBISH, item->capacity / 2);
    else
        memset(fake_memory_real(batches->memory, item->raw), FAKE_RUBBISH,
               item->frame.raw_length / 2);
    memset(&item->frame, FAKE_RUBBISH, sizeof item->frame);
    item->setting.codec = BALE_CODEC_AUTO;
    item->stored_length = 1;
    return status;
}

/* An item's result. fails: a status for all items of its batch, or BALE_OK. */
static int status_of(struct fake_batches *batches, struct bale_item *item, int fails)
{
    unsigned nth = fake_word("item");
    unsigned again = fake_word("again");

    if (again && fails != BALE_E_QUARANTINED && batches->items % again == 0)
        return BALE_E_NO_DEVICE;
    if (fails)
        return spoil(batches, item, fails);
    if (item->kind == BALE_ITEM_DECODE && fake_word("corrupt"))
        return spoil(batches, item, BALE_E_CORRUPT);
    if (nth && batches->items % nth == 0)
        return spoil(batches, item, BALE_E_DEVICE);
    return run_fake_item(batches, item);
}

static void end_item(struct fake_batches *batches, struct bale_item *item, int fails)
{
    uint64_t length = item->frame.raw_length;

    batches->items++;
    item->status = status_of(batches, item, fails);
    pthread_mutex_lock(&batches->lock);
    batches->stats.items++;
    if (item->status != BALE_OK)
        batches->stats.failed++;
    else if (item->kind == BALE_ITEM_ENCODE)
        batches->stats.raw_bytes_encoded += length;
    else
        batches->stats.raw_bytes_decoded += length;
    pthread_mutex_unlock(&batches->lock);
    item->done(item);
}

/* ---- Batches ---- */

/* With the lock. */
static void set_open(struct fake_batches *batches, bool open)
{
    batches->stats.open = open;
    batches->stats.kept = !open && fake_word("keeps");
    batches->unpinned = !open && !batches->stats.kept;
}

/* Counts the batch. What fails with all of it, or BALE_OK. */
static int begin_batch(struct fake_batches *batches)
{
    struct bale_gpu_stats *stats = &batches->stats;
    unsigned nth = fake_word("batch");

    pthread_mutex_lock(&batches->lock);
    if (stats->batches++ == 0)
        stats->opening.taken_ns = bale_clock_ns() - stats->opening.begin_ns;
    set_open(batches, true);
    stats->lost = fake_word("lost") && stats->batches > fake_word("lost");
    bool fails =
        stats->lost || stats->batches <= fake_word("first") || (nth && stats->batches % nth == 0);
    pthread_mutex_unlock(&batches->lock);
    return fails ? BALE_E_ENGINE : BALE_OK;
}

/* Sets a time of the timeline, once. */
static void note_time(struct fake_batches *batches, uint64_t *time)
{
    pthread_mutex_lock(&batches->lock);
    if (*time == 0)
        *time = bale_clock_ns() - batches->stats.opening.begin_ns;
    pthread_mutex_unlock(&batches->lock);
}

void fake_batches_set_open(struct fake_batches *batches, bool open)
{
    pthread_mutex_lock(&batches->lock);
    set_open(batches, open);
    pthread_mutex_unlock(&batches->lock);
}

void fake_batches_unpin(struct fake_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    batches->unpinned |= batches->stats.kept;
    pthread_mutex_unlock(&batches->lock);
}

bool fake_batches_are_unpinned(struct fake_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    bool unpinned = batches->unpinned;
    pthread_mutex_unlock(&batches->lock);
    return unpinned;
}

void fake_batches_note_pinned(struct fake_batches *batches)
{
    note_time(batches, &batches->stats.opening.pinned_ns);
}

static void run_batch(struct fake_batches *batches, struct bale_item *list)
{
    unsigned late = fake_word("late");
    int fails = begin_batch(batches);

    if (fake_word("hang")) {
        fake_pause_us(fake_word("hang"));
        fails = BALE_E_ENGINE;
    }
    if (fake_quarantine_refuses(&batches->late, !fake_word("late-hangs"))) {
        fails = BALE_E_NO_DEVICE;
    } else if (late && batches->of_kind[list->kind == BALE_ITEM_DECODE]++ % late == 0) {
        fake_quarantine_begin(&batches->late, &batches->options, list);
        fails = BALE_E_QUARANTINED;
    }
    fake_pause_us(fake_word("delay"));
    note_time(batches, &batches->stats.opening.done_ns);
    while (list) {
        struct bale_item *next = list->next;
        end_item(batches, list, fails);
        list = next;
    }
    fake_quarantine_write(&batches->late);
}

/* With the lock. NULL: there is none. */
static struct fake_batch *take_batch(struct fake_batches *batches)
{
    struct fake_batch *batch = batches->first;

    if (batch) {
        batches->first = batch->next;
        if (!batches->first)
            batches->end = &batches->first;
    }
    return batch;
}

static void *fake_batch_thread(void *argument)
{
    struct fake_batches *batches = argument;
    struct fake_batch *batch;

    pthread_mutex_lock(&batches->lock);
    while ((batch = take_batch(batches)) || !batches->stop) {
        if (!batch) {
            pthread_cond_wait(&batches->wake, &batches->lock);
            continue;
        }
        pthread_mutex_unlock(&batches->lock);
        run_batch(batches, batch->list);
        free(batch);
        pthread_mutex_lock(&batches->lock);
    }
    pthread_mutex_unlock(&batches->lock);
    return NULL;
}

bool fake_batches_start(struct fake_batches *batches, const struct bale_gpu_options *options,
                        const struct fake_memory *memory)
{
    if (bale_scratch_create(&batches->scratch) != BALE_OK)
        return false;
    batches->options = *options;
    batches->memory = memory;
    batches->end = &batches->first;
    pthread_mutex_init(&batches->lock, NULL);
    pthread_cond_init(&batches->wake, NULL);
    if (pthread_create(&batches->thread, NULL, fake_batch_thread, batches) != 0)
        abort();
    return true;
}

void fake_batches_stop(struct fake_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    batches->stop = true;
    pthread_cond_signal(&batches->wake);
    pthread_mutex_unlock(&batches->lock);
    pthread_join(batches->thread, NULL);
    if (!fake_word("late-hangs"))
        fake_quarantine_end(&batches->late);
    pthread_cond_destroy(&batches->wake);
    pthread_mutex_destroy(&batches->lock);
    bale_scratch_destroy(batches->scratch);
}

void fake_batches_add(struct fake_batches *batches, struct bale_item *list)
{
    struct fake_batch *batch = malloc(sizeof *batch);

    if (!batch)
        abort();
    *batch = (struct fake_batch){.list = list};
    pthread_mutex_lock(&batches->lock);
    *batches->end = batch;
    batches->end = &batch->next;
    pthread_cond_signal(&batches->wake);
    pthread_mutex_unlock(&batches->lock);
}

struct bale_gpu_stats fake_batches_stats(struct fake_batches *batches)
{
    pthread_mutex_lock(&batches->lock);
    struct bale_gpu_stats stats = batches->stats;
    pthread_mutex_unlock(&batches->lock);
    return stats;
}
