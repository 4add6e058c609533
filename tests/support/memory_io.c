#include "tests/support/memory_io.h"

#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "tests/check.h"

struct memory_io {
    struct bale_io io;
    struct memory_file *file;
};

static struct memory_file *file_of(struct bale_io *io)
{
    return ((struct memory_io *)io)->file;
}

void memory_file_resize(struct memory_file *file, size_t size)
{
    if (size > file->capacity) {
        size_t capacity = size + size / 2 + 4096;

        file->bytes = realloc(file->bytes, capacity);
        REQUIRE(file->bytes);
        file->capacity = capacity;
    }
    if (size > file->size)
        memset(file->bytes + file->size, 0, size - file->size);
    file->size = size;
}

void memory_file_write(struct memory_file *file, const void *data, size_t length, uint64_t position)
{
    if (length == 0)
        return;
    if (position + length > file->size)
        memory_file_resize(file, (size_t)position + length);
    memcpy(file->bytes + position, data, length);
}

void memory_file_apply(struct memory_file *file, const struct memory_op *op)
{
    if (op->kind == MEMORY_WRITE)
        memory_file_write(file, op->data, (size_t)op->length, op->position);
    else if (op->kind == MEMORY_TRUNCATE)
        memory_file_resize(file, (size_t)op->position);
    else if (op->kind == MEMORY_PUNCH && op->position < file->size)
        memset(file->bytes + op->position, 0,
               op->position + op->length < file->size ? (size_t)op->length
                                                      : file->size - (size_t)op->position);
}

void memory_file_forget_ops(struct memory_file *file)
{
    for (size_t i = 0; i < file->op_count; i++)
        free(file->ops[i].data);
    file->op_count = 0;
}

void memory_file_clear(struct memory_file *file)
{
    memory_file_forget_ops(file);
    free(file->ops);
    free(file->bytes);
    *file = (struct memory_file){.fail_after = -1};
}

static int fail(struct memory_file *file, enum memory_kind kind)
{
    if ((file->fail_kinds & kind) == 0 || file->fail_after < 0)
        return BALE_OK;
    if (file->fail_after == 0)
        return file->fail_error;
    file->fail_after--;
    return BALE_OK;
}

static void record(struct memory_file *file, enum memory_kind kind, uint64_t position,
                   uint64_t length, const void *data)
{
    struct memory_op *op;

    if (!file->record)
        return;
    if (file->op_count == file->op_capacity) {
        file->op_capacity = file->op_capacity * 2 + 64;
        file->ops = realloc(file->ops, file->op_capacity * sizeof *file->ops);
        REQUIRE(file->ops);
    }
    op = &file->ops[file->op_count++];
    *op = (struct memory_op){.kind = kind, .position = position, .length = length};
    if (data) {
        op->data = malloc((size_t)length);
        REQUIRE(op->data);
        memcpy(op->data, data, (size_t)length);
    }
}

static int io_read(struct bale_io *io, void *data, size_t length, uint64_t position, size_t *got)
{
    struct memory_file *file = file_of(io);
    int err = fail(file, MEMORY_READ);

    if (file->reading)
        file->reading(file->reading_arg);
    *got = 0;
    if (err == BALE_OK && position < file->size) {
        *got = length < file->size - position ? length : file->size - (size_t)position;
        memcpy(data, file->bytes + position, *got);
    }
    return err;
}

static void io_expect(struct bale_io *io, bool alone)
{
    file_of(io)->alone = alone;
}

static int io_write(struct bale_io *io, const void *data, size_t length, uint64_t position)
{
    struct memory_file *file = file_of(io);
    int err = fail(file, MEMORY_WRITE);

    if (err == BALE_OK && file->limit != 0 && position + length > file->limit)
        err = BALE_E_NOSPACE;
    if (err != BALE_OK)
        return err;
    memory_file_write(file, data, length, position);
    record(file, MEMORY_WRITE, position, length, data);
    file->writes++;
    return BALE_OK;
}

static int io_sync(struct bale_io *io)
{
    int err = fail(file_of(io), MEMORY_SYNC);

    if (err == BALE_OK) {
        record(file_of(io), MEMORY_SYNC, 0, 0, NULL);
        file_of(io)->syncs++;
    }
    return err;
}

static int io_size(struct bale_io *io, uint64_t *size)
{
    *size = file_of(io)->size;
    return BALE_OK;
}

static int io_truncate(struct bale_io *io, uint64_t size)
{
    const struct memory_op op = {.kind = MEMORY_TRUNCATE, .position = size};
    int err = fail(file_of(io), MEMORY_TRUNCATE);

    if (err == BALE_OK) {
        /* As on ext4: only cutting frees blocks beyond the end. */
        if (size <= file_of(io)->size)
            file_of(io)->allocated = 0;
        memory_file_apply(file_of(io), &op);
        record(file_of(io), MEMORY_TRUNCATE, size, 0, NULL);
    }
    return err;
}

static int io_punch(struct bale_io *io, uint64_t position, uint64_t length)
{
    const struct memory_op op = {.kind = MEMORY_PUNCH, .position = position, .length = length};
    int err = fail(file_of(io), MEMORY_PUNCH);

    if (err == BALE_OK) {
        memory_file_apply(file_of(io), &op);
        record(file_of(io), MEMORY_PUNCH, position, length, NULL);
    }
    return err;
}

static int io_allocate(struct bale_io *io, uint64_t position, uint64_t length)
{
    struct memory_file *file = file_of(io);
    int err = fail(file, MEMORY_ALLOCATE);

    uint64_t end = position + length;
    if (err == BALE_OK && file->limit != 0 && end > file->limit) {
        err = BALE_E_NOSPACE;
        end = file->limit;
    }
    if ((err == BALE_OK || err == BALE_E_NOSPACE) && end > file->allocated)
        file->allocated = (size_t)end;
    return err;
}

/* As many blocks as there are: what is shared is a copy here. */
static int io_clone(struct bale_io *io, struct bale_io *source, uint64_t from, uint64_t length,
                    uint64_t position)
{
    struct memory_file *file = file_of(source);

    if (from % 4096 || position % 4096 || length % 4096 || from + length > file->size)
        return BALE_E_UNSUPPORTED;
    return io_write(io, file->bytes + from, (size_t)length, position);
}

static int io_close(struct bale_io *io)
{
    free(io);
    return BALE_OK;
}

static const struct bale_io_ops ops = {
    .read = io_read,
    .expect = io_expect,
    .write = io_write,
    .sync = io_sync,
    .size = io_size,
    .truncate = io_truncate,
    .punch = io_punch,
    .allocate = io_allocate,
    .clone = io_clone,
    .close = io_close,
};

struct bale_io *memory_io_open(struct memory_file *file)
{
    struct memory_io *io = malloc(sizeof *io);

    REQUIRE(io);
    io->io.ops = &ops;
    io->file = file;
    return &io->io;
}
