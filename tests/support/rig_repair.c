#include "tests/support/rig_repair.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/candidates.h"
#include "tests/check.h"

struct keeper {
    const struct rig *rig;
    uint8_t *before; /* the file */
    size_t size;
};

/* From now on these bytes may differ. */
static bool keep(void *arg, uint64_t position, uint32_t length)
{
    struct keeper *keeper = arg;

    if (position < keeper->size)
        memset(keeper->before + position, 0,
               keeper->size - position < length ? keeper->size - position : length);
    return true;
}

static bool had_frames(const struct keeper *keeper)
{
    struct memory_file file = {.fail_after = -1};
    const struct bale_page_context ctx = {.generation = UINT64_MAX / 2,
                                          .size = UINT64_MAX / 2,
                                          .end = keeper->size,
                                          .extent = BALE_EXTENT_MAX};
    struct bale_candidates found = {0};

    memory_file_write(&file, keeper->before, keeper->size, 0);
    struct bale_io *io = memory_io_open(&file);
    CHECK_EQ(bale_candidates_find(io, &ctx, &found), BALE_OK);
    bool had = found.frame_count > 0;
    bale_candidates_clear(&found);
    io->ops->close(io);
    memory_file_clear(&file);
    return had;
}

/* What nobody announced is as before; a byte that was, is 0 in before. */
static void check_kept(const struct keeper *keeper)
{
    const struct memory_file *file = &keeper->rig->file;

    /* Only what has no data becomes empty. */
    CHECK(file->size >= keeper->size || (file->size == 0 && !had_frames(keeper)));
    for (size_t i = 0; i < keeper->size && i < file->size; i++)
        if (keeper->before[i] != 0 && keeper->before[i] != file->bytes[i]) {
            CHECK_EQ_U(i, SIZE_MAX);
            return;
        }
}

static int open_for_repair(struct rig *rig, bool salvage)
{
    int err = rig_open(rig);

    if (err != BALE_E_CORRUPT || !salvage)
        return err;
    return bale_container_open_rootless(memory_io_open(&rig->file), &rig->config, &rig->defaults,
                                        &rig->container);
}

int rig_repair(struct rig *rig, enum bale_root_pick wanted, struct bale_repair *repair)
{
    struct keeper keeper = {.rig = rig, .size = rig->file.size};
    const bool writable = rig->config.writable;
    enum bale_recovery recovery;
    int err;

    rig->config.writable = false;
    err = rig_open(rig);
    recovery = err == BALE_OK ? bale_container_recovery(rig->container) : BALE_RECOVERY_NONE;
    rig_close(rig);
    rig->config.writable = true;
    repair->write = true;
    repair->stuck = err != BALE_OK;
    repair->keep = keep;
    repair->arg = &keeper;
    keeper.before = malloc(keeper.size + 1);
    REQUIRE(keeper.before);
    memcpy(keeper.before, rig->file.bytes, keeper.size);
    if (!bale_repair_root(err, recovery, repair->settle, wanted, &rig->config.pick)) {
        err = err == BALE_OK ? BALE_E_NOENT : err;
    } else {
        err = open_for_repair(rig, repair->salvage);
        if (err == BALE_OK)
            err = bale_container_repair(rig->container, repair);
        check_kept(&keeper); /* before closing, which may give space back */
    }
    rig_close(rig);
    rig->config.pick = BALE_PICK_BY_RULES;
    rig->config.writable = writable;
    free(keeper.before);
    return err;
}

/* Sets *end to where mapping works again. */
static void skip_lost(struct rig *rig, bool *lost, uint64_t offset, uint64_t *end)
{
    uint64_t first;

    if (!CHECK(bale_container_lost(rig->container, offset, &first, end)) || *end > rig->size_max ||
        *end <= offset)
        *end = rig->size_max;
    for (uint64_t i = offset; i < *end; i++)
        lost[i] = true;
}

int rig_read_around(struct rig *rig, uint8_t *data, bool *lost, uint64_t *size)
{
    struct bale_segment segment;
    uint64_t offset = 0;
    int err = BALE_OK;

    *size = rig_attr(rig).size;
    memset(data, 0, rig->size_max);
    memset(lost, 0, rig->size_max * sizeof *lost);
    while (err == BALE_OK && offset < rig->size_max) {
        err = bale_container_map(rig->container, offset, &segment);
        if (err == BALE_E_NOENT)
            return BALE_OK;
        if (err == BALE_E_CORRUPT) {
            skip_lost(rig, lost, offset, &offset);
            err = BALE_OK;
            continue;
        }
        if (err != BALE_OK || segment.offset + segment.length > rig->size_max)
            return err == BALE_OK ? BALE_E_TOOBIG : err;
        err = bale_container_read(rig->container, rig->scratch, &segment, segment.offset,
                                  segment.length, data + segment.offset, NULL);
        offset = segment.offset + segment.length;
        for (uint64_t i = segment.offset; err == BALE_E_CORRUPT && i < offset; i++)
            lost[i] = true;
        err = err == BALE_E_CORRUPT ? BALE_OK : err;
    }
    return err;
}
