/* Rewriting committed extents. Encoding takes long, so it runs beside the changes of the file: a
 * job reads what is committed and encodes it. A change then replaces the frames of those extents
 * that are still as they were read. */
#include <stdlib.h>

#include "format/err.h"
#include "fs/cache/reserve.h"
#include "fs/cache/rewrite.h"
#include "fs/cache/rounds.h"

/* Raw bytes that are encoded, and bytes of the file that are checked, for one commit. */
#define ENCODE_MOST ((uint64_t)1 << 20)
#define CHECK_MOST ((uint64_t)64 << 20)

/* ---- Storing ---- */

static int store_frame(struct bale_file *file, struct bale_rewrite_frame *made, uint64_t generation)
{
    uint64_t position;

    bale_frame_stamp(made->stored, &made->frame, generation);
    int err = bale_container_write_frame(file->container, made->stored, made->length, &position);
    if (err != BALE_OK)
        return err;
    struct bale_segment segment =
        bale_segment_of_frame(&made->frame, position, (uint32_t)made->length);
    return bale_container_put(file->container, &segment);
}

static void count_rewrite(struct bale_recompress *request, const struct bale_rewrite *rewrite)
{
    request->rewritten++;
    request->logical += rewrite->logical;
    request->before += rewrite->before;
    request->after += rewrite->after;
}

/* Stores the new frames of an extent, unless it has changed. *some: at least one was stored; the
 * new frames hold the same bytes as the old ones, so an extent that failed half-way may be
 * committed. */
static int store_rewrite(struct bale_rewrite_pass *pass, const struct bale_rewrite *rewrite,
                         uint64_t generation, bool *some)
{
    if (!bale_rewrite_is_unchanged(pass->file, pass->attr.extent, rewrite))
        return BALE_OK;
    for (size_t i = 0; i < rewrite->frame_count; i++) {
        int err = store_frame(pass->file, &rewrite->frames[i], generation);
        if (err != BALE_OK)
            return err;
        *some = true;
    }
    count_rewrite(pass->request, rewrite);
    return BALE_OK;
}

static int store_pass(struct bale_rewrite_pass *pass)
{
    struct bale_file *file = pass->file;
    uint64_t generation;
    bool some = false;
    int err = bale_container_begin(file->container, &generation);

    if (err != BALE_OK)
        return err;
    for (struct bale_rewrite *r = pass->first; r && err == BALE_OK; r = r->next)
        err = store_rewrite(pass, r, generation, &some);
    if (!some) {
        bale_container_abandon(file->container);
        return err;
    }
    int committed = bale_reserve_commit(file);
    return err == BALE_OK ? committed : err;
}

void bale_recompress_store(struct bale_change *change)
{
    struct bale_file *file = change->file;

    pthread_mutex_lock(&file->lock);
    bool discarded = file->discarded;
    pthread_mutex_unlock(&file->lock);
    change->error = discarded ? BALE_OK : store_pass(change->pass);
}

/* ---- The call ---- */

static void recompress_finish(void *arg, int64_t result)
{
    struct bale_rewrite_pass *pass = arg;
    struct bale_file *file = pass->file;

    for (struct bale_rewrite *r = pass->first, *next; r; r = next) {
        next = r->next;
        bale_rewrite_free(pass, r);
    }
    pass->done(pass->arg, result);
    free(pass);
    bale_file_unref(file);
}

/* Moves *offset to the extent with the first data at or after it; UINT64_MAX: there is none. */
static int next_data(const struct bale_rewrite_pass *pass, uint64_t *offset)
{
    struct bale_segment segment;
    int err = bale_container_map(pass->file->container, *offset, &segment);

    while (err == BALE_OK && segment.flags & BALE_SEGMENT_UNWRITTEN)
        err = bale_container_map(pass->file->container, segment.offset + segment.length, &segment);
    if (err == BALE_OK && segment.offset > *offset) {
        *offset = segment.offset - segment.offset % pass->attr.extent;
    } else if (err == BALE_E_NOENT) {
        *offset = UINT64_MAX;
        err = BALE_OK;
    }
    return err;
}

