#include "fs/container/repair.h"

#include "format/err.h"
#include "fs/container/internal.h"

bool bale_repair_root(int err, enum bale_recovery recovery, bool settle, enum bale_root_pick wanted,
                      enum bale_root_pick *pick)
{
    *pick = BALE_PICK_NEWEST;
    if (err != BALE_OK)
        return err == BALE_E_CORRUPT;
    if (recovery == BALE_RECOVERY_CUT_OFF)
        return false;
    if (recovery == BALE_RECOVERY_MISSING && !settle)
        return false;
    if (recovery == BALE_RECOVERY_MISSING)
        *pick = BALE_PICK_OLDER;
    if (settle && wanted != BALE_PICK_BY_RULES &&
        (recovery == BALE_RECOVERY_MISSING || recovery == BALE_RECOVERY_DAMAGE))
        *pick = wanted;
    return true;
}

struct repairing {
    struct bale_container *c;
    struct bale_repair *how;
    bool refused; /* keep said no */
    bool unknown; /* a lost page cannot be restored */
};

static bool page_is_lost(void *arg, const struct bale_lost_page *page)
{
    struct repairing *r = arg;

    r->unknown = r->unknown || !page->bytes;
    if (!page->bytes || r->refused)
        return false;
    if (r->how->write && !r->how->keep(r->how->arg, page->position, page->length)) {
        r->refused = true;
        return false;
    }
    r->how->pages++;
    return r->how->write;
}

static int keep_slots(struct repairing *r)
{
    if (r->how->write && !r->how->keep(r->how->arg, 0, BALE_DATA_START))
        r->refused = true;
    return r->refused ? BALE_E_NOSPACE : BALE_OK;
}

/* Keeps the root in use. If the container has frames and the root is that of an empty file, this is
 * refused: the file would become an empty one. */
static int settle_root(struct repairing *r)
{
    int err = r->c->root.generation == 0 ? bale_container_has_frames(r->c) : BALE_OK;

    if (err != BALE_OK) {
        r->how->settled = false;
        return err == 1 ? BALE_OK : err;
    }
    err = keep_slots(r);
    return err == BALE_OK && r->how->write ? bale_container_settle(r->c) : err;
}

/* Whether a repair restores everything: nothing was written yet, and each lost page can be made
 * again. */
static bool will_be_whole(const struct repairing *r)
{
    return !r->how->write && r->how->pages > 0 && !r->unknown;
}

/* Writes a lost slot again if the other root is whole; and accepts a root that is not, if that is
 * wanted. */
static int repair_slots(struct repairing *r)
{
    struct bale_container *c = r->c;
    struct bale_root_choice choice;
    int err = bale_container_choose(c->io, c->config, &choice);

    if (err != BALE_OK || choice.empty || (!choice.roots.damaged && !r->how->stuck))
        return err == BALE_E_CORRUPT ? BALE_OK : err; /* no slot is valid */
    err = bale_root_verify(c->io, &c->root, 0, NULL);
    if (err == BALE_OK || (err == BALE_E_CORRUPT && will_be_whole(r)))
        r->how->slot = choice.roots.damaged;
    else if (err == BALE_E_CORRUPT && r->how->salvage)
        r->how->settled = true;
    else
        return err == BALE_E_CORRUPT ? BALE_OK : err;
    return r->how->slot || r->how->settled ? settle_root(r) : BALE_OK;
}

static int salvage_index(struct repairing *r)
{
    struct bale_repair *how = r->how;

    if (will_be_whole(r))
        return BALE_OK;
    int err = bale_container_salvage(r->c, false, how->found, how->arg, &how->salvaged);

    if (err != BALE_OK || how->salvaged.ranges == 0 || !how->salvage || !how->write)
        return err;
    err = keep_slots(r);
    return err == BALE_OK ? bale_container_salvage(r->c, true, NULL, NULL, &how->salvaged) : err;
}

int bale_container_repair(struct bale_container *c, struct bale_repair *how)
{
    struct repairing r = {.c = c, .how = how};
    int err;

    how->settled = how->settle && !how->stuck;
    err = how->settled ? settle_root(&r) : BALE_OK;
    if (err == BALE_OK && c->root.generation > 0)
        err = bale_container_restore(c, page_is_lost, &r);
    if (err == BALE_OK && r.refused)
        err = BALE_E_NOSPACE;
    if (err == BALE_OK && !how->settled)
        err = repair_slots(&r);
    return err == BALE_OK && c->root.generation > 0 ? salvage_index(&r) : err;
}
