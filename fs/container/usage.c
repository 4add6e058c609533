/* Statistics of everything that the newest root on disk refers to. */
#include <string.h>

#include "format/err.h"
#include "fs/container/frame_set.h"
#include "fs/container/internal.h"

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

static int count_root(struct bale_container *c, struct count *count)
{
    const struct bale_index_visitor visitor = {
        .arg = count, .page = count_page, .segment = count_segment};
    int err;

    bale_frame_set_init(&count->frames, c->root.extent);
    err = bale_index_visit_root(c->io, &c->root, &visitor);
    bale_frame_set_clear(&count->frames);
    return err;
}

/* Under the writer lock. */
static int count_all(struct bale_container *c, struct bale_container_usage *usage)
{
    struct count count = {.usage = usage};
    uint64_t used;
    int err = BALE_OK;

    memset(usage, 0, sizeof *usage);
    if (c->root.generation > 0) {
        err = count_root(c, &count);
        usage->height = c->index.height;
        usage->deferred = bale_container_deferred_bytes(c);
        used = count.stored + usage->page_bytes + usage->deferred;
        if (used < c->root.end - BALE_DATA_START)
            usage->free = c->root.end - BALE_DATA_START - used;
    }
    return err;
}

int bale_container_usage(struct bale_container *c, struct bale_container_usage *usage)
{
    unsigned tries = 0;
    int err;

    do {
        bale_container_lock_writer(c);
        err = count_all(c, usage);
        bale_container_unlock_writer(c);
    } while (err != BALE_OK && ++tries < BALE_MOVED_TRIES && bale_container_reconsider(c, err));
    return err;
}
