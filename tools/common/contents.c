#include "tools/common/contents.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/limits.h"
#include "format/reason.h"
#include "kernels/base/array.h"

int bale_contents_open(const struct bale_reader *reader, int fd, struct bale_contents *contents,
                       struct bale_reason *why)
{
    *contents = (struct bale_contents){.reader = reader};
    int err = bale_reader_open_container(reader, fd, &contents->container, why);
    if (err == BALE_OK)
        bale_container_attr(contents->container, &contents->attr);
    else
        contents->container = NULL;
    return err;
}

void bale_contents_close(struct bale_contents *contents)
{
    if (contents->container)
        bale_container_close(contents->container);
    contents->container = NULL;
}

bool bale_contents_moved(const struct bale_contents *contents)
{
    uint64_t now, newest = bale_container_rejected(contents->container);

    if (newest == 0)
        newest = contents->attr.generation;
    return bale_reader_newest(bale_io_fd(bale_container_io(contents->container)), &now) &&
           now != newest;
}

const char *bale_contents_recovery(const struct bale_contents *contents, bool *lost)
{
    enum bale_recovery recovery = bale_container_recovery(contents->container);

    *lost = recovery == BALE_RECOVERY_MISSING || recovery == BALE_RECOVERY_BLANK;
    return bale_recovery_text(recovery);
}

/* The end of the range that counts as lost together with the byte at. If a part of the index is
 * lost, the next extent may be in another part. */
static uint64_t extent_end(const struct bale_contents *contents, uint64_t at)
{
    uint64_t end = (at / contents->attr.extent + 1) * contents->attr.extent;

    return end < contents->attr.size ? end : contents->attr.size;
}

/* The first range at or behind `at` that is lost together with a part of the index. */
static void lost_range(const struct bale_contents *contents, uint64_t at, uint64_t *first,
                       uint64_t *end)
{
    if (bale_container_lost(contents->container, at, first, end) && *first < *end)
        return;
    *first = at;
    *end = extent_end(contents, at);
}

bool bale_contents_next(const struct bale_contents *contents, uint64_t at, uint64_t *from,
                        uint64_t *to)
{
    struct bale_segment segment = {0};

    while (at < contents->attr.size) {
        int err = bale_container_map(contents->container, at, &segment);
        if (err == BALE_E_NOENT)
            return false;
        uint64_t first = segment.offset, end = segment.offset + segment.length, after = end;
        if (err != BALE_OK) {
            lost_range(contents, at, &first, &after);
            end = extent_end(contents, first);
            end = end < after ? end : after;
        }
        if (at >= end) { /* behind the first extent of a lost range: the rest is skipped */
            at = after;
            continue;
        }
        *from = first > at ? first : at;
        if (err == BALE_OK && segment.flags & BALE_SEGMENT_UNWRITTEN) {
            at = end;
            continue;
        }
        *to = end < contents->attr.size ? end : contents->attr.size;
        *to = *to - *from > BALE_PIECE ? *from + BALE_PIECE : *to;
        return *from < *to;
    }
    return false;
}

/* Notes that bytes [from, to) cannot be read. */
static void note(struct bale_damage *damage, const struct bale_fault *fault, uint64_t from,
                 uint64_t to)
{
    pthread_mutex_lock(&damage->lock);
    struct bale_fault *grown =
        bale_array_grow(damage->faults, damage->count, &damage->room, sizeof *grown);
    if (grown) {
        damage->faults = grown;
        grown[damage->count] = *fault;
        grown[damage->count].offset = from;
        grown[damage->count++].length = to - from;
    }
    damage->overflow |= !grown;
    pthread_mutex_unlock(&damage->lock);
}

/* Reads bytes [from, to) of one segment. Where another machine writes, the pages that this one has
 * of the container may be older than the root: what looks damaged is read once more, without
 * them. */
static int read_frame(const struct bale_contents *contents, struct bale_scratch *scratch,
                      const struct bale_segment *segment, uint64_t from, uint64_t to, uint8_t *raw,
                      struct bale_fault *fault)
{
    int err = BALE_E_CORRUPT;

    for (int i = 0; i < 2 && err == BALE_E_CORRUPT; i++) {
        if (i > 0)
            (void)posix_fadvise(bale_io_fd(bale_container_io(contents->container)), 0, 0,
                                POSIX_FADV_DONTNEED);
        *fault = (struct bale_fault){0};
        err = bale_container_read(contents->container, scratch, segment, from,
                                  (uint32_t)(to - from), raw, fault);
    }
    return err;
}

/* Reads bytes [from, to) of one segment. Reads around the damage: the damaged bytes are noted and
 * become zeros. */
static int read_segment(const struct bale_contents *contents, struct bale_scratch *scratch,
                        const struct bale_segment *segment, uint64_t from, uint64_t to,
                        uint8_t *raw, struct bale_damage *damage)
{
    struct bale_fault fault;
    int err = read_frame(contents, scratch, segment, from, to, raw, &fault);

    if (err == BALE_OK || err == BALE_E_NOMEM)
        return err;
    if (!fault.what)
        fault.what = bale_err_text(err);
    uint64_t bad = fault.offset > from ? fault.offset : from;
    uint64_t bad_end = fault.offset + fault.length < to ? fault.offset + fault.length : to;
    if (bad >= bad_end) {
        bad = from;
        bad_end = to;
    }
    note(damage, &fault, bad, bad_end);
    memset(raw + (bad - from), 0, (size_t)(bad_end - bad));
    err = bad > from ? read_segment(contents, scratch, segment, from, bad, raw, damage) : BALE_OK;
    if (err == BALE_OK && bad_end < to)
        err = read_segment(contents, scratch, segment, bad_end, to, raw + (bad_end - from), damage);
    return err;
}

int bale_contents_read(const struct bale_contents *contents, struct bale_scratch *scratch,
                       uint64_t from, size_t length, uint8_t *raw, struct bale_damage *damage)
{
    uint64_t at = from, end = from + length;
    struct bale_segment segment;
    int err = BALE_OK;

    memset(raw, 0, length);
    while (at < end && err == BALE_OK) {
        int mapped = bale_container_map(contents->container, at, &segment);
        if (mapped == BALE_E_NOMEM)
            return mapped;
        if (mapped == BALE_E_NOENT || (mapped == BALE_OK && segment.offset >= end))
            break;
        uint64_t to =
            mapped == BALE_OK ? segment.offset + segment.length : extent_end(contents, at);
        to = to < end ? to : end;
        if (mapped != BALE_OK) {
            uint64_t first, lost;
            lost_range(contents, at, &first, &lost);
            note(damage, &(struct bale_fault){.what = "index page"}, at, lost > to ? lost : to);
        } else {
            at = segment.offset > at ? segment.offset : at;
            err = read_segment(contents, scratch, &segment, at, to, raw + (at - from), damage);
        }
        at = to;
    }
    return err;
}
