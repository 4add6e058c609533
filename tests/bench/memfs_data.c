#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "tests/bench/memfs.h"

enum {
    BLOCK = 128 << 10,
    SMALL = BLOCK / 2, /* what is no longer comes from malloc */
    ARENA = 64 << 20,
    PIECES = (1 << 20) / BLOCK + 2,
};

/* Free blocks; each begins with the address of the next one. */
static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char *free_blocks, *arena;
static size_t arena_used = ARENA;
static unsigned char *zeros;

/* Uses huge pages: small ones would be faulted in one by one, which is not part of the
 * transport. */
static unsigned char *block_take(void)
{
    unsigned char *block = NULL;

    pthread_mutex_lock(&free_lock);
    if (free_blocks) {
        block = free_blocks;
        memcpy(&free_blocks, block, sizeof free_blocks);
    } else {
        if (arena_used == ARENA) {
            void *more =
                mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (more != MAP_FAILED) {
                madvise(more, ARENA, MADV_HUGEPAGE);
                arena = more;
                arena_used = 0;
            }
        }
        if (arena_used < ARENA) {
            block = arena + arena_used;
            arena_used += BLOCK;
        }
    }
    pthread_mutex_unlock(&free_lock);
    return block;
}

static void block_give(unsigned char *block)
{
    pthread_mutex_lock(&free_lock);
    memcpy(block, &free_blocks, sizeof free_blocks);
    free_blocks = block;
    pthread_mutex_unlock(&free_lock);
}

bool memfs_data_begin(uint64_t ready)
{
    unsigned char *blocks = NULL, *block;

    zeros = calloc(1, BLOCK);
    for (uint64_t made = 0; made < ready; made += BLOCK) {
        if (!(block = block_take()))
            return false;
        memset(block, 0, BLOCK);
        memcpy(block, &blocks, sizeof blocks);
        blocks = block;
    }
    while ((block = blocks)) {
        memcpy(&blocks, block, sizeof blocks);
        block_give(block);
    }
    return zeros != NULL;
}

static void block_free(struct memfs_block *block)
{
    if (block->capacity == BLOCK)
        block_give(block->data);
    else
        free(block->data);
    *block = (struct memfs_block){NULL, 0};
}

/* Makes room for the bytes from `from` to `to`, which the caller writes; other new bytes are
 * zero. */
static bool block_grow(struct memfs_block *block, size_t from, size_t to)
{
    if (block->capacity >= to)
        return true;
    size_t capacity = to > SMALL ? BLOCK : 1024;
    while (capacity < to)
        capacity *= 2;
    unsigned char *data = capacity == BLOCK ? block_take() : malloc(capacity);
    if (!data)
        return false;
    if (block->capacity > 0)
        memcpy(data, block->data, block->capacity);
    if (from > block->capacity)
        memset(data + block->capacity, 0, from - block->capacity);
    memset(data + to, 0, capacity - to);
    free(block->data); /* a block that grows was not whole */
    *block = (struct memfs_block){data, capacity};
    return true;
}

static bool has_room(const struct memfs_node *node, uint64_t end, uint64_t offset)
{
    if (end > (uint64_t)node->attr.st_size || (end + BLOCK - 1) / BLOCK > node->block_count)
        return false;
    for (uint64_t at = offset / BLOCK; at * BLOCK < end; at++)
        if (node->blocks[at].capacity < (end - at * BLOCK < BLOCK ? end - at * BLOCK : BLOCK))
            return false;
    return true;
}

/* Under the lock, to write. */
static bool make_room(struct memfs_node *node, uint64_t end, uint64_t offset)
{
    size_t count = (size_t)((end + BLOCK - 1) / BLOCK);

    if (count > node->block_count) {
        size_t room = count < 4 ? count : count * 3 / 2;
        struct memfs_block *blocks = realloc(node->blocks, room * sizeof *blocks);
        if (!blocks)
            return false;
        memset(blocks + node->block_count, 0, (room - node->block_count) * sizeof *blocks);
        node->blocks = blocks;
        node->block_count = room;
    }
    for (uint64_t at = offset / BLOCK; at * BLOCK < end; at++)
        if (!block_grow(&node->blocks[at], offset > at * BLOCK ? (size_t)(offset % BLOCK) : 0,
                        end - at * BLOCK < BLOCK ? (size_t)(end - at * BLOCK) : BLOCK))
            return false;
    if (end > (uint64_t)node->attr.st_size)
        node->attr.st_size = (off_t)end;
    return true;
}

