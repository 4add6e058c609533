#include "fs/cache/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/cache/committed.h"
#include "fs/cache/extent.h"
#include "kernels/round/piece.h"

/* The file's first bytes, as far as they were written. Those of an npy file are kept once it is
 * decided, to compare its header with. */
struct bale_begin {
    uint8_t bytes[BALE_ROUND_BEGIN]; /* zeros where nothing was */
    bool there[BALE_ROUND_BEGIN];
};

static bool is_lossy(const struct bale_file *file)
{
    return bale_codec_is_lossy(file->setting.codec);
}

static bool is_npy(const struct bale_file *file)
{
    return file->setting.field.type == BALE_FIELD_NPY;
}

static bool is_undecided(const struct bale_file *file)
{
    return file->rounds == BALE_ROUNDS_UNDECIDED || file->rounds == BALE_ROUNDS_BEGUN;
}

void bale_rounds_free(struct bale_file *file)
{
    free(file->begin);
    file->begin = NULL;
}

void bale_rounds_set(struct bale_file *file, enum bale_rounds rounds)
{
    bale_rounds_free(file);
    file->rounds = is_lossy(file) ? (uint8_t)rounds : BALE_ROUNDS_UNDECIDED;
    file->field = (struct bale_field){0};
    if (rounds == BALE_ROUNDS_YES && !is_npy(file))
        file->field = file->setting.field;
}

enum bale_rounds bale_rounds_first(const struct bale_setting *setting, uint64_t size)
{
    return bale_codec_is_lossy(setting->codec) && size > 0 ? BALE_ROUNDS_BEGUN
                                                           : BALE_ROUNDS_UNDECIDED;
}

void bale_rounds_raise(struct bale_file *file, uint64_t step)
{
    if (step > file->greatest_step)
        file->greatest_step = step;
}

/* ---- Deciding ---- */

static void end_rounding(struct bale_file *file, const char *what)
{
    bale_rounds_free(file);
    file->rounds = BALE_ROUNDS_NO;
    file->field = (struct bale_field){0};
    bale_log(BALE_LOG_INFO, "%s: stored without loss: it is %s", file->label, what);
}

static void decide(struct bale_file *file, size_t length)
{
    const char *what =
        bale_round_resolve(&file->setting.field, file->begin->bytes, length, &file->field);

    if (what) {
        end_rounding(file, what);
        return;
    }
    file->rounds = BALE_ROUNDS_YES;
    bale_rounds_raise(file, file->setting.field.step);
    if (!is_npy(file))
        bale_rounds_free(file);
}

/* Of the file's first length bytes. */
static bool all_there(const struct bale_file *file, size_t length)
{
    return file->begin && !memchr(file->begin->there, false, length);
}

static int make_begin(struct bale_file *file)
{
    if (!file->begin)
        file->begin = calloc(1, sizeof *file->begin);
    return file->begin ? BALE_OK : BALE_E_NOMEM;
}

int bale_rounds_decide(struct bale_file *file)
{
    int err = is_lossy(file) && is_undecided(file) ? make_begin(file) : BALE_OK;

    if (err == BALE_OK && is_lossy(file) && is_undecided(file))
        decide(file, file->size < BALE_ROUND_BEGIN ? (size_t)file->size : BALE_ROUND_BEGIN);
    return err;
}

/* Whether the write changes the header of the array. */
static bool changes_header(const struct bale_file *file, uint64_t offset, const uint8_t *data,
                           size_t length)
{
    const uint64_t header = file->field.offset;

    if (offset >= header)
        return false;
    if (length > header - offset)
        length = (size_t)(header - offset);
    return memcmp(file->begin->bytes + offset, data, length) != 0;
}

void bale_rounds_look(struct bale_file *file, uint64_t offset, const uint8_t *data, size_t length)
{
    if (!is_lossy(file) || file->rounds == BALE_ROUNDS_NO)
        return;
    const char *what = bale_round_resolve_piece(&file->setting.field, offset, data, length);
    if (what)
        end_rounding(file, what);
}

/* If a write has a part of a signature around that place, which is where it begins or ends: looks at
 * all of it, with what is there already. */
