#include "tools/bench/sample.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "kernels/base/array.h"
#include "tools/common/inode_set.h"
#include "tools/common/message.h"
#include "tools/stream/pack.h"

/* Two walks make a sample: the first counts extents, the second takes one out of every so many. A
 * file that changes between the walks is taken as the second finds it. */
struct sampler {
    struct bale_bench_sample *sample;
    bool taking;      /* the second walk */
    bool streams;     /* something has no size */
    uint64_t extents; /* that the first walk has found */
    uint64_t wanted;  /* how many extents are taken; 0: all */
    /* grows by `wanted` for each extent, modulo extents: an extent at which it wraps is taken */
    uint64_t sum;
    size_t lengths; /* room in the sample's lengths */
    struct bale_inode_set seen;
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Whether the next extent belongs to the sample. */
static bool is_taken(struct sampler *sampler)
{
    if (sampler->wanted == 0)
        return true;
    sampler->sum += sampler->wanted;
    if (sampler->sum < sampler->extents)
        return false;
    sampler->sum -= sampler->extents;
    return true;
}

/* Adds what has been read behind the sample, as one extent or several. */
static int add(struct sampler *sampler, size_t length)
{
    struct bale_bench_sample *sample = sampler->sample;

    while (length > 0) {
        uint32_t *lengths =
            bale_array_grow(sample->lengths, sample->count, &sampler->lengths, sizeof *lengths);
        if (!lengths)
            return BALE_E_NOMEM;
        sample->lengths = lengths;
        lengths[sample->count] = length < sample->extent ? (uint32_t)length : sample->extent;
        sample->size += lengths[sample->count];
        length -= lengths[sample->count++];
    }
    return BALE_OK;
}

static int take_extent(struct sampler *sampler, int fd, uint64_t offset, size_t length)
{
    struct bale_bench_sample *sample = sampler->sample;
    size_t room = sample->limit - sample->size, have = 0;

    if (!is_taken(sampler) || (room < length && sample->size > 0))
        return BALE_OK;
    length = length < room ? length : room;
    while (have < length) {
        ssize_t got =
            pread(fd, sample->bytes + sample->size + have, length - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return bale_err_from_errno(errno);
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return add(sampler, have);
}

/* Visits the extents of a file that have data. fd: -1 if it has no holes and is only counted. */
static int visit_extents(struct sampler *sampler, int fd, const struct stat *st)
{
    struct bale_bench_sample *sample = sampler->sample;
    uint64_t size = (uint64_t)st->st_size, extent = sample->extent;
    bool sparse = (uint64_t)st->st_blocks * 512 < size;
    int err = BALE_OK;

    for (uint64_t at = 0; at < size && err == BALE_OK; at += extent) {
        off_t data = sparse ? lseek(fd, (off_t)at, SEEK_DATA) : -1;
        if (sparse && data < 0 && errno == ENXIO)
            break;
        if (data > 0)
            at = (uint64_t)data - (uint64_t)data % extent;
        if (at >= size)
            break;
        uint64_t length = size - at < extent ? size - at : extent;
        if (sampler->taking) {
            err = take_extent(sampler, fd, at, (size_t)length);
        } else {
            sampler->extents++;
            sample->total += length;
        }
    }
    return err;
}

/* A pipe or a device. */
static int visit_stream(struct sampler *sampler, const char *name, int fd)
{
    struct bale_bench_sample *sample = sampler->sample;
    const struct bale_source source = {.name = name, .fd = fd};

    sampler->streams = true;
    if (!sampler->taking)
        return BALE_OK;
    ssize_t got =
        bale_source_read(&source, sample->bytes + sample->size, sample->limit - sample->size);
    if (got > 0)
        sample->total += (size_t)got;
    return got < 0 ? BALE_E_CANCELLED : add(sampler, (size_t)got);
}

/* A negative bale_err after a message. */
static int visit_file(struct sampler *sampler, const FTSENT *entry)
{
    const struct stat *st = entry->fts_statp;
    bool regular = S_ISREG(st->st_mode);
    int err;

    if (regular && st->st_nlink > 1 &&
        (err = bale_inode_set_add(&sampler->seen, st->st_dev, st->st_ino)) <= 0)
        return err;
    sampler->sample->files += !sampler->taking;
    if (!sampler->taking && (!regular || (uint64_t)st->st_blocks * 512 >= (uint64_t)st->st_size))
        return regular ? visit_extents(sampler, -1, st) : visit_stream(sampler, "", -1);
    int fd = open(entry->fts_accpath, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        err = bale_err_from_errno(errno);
        if (sampler->taking || entry->fts_level == 0)
            bale_message("%s: cannot be opened: %s", entry->fts_path, strerror(errno));
        return err;
    }
    err = regular ? visit_extents(sampler, fd, st) : visit_stream(sampler, entry->fts_path, fd);
    if (err != BALE_OK && err != BALE_E_CANCELLED)
        bale_message("%s: cannot be read: %s", entry->fts_path, bale_err_text(err));
    close(fd);
    return err;
}

/* True: go on. */
static bool visit(struct sampler *sampler, const FTSENT *entry)
{
    switch (entry->fts_info) {
    case FTS_F:
    case FTS_DEFAULT:
        if (entry->fts_info == FTS_DEFAULT && entry->fts_level > 0)
            return true; /* a pipe in a tree would wait for a writer */
        return visit_file(sampler, entry) == BALE_OK || entry->fts_level > 0;
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
    case FTS_SLNONE:
        if (!sampler->taking)
            bale_message("%s: cannot be opened: %s", entry->fts_path,
                         strerror(entry->fts_errno ? entry->fts_errno : ENOENT));
        return entry->fts_level > 0;
    default:
        return true;
    }
}

static bool walk(struct sampler *sampler)
{
    FTS *fts = fts_open(sampler->sample->names,
                        FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_name);
    FTSENT *entry;
    bool good = fts != NULL;

    while (good && (entry = fts_read(fts)))
        good = visit(sampler, entry);
    if (!fts)
        bale_message("out of memory");
    else
        fts_close(fts);
    bale_inode_set_clear(&sampler->seen);
    return good;
}

/* Memory for what will be taken. */
static bool make_room(struct sampler *sampler)
{
    struct bale_bench_sample *sample = sampler->sample;

    if (sample->total > sample->limit) {
        double part = (double)sample->limit / (double)sample->total;
        uint64_t wanted = (uint64_t)((double)sampler->extents * part);
        sampler->wanted = wanted > 0 ? wanted : 1;
        sampler->sum = sampler->extents / 2; /* from the middle of each stretch */
    } else if (!sampler->streams) {
        sample->limit = (size_t)sample->total;
    }
    if (!sample->bytes)
        sample->bytes = malloc(sample->limit > 0 ? sample->limit : 1);
    if (!sample->bytes)
        bale_message("out of memory: give a smaller --limit");
    return sample->bytes;
}

bool bale_bench_sample_take(struct bale_bench_sample *sample)
{
    struct sampler sampler = {.sample = sample};

    if (!walk(&sampler) || !make_room(&sampler))
        return false;
    sampler.taking = true;
    if (!walk(&sampler))
        return false;
    if (sample->size == 0)
        bale_message("%s: nothing to compress: give files with something in them",
                     sample->names[0]);
    return sample->size > 0;
}
