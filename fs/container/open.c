/* Choosing a root (FORMAT.md section 8), opening and closing. */
#include <string.h>

#include "format/err.h"
#include "fs/container/internal.h"

static bool is_certain(const struct bale_container_config *config, uint32_t session)
{
    return bale_container_session(config, session) == BALE_SESSION_CERTAIN;
}

/* A settings page costs a second read; a damaged one is passed over. */
static void peek_root(struct bale_io *io, const struct bale_root *root,
                      struct bale_container_attr *attr)
{
    struct bale_index index;

    bale_container_root_attr(root, attr);
    bale_index_init(&index, io, root, root->extent);
    if (index.settings_ref.length > 0 && bale_index_read_settings(&index) == BALE_OK) {
        attr->setting.field = index.settings.field;
        attr->rounds = index.settings.rounds;
        attr->greatest_step = index.settings.greatest_step;
    }
    bale_index_clear(&index);
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
    if (choice.empty)
        bale_container_empty_attr(defaults, attr);
    else
        peek_root(io, &choice.roots.root[choice.roots.newest], attr);
    return choice.check_newest ? BALE_E_UNVERIFIED : BALE_OK;
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

static bool may_write(const struct bale_container *c)
{
    return !c->read_only && !bale_container_is_broken(c);
}

/* Syncs what verification found valid, and records that durably. */
static int confirm(struct bale_container *c)
{
    int err;

    if (!may_write(c))
        return BALE_OK;
    err = bale_container_make_durable(c);
    if (err != BALE_OK)
        return err;
    err = bale_container_repeat_root(c);
    return err == BALE_OK ? bale_container_make_durable(c) : err;
}

/* Uses the newest root as it is, and makes the container read-only until somebody decides. */
static int hold_newest(struct bale_container *c, const struct bale_roots *roots)
{
    bale_container_adopt(c, roots, roots->newest);
    c->recovery = BALE_RECOVERY_DAMAGE;
    c->read_only = true;
    return BALE_OK;
}

static int use_older(struct bale_container *c, const struct bale_root_choice *choice)
{
    c->rejected = choice->roots.root[choice->roots.newest].generation;
    c->recovery =
        choice->session == BALE_SESSION_UNKNOWN ? BALE_RECOVERY_MISSING : BALE_RECOVERY_CUT_OFF;
    bale_container_adopt(c, &choice->roots, choice->roots.fallback);
    return confirm(c);
}

/* Nothing was ever durable: the file is empty. */
static int use_nothing(struct bale_container *c, const struct bale_roots *roots)
{
    const struct bale_root *newest = &roots->root[roots->newest];

    c->rejected = newest->generation;
    c->recovery = BALE_RECOVERY_CUT_OFF;
    c->slot = roots->newest;
    c->root.container_id = newest->container_id;
    return may_write(c) ? c->io->ops->truncate(c->io, 0) : BALE_OK;
}

/* Uses the newest root if it can be verified, else the fallback. If neither can be verified: a
 * container that an uncertain session wrote is an empty file, unless something in it was durable;
 * one that an unknown session wrote is used as it is. */
static int choose_verified(struct bale_container *c, const struct bale_root_choice *choice)
{
    const struct bale_roots *roots = &choice->roots;
    const struct bale_root *newest = &roots->root[roots->newest];
    bool missing = false;
    int err = bale_root_verify(c->io, newest, choice->above,
                               choice->session == BALE_SESSION_UNKNOWN ? &missing : NULL);

    if (err == BALE_OK) {
        bale_container_adopt(c, roots, roots->newest);
        return confirm(c);
    }
    if (err != BALE_E_CORRUPT || choice->session == BALE_SESSION_CERTAIN)
        return err;
    if (choice->session == BALE_SESSION_UNKNOWN && !missing)
        return hold_newest(c, roots);
    c->generation = newest->generation;
    if (roots->fallback >= 0) {
        err = bale_root_verify(c->io, &roots->root[roots->fallback], 0, NULL);
        if (err == BALE_OK)
            return use_older(c, choice);
    }
    if (err == BALE_E_CORRUPT && choice->session == BALE_SESSION_UNKNOWN)
        return hold_newest(c, roots);
    return err == BALE_E_CORRUPT && newest->durable == 0 ? use_nothing(c, roots) : err;
}

static int use_picked(struct bale_container *c, const struct bale_roots *roots)
{
    int slot = c->config->pick == BALE_PICK_NEWEST ? roots->newest : roots->fallback;

    if (slot < 0)
        return BALE_E_INVALID;
    c->generation = roots->root[roots->newest].generation;
    if (slot != roots->newest)
        c->rejected = c->generation;
    bale_container_adopt(c, roots, slot);
    c->read_only = true;
    return BALE_OK;
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
    c->seen = choice.empty ? (struct bale_root){0} : choice.roots.root[choice.roots.newest];
    if (choice.roots.damaged)
        c->recovery = BALE_RECOVERY_SLOT;
    if (choice.blank) {
        c->recovery =
            choice.session == BALE_SESSION_UNKNOWN ? BALE_RECOVERY_BLANK : BALE_RECOVERY_CUT_OFF;
        c->read_only = c->read_only || choice.session == BALE_SESSION_UNKNOWN;
    }
    if (choice.empty) {
        err = c->io->ops->size(c->io, &size);
        /* A power loss may leave frames that no root refers to. */
        atomic_store(&c->slack, size > 0);
        return err;
    }
    if (c->config->pick != BALE_PICK_BY_RULES)
        return use_picked(c, &choice.roots);
    c->generation = choice.roots.root[choice.roots.newest].generation;
    if (choice.check_newest)
        return choose_verified(c, &choice);
    bale_container_adopt(c, &choice.roots, choice.roots.newest);
    if (!c->read_only)
        derive_durable(c, &choice.roots);
    return BALE_OK;
}

/* Whether the container looks damaged, or cut off by a crash. */
static bool is_suspect(int err, const struct bale_container *c)
{
    return err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED || err == BALE_E_IO ||
           (err == BALE_OK && c->recovery != BALE_RECOVERY_NONE);
}

/* Beside a writer: what looks damaged may have been replaced while it was verified. Then there is a
 * newer root, which is a living writer's and needs no verification. */
static int choose_beside(struct bale_container *c, char *feature)
{
    for (;;) {
        c->attr = c->empty;
        c->recovery = BALE_RECOVERY_NONE;
        c->rejected = 0;
        int err = choose_root(c, feature);
        if (!is_suspect(err, c) || (feature && *feature))
            return err;
        uint64_t epoch = c->epoch;
        if (!bale_container_reconsider(c, err))
            return err;
        if (c->epoch != epoch)
            return BALE_OK;
    }
}

/* Makes everything else, once the container's index and attributes are chosen. */
static int open_finish(struct bale_container *c, struct bale_container **container)
{
    bale_container_note_durable(c);
    bale_index_init(&c->index, c->io, c->root.generation > 0 ? &c->root : NULL, c->attr.extent);
    int err = bale_container_take_settings(c);

    c->next = c->attr;
    if (err != BALE_OK)
        (void)bale_container_destroy(c);
    else
        *container = c;
    return err;
}

int bale_container_open_empty(struct bale_io *io, const struct bale_container_config *config,
                              const struct bale_container_attr *defaults,
                              struct bale_container **container)
{
    struct bale_container *c = bale_container_create(io, config);

