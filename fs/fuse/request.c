#include "fs/fuse/request.h"

#include <linux/fuse.h>

#include "kernels/base/working_for.h"

_Thread_local struct bale_request_info bale_current_request;

static _Thread_local const _Atomic uint64_t *handled;

void bale_request_note_handler(const _Atomic uint64_t *unique)
{
    handled = unique;
}

bool bale_request_is_given_up(void)
{
    return handled && atomic_load(handled) & 1;
}

void bale_request_note(const void *request, size_t size)
{
    const struct fuse_in_header *in = request;
    const void *arg = in + 1;

    size -= sizeof *in;
    bale_current_request = (struct bale_request_info){.unique = in->unique, .user = in->uid};
    bale_working_for = in->uid;
    if (in->opcode == FUSE_WRITE && size >= sizeof(struct fuse_write_in)) {
        bale_current_request.kill_suidgid =
            ((const struct fuse_write_in *)arg)->write_flags & FUSE_WRITE_KILL_SUIDGID;
    } else if (in->opcode == FUSE_OPEN && size >= sizeof(struct fuse_open_in)) {
        bale_current_request.kill_suidgid =
            ((const struct fuse_open_in *)arg)->open_flags & FUSE_OPEN_KILL_SUIDGID;
    } else if (in->opcode == FUSE_SETATTR && size >= sizeof(struct fuse_setattr_in)) {
        bale_current_request.kill_suidgid =
            ((const struct fuse_setattr_in *)arg)->valid & FATTR_KILL_SUIDGID;
    } else if (in->opcode == FUSE_FALLOCATE || in->opcode == FUSE_COPY_FILE_RANGE) {
        bale_current_request.kill_suidgid = in->uid != 0; /* they have no such flag */
    } else if (in->opcode == FUSE_SETXATTR && size >= sizeof(struct fuse_setxattr_in)) {
        bale_current_request.acl_kill_sgid =
            ((const struct fuse_setxattr_in *)arg)->setxattr_flags & FUSE_SETXATTR_ACL_KILL_SGID;
    }
}
