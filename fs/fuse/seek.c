/* SEEK_DATA and SEEK_HOLE. The kernel keeps what programs wrote through a shared mapping for a
 * while, and does not write it back before it sends lseek: a copying program would take for a
 * hole what was just written. So before the reply names a hole in a file that may be mapped,
 * this process makes the kernel write back its pages there. The writes go to other threads of
 * the session; therefore only one thread waits for them at a time, and handles the requests that
 * come meanwhile. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/fuse/freeze.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/ops.h"

struct bale_seek_op {
    fuse_req_t req;
    struct bale_mount *mount;
    struct bale_node *node;       /* its file is open */
    struct bale_request *request; /* once it is queued */
    uint64_t offset;
    bool data;
    struct bale_seek_op *next;
};

struct hole {
    uint64_t from, to;
};

/* The hole that the reply would name; empty if none. */
static struct hole hole_in_answer(const struct bale_seek_op *seek, uint64_t size, int64_t found)
{
    if (found < 0 && found != BALE_E_NOENT)
        return (struct hole){0, 0};
    uint64_t at = found < 0 ? size : (uint64_t)found;
    if (seek->data)
        return (struct hole){seek->offset, at};
    int64_t next = at < size ? bale_file_seek(seek->node->opened->file, at, true) : BALE_E_NOENT;
    return (struct hole){at, next < 0 ? size : (uint64_t)next};
}

/* Finds the reply from what is known here. True: the kernel must first write back its pages in
 * *hole. fetched: the range that it has written back last, or NULL. */
static bool seek_find(const struct bale_seek_op *seek, const struct hole *fetched, int64_t *found,
                      struct hole *hole)
{
    struct bale_file *file = seek->node->opened->file;
    struct bale_file_attr attr;

    *found = bale_file_seek(file, seek->offset, seek->data);
    if (!bale_opened_is_mappable(seek->mount, seek->node))
        return false;
    bale_file_attr(file, &attr);
    *hole = hole_in_answer(seek, attr.size, *found);
    if (hole->from >= hole->to ||
        (fetched && hole->from >= fetched->from && hole->to <= fetched->to))
        return false;
    if (bale_freezer_is_frozen(seek->mount->freezer)) {
        /* Nothing can be written back now. It is unknown whether this is a hole: say data. */
        *found = seek->data ? (int64_t)seek->offset : (int64_t)attr.size;
        return false;
    }
    return true;
}

static void seek_reply(const struct bale_seek_op *seek, int64_t found)
{
    if (found < 0)
        fuse_reply_err(seek->req, found == BALE_E_NOENT ? ENXIO : bale_err_to_errno((int)found));
    else
        fuse_reply_lseek(seek->req, found);
}

static void seek_fetch_and_reply(const struct bale_seek_op *seek)
{
    int64_t found;
    struct hole hole, fetched = {0, 0};

    while (seek_find(seek, &fetched, &found, &hole)) {
        /* The kernel writes the pages back, then drops them. */
        (void)fuse_lowlevel_notify_inval_inode(seek->mount->session,
                                               bale_ino_of(seek->mount, seek->node),
                                               (off_t)hole.from, (off_t)(hole.to - hole.from));
        fetched = hole;
    }
    seek_reply(seek, found);
    bale_in_flight_complete(seek->mount->in_flight, seek->request);
}

/* Queues the request. If the queue was empty, this thread handles it and all that come meanwhile;
 * otherwise another thread is doing that. */
static void seek_in_turn(struct bale_seek_op *seek)
{
    struct bale_mount *mount = seek->mount;

    pthread_mutex_lock(&mount->opened_lock);
    struct bale_seek_op **end = &mount->seeks;
    bool first = !*end;
    while (*end)
        end = &(*end)->next;
    *end = seek;
    while (first && seek) {
        pthread_mutex_unlock(&mount->opened_lock);
        seek_fetch_and_reply(seek);
        pthread_mutex_lock(&mount->opened_lock);
        mount->seeks = seek->next; /* while it was there, other threads only queued */
        free(seek);
        seek = mount->seeks;
    }
    pthread_mutex_unlock(&mount->opened_lock);
}

void bale_op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_seek_op seek = {.req = req,
                                .mount = mount,
                                .node = bale_node_of(mount, ino),
                                .offset = (uint64_t)off,
                                .data = whence == SEEK_DATA};
    struct bale_seek_op *queued;
    struct hole hole;
    int64_t found;

    (void)fi;
    if (whence != SEEK_DATA && whence != SEEK_HOLE) {
        fuse_reply_err(req, EINVAL);
    } else if (!seek_find(&seek, NULL, &found, &hole)) {
        seek_reply(&seek, found);
    } else if (!(queued = malloc(sizeof *queued))) {
        fuse_reply_err(req, ENOMEM);
    } else {
        *queued = seek;
        queued->request = bale_in_flight_detach(mount->in_flight);
        seek_in_turn(queued);
    }
}
