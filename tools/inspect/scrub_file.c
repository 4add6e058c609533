#include "tools/inspect/scrub_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "kernels/frame/frame.h"

#define TRIES 10 /* at one place of a file that changes */

struct pass {
    struct bale_scrub_file *file;
    struct bale_container *container;
    int fd;
    uint64_t generation; /* of the newest root before the container was opened */
    bool ended;          /* next said so */
    unsigned tries;      /* since the last progress */
    uint8_t *frame, *raw;
    uint64_t last; /* position of the frame that was read last */
};

static bool is_changed(const struct pass *pass)
{
    uint64_t now;

    return !bale_reader_newest(pass->fd, &now) || now != pass->generation;
}

/* Reports that something is wrong, unless the file was changed meanwhile: then it must be read
 * again. */
static int fault(struct pass *pass, const struct bale_fault *what)
{
    if (is_changed(pass) && pass->tries < TRIES)
        return BALE_E_STALE;
    if (is_changed(pass))
        return BALE_E_IO;
    pass->file->problem(pass->file->arg, what);
    return BALE_OK;
}

static int go_on(struct pass *pass, uint64_t offset, uint64_t stored)
{
    pass->file->offset = offset;
    pass->tries = 0;
    pass->ended = !pass->file->next(pass->file->arg, offset, stored);
    return BALE_OK;
}

/* Reads and decodes the frame of a segment. */
static int read_frame(struct pass *pass, const struct bale_segment *segment,
                      struct bale_fault *what)
{
    struct bale_frame frame;
    int err = bale_container_read_head(pass->container, segment, &frame);

    if (err != BALE_OK)
        return err;
    uint8_t *grown = realloc(pass->frame, segment->frame_length);
    pass->frame = grown ? grown : pass->frame;
    uint8_t *grown_raw = realloc(pass->raw, frame.raw_length);
    pass->raw = grown_raw ? grown_raw : pass->raw;
    if (!grown || !grown_raw)
        return BALE_E_NOMEM;
    err = bale_container_read_frame(pass->container, segment, pass->frame);
    if (err == BALE_OK)
        err = bale_frame_decode(pass->file->scratch, pass->frame, segment->frame_length, pass->raw,
                                frame.raw_length, NULL);
    what->what = "frame";
    return err;
}

/* Says what is wrong with a frame, as reading the file does. */
static void explain(struct pass *pass, const struct bale_segment *segment, struct bale_fault *what)
{
    uint8_t *raw = malloc(segment->length);
    struct bale_fault found = *what;

    if (raw && bale_container_read(pass->container, pass->file->scratch, segment, segment->offset,
                                   segment->length, raw, &found) == BALE_E_CORRUPT)
        *what = found;
    free(raw);
}

static int scrub_segment(struct pass *pass, const struct bale_segment *segment)
{
    uint64_t end = segment->offset + segment->length;
    struct bale_fault what = {.offset = segment->offset,
                              .length = segment->length,
                              .position = segment->position,
                              .what = "frame head"};

    if (segment->flags & BALE_SEGMENT_UNWRITTEN || segment->position == pass->last)
        return go_on(pass, end, 0);
    int err = read_frame(pass, segment, &what);
    if (err == BALE_E_IO)
        what.what = "frame: cannot be read";
    else if (err == BALE_E_CORRUPT)
        explain(pass, segment, &what);
    if (err == BALE_E_NOMEM)
        return err;
    if (err != BALE_OK)
        err = fault(pass, &what);
    if (err != BALE_OK)
        return err;
    pass->last = segment->position;
    return go_on(pass, end, segment->frame_length);
}

/* The index cannot be read at the offset. */
static int skip_lost(struct pass *pass)
{
    struct bale_fault what = {.what = "index page"};
    uint64_t first, end;

    if (is_changed(pass) || !bale_container_lost(pass->container, pass->file->offset, &first, &end))
        return fault(pass, &what);
    what.offset = first;
    what.length = end - first;
    int err = fault(pass, &what);
    if (err != BALE_OK)
        return err;
    return go_on(pass, end, 0);
}

/* Reads on from file->offset, with the container open. BALE_OK, BALE_E_NOENT: to the end. */
static int scrub_open(struct pass *pass)
{
    struct bale_container_attr attr;
    struct bale_segment segment;
    int err = BALE_OK;

    bale_container_attr(pass->container, &attr);
    while (err == BALE_OK && !pass->ended && pass->file->offset < attr.size) {
        err = bale_container_map(pass->container, pass->file->offset, &segment);
        if (err == BALE_OK)
            err = scrub_segment(pass, &segment);
        else if (err == BALE_E_CORRUPT || err == BALE_E_IO)
            err = skip_lost(pass);
    }
    return err;
}

static int open_container(struct pass *pass, struct bale_reason *why)
{
    static const struct bale_fault no_root = {.what = "no root is whole"};
    int own, err;

    if (!bale_reader_newest(pass->fd, &pass->generation))
        pass->generation = UINT64_MAX;
    own = fcntl(pass->fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return bale_err_from_errno(errno);
    /* Read from the disk: what the kernel has cached of the file may be better than what the disk
     * has. */
    (void)posix_fadvise(pass->fd, 0, 0, POSIX_FADV_DONTNEED);
    err = bale_reader_open_container(pass->file->reader, own, &pass->container, why);
    if (err != BALE_E_CORRUPT)
        return err;
    err = fault(pass, &no_root);
    return err == BALE_OK ? BALE_E_NOENT : err;
}

/* 1: once more, because the file has changed. */
static int scrub_once(struct pass *pass, struct bale_reason *why)
{
    pass->last = 0;
    int err = open_container(pass, why);

    if (err == BALE_OK)
        err = scrub_open(pass);
    if (err != BALE_OK && err != BALE_E_NOENT && err != BALE_E_STALE && why->text[0] == '\0')
        bale_reason_set(why, "cannot be read: %s", bale_err_text(err));
    bale_container_close(pass->container);
    pass->container = NULL;
    pass->tries++;
    if (err == BALE_E_STALE)
        return pass->tries <= TRIES ? 1 : err;
    return err == BALE_E_NOENT ? BALE_OK : err;
}

int bale_scrub_file(struct bale_scrub_file *file, struct bale_reason *why)
{
    struct pass pass = {.file = file};
    int err = bale_reader_open_file(file->reader, file->below, &pass.fd, why);

    if (err != BALE_OK)
        return err;
    why->text[0] = '\0';
    do
        err = scrub_once(&pass, why);
    while (err == 1);
    (void)posix_fadvise(pass.fd, 0, 0, POSIX_FADV_DONTNEED);
    free(pass.frame);
    free(pass.raw);
    close(pass.fd);
    return err;
}
