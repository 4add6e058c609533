/* Contents. See lossy.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/mount/lossy.h"

static void die(const char *what)
{
    perror(what);
    exit(1);
}

void lossy_data_free(struct lossy_data *data)
{
    for (size_t i = 0; i < data->count; i++)
        free(data->pages[i]);
    free(data->pages);
    if (data->fd >= 0)
        close(data->fd);
    *data = (struct lossy_data){.fd = -1};
}

/* What a page has, wherever that is. */
static void load(const struct lossy_data *data, size_t number, uint8_t *page)
{
    uint64_t at = (uint64_t)number * LOSSY_PAGE;
    size_t length = 0;

    if (number < data->count && data->pages[number]) {
        memcpy(page, data->pages[number], LOSSY_PAGE);
        return;
    }
    if (data->fd >= 0 && at < data->durable)
        length = data->durable - at < LOSSY_PAGE ? (size_t)(data->durable - at) : LOSSY_PAGE;
    ssize_t got = length ? pread(data->fd, page, length, (off_t)at) : 0;
    if (got < 0)
        die("lossy: read");
    memset(page + got, 0, LOSSY_PAGE - (size_t)got);
}

/* The page in memory, where it can be changed. */
static uint8_t *own(struct lossy_data *data, size_t number)
{
    if (number >= data->count) {
        size_t count = number + 1 > 2 * data->count ? number + 1 : 2 * data->count;
        data->pages = realloc(data->pages, count * sizeof *data->pages);
        if (!data->pages)
            abort();
        memset(data->pages + data->count, 0, (count - data->count) * sizeof *data->pages);
        data->count = count;
    }
    if (!data->pages[number]) {
        uint8_t *page = malloc(LOSSY_PAGE);
        if (!page)
            abort();
        load(data, number, page);
        data->pages[number] = page;
    }
    return data->pages[number];
}

void lossy_data_read(const struct lossy_node *node, uint8_t *to, uint64_t at, size_t length)
{
    uint8_t page[LOSSY_PAGE];

    while (length > 0) {
        size_t from = at % LOSSY_PAGE;
        size_t part = length < LOSSY_PAGE - from ? length : LOSSY_PAGE - from;
        load(&node->data, at / LOSSY_PAGE, page);
        memcpy(to, page + from, part);
        to += part;
        at += part;
        length -= part;
    }
}

void lossy_data_write(struct lossy_node *node, const uint8_t *from, uint64_t at, size_t length)
{
    while (length > 0) {
        size_t in = at % LOSSY_PAGE;
        size_t part = length < LOSSY_PAGE - in ? length : LOSSY_PAGE - in;
        memcpy(own(&node->data, at / LOSSY_PAGE) + in, from, part);
        from += part;
        at += part;
        length -= part;
    }
    if (at > node->data.size)
        node->data.size = at;
}

void lossy_data_truncate(struct lossy_node *node, uint64_t size)
{
    struct lossy_data *data = &node->data;
    size_t whole = (size_t)((size + LOSSY_PAGE - 1) / LOSSY_PAGE);

    if (size < data->size && size % LOSSY_PAGE)
        memset(own(data, size / LOSSY_PAGE) + size % LOSSY_PAGE, 0, LOSSY_PAGE - size % LOSSY_PAGE);
    for (size_t i = whole; i < data->count; i++) {
        free(data->pages[i]);
        data->pages[i] = NULL;
    }
    data->durable = size < data->durable ? size : data->durable;
    data->size = size;
}

void lossy_data_sync(struct lossy_node *node)
{
    struct lossy_data *data = &node->data;

    if (data->fd < 0)
        data->fd = lossy_disk_contents(node->id, true);
    if (ftruncate(data->fd, (off_t)data->durable) != 0 ||
        ftruncate(data->fd, (off_t)data->size) != 0)
        die("lossy: truncate");
    for (size_t i = 0; i < data->count; i++) {
        uint64_t at = (uint64_t)i * LOSSY_PAGE;
        if (!data->pages[i])
            continue;
        size_t length = data->size - at < LOSSY_PAGE ? (size_t)(data->size - at) : LOSSY_PAGE;
        if (pwrite(data->fd, data->pages[i], length, (off_t)at) != (ssize_t)length)
            die("lossy: write");
        free(data->pages[i]);
        data->pages[i] = NULL;
    }
    data->durable = data->size;
}

/* ---- Requests ---- */

/* The fsync that waits (lossy_is_held), and its file. */
static fuse_req_t held;
static struct lossy_node *held_node;

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    if (fi->flags & O_TRUNC)
        lossy_data_truncate(lossy_node_of(ino), 0);
    fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi)
{
    struct lossy_node *node = lossy_node_of(ino);
    uint64_t at = (uint64_t)off, end = node->data.size;

    (void)fi;
    size = at >= end ? 0 : end - at < size ? (size_t)(end - at) : size;
    uint8_t *buffer = malloc(size + 1);
    if (!buffer) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    lossy_data_read(node, buffer, at, size);
    fuse_reply_buf(req, (char *)buffer, size);
    free(buffer);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t off,
                     struct fuse_file_info *fi)
{
    struct lossy_node *node = lossy_node_of(ino);

    (void)fi;
    lossy_data_write(node, (const uint8_t *)data, (uint64_t)off, size);
    lossy_touch(node, true);
    if (lossy_keeps())
        lossy_data_sync(node);
    fuse_reply_write(req, size);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    struct lossy_node *node = lossy_node_of(ino);

    (void)datasync;
    (void)fi;
    if (lossy_vanish(node)) {
        fuse_reply_err(req, ESTALE);
        return;
    }
    if (lossy_is_held(node)) {
        held = req;
        held_node = node;
        puts("held");
        fflush(stdout);
        return;
    }
    lossy_data_sync(node);
    lossy_disk_attributes(node);
    fuse_reply_err(req, 0);
}

void lossy_release(void)
{
    if (!held)
        return;
    lossy_data_sync(held_node);
    lossy_disk_attributes(held_node);
    fuse_reply_err(held, 0);
    held = NULL;
}

void lossy_data_ops(struct fuse_lowlevel_ops *ops)
{
    ops->open = op_open;
    ops->read = op_read;
    ops->write = op_write;
    ops->fsync = op_fsync;
}
