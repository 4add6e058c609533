/* Random work on a container, which is recorded, with what the container must hold after each
 * operation. */
#ifndef BALE_TESTS_CRASH_HISTORY_H
#define BALE_TESTS_CRASH_HISTORY_H

#include "format/err.h"
#include "format/settings.h"
#include "tests/check.h"
#include "tests/support/rig.h"

enum { SIZE_MAX_ = 60000 };

/* The expected state after an operation. */
struct mark {
    uint64_t digest;        /* of the content at the last root */
    uint32_t session;       /* of the writer */
    uint32_t certain_below; /* sessions that have left the list */
    bool root;              /* it wrote a root */
};

struct history {
    struct rig rig;
    struct mark *marks; /* one for every operation */
    size_t count;
    uint64_t digest;
    bool paged;                      /* now and then there is what a settings page says */
    struct bale_container_attr next; /* of the next commit */
    bool rolled;                     /* the session, and what the one before wrote was not synced */
};

/* Of the content and of what the settings page says. */
static inline uint64_t digest_of(const struct bale_container_attr *attr, const uint8_t *data,
                                 uint64_t size)
{
    return rig_digest(data, size) ^ attr->setting.field.dims[0] << 20 ^ attr->greatest_step;
}

static inline void note(struct history *h)
{
    h->marks = realloc(h->marks, (h->rig.file.op_count + 1) * sizeof *h->marks);
    REQUIRE(h->marks);
    for (; h->count < h->rig.file.op_count; h->count++) {
        const struct memory_op *op = &h->rig.file.ops[h->count];

        h->marks[h->count] = (struct mark){
            /* A settings page comes after the root of an empty file. */
            .digest =
                h->count == 0 && bale_settings_needed(&h->next.setting.field, h->next.greatest_step)
                    ? rig_digest(NULL, 0)
                    : h->digest,
            .session = atomic_load(&h->rig.session),
            .certain_below = h->rig.certain_below,
            .root = op->kind == MEMORY_WRITE && op->position < BALE_DATA_START,
        };
    }
}

static inline void change_setting(struct history *h)
{
    struct rig *rig = &h->rig;
    struct bale_container_attr attr = rig_attr(rig);

    attr.size = rig->size;
    attr.setting = h->next.setting;
    attr.greatest_step = h->next.greatest_step;
    if (h->paged && rig_random(rig, 3) == 0 &&
        (rig_random(rig, 3) == 0 || !rig_field_setting(1 + rig_random(rig, 1000), &attr.setting)))
        attr.setting = (struct bale_setting){.codec = BALE_CODEC_LZ4};
    if (h->paged && rig_random(rig, 3) == 0)
        attr.greatest_step =
            rig_random(rig, 3) == 0 ? 0 : (UINT64_C(0x3f70) << 48) + rig_random(rig, 1000);
    h->next = attr;
    CHECK_EQ(bale_container_set_attr(rig->container, &attr), BALE_OK);
}

static inline void commit(struct history *h, bool durable)
{
    struct rig *rig = &h->rig;

    if (!CHECK_EQ(rig_begin(rig), BALE_OK))
        exit(EXIT_FAILURE);
    note(h);
    for (uint32_t n = 1 + rig_random(rig, rig->piece < 1000 ? 30 : 6); n > 0; n--)
        CHECK_EQ(rig_change(rig), BALE_OK);
    change_setting(h);
    note(h);
    if (rig_random(rig, 10) ==
        0) { /* its frames are lost, its changes go out with the next commit */
        bale_container_abandon(rig->container);
        return;
    }
    h->digest = digest_of(&h->next, rig->model, rig->size);
    CHECK_EQ(bale_container_commit(rig->container, durable), BALE_OK);
    note(h);
}

static inline void sync_all(struct history *h)
{
    struct bale_io *io = memory_io_open(&h->rig.file);

    CHECK_EQ(io->ops->sync(io), BALE_OK);
    note(h);
    io->ops->close(io);
    h->rolled = false;
}

/* What a store does between two sessions: sync all, then drop the old one from the list. */
static inline void end_session(struct history *h)
{
    sync_all(h);
    atomic_fetch_add(&h->rig.session, 1 + rig_random(&h->rig, 2));
    h->rig.certain_below = atomic_load(&h->rig.session);
}

static inline void reopen(struct history *h)
{
    struct rig *rig = &h->rig;
    uint8_t *data = malloc((size_t)rig->size_max);
    uint64_t size;

    REQUIRE(data);
    switch (rig_random(rig, 4)) {
    case 0: /* closed and opened again, in one session */
        rig_close(rig);
        break;
    case 1: /* the session rolls meanwhile: its sync comes later, but before the next one rolls */
        rig_close(rig);
        if (h->rolled)
            sync_all(h);
        h->rolled = true;
        atomic_fetch_add(&rig->session, 1);
        break;
    case 2:
        rig_close(rig);
        end_session(h);
        break;
    default:
        rig_die(&h->rig);
        end_session(h);
    }
    note(h);
    REQUIRE(rig_open(rig) == BALE_OK);
    note(h);
    /* Uncommitted bytes are gone. */
    CHECK_EQ(rig_read(rig, data, &size), BALE_OK);
    h->next = rig_attr(rig);
    CHECK_EQ_U(digest_of(&h->next, data, size), h->digest);
    memcpy(rig->model, data, (size_t)rig->size_max);
    rig->size = size;
    free(data);
}

static inline void work(struct history *h, uint64_t seed)
{
    struct rig *rig = &h->rig;

    rig_init(rig, seed, BALE_EXTENT_MIN, seed % 3 == 0 ? 9000 : SIZE_MAX_);
    rig->file.record = true;
    if (seed % 5 == 0) /* an index of several levels */
        rig->piece = 100;
    rig->session = 5;
    rig->certain_from = 1;
    rig->certain_below = 5;
    h->digest = rig_digest(rig->model, 0);
    REQUIRE(rig_open(rig) == BALE_OK);
    h->paged = seed % 4 >= 2;
    h->next = rig_attr(rig);
    for (int i = seed % 2 == 0 ? 10 : 50; i > 0; i--) {
        switch (rig_random(rig, seed % 2 == 0 ? 6 : 10)) {
        case 0:
            CHECK_EQ(bale_container_sync(rig->container), BALE_OK);
            break;
        case 1:
            CHECK_EQ(bale_container_trim(rig->container), BALE_OK);
            break;
        case 2:
            reopen(h);
            break;
        case 3:
            if (bale_container_has_slack(rig->container))
                h->digest = digest_of(&h->next, rig->model, rig->size);
            CHECK_EQ(bale_container_scrub(rig->container, rig->scratch), BALE_OK);
            break;
        default:
            commit(h, rig_random(rig, 5) == 0);
        }
        note(h);
    }
    rig_close(rig);
    note(h);
}

#endif
