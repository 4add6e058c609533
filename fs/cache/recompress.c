/* Storing committed extents anew. Encoding takes long and needs no turn: what is committed is read
 * and encoded beside whatever else happens to the file, and a turn then replaces the frames of
 * those extents that are still as they were read. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/rewrite.h"

/* Raw bytes encoded for one commit, and looked at for it. */
#define WORK_MOST ((uint64_t)1 << 20)
#define LOOK_MOST ((uint64_t)64 << 20)

/* ---- Storing ---- */

static int store(struct bale_file *file, struct bale_renewed *new, uint64_t generation)
{
    uint64_t position;

    bale_frame_stamp(new->stored, &new->frame, generation);
    int err = bale_container_write_frame(file->container, new->stored, new->length, &position);
    if (err != BALE_OK)
        return err;
    struct bale_segment segment = {
        .offset = new->frame.offset,
        .position = position,
        .generation = generation,
        .length = new->frame.raw_length,
        .frame_length = (uint32_t) new->length,
        .codec = new->frame.codec,
        .chunk_log2 = new->frame.chunk_log2,
        .checksum = new->frame.head_checksum,
    };
    return bale_container_put(file->container, &segment);
}

static void count(struct bale_recompress *what, const struct bale_renewal *renewal)
{
    what->renewed++;
    what->logical += renewal->logical;
    what->before += renewal->before;
    what->after += renewal->after;
}

void bale_recompress_store(struct bale_turn *turn)
{
    struct bale_renewals *all = turn->renewals;
    struct bale_file *file = turn->file;
    uint64_t generation;
    bool some = false;

    pthread_mutex_lock(&file->lock);
    bool discarded = file->discarded;
    pthread_mutex_unlock(&file->lock);
    int err = discarded ? BALE_OK : bale_container_begin(file->container, &generation);
    if (discarded || err != BALE_OK) {
        turn->error = err;
        return;
    }
    for (struct bale_renewal *r = all->first; r && err == BALE_OK; r = r->next) {
        if (!bale_renewal_is_unchanged(file, all->attr.extent, r))
            continue;
        for (size_t i = 0; i < r->frame_count && err == BALE_OK; i++) {
            err = store(file, &r->frames[i], generation);
            some = some || err == BALE_OK;
        }
        if (err == BALE_OK)
            count(all->what, r);
    }
    /* Of an extent that was not finished, the pieces that are there hold what the old ones did. */
    if (some) {
        int committed = bale_file_commit(file);
        err = err == BALE_OK ? committed : err;
    } else {
        bale_container_abandon(file->container);
    }
    turn->error = err;
}

/* ---- The call ---- */

static void finish(void *arg, int64_t result)
{
    struct bale_renewals *all = arg;
    struct bale_file *file = all->file;

    for (struct bale_renewal *r = all->first, *next; r; r = next) {
        next = r->next;
        bale_renewal_free(all, r);
    }
    all->done(all->arg, result);
    free(all);
    bale_file_unref(file);
}

/* The extent that the first data at or after offset lies in; UINT64_MAX: there is none. */
static int next_data(const struct bale_renewals *all, uint64_t *offset)
{
    struct bale_segment segment;
    int err = bale_container_map(all->file->container, *offset, &segment);

    while (err == BALE_OK && segment.flags & BALE_SEGMENT_UNWRITTEN)
        err = bale_container_map(all->file->container, segment.offset + segment.length, &segment);
    if (err == BALE_OK && segment.offset > *offset) {
        *offset = segment.offset - segment.offset % all->attr.extent;
    } else if (err == BALE_E_NOENT) {
        *offset = UINT64_MAX;
        err = BALE_OK;
    }
    return err;
}

/* Extents from *offset on, until there was enough to do. */
static int renew_some(struct bale_renewals *all, uint64_t *offset, uint64_t end,
                      struct bale_scratch *scratch)
{
    uint64_t looked = 0;
    int err = next_data(all, offset);

    while (err == BALE_OK && *offset < end && all->encoded < WORK_MOST && looked < LOOK_MOST) {
        struct bale_renewal *renewal = calloc(1, sizeof *renewal);
        bool keep = false;
        if (!renewal)
            return BALE_E_NOMEM;
        renewal->start = *offset;
        err = bale_renewal_make(all, renewal, &keep, scratch);
        if (err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED) {
            all->what->damaged += renewal->logical;
            err = BALE_OK;
        }
        if (keep) {
            *all->last = renewal;
            all->last = &renewal->next;
        } else {
            bale_renewal_free(all, renewal);
        }
        if (err == BALE_OK) {
            *offset += all->attr.extent;
            looked += all->attr.extent;
            err = next_data(all, offset);
        }
    }
    return err;
}

static void run(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_renewals *all = (struct bale_renewals *)job;
    struct bale_recompress *what = all->what;

    bale_container_attr(all->file->container, &all->attr);
    all->setting = what->chosen ? what->setting : all->attr.setting;
    all->explicit = what->chosen || all->attr.setting_explicit;
    uint64_t end = what->end < all->attr.size ? what->end : all->attr.size;
    uint64_t offset = what->offset - what->offset % all->attr.extent;
    int err = scratch ? renew_some(all, &offset, end, scratch) : BALE_E_NOMEM;
    what->over = offset >= end;
    what->offset = what->over ? end : offset;
    if (err == BALE_E_NOMEM && !what->insist) {
        /* What was done before stands. */
        what->busy = !all->first;
        err = BALE_OK;
    }
    if (err != BALE_OK || !all->first || what->dry) {
        for (const struct bale_renewal *r = all->first; r && what->dry; r = r->next)
            count(what, r);
        finish(all, err);
        return;
    }
    struct bale_turn *turn = bale_turn_create(all->file, BALE_TURN_RECOMPRESS, finish, all);
    if (turn) {
        turn->renewals = all;
        bale_turn_offer(turn);
    } else {
        finish(all, BALE_E_NOMEM);
    }
}

/* Somebody waits to write or has much to be written, or has read since this was asked last. */
static bool is_busy(struct bale_volume *volume)
{
    uint64_t reads =
        atomic_load(&volume->stats.read_hits) + atomic_load(&volume->stats.read_misses);
    bool read = atomic_exchange(&volume->reads_seen, reads) != reads;

    return read || atomic_load(&volume->dirty) > atomic_load(&volume->dirty_limit) / 64 ||
           bale_volume_writes_wait(volume);
}

void bale_file_recompress(struct bale_file *file, struct bale_recompress *what,
                          bale_file_done *done, void *arg)
{
    struct bale_volume *volume = file->volume;

    what->busy = is_busy(volume) && !what->insist;
    what->busy = what->busy || atomic_load(&volume->frozen);
    if (what->busy) {
        done(arg, BALE_OK);
        return;
    }
    struct bale_renewals *all = calloc(1, sizeof *all);
    if (!all) {
        done(arg, BALE_E_NOMEM);
        return;
    }
    *all = (struct bale_renewals){
        .job = {run, NULL}, .file = bale_file_ref(file), .what = what, .done = done, .arg = arg};
    all->last = &all->first;
    bale_pool_submit(volume->pool, &all->job);
}
