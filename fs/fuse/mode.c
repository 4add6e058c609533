#include "fs/fuse/mode.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "format/err.h"
#include "fs/fuse/attr.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/caller.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/known.h"
#include "fs/fuse/request.h"

/* Without execution for the group, sgid means mandatory locking. */
static bool keeps_sgid(fuse_req_t req, const struct stat *st)
{
    return !(st->st_mode & S_IXGRP) &&
           (fuse_req_ctx(req)->uid == 0 || bale_caller_in_group(req, st->st_gid));
}

int bale_mode_left(struct bale_mount *mount, struct bale_node *node, int fd, fuse_req_t req,
                   mode_t *mode, bool *loses)
{
    struct stat st = {.st_mode = 0};
    int e = 0;

    if (mount->modes_in_container)
        e = bale_attr_read(mount, node, fd, NULL, &st, NULL);
    else if (fstat(fd, &st) != 0)
        e = errno;
    mode_t killed = S_ISUID;
    if (!e && st.st_mode & S_ISGID && !keeps_sgid(req, &st))
        killed |= S_ISGID;
    *mode = st.st_mode & ~killed;
    *loses = st.st_mode & killed;
    return e;
}

/* An open file's descriptor is taken as it is; a node's own, which is O_PATH, needs the longer way.
 * 0 or errno. */
static int set_mode(int fd, mode_t mode)
{
    if (fchmod(fd, mode) == 0)
        return 0;
    if (errno != EBADF)
        return errno;
    return fchmodat(AT_FDCWD, bale_proc_path(fd).text, mode, 0) != 0 ? errno : 0;
}

void bale_mode_change(struct bale_mount *mount, struct bale_node *node, int fd,
                      struct bale_file *file, mode_t mode, bale_file_done *done, void *arg)
{
    if (mount->modes_in_container && bale_node_is_regular(node)) {
        struct bale_container_attr attr = {
            .mode = (uint16_t)(BALE_ROOT_MODE_IN_CONTAINER | (mode & 07777))};
        node->mode = (node->mode & S_IFMT) | (mode & 07777);
        bale_file_set_attr(file, BALE_ATTR_MODE | BALE_ATTR_INODE_MODE, &attr, done, arg);
        return;
    }
    fd = bale_permissions_fd(mount, node, fd);
    int e = set_mode(fd, mode & 07777);
    bale_known_mode_changed(mount, node);
    if (e) {
        done(arg, bale_err_from_errno(e));
        return;
    }
    node->mode = (node->mode & S_IFMT) | (mode & 07777);
    done(arg, BALE_OK);
}

bool bale_mode_is_killed(const struct bale_mount *mount)
{
    return bale_current_request.kill_suidgid || mount->hides_set_id;
}

/* A failure leaves the bits set; the write that the kernel asked for goes on. */
static void suidgid_killed(void *arg, int64_t result)
{
    (void)arg;
    (void)result;
}

void bale_mode_kill_suidgid(struct bale_mount *mount, struct bale_node *node, fuse_req_t req)
{
    struct bale_file *file = node->opened->file;
    int fd = bale_file_fd(file);
    mode_t mode;
    bool loses;

    if (node->marks & BALE_MARK_CAPABILITY)
        bale_capability_set(mount, node, NULL, 0);
    if (!bale_mode_is_killed(mount) || !(node->mode & (S_ISUID | S_ISGID)) ||
        bale_mode_left(mount, node, fd, req, &mode, &loses) != 0 || !loses)
        return;
    /* No need to wait for a mode in the container: changes of one file are made in order, so it is
     * stored before the data. */
    bale_mode_change(mount, node, fd, file, mode, suidgid_killed, NULL);
    /* The kernel believes its own copy of the mode until it is notified. */
    fuse_lowlevel_notify_inval_inode(mount->session, bale_ino_of(mount, node), -1, 0);
}
