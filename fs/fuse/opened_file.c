#include "fs/fuse/opened.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/capability.h"

#define LABEL_MAX 512

/* Opens path in a directory, for writing if possible; sets opened->writable. */
static int open_path(struct bale_opened *opened, int directory, const char *path, int flags)
{
    struct bale_mount *mount = opened->mount;
    int fd;

    opened->writable = !mount->read_only;
    do {
        fd = opened->writable ? bale_backing_open_at(directory, path, O_RDWR | flags) : -1;
        if (fd < 0 && (!opened->writable || errno == EACCES || errno == EPERM || errno == EROFS)) {
            /* The container may belong to another user or be immutable; it can still be read. */
            opened->writable = false;
            fd = bale_backing_open_at(directory, path, O_RDONLY | flags);
        }
    } while (bale_backing_retry(mount, fd));
    return fd;
}

/* Opens a node by its name, for which it needs no descriptor of its own. False: that fails, or the
 * name leads to another file by now. */
static bool open_named(struct bale_opened *opened, int *fd)
{
    struct bale_nodes *nodes = opened->mount->nodes;
    struct bale_node *dir;
    char *name;
    int dir_fd;

    if (bale_node_locate(nodes, opened->node, &dir, &name) != 0)
        return false;
    *fd = -1;
    if (bale_node_pin(nodes, dir, &dir_fd) == 0) {
        *fd = open_path(opened, dir_fd, name, O_NOFOLLOW);
        bale_node_unpin(nodes, dir);
    }
    bool same = *fd >= 0 && bale_node_is_at(nodes, opened->node, *fd, &opened->backing);
    if (*fd >= 0 && !same)
        close(*fd);
    bale_node_unref(nodes, dir);
    free(name);
    return same;
}

/* Opens the container and reads opened->backing. */
static int open_backing(struct bale_opened *opened, int *fd)
{
    struct bale_mount *mount = opened->mount;
    struct bale_node *node = opened->node;
    int path_fd;

    if (!bale_node_pin_open(mount->nodes, node, &path_fd)) {
        /* Beside a writer the name may lead to another file all the time. */
        if (!mount->beside && open_named(opened, fd))
            return 0;
        int e = bale_node_pin(mount->nodes, node, &path_fd);
        if (e)
            return e;
    }
    *fd = open_path(opened, AT_FDCWD, bale_proc_path(path_fd).text, 0);
    int e = *fd < 0 ? errno : bale_node_check_copied(mount->nodes, node, *fd);
    bale_node_unpin(mount->nodes, node);
    if (!e && fstat(*fd, &opened->backing) != 0)
        e = errno;
    if (e && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return e ? bale_backing_look_again(mount, node, e) : 0;
}

static void report_broken(struct bale_opened *opened, int err, const char *feature,
                          const char *label)
{
    struct bale_node *node = opened->node;

    if (err == BALE_E_CORRUPT || err == BALE_E_UNSUPPORTED)
        atomic_fetch_or(&node->marks, BALE_MARK_BROKEN);
    if (atomic_fetch_or(&node->marks, BALE_MARK_REPORTED) & BALE_MARK_REPORTED)
        return;
    if (err == BALE_E_UNSUPPORTED && feature[0]) {
        bale_log(BALE_LOG_ERROR, "%s: needs the feature %s: use a newer balefs", label, feature);
    } else {
        bale_log(BALE_LOG_ERROR, "%s: cannot be opened: %s: see balefs fsck, or restore it", label,
                 bale_err_text(err));
    }
}

/* Logs once for each node what opening found, and marks the node. */
static void note_recovery(struct bale_opened *opened, const struct bale_file *file,
                          const char *label)
{
    struct bale_node *node = opened->node;
    bool held;
    enum bale_recovery recovery = bale_file_recovery(file, &held);

    /* Beside a writer that is so until the next commit; what a crash has left, the next writer
     * reports. */
    if (opened->mount->beside &&
        (recovery == BALE_RECOVERY_SLOT || recovery == BALE_RECOVERY_CUT_OFF))
        recovery = BALE_RECOVERY_NONE;
    if (recovery == BALE_RECOVERY_NONE) {
        atomic_fetch_and(&node->marks, ~(uint32_t)(BALE_MARK_REPORTED | BALE_MARK_HELD));
        return;
    }
    if (recovery == BALE_RECOVERY_DAMAGE || recovery == BALE_RECOVERY_BLANK)
        atomic_fetch_or(&node->marks, BALE_MARK_HELD);
    opened->writable = opened->writable && !held;
    if (!(atomic_fetch_or(&node->marks, BALE_MARK_REPORTED) & BALE_MARK_REPORTED))
        bale_log(BALE_LOG_WARNING, "%s: %s", label, bale_recovery_text(recovery));
}

int bale_opened_open_file(struct bale_opened *opened, struct bale_file **file)
{
    struct bale_mount *mount = opened->mount;
    struct bale_node *node = opened->node;
    char label[LABEL_MAX];
    char feature[5] = "";
    int fd = opened->fd;
    int e = fd >= 0 ? 0 : open_backing(opened, &fd);

    if (e)
        return e;
    opened->fd = -1;
    uint32_t marks = node->marks;
    /* Verifying writes a root, which takes security.capability away. */
    if (!mount->read_only && marks & (BALE_MARK_UNCERTAIN | BALE_MARK_CAPABILITY))
        bale_capability_save(opened, bale_proc_path(fd).text);
    bale_node_path(mount->nodes, node, label, sizeof label);
    int err = bale_file_open_known(mount->volume, fd, &opened->backing, &opened->defaults, label,
                                   file, feature);
    if (err == BALE_E_NOENT)
        return bale_backing_look_again(mount, node, ENOENT);
    if (err != BALE_OK) {
        report_broken(opened, err, feature, label);
        return bale_err_to_errno(err);
    }
    if (marks & BALE_MARK_MADE && mount->keeps_made)
        bale_file_trust(*file);
    if (!mount->read_only && marks & BALE_MARK_UNCERTAIN)
        bale_capability_restore(opened, bale_proc_path(fd).text);
    atomic_fetch_and(&node->marks, ~(uint32_t)(BALE_MARK_UNCERTAIN | BALE_MARK_BROKEN));
    note_recovery(opened, *file, label);
    return 0;
}
