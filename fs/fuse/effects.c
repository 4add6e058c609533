#include "fs/fuse/effects.h"

#include <linux/fuse.h>
#include <string.h>

#include "fs/fuse/freeze.h"

/* Older versions of linux/fuse.h do not have it. */
#define OPCODE_TMPFILE 51

/* The text at an offset behind the header, or NULL. */
static const char *text_at(const void *request, size_t size, size_t offset)
{
    const char *begin = (const char *)request + sizeof(struct fuse_in_header) + offset;
    size_t used = sizeof(struct fuse_in_header) + offset;

    return used < size && memchr(begin, '\0', size - used) ? begin : NULL;
}

/* A name in the request's directory, behind a struct of that size. */
static struct bale_effects in_directory(const void *request, size_t size, size_t offset)
{
    uint64_t dir = ((const struct fuse_in_header *)request)->nodeid;

    return (struct bale_effects){.nodes = {dir},
                                 .within = {dir},
                                 .changes = true,
                                 .names = {text_at(request, size, offset)}};
}

static struct bale_effects of_link(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_effects effects = in_directory(request, size, sizeof(struct fuse_link_in));

    if (effects.names[0])
        effects.nodes[1] = ((const struct fuse_link_in *)(in + 1))->oldnodeid;
    return effects;
}

static struct bale_effects of_rename(const void *request, size_t size, size_t offset)
{
    const struct fuse_in_header *in = request;
    struct bale_effects effects = in_directory(request, size, offset);
    const char *from = effects.names[0];

    if (from) {
        /* The structs of both requests begin with the new directory. */
        effects.within[1] = ((const struct fuse_rename_in *)(in + 1))->newdir;
        effects.nodes[1] = effects.within[1];
        effects.names[1] = text_at(request, size, offset + strlen(from) + 1);
    }
    return effects;
}

/* The header names the source. */
static struct bale_effects of_copy(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_effects effects = {.nodes = {in->nodeid}, .files = {true, true}, .changes = true};

    if (size >= sizeof *in + sizeof(struct fuse_copy_file_range_in)) {
        effects.nodes[1] = ((const struct fuse_copy_file_range_in *)(in + 1))->nodeid_out;
        effects.within[0] = effects.nodes[1];
    }
    return effects;
}

struct bale_effects bale_effects_of(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    struct bale_effects effects = {.nodes = {in->nodeid}};

    switch (in->opcode) {
    case FUSE_LOOKUP:
        effects = in_directory(request, size, 0);
        effects.changes = false;
        return effects;
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_SYMLINK:
    case OPCODE_TMPFILE:
        return in_directory(request, size, 0);
    case FUSE_MKDIR:
        return in_directory(request, size, sizeof(struct fuse_mkdir_in));
    case FUSE_MKNOD:
        return in_directory(request, size, sizeof(struct fuse_mknod_in));
    case FUSE_CREATE:
        return in_directory(request, size, sizeof(struct fuse_create_in));
    case FUSE_LINK:
        return of_link(request, size);
    case FUSE_RENAME:
        return of_rename(request, size, sizeof(struct fuse_rename_in));
    case FUSE_RENAME2:
        return of_rename(request, size, sizeof(struct fuse_rename2_in));
    case FUSE_COPY_FILE_RANGE:
        return of_copy(request, size);
    case FUSE_OPEN:
        effects.changes = bale_freezer_is_change(request, size); /* it truncates */
        break;
    case FUSE_WRITE:
    case FUSE_FALLOCATE:
        effects.files[0] = true;
        effects.changes = true;
        break;
    case FUSE_SETATTR:
    case FUSE_SETXATTR:
    case FUSE_REMOVEXATTR:
        effects.changes = true;
        break;
    case FUSE_READ:
    case FUSE_LSEEK:
    case FUSE_FLUSH:
    case FUSE_FSYNC:
        effects.files[0] = true;
        break;
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
    case FUSE_FSYNCDIR: /* all their structs begin with it */
        if (size >= sizeof *in + sizeof(struct fuse_fsync_in))
            memcpy(&effects.directory, in + 1, sizeof effects.directory);
        break;
    default:
        break;
    }
    effects.within[0] = effects.changes ? in->nodeid : 0;
    return effects;
}

bool bale_effects_may_come_late(const void *request)
{
    switch (((const struct fuse_in_header *)request)->opcode) {
    case FUSE_LOOKUP:
    case FUSE_GETATTR:
    case FUSE_READLINK:
    case FUSE_STATFS:
    case FUSE_GETXATTR:
    case FUSE_LISTXATTR:
    case FUSE_OPEN:
    case FUSE_READ:
    case FUSE_WRITE:
    case FUSE_LSEEK:
    case FUSE_FLUSH:
    case FUSE_FSYNC:
    case FUSE_READDIR:
    case FUSE_READDIRPLUS:
    case FUSE_FSYNCDIR:
    case FUSE_IOCTL:
    case FUSE_SETATTR:
    case FUSE_SETXATTR:
    case FUSE_REMOVEXATTR:
    case FUSE_FALLOCATE:
    case FUSE_COPY_FILE_RANGE:
    case FUSE_UNLINK:
    case FUSE_RMDIR:
    case FUSE_SYMLINK:
    case FUSE_MKDIR:
    case FUSE_MKNOD:
    case FUSE_CREATE:
    case FUSE_LINK:
    case FUSE_RENAME:
    case FUSE_RENAME2:
    case OPCODE_TMPFILE:
        return true;
    default:
        return false;
    }
}
