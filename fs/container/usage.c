/* Statistics of everything that the newest root on disk refers to. */
#include <string.h>

#include "format/err.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"

/* After so many commits during a count, the next one takes the writer lock: commits then wait. */
#define COMMITS_MOST 3

struct count {
    struct bale_container_usage *usage;
    struct bale_frame_set frames;
    uint64_t stored;
};

static int count_page(void *arg, const struct bale_ref *ref, const struct bale_page *page)
{
    struct count *count = arg;

    (void)page;
    count->usage->pages++;
    count->usage->page_bytes += ref->length;
    return BALE_OK;
}

static void count_raw(struct bale_container_usage *usage, struct bale_frame_entry *frame,
                      const struct bale_segment *segment)
{
    uint32_t reach = segment->skip + segment->length;

    if (reach <= frame->reach)
        return;
    usage->raw[segment->codec] += reach - frame->reach;
    frame->reach = reach;
}

static int count_segment(void *arg, const struct bale_segment *segment)
{
    struct count *count = arg;
    struct bale_container_usage *usage = count->usage;
    int added;

    if ((segment->flags & BALE_SEGMENT_UNWRITTEN) != 0) {
        usage->unwritten += segment->length;
        return BALE_OK;
    }
    usage->logical[segment->codec] += segment->length;
    added = bale_frame_set_add(&count->frames, segment);
    if (added < 0)
        return added;
    count_raw(usage, &count->frames.frames[count->frames.last], segment);
    if (added == 0)
        return BALE_OK;
    usage->extents[segment->codec]++;
    usage->stored[segment->codec] += segment->frame_length;
    count->stored += segment->frame_length;
    return BALE_OK;
}

/* What is counted, as it was while the writer lock was held. */
struct snapshot {
    struct bale_root root;
    uint64_t deferred;
    uint8_t height;
};

/* Under the writer lock. */
static void take_snapshot(struct bale_container *c, struct snapshot *snapshot)
{
    snapshot->root = c->root;
    snapshot->deferred = bale_container_deferred_bytes(c);
    snapshot->height = c->index.height;
}

static int count_root(struct bale_container *c, const struct bale_root *root, struct count *count)
{
    const struct bale_index_visitor visitor = {
        .arg = count, .page = count_page, .segment = count_segment};
    int err;

    bale_frame_set_init(&count->frames, root->extent);
    err = bale_index_visit_root(c->io, root, &visitor);
    bale_frame_set_clear(&count->frames);
    return err;
}

static int count_all(struct bale_container *c, const struct snapshot *snapshot,
                     struct bale_container_usage *usage)
{
    struct count count = {.usage = usage};
    uint64_t used;
    int err = BALE_OK;

    memset(usage, 0, sizeof *usage);
    if (snapshot->root.generation > 0) {
        err = count_root(c, &snapshot->root, &count);
        usage->height = snapshot->height;
        usage->deferred = snapshot->deferred;
        used = count.stored + usage->page_bytes + usage->deferred;
        if (used < snapshot->root.end - BALE_DATA_START)
            usage->free = snapshot->root.end - BALE_DATA_START - used;
    }
    return err;
}

/* Counts all pages without the writer lock, which would keep commits waiting. *moved: a commit came
 * meanwhile, so that pages may have been overwritten and fail their checks. */
static int count_beside(struct bale_container *c, struct bale_container_usage *usage, bool *moved)
{
    struct snapshot snapshot;

    bale_container_lock_writer(c);
    take_snapshot(c, &snapshot);
    bale_container_unlock_writer(c);
    int err = count_all(c, &snapshot, usage);
    bale_container_lock_writer(c);
    *moved = c->root.generation != snapshot.root.generation;
    bale_container_unlock_writer(c);
    return err;
}

static int count_locked(struct bale_container *c, struct bale_container_usage *usage)
{
    struct snapshot snapshot;

    bale_container_lock_writer(c);
    take_snapshot(c, &snapshot);
    int err = count_all(c, &snapshot, usage);
    bale_container_unlock_writer(c);
    return err;
}

int bale_container_usage(struct bale_container *c, struct bale_container_usage *usage)
{
    unsigned commits = 0, tries = 0;
    int err;

    do {
        bool moved = false;
        err = commits < COMMITS_MOST ? count_beside(c, usage, &moved) : count_locked(c, usage);
        if (err == BALE_OK)
            return err;
        if (moved)
            commits++;
        else if (++tries == BALE_MOVED_TRIES || !bale_container_reconsider(c, err))
            return err;
    } while (true);
}
