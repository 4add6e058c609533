/* Following the commits of somebody else, who may replace what a root refers to while it is read.
 * What was live in the newest root is never overwritten; so what fails its check is damaged only if
 * the newest root, read after that, is still the same. */
#include <unistd.h>

#include "format/err.h"
#include "fs/container/internal.h"
#include "kernels/base/clock.h"

/* What another machine writes may arrive in another order, and some seconds later. */
#define PATIENCE_NS (8 * BALE_SECOND_NS)
#define FORGET_NS (60 * BALE_SECOND_NS) /* a failure after this time gets new patience */
#define PAUSE_US 50000
#define LOOKS 16 /* at a root that was rejected */

static bool same_root(const struct bale_root *a, const struct bale_root *b)
{
    return a->generation == b->generation && a->container_id == b->container_id &&
           a->session == b->session && a->size == b->size && a->mtime == b->mtime &&
           a->tree.position == b->tree.position && a->tree.checksum == b->tree.checksum;
}

/* Whether there is a newer root than the one in use. If only the older of the two slots can be
 * read, it is not known, and counts as no. */
static bool is_news(const struct bale_container *c, const struct bale_root_choice *choice,
                    const struct bale_root *newest)
{
    if (choice->roots.damaged && newest->container_id == c->seen.container_id &&
        newest->generation < c->seen.generation)
        return false;
    return !same_root(newest, &c->seen);
}

/* Whether a rejected root is good by now: what it refers to may have arrived. */
static bool is_whole_now(struct bale_container *c, const struct bale_root_choice *choice)
{
    if (c->rejected == 0 || !c->config->remote || c->looks >= LOOKS || choice->empty)
        return false;
    c->looks++;
    return bale_root_verify(c->io, &choice->roots.root[choice->roots.newest], choice->above,
                            NULL) == BALE_OK;
}

/* Under the writer lock. */
static int take_root(struct bale_container *c, const struct bale_root_choice *choice)
{
    int err;

    pthread_rwlock_wrlock(&c->index_lock);
    bale_index_clear(&c->index);
    if (choice->empty) {
        c->root = (struct bale_root){0};
        bale_container_show_attr(c, &c->empty);
        atomic_store(&c->id, 0);
    } else {
        bale_container_adopt(c, &choice->roots, choice->roots.newest);
    }
    bale_index_init(&c->index, c->io, choice->empty ? NULL : &c->root, c->attr.extent);
    err = bale_container_take_settings(c);
    c->seen = c->root;
    c->next = c->attr;
    c->generation = c->root.generation;
    c->rejected = 0;
    c->looks = 0;
    c->doubted = 0;
    /* Count the epoch up last: a thread that sees the new one sees all attributes of it. */
    atomic_fetch_add(&c->epoch, 1);
    pthread_rwlock_unlock(&c->index_lock);
    return err;
}

/* Under the writer lock. */
static int look_for_root(struct bale_container *c)
{
    const struct bale_root none = {0};
    struct bale_root_choice choice;
    int err = bale_container_choose(c->io, c->config, &choice);

    if (err != BALE_OK)
        return err;
    if (!is_news(c, &choice, choice.empty ? &none : &choice.roots.root[choice.roots.newest]) &&
        !is_whole_now(c, &choice))
        return 0;
    err = take_root(c, &choice);
    return err == BALE_OK ? 1 : err;
}

int bale_container_follow(struct bale_container *c)
{
    int result;

    if (!c->config->follows)
        return 0;
    bale_container_lock_writer(c);
    result = look_for_root(c);
    bale_container_unlock_writer(c);
    return result;
}

/* Whether it is too early to call the container damaged. Reads the index again, because a page of
 * it may be what failed. Under the writer lock. */
static bool is_early(struct bale_container *c)
{
    if (!c->config->remote)
        return false;
    uint64_t now = bale_clock_ns();
    if (c->doubted == 0 || now - c->doubted > FORGET_NS)
        c->doubted = now;
    if (now - c->doubted > PATIENCE_NS)
        return false;
    pthread_rwlock_wrlock(&c->index_lock);
    bale_index_clear(&c->index);
    bale_index_init(&c->index, c->io, c->root.generation > 0 ? &c->root : NULL, c->attr.extent);
    (void)bale_container_take_settings(c);
    pthread_rwlock_unlock(&c->index_lock);
    return true;
}

bool bale_container_reconsider(struct bale_container *c, int err)
{
    int moved;
    bool again;

    if (!c->config->follows ||
        (err != BALE_E_CORRUPT && err != BALE_E_UNSUPPORTED && err != BALE_E_IO && err != BALE_OK))
        return false;
    bale_container_lock_writer(c);
    moved = look_for_root(c);
    again = moved > 0 || (err != BALE_OK && is_early(c));
    bale_container_unlock_writer(c);
    if (again && moved <= 0)
        usleep(PAUSE_US);
    return again;
}

uint64_t bale_container_epoch(struct bale_container *c, struct bale_container_attr *attr)
{
    /* Read the epoch first: if the attributes turn out to be newer, they are read again with the
     * next one. */
    uint64_t epoch = atomic_load(&c->epoch);

    if (attr)
        bale_container_attr(c, attr);
    return epoch;
}

uint32_t bale_container_stamp(struct bale_container *c)
{
    struct bale_container_attr attr;

    bale_container_attr(c, &attr);
    uint32_t stamp = (uint32_t)(atomic_load(&c->id) >> 32) + (uint32_t)attr.generation;
    return stamp ? stamp : 1;
}