    *container = NULL;
    if (!c)
        return BALE_E_NOMEM;
    bale_container_empty_attr(defaults, &c->empty);
    c->attr = c->empty;
    atomic_store(&c->slack, false);
    c->opened_empty = true;
    return open_finish(c, container);
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
    bale_container_empty_attr(defaults, &c->empty);
    c->attr = c->empty;
    err = c->config->follows ? choose_beside(c, feature) : choose_root(c, feature);
    if (err != BALE_OK) {
        (void)bale_container_destroy(c);
        return err;
    }
    return open_finish(c, container);
}

int bale_container_settle(struct bale_container *c)
{
    int err;

    if (!c->config->writable)
        return BALE_E_RDONLY;
    bale_container_lock_writer(c);
    c->read_only = false;
    err = c->root.generation > 0 ? confirm(c) : c->io->ops->truncate(c->io, 0);
    if (err == BALE_OK)
        c->recovery = BALE_RECOVERY_NONE;
    bale_container_unlock_writer(c);
    return err;
}

bool bale_container_closes_silently(struct bale_container *c)
{
    return !may_write(c) || (!c->durable_unrecorded && (!c->ready || bale_space_is_trim(c)));
}

int bale_container_close(struct bale_container *c)
{
    bool written;
    int err;

    if (!c)
        return BALE_OK;
    written = c->ready || c->durable_unrecorded || c->rejected > 0;
    if (may_write(c)) {
        if (c->durable_unrecorded)
            (void)bale_container_repeat_root(c);
        if (c->root.generation == 0) /* nothing in it was ever committed */
            bale_index_clear(&c->index);
        if (c->ready)
            (void)bale_space_trim(c);
    }
    err = bale_container_destroy(c);
    /* Closing what was only read loses nothing. */
    return !written ? BALE_OK : err == BALE_OK ? 1 : err;
}
