/* What the root slots say (FORMAT.md section 8), and taking a root over. */
#include <unistd.h>

#include "format/err.h"
#include "fs/container/internal.h"

#define TORN_US 16000 /* the longest pause before a torn root is read again */

/* BALE_OK if a container whose slots are zeros is an empty file, else BALE_E_CORRUPT. */
static int choose_blank(const struct bale_container_config *config, struct bale_root_choice *choice)
{
    choice->session = config->session_state ? config->session_state(config->session_arg, 0)
                                            : BALE_SESSION_UNCERTAIN;
    choice->blank = true;
    return choice->session == BALE_SESSION_CERTAIN ? BALE_E_CORRUPT : BALE_OK;
}

void bale_container_empty_attr(const struct bale_container_attr *defaults,
                               struct bale_container_attr *attr)
{
    *attr = *defaults;
    attr->size = attr->generation = attr->stored = 0;
}

static int read_roots(struct bale_io *io, const struct bale_container_config *config,
                      struct bale_root_choice *choice)
{
    uint8_t head[BALE_DATA_START];
    size_t length;
    int err = io->ops->renew ? io->ops->renew(io) : BALE_OK;

    *choice = (struct bale_root_choice){0};
    if (err == BALE_OK)
        err = io->ops->read(io, head, sizeof head, 0, &length);
    if (err == BALE_OK)
        err = bale_roots_read(head, length, &choice->roots);
    if (err == BALE_E_BLANK) /* the first bytes are zeros */
        err = choose_blank(config, choice);
    return err;
}

/* Whether the root may be torn: a reader beside a writer may see half of one that is being
 * written. */
static bool may_be_torn(int err, const struct bale_root_choice *choice)
{
    return err == BALE_E_CORRUPT || choice->blank || (err == BALE_OK && choice->roots.damaged);
}

int bale_container_choose(struct bale_io *io, const struct bale_container_config *config,
                          struct bale_root_choice *choice)
{
    const struct bale_root *newest;
    int err = read_roots(io, config, choice);

    for (unsigned us = 1000; config->follows && may_be_torn(err, choice) && us < TORN_US; us *= 2) {
        usleep(us);
        err = read_roots(io, config, choice);
    }
    if (err != BALE_OK)
        return err;
    if (choice->roots.newest < 0) {
        choice->empty = true;
        return BALE_OK;
    }
    newest = &choice->roots.root[choice->roots.newest];
    choice->session = bale_container_session(config, newest->session);
    if (choice->session == BALE_SESSION_CERTAIN) {
        choice->check_newest = choice->roots.damaged;
    } else {
        choice->check_newest = newest->height != 0;
        if (choice->session == BALE_SESSION_UNCERTAIN || !choice->roots.damaged)
            choice->above = newest->durable;
    }
    return BALE_OK;
}

void bale_container_adopt(struct bale_container *c, const struct bale_roots *roots, int slot)
{
    struct bale_container_attr attr;

    c->root = roots->root[slot];
    c->slot = slot;
    atomic_store(&c->id, c->root.container_id);
    bale_container_root_attr(&c->root, &attr);
    bale_container_show_attr(c, &attr);
}

int bale_container_take_settings(struct bale_container *c)
{
    int err = bale_index_read_settings(&c->index);

    if (err == BALE_OK && c->index.settings_ref.length > 0) {
        struct bale_container_attr attr = c->attr;

        c->root.field = attr.setting.field = c->index.settings.field;
        c->root.rounds = attr.rounds = c->index.settings.rounds;
        c->root.greatest_step = attr.greatest_step = c->index.settings.greatest_step;
        bale_container_show_attr(c, &attr);
    }
    return err == BALE_E_CORRUPT ? BALE_OK : err;
}