/* Encodes extents from *offset on, until there is enough for one commit. */
static int rewrite_some(struct bale_rewrite_pass *pass, uint64_t *offset, uint64_t end,
                        struct bale_scratch *scratch)
{
    uint64_t checked = 0;
    int err = next_data(pass, offset);

    while (err == BALE_OK && *offset < end && pass->encoded < ENCODE_MOST && checked < CHECK_MOST) {
        struct bale_rewrite *rewrite = calloc(1, sizeof *rewrite);
        bool keep = false;
        if (!rewrite)
            return BALE_E_NOMEM;
        rewrite->start = *offset;
        err = bale_rewrite_encode(pass, rewrite, &keep, scratch);
        if (err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED) {
            pass->request->damaged += rewrite->logical;
            err = BALE_OK;
        }
        if (keep) {
            *pass->last = rewrite;
            pass->last = &rewrite->next;
        } else {
            bale_rewrite_free(pass, rewrite);
        }
        if (err == BALE_OK) {
            *offset += pass->attr.extent;
            checked += pass->attr.extent;
            err = next_data(pass, offset);
        }
    }
    return err;
}

/* The setting that the file's data is to be encoded with. */
static struct bale_setting own_setting(struct bale_file *file, struct bale_scratch *scratch)
{
    pthread_mutex_lock(&file->lock);
    if (scratch)
        (void)bale_rounds_load(file, scratch);
    struct bale_setting setting = bale_rounds_setting(file);
    pthread_mutex_unlock(&file->lock);
    return setting;
}

static void recompress_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct bale_rewrite_pass *pass = (struct bale_rewrite_pass *)job;
    struct bale_recompress *request = pass->request;

    bale_container_attr(pass->file->container, &pass->attr);
    pass->setting = request->chosen ? request->setting : own_setting(pass->file, scratch);
    pass->explicit = request->chosen || pass->attr.setting_explicit;
    uint64_t end = request->end < pass->attr.size ? request->end : pass->attr.size;
    uint64_t offset = request->offset - request->offset % pass->attr.extent;
    int err = scratch ? rewrite_some(pass, &offset, end, scratch) : BALE_E_NOMEM;
    request->over = offset >= end;
    request->offset = request->over ? end : offset;
    if (err == BALE_E_NOMEM && !request->insist) {
        /* Extents that were encoded before memory ran out are still stored. */
        request->busy = !pass->first;
        err = BALE_OK;
    }
    if (err != BALE_OK || !pass->first || request->dry) {
        for (const struct bale_rewrite *r = pass->first; r && request->dry; r = r->next)
            count_rewrite(request, r);
        recompress_finish(pass, err);
        return;
    }
    struct bale_change *change =
        bale_change_create(pass->file, BALE_CHANGE_RECOMPRESS, recompress_finish, pass);
    if (change) {
        change->pass = pass;
        bale_change_offer(change);
    } else {
        recompress_finish(pass, BALE_E_NOMEM);
    }
}

/* Whether writes wait, much is dirty, or something has read since the last call. */
static bool is_busy(struct bale_volume *volume)
{
    uint64_t reads =
        atomic_load(&volume->stats.read_hits) + atomic_load(&volume->stats.read_misses);
    bool read = atomic_exchange(&volume->reads_noted, reads) != reads;

    return read || atomic_load(&volume->dirty) > bale_reserve_dirty_limit(volume) / 64 ||
           bale_volume_writes_wait(volume);
}

void bale_file_recompress(struct bale_file *file, struct bale_recompress *request,
                          bale_file_done *done, void *arg)
{
    struct bale_volume *volume = file->volume;

    request->busy = is_busy(volume) && !request->insist;
    request->busy = request->busy || atomic_load(&volume->frozen);
    if (request->busy) {
        done(arg, BALE_OK);
        return;
    }
    struct bale_rewrite_pass *pass = calloc(1, sizeof *pass);
    if (!pass) {
        done(arg, BALE_E_NOMEM);
        return;
    }
    *pass =
        (struct bale_rewrite_pass){.job = {.run = recompress_job, .turn.user = bale_working_for},
                                   .file = bale_file_ref(file),
                                   .request = request,
                                   .done = done,
                                   .arg = arg};
    pass->last = &pass->first;
    bale_pool_submit(volume->pool, &pass->job);
}
