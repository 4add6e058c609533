#include "fs/fuse/caller.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/fuse/mount.h"

#define GROUPS_USUAL 64
#define NOBODY 65533u /* 65534 may own something */

static int get_capabilities(struct __user_cap_data_struct data[2])
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

    return (int)syscall(SYS_capget, &head, data);
}

static int set_capabilities(const struct __user_cap_data_struct data[2])
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

    return (int)syscall(SYS_capset, &head, data);
}

/* All that this thread is permitted to have, once `known`. */
static _Thread_local struct {
    struct __user_cap_data_struct data[2];
    bool known;
} permitted;

/* Makes all permitted capabilities effective. */
static void raise_capabilities(void)
{
    struct __user_cap_data_struct *data = permitted.data;

    permitted.known = permitted.known || get_capabilities(data) == 0;
    if (!permitted.known)
        return;
    data[0].effective = data[0].permitted;
    data[1].effective = data[1].permitted;
    (void)set_capabilities(data);
}

/* The umask of this thread: that of the last caller it acted for. */
static _Thread_local mode_t mask;

bool bale_caller_own_umask(void)
{
    if (unshare(CLONE_FS) != 0)
        return false;
    mask = 0;
    umask(mask);
    return true;
}

/* Whether the threads keep their capabilities when their ids change. */
static bool ids_leave_capabilities;

static void become_user(uid_t uid)
{
    setfsuid(uid);
    if (!ids_leave_capabilities)
        raise_capabilities();
}

/* The kernel has already decided that the caller may do this. So the thread has all capabilities
 * under the caller's ids too, and the backing store does not decide again without the caller's
 * other groups. Ids, capabilities and umask are those of this thread only. */
void bale_caller_enter(fuse_req_t req)
{
    struct bale_mount *mount = bale_mount_of(req);
    const struct fuse_ctx *ctx = fuse_req_ctx(req);

    if (mount->dont_mask && mask != ctx->umask) {
        mask = ctx->umask;
        umask(mask);
    }
    if (!mount->as_root || (ctx->uid == 0 && ctx->gid == 0))
        return;
    setfsgid(ctx->gid);
    become_user(ctx->uid);
}

/* The thread's group stays root's: for that group ext4 reserves nothing. */
void bale_caller_as_nobody(bool begins)
{
    if (begins)
        become_user(NOBODY);
    else
        setfsuid(0);
}

void bale_caller_leave(fuse_req_t req)
{
    struct bale_mount *mount = bale_mount_of(req);
    const struct fuse_ctx *ctx = fuse_req_ctx(req);
    int saved = errno;

    if (mount->as_root && (ctx->uid != 0 || ctx->gid != 0)) {
        setfsuid(0);
        setfsgid(0);
    }
    errno = saved;
}

bool bale_caller_in_group(fuse_req_t req, gid_t gid)
{
    gid_t usual[GROUPS_USUAL], *list = usual;
    bool found = fuse_req_ctx(req)->gid == gid;
    int count = found ? 0 : fuse_req_getgroups(req, GROUPS_USUAL, usual);

    if (count > GROUPS_USUAL && (list = malloc((size_t)count * sizeof *list)))
        count = fuse_req_getgroups(req, count, list);
    for (int i = 0; list && i < count && !found; i++)
        found = list[i] == gid;
    if (list != usual)
        free(list);
    return found;
}

/* Newer kernels clear sgid themselves before they send the request. */
mode_t bale_caller_mode(fuse_req_t req, int dir_fd, mode_t mode)
{
    const mode_t both = S_ISGID | S_IXGRP;
    struct stat dir;
    bool strip = (mode & both) == both && fuse_req_ctx(req)->uid != 0 && fstat(dir_fd, &dir) == 0 &&
                 dir.st_mode & S_ISGID && !bale_caller_in_group(req, dir.st_gid);

    return strip ? mode & ~(mode_t)S_ISGID : mode;
}

void bale_caller_drop_capabilities(void)
{
    /* For files of other users, their owners and modes, device nodes, trusted attributes,
     * mounting. */
    static const int kept[] = {CAP_CHOWN,     CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
                               CAP_FOWNER,    CAP_FSETID,       CAP_SETGID,
                               CAP_SETUID,    CAP_MKNOD,        CAP_SETFCAP,
                               CAP_SYS_ADMIN, CAP_MAC_ADMIN,    CAP_MAC_OVERRIDE};
    struct __user_cap_data_struct data[2], keep[2] = {{0}};

    if (get_capabilities(data) != 0)
        return;
    int bits = prctl(PR_GET_SECUREBITS);
    ids_leave_capabilities =
        bits >= 0 && prctl(PR_SET_SECUREBITS, bits | SECBIT_NO_SETUID_FIXUP) == 0;
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        keep[kept[i] / 32].permitted |= 1u << kept[i] % 32;
    for (int i = 0; i < 2; i++) {
        data[i].permitted &= keep[i].permitted;
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    (void)set_capabilities(data);
    permitted.known = false;
}
