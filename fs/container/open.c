/* Choosing a root (FORMAT.md section 8), opening and closing. */
#include <string.h>

#include "format/err.h"
#include "fs/container/internal.h"

static bool is_certain(const struct bale_container_config *config, uint32_t session)
{
    return config->session_certain && config->session_certain(config->session_arg, session);
}

static void empty_attr(const struct bale_container_attr *defaults, struct bale_container_attr *attr)
{
    *attr = *defaults;
    attr->size = attr->generation = attr->stored = 0;
}

int bale_container_choose(struct bale_io *io, const struct bale_container_config *config,
                          struct bale_root_choice *choice)
{
    uint8_t head[BALE_DATA_START];
    const struct bale_root *newest;
    size_t length;
    int err;

    *choice = (struct bale_root_choice){0};
    err = io->ops->read(io, head, sizeof head, 0, &length);
    if (err == BALE_OK)
        err = bale_roots_read(head, length, &choice->roots);
    if (err == BALE_E_BLANK) /* the first bytes are zeros */
        err = is_certain(config, 0) ? BALE_E_CORRUPT : BALE_OK;
    if (err != BALE_OK)
        return err;
    if (choice->roots.newest < 0) {
        choice->empty = true;
        return BALE_OK;
    }
    newest = &choice->roots.root[choice->roots.newest];
    if (!is_certain(config, newest->session)) {
        choice->check_newest = newest->height != 0;
        choice->above = newest->durable;
    } else {
        choice->check_newest = choice->roots.damaged;
    }
    return BALE_OK;
}

int bale_container_peek(struct bale_io *io, const struct bale_container_config *config,
                        const struct bale_container_attr *defaults,
                        struct bale_container_attr *attr, char *feature)
{
    struct bale_root_choice choice;
    int err = bale_container_choose(io, config, &choice);

    if (feature)
        memcpy(feature, choice.roots.feature, sizeof choice.roots.feature);
    if (err != BALE_OK)
        return err;
    if (choice.check_newest)
        return BALE_E_UNVERIFIED;
    if (choice.empty)
        empty_attr(defaults, attr);
    else
        bale_container_root_attr(&choice.roots.root[choice.roots.newest], attr);
    return BALE_OK;
}

static bool same_tree(const struct bale_root *a, const struct bale_root *b)
{
    return a->height == b->height && a->tree.position == b->tree.position &&
           a->tree.length == b->tree.length && a->tree.checksum == b->tree.checksum;
}

/* Sets what is known to be durable when the newest root is used without verifying it. */
static void derive_durable(struct bale_container *c, const struct bale_roots *roots)
{
    const struct bale_root *root = &c->root;
    uint32_t session = atomic_load(c->config->session);

    if (!is_certain(c->config, root->session)) { /* there was nothing to verify */
        c->sync_before_write = true;
        return;
    }
    if (root->session != session && root->session + 1 != session) {
        c->durable = root->generation;
        c->durable_slot = c->slot;
        return;
    }
    /* The session before this one may end just now: then its last roots are not durable yet, and
     * older roots may be durable although no root says so. */
    c->sync_before_write = root->session != session;
    if (root->durable == 0)
        return;
    if (roots->fallback >= 0 && roots->root[roots->fallback].generation == root->durable) {
        c->durable = root->durable;
        c->durable_slot = roots->fallback;
        if (same_tree(root, &roots->root[roots->fallback]))
            return;
    }
    c->sync_before_write = true;
}

/* Makes the root in slot the container's. */
static void adopt(struct bale_container *c, const struct bale_roots *roots, int slot)
{
    c->root = roots->root[slot];
    c->slot = slot;
    atomic_store(&c->id, c->root.container_id);
    bale_container_root_attr(&c->root, &c->attr);
}

static bool may_write(const struct bale_container *c)
{
    return c->config->writable && !bale_container_is_broken(c);
}

/* Syncs what verification found valid, and records that durably. */
static int confirm(struct bale_container *c)
{
    int err = bale_container_make_durable(c);

    if (err != BALE_OK)
        return err;
    err = bale_container_repeat_root(c);
    return err == BALE_OK ? bale_container_make_durable(c) : err;
}

/* Uses the newest root if it can be verified, else the fallback, else treats the file as empty. */
static int choose_verified(struct bale_container *c, const struct bale_root_choice *choice)
{
    const struct bale_roots *roots = &choice->roots;
    const struct bale_root *newest = &roots->root[roots->newest];
    int err = bale_root_verify(c->io, newest, choice->above);

    if (err == BALE_OK) {
        adopt(c, roots, roots->newest);
        return may_write(c) ? confirm(c) : BALE_OK;
    }
    if (err != BALE_E_CORRUPT || is_certain(c->config, newest->session))
        return err;
    c->rejected = newest->generation;
    c->generation = newest->generation;
    c->slot = roots->newest;
    if (roots->fallback >= 0) {
        err = bale_root_verify(c->io, &roots->root[roots->fallback], 0);
        if (err == BALE_OK) {
            adopt(c, roots, roots->fallback);
            return may_write(c) ? confirm(c) : BALE_OK;
        }
    }
    if (err != BALE_E_CORRUPT || newest->durable != 0)
        return err;
    c->root.container_id = newest->container_id;
    return may_write(c) ? c->io->ops->truncate(c->io, 0) : BALE_OK;
}

static int choose_root(struct bale_container *c, char *feature)
{
    struct bale_root_choice choice;
    uint64_t size = 0;
    int err = bale_container_choose(c->io, c->config, &choice);

    if (feature)
        memcpy(feature, choice.roots.feature, sizeof choice.roots.feature);
    if (err != BALE_OK)
        return err;
    if (choice.empty) {
        err = c->io->ops->size(c->io, &size);
        atomic_store(&c->slack, size > 0); /* a power loss may leave frames without a root */
        return err;
    }
    c->generation = choice.roots.root[choice.roots.newest].generation;
    if (choice.check_newest)
        return choose_verified(c, &choice);
    adopt(c, &choice.roots, choice.roots.newest);
    if (c->config->writable)
        derive_durable(c, &choice.roots);
    return BALE_OK;
}

int bale_container_open(struct bale_io *io, const struct bale_container_config *config,
                        const struct bale_container_attr *defaults,
                        struct bale_container **container, char *feature)
{
    struct bale_container *c = bale_container_create(io, config);
    int err = BALE_OK;

    *container = NULL;
    if (feature)
        *feature = '\0';
    if (!c)
        return BALE_E_NOMEM;
    empty_attr(defaults, &c->attr);
    err = choose_root(c, feature);
    if (err != BALE_OK) {
        bale_container_destroy(c);
        return err;
    }
    c->next = c->attr;
    bale_index_init(&c->index, io, c->root.generation > 0 ? &c->root : NULL, c->attr.extent);
    *container = c;
    return BALE_OK;
}

void bale_container_close(struct bale_container *c)
{
    if (!c)
        return;
    if (may_write(c)) {
        if (c->durable_unrecorded)
            (void)bale_container_repeat_root(c);
        if (c->root.generation == 0) /* nothing in it was ever committed */
            bale_index_clear(&c->index);
        if (c->ready)
            (void)bale_space_trim(c);
    }
    bale_container_destroy(c);
}