static void look_around(const struct bale_extent *extent, uint64_t place, uint64_t from,
                        const uint8_t *data, size_t length)
{
    struct bale_file *file = extent->file;
    const uint64_t start = extent->number * file->extent;
    const uint64_t at = bale_round_place_across(start + place);
    uint8_t whole[BALE_ROUND_SIGNATURE];

    /* Places are multiples of blocks of the least size, so that all of it lies in one block. */
    if (at == UINT64_MAX || !(extent->valid & bale_blocks(file, at - start, at - start + 1)))
        return;
    memcpy(whole, extent->buffer->data + (at - start), sizeof whole);
    for (uint64_t i = 0, to = at - start; i < sizeof whole; i++, to++)
        if (to >= from && to - from < length)
            whole[i] = data[to - from];
    bale_rounds_look(file, at, whole, sizeof whole);
}

/* Takes note of bytes of the file's begin. */
static int note_begin(struct bale_file *file, uint64_t offset, const uint8_t *data, size_t length)
{
    if (file->rounds == BALE_ROUNDS_YES) {
        if (file->begin && changes_header(file, offset, data, length))
            end_rounding(file, "a NumPy file whose header was changed");
        return BALE_OK;
    }
    if (make_begin(file) != BALE_OK)
        return BALE_E_NOMEM;
    if (length > BALE_ROUND_BEGIN - offset)
        length = BALE_ROUND_BEGIN - (size_t)offset;
    memcpy(file->begin->bytes + offset, data, length);
    memset(file->begin->there + offset, true, length);
    if (all_there(file, BALE_ROUND_BEGIN))
        decide(file, BALE_ROUND_BEGIN);
    return BALE_OK;
}

int bale_rounds_note(const struct bale_extent *extent, uint64_t from, const uint8_t *data,
                     size_t length)
{
    struct bale_file *file = extent->file;
    const uint64_t offset = extent->number * file->extent + from;

    if (!is_lossy(file) || file->rounds == BALE_ROUNDS_NO)
        return BALE_OK;
    bale_rounds_look(file, offset, data, length);
    look_around(extent, from, from, data, length);
    look_around(extent, from + length, from, data, length);
    if (offset >= BALE_ROUND_BEGIN || file->rounds == BALE_ROUNDS_NO)
        return BALE_OK;
    return note_begin(file, offset, data, length);
}

void bale_rounds_forget(struct bale_file *file, uint64_t from, uint64_t to)
{
    if (!is_lossy(file) || from >= BALE_ROUND_BEGIN || from >= to)
        return;
    if (file->rounds == BALE_ROUNDS_YES && is_npy(file) &&
        (!file->begin || from < file->field.offset))
        end_rounding(file, "a NumPy file whose header was cut");
    if (file->rounds == BALE_ROUNDS_BEGUN)
        file->rounds = BALE_ROUNDS_UNDECIDED;
    if (!is_undecided(file) || !file->begin)
        return;
    to = to < BALE_ROUND_BEGIN ? to : BALE_ROUND_BEGIN;
    memset(file->begin->bytes + from, 0, (size_t)(to - from));
    memset(file->begin->there + from, false, (size_t)(to - from));
}

/* ---- Reading what was there ---- */

bool bale_rounds_is_pending(const struct bale_file *file)
{
    return is_lossy(file) &&
           (file->rounds == BALE_ROUNDS_BEGUN ||
            (file->rounds == BALE_ROUNDS_YES && file->field.type == BALE_FIELD_NONE));
}

/* Decides with the file's first bytes. bytes NULL: they are damaged; nothing more is rounded until
 * they are written again. */
static int take_begin(struct bale_file *file, const uint8_t *bytes, size_t length)
{
    if (bytes && make_begin(file) != BALE_OK)
        return BALE_E_NOMEM;
    if (!bytes && file->rounds == BALE_ROUNDS_YES)
        end_rounding(file, "a NumPy file whose header cannot be read");
    if (!bytes)
        file->rounds = file->rounds == BALE_ROUNDS_BEGUN ? BALE_ROUNDS_UNDECIDED : file->rounds;
    if (!bytes)
        return BALE_OK;
    memcpy(file->begin->bytes, bytes, length);
    memset(file->begin->there, true, length);
    if (file->rounds == BALE_ROUNDS_YES || length == BALE_ROUND_BEGIN)
        decide(file, length);
    else
        file->rounds = BALE_ROUNDS_UNDECIDED;
    return BALE_OK;
}

