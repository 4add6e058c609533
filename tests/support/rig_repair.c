#include "tests/support/rig_repair.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/container/candidates.h"
#include "tests/check.h"

struct backup {
    const struct rig *rig;
    uint8_t *before; /* the file */
    size_t size;
};

/* From now on these bytes may differ. */
static bool keep(void *arg, uint64_t position, uint32_t length)
{
    struct backup *backup = arg;

    if (position < backup->size)
        memset(backup->before + position, 0,
               backup->size - position < length ? backup->size - position : length);
    return true;
}

static bool had_frames(const struct backup *backup)
{
    struct memory_file file = {.fail_after = -1};
    const struct bale_page_context ctx = {.generation = UINT64_MAX / 2,
                                          .size = UINT64_MAX / 2,
                                          .end = backup->size,
                                          .extent = BALE_EXTENT_MAX};
    struct bale_candidates found = {0};

    memory_file_write(&file, backup->before, backup->size, 0);
    struct bale_io *io = memory_io_open(&file);
    CHECK_EQ(bale_candidates_find(io, &ctx, &found), BALE_OK);
    bool had = found.frame_count > 0;
    bale_candidates_clear(&found);
    io->ops->close(io);
    memory_file_clear(&file);
    return had;
}

/* What nobody announced is as before; a byte that was, is 0 in before. */
static void check_kept(const struct backup *backup)
{
    const struct memory_file *file = &backup->rig->file;

    /* Only what has no data becomes empty. */
    CHECK(file->size >= backup->size || (file->size == 0 && !had_frames(backup)));
    for (size_t i = 0; i < backup->size && i < file->size; i++)
        if (backup->before[i] != 0 && backup->before[i] != file->bytes[i]) {
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
    struct backup backup = {.rig = rig, .size = rig->file.size};
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
    repair->arg = &backup;
    backup.before = malloc(backup.size + 1);
    REQUIRE(backup.before);
    memcpy(backup.before, rig->file.bytes, backup.size);
    if (!bale_repair_root(err, recovery, repair->settle, wanted, &rig->config.pick)) {
        err = err == BALE_OK ? BALE_E_NOENT : err;
    } else {
        err = open_for_repair(rig, repair->salvage);
        if (err == BALE_OK)
            err = bale_container_repair(rig->container, repair);
        check_kept(&backup); /* before closing, which may give space back */
    }
    rig_close(rig);
    rig->config.pick = BALE_PICK_BY_RULES;
    rig->config.writable = writable;
    free(backup.before);
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