void memfs_data_resize(struct memfs_node *node, off_t size)
{
    for (size_t at = (size_t)size / BLOCK; at < node->block_count; at++) {
        struct memfs_block *block = &node->blocks[at];
        size_t keep = at == (size_t)size / BLOCK ? (size_t)size % BLOCK : 0;
        if (keep == 0 && block->data)
            block_free(block);
        else if (block->data && block->capacity > keep)
            memset(block->data + keep, 0, block->capacity - keep);
    }
    node->attr.st_size = size;
    memfs_now(&node->attr.st_mtim);
}

void memfs_data_free(struct memfs_node *node)
{
    for (size_t at = 0; at < node->block_count; at++)
        if (node->blocks[at].data)
            block_free(&node->blocks[at]);
    free(node->blocks);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *fi)
{
    struct memfs_node *node = memfs_node_get(ino);
    uint64_t at = (uint64_t)offset, end = at + size;

    (void)fi;
    pthread_rwlock_rdlock(&node->lock);
    while (!has_room(node, end, at)) {
        pthread_rwlock_unlock(&node->lock);
        pthread_rwlock_wrlock(&node->lock);
        bool roomy = make_room(node, end, at);
        pthread_rwlock_unlock(&node->lock);
        if (!roomy) {
            fuse_reply_err(req, ENOMEM);
            return;
        }
        pthread_rwlock_rdlock(&node->lock);
    }
    for (size_t done = 0; done < size;) {
        size_t skip = (size_t)((at + done) % BLOCK), n = BLOCK - skip;
        n = n < size - done ? n : size - done;
        memcpy(node->blocks[(at + done) / BLOCK].data + skip, data + done, n);
        done += n;
    }
    pthread_rwlock_unlock(&node->lock);
    fuse_reply_write(req, size);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
                    struct fuse_file_info *fi)
{
    struct memfs_node *node = memfs_node_get(ino);
    struct iovec pieces[2 * PIECES];
    int count = 0;

    (void)fi;
    pthread_rwlock_rdlock(&node->lock);
    uint64_t at = (uint64_t)offset, end = (uint64_t)node->attr.st_size;
    end = at + size < end ? at + size : end;
    while (at < end && count < 2 * PIECES) {
        static const struct memfs_block none;
        size_t number = (size_t)(at / BLOCK), skip = (size_t)(at % BLOCK);
        const struct memfs_block *block =
            number < node->block_count ? &node->blocks[number] : &none;
        bool there = block->capacity > skip;
        size_t n = (there ? block->capacity : BLOCK) - skip;
        n = n < end - at ? n : (size_t)(end - at);
        pieces[count++] = (struct iovec){there ? block->data + skip : zeros, n};
        at += n;
    }
    fuse_reply_iov(req, pieces, count); /* the kernel copies before this returns */
    pthread_rwlock_unlock(&node->lock);
}

static void set_flags(struct fuse_file_info *fi)
{
    fi->direct_io = memfs_direct;
    fi->parallel_direct_writes = memfs_direct;
    fi->keep_cache = !memfs_direct;
    fi->noflush = 1;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct memfs_node *node = memfs_node_get(ino);

    if (fi->flags & O_TRUNC) {
        pthread_rwlock_wrlock(&node->lock);
        memfs_data_resize(node, 0);
        pthread_rwlock_unlock(&node->lock);
    }
    set_flags(fi);
    fuse_reply_open(req, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    struct fuse_entry_param e;
    int error = memfs_make(req, parent, name, S_IFREG | mode, 0, NULL, &e);

    set_flags(fi);
    if (error != 0)
        fuse_reply_err(req, error);
    else
        fuse_reply_create(req, &e, fi);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data_only, struct fuse_file_info *fi)
{
    (void)ino;
    (void)data_only;
    (void)fi;
    fuse_reply_err(req, 0);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    (void)fi;
    fuse_reply_err(req, 0);
}

void memfs_data(struct fuse_lowlevel_ops *ops)
{
    ops->open = op_open;
    ops->create = op_create;
    ops->read = op_read;
    ops->write = op_write;
    ops->fsync = op_fsync;
    ops->release = op_release;
}