static const struct bale_extent *extent_at(const struct bale_file *file, uint64_t offset)
{
    return bale_extent_find(&file->table, offset / file->extent);
}

/* The extent's block that has this byte of the file. */
static uint64_t block_at(const struct bale_file *file, uint64_t offset)
{
    return bale_blocks(file, offset % file->extent, offset % file->extent + 1);
}

/* What the cache has from that byte on, to the end of its block; NULL: nothing. */
static const uint8_t *cached(const struct bale_file *file, uint64_t offset)
{
    const struct bale_extent *extent = extent_at(file, offset);

    return extent && extent->valid & block_at(file, offset)
               ? extent->buffer->data + offset % file->extent
               : NULL;
}

/* Reads bytes that lie in one block, as the file has them now. Drops the lock for I/O, and to wait
 * for those who fill the cache. While the lock is not held no write changes these bytes: it would
 * have to read them first. */
static int read_there(struct bale_file *file, struct bale_scratch *scratch, uint64_t offset,
                      size_t length, uint8_t *bytes)
{
    const struct bale_extent *extent;
    int err = BALE_OK;

    while ((extent = extent_at(file, offset)) && extent->filling & block_at(file, offset))
        bale_fill_await(file, extent);
    if (!cached(file, offset)) {
        pthread_mutex_unlock(&file->lock);
        err = bale_file_read_committed(file, scratch, offset, offset + length, bytes);
        pthread_mutex_lock(&file->lock);
    }
    if (!cached(file, offset))
        return err;
    memcpy(bytes, cached(file, offset), length);
    return BALE_OK;
}

/* Looks for the signature of another format behind the file's first bytes. */
static int look_behind(struct bale_file *file, struct bale_scratch *scratch)
{
    int err = BALE_OK;

    for (uint64_t at = bale_round_place(0);
         err != BALE_E_NOMEM && bale_rounds_is_pending(file) && !is_npy(file) &&
         at + BALE_ROUND_SIGNATURE <= file->size;
         at = bale_round_place(at + 1)) {
        uint8_t bytes[BALE_ROUND_SIGNATURE];
        err = read_there(file, scratch, at, sizeof bytes, bytes);
        if (err == BALE_OK && bale_rounds_is_pending(file))
            bale_rounds_look(file, at, bytes, sizeof bytes);
    }
    return err == BALE_E_NOMEM ? err : BALE_OK; /* what is damaged shows nothing */
}

int bale_rounds_load(struct bale_file *file, struct bale_scratch *scratch)
{
    uint8_t bytes[BALE_ROUND_BEGIN];
    int err = look_behind(file, scratch);

    if (err != BALE_OK || !bale_rounds_is_pending(file))
        return err;
    const size_t length = file->size < BALE_ROUND_BEGIN ? (size_t)file->size : BALE_ROUND_BEGIN;
    err = read_there(file, scratch, 0, length, bytes);
    if (err == BALE_E_NOMEM || !bale_rounds_is_pending(file))
        return err == BALE_E_NOMEM ? err : BALE_OK;
    return take_begin(file, err == BALE_OK ? bytes : NULL, length);
}

/* ---- What it means ---- */

struct bale_field bale_rounds_field(const struct bale_file *file)
{
    return file->rounds == BALE_ROUNDS_YES ? file->field : (struct bale_field){0};
}

enum bale_rounds bale_rounds_record(const struct bale_file *file)
{
    if (file->rounds == BALE_ROUNDS_UNDECIDED && file->begin && file->size > 0 &&
        all_there(file, file->size < BALE_ROUND_BEGIN ? (size_t)file->size : BALE_ROUND_BEGIN))
        return BALE_ROUNDS_BEGUN;
    return file->rounds;
}

struct bale_setting bale_rounds_setting(const struct bale_file *file)
{
    struct bale_setting setting = file->setting;

    if (!is_lossy(file))
        return setting;
    if (file->rounds != BALE_ROUNDS_YES || file->field.type == BALE_FIELD_NONE)
        return (struct bale_setting){.codec = BALE_CODEC_AUTO};
    setting.field = file->field;
    return setting;
}
