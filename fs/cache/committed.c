#include "fs/cache/committed.h"

#include <string.h>

#include "format/err.h"
#include "fs/base/log.h"

/* Logs each fault once: a reader tries again in smaller pieces. */
static void report_fault(struct bale_file *file, const struct bale_fault *fault)
{
    uint64_t end = fault->offset + fault->length;
    atomic_uint_fast64_t *reported = &file->reported_faults[fault->position % BALE_REPORTED_FAULTS];

    if (atomic_exchange(reported, fault->position) == fault->position)
        return;
    pthread_mutex_lock(&file->lock); /* for the label */
    bale_log(BALE_LOG_ERROR,
             "%s: bytes %llu to %llu are damaged (%s at %llu of the container: expected %016llx, "
             "found %016llx): reading them fails; restore the file from a copy",
             file->label, (unsigned long long)fault->offset, (unsigned long long)end, fault->what,
             (unsigned long long)fault->position, (unsigned long long)fault->expected,
             (unsigned long long)fault->found);
    pthread_mutex_unlock(&file->lock);
    atomic_fetch_add(&file->volume->stats.errors, 1);
}

/* Logs it once for a file: nothing tells which of its bytes are concerned. */
static void report_index(struct bale_file *file)
{
    if (atomic_exchange(&file->index_reported, true))
        return;
    pthread_mutex_lock(&file->lock); /* for the label */
    bale_log(BALE_LOG_ERROR,
             "%s: the list of its extents is damaged: reading and writing the parts that it lists "
             "fails; save the rest with balefs export, or restore the file from a copy",
             file->label);
    pthread_mutex_unlock(&file->lock);
    atomic_fetch_add(&file->volume->stats.errors, 1);
}

static int read_committed(struct bale_file *file, struct bale_scratch *scratch, uint64_t from,
                          uint64_t to, uint8_t *out)
{
    struct bale_fault fault;
    unsigned moved = 0;
    uint64_t at = from;

    while (at < to) {
        struct bale_segment segment;
        int err = bale_container_map(file->container, at, &segment);
        if (err == BALE_E_NOENT || (err == BALE_OK && segment.offset >= to)) {
            memset(out + (at - from), 0, to - at);
            return BALE_OK;
        }
        if (err == BALE_E_CORRUPT)
            report_index(file);
        if (err != BALE_OK)
            return err;
        if (segment.offset > at) {
            memset(out + (at - from), 0, segment.offset - at);
            at = segment.offset;
        }
        uint64_t end = segment.offset + segment.length;
        uint32_t length = (uint32_t)((end < to ? end : to) - at);
        err = bale_container_read(file->container, scratch, &segment, at, length, out + (at - from),
                                  &fault);
        if (err == BALE_E_STALE && ++moved < BALE_MOVED_TRIES)
            continue;
        if (err == BALE_E_STALE)
            err = BALE_E_IO;
        if (err == BALE_E_CORRUPT)
            report_fault(file, &fault);
        if (err != BALE_OK)
            return err;
        bale_work_add_bytes(&file->volume->in_place, BALE_ITEM_DECODE, length);
        at += length;
    }
    return BALE_OK;
}

int bale_file_read_committed(struct bale_file *file, struct bale_scratch *scratch, uint64_t from,
                             uint64_t to, uint8_t *out)
{
    int err = read_committed(file, scratch, from, to, out);

    bale_file_count_container(file); /* pages of its index were read */
    return err;
}
