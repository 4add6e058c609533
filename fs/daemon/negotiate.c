#include "fs/daemon/negotiate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/daemon/ioctl.h"
#include "fs/daemon/kernel_options.h"
#include "fs/daemon/resources.h"
#include "fs/daemon/stderr_capture.h"
#include "fs/fuse/ops.h"

/* The kernel's limit of background requests, such as read-ahead. At the limit it keeps everybody's
 * reads waiting, so one user's requests must not reach it. Without root the kernel has a limit of
 * its own. */
#define MAX_BACKGROUND 65535
#define CONGESTION (MAX_BACKGROUND / 4 * 3)
#define READ_AHEAD_KIB 4096

static const struct {
    uint64_t flag;
    const char *name;
} names[] = {
    {FUSE_CAP_ASYNC_READ, "async_read"},
    {FUSE_CAP_ATOMIC_O_TRUNC, "atomic_o_trunc"},
    {FUSE_CAP_DONT_MASK, "dont_mask"},
    {FUSE_CAP_IOCTL_DIR, "ioctl_dir"},
    {FUSE_CAP_AUTO_INVAL_DATA, "auto_inval_data"},
    {FUSE_CAP_READDIRPLUS, "readdirplus"},
    {FUSE_CAP_READDIRPLUS_AUTO, "readdirplus_auto"},
    {FUSE_CAP_ASYNC_DIO, "async_dio"},
    {FUSE_CAP_PARALLEL_DIROPS, "parallel_dirops"},
    {FUSE_CAP_POSIX_ACL, "posix_acl"},
    {FUSE_CAP_HANDLE_KILLPRIV_V2, "handle_killpriv_v2"},
    {FUSE_CAP_CACHE_SYMLINKS, "cache_symlinks"},
    {FUSE_CAP_EXPLICIT_INVAL_DATA, "explicit_inval_data"},
    {FUSE_CAP_SETXATTR_EXT, "setxattr_ext"},
    {FUSE_CAP_DIRECT_IO_ALLOW_MMAP, "direct_io_allow_mmap"},
    {FUSE_CAP_EXPORT_SUPPORT, "export_support"},
    {FUSE_CAP_NO_EXPORT_SUPPORT, "no_export_support"},
};

/* libfuse's log function and INIT handler have no argument for it; a process serves one mount. */
static struct bale_negotiation *current;

/* The log function of libfuse. */
static void negotiation_log(enum fuse_log_level level, const char *format, va_list args)
{
    char line[sizeof current->trouble];

    vsnprintf(line, sizeof line, format, args);
    line[strcspn(line, "\n")] = '\0';
    if (level <= FUSE_LOG_WARNING && current) {
        snprintf(current->trouble, sizeof current->trouble, "%s",
                 strncmp(line, "fuse: ", 6) == 0 ? line + 6 : line);
    }
    bale_log(BALE_LOG_DEBUG, "libfuse: %s", line);
}

/* A kernel that runs without SELinux does not have its file system. */
static bool has_selinux(void)
{
    char line[128];
    bool found = false;
    FILE *file = fopen("/proc/filesystems", "re");

    while (file && !found && fgets(line, sizeof line, file))
        found = strstr(line, "selinuxfs");
    if (file)
        fclose(file);
    return found || !file;
}

static void choose_capabilities(struct bale_mount *mount, struct fuse_conn_info *conn)
{
    fuse_unset_feature_flag(conn, FUSE_CAP_AUTO_INVAL_DATA);
    fuse_unset_feature_flag(conn, FUSE_CAP_SPLICE_READ);
    (void)fuse_set_feature_flag(conn, FUSE_CAP_EXPLICIT_INVAL_DATA);
    if (!fuse_set_feature_flag(conn, FUSE_CAP_HANDLE_KILLPRIV_V2)) {
        /* Linux before 5.12. The first version leaves suid and sgid to this process, and does
         * not say when to clear them. */
        fuse_unset_feature_flag(conn, FUSE_CAP_HANDLE_KILLPRIV);
    }
    (void)fuse_set_feature_flag(conn, FUSE_CAP_PARALLEL_DIROPS);
    (void)fuse_set_feature_flag(conn, FUSE_CAP_CACHE_SYMLINKS);
    (void)fuse_set_feature_flag(conn, FUSE_CAP_SETXATTR_EXT);
    (void)fuse_set_feature_flag(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
    mount->exports = mount->exports && fuse_set_feature_flag(conn, FUSE_CAP_EXPORT_SUPPORT);
    if (!mount->exports) /* Linux 6.9; before, such a handle is stale once its inode is evicted */
        (void)fuse_set_feature_flag(conn, FUSE_CAP_NO_EXPORT_SUPPORT);
    /* ACLs need both flags: a default ACL takes the place of the umask. */
    const uint64_t acls = FUSE_CAP_POSIX_ACL | FUSE_CAP_DONT_MASK;
    if (mount->backing_acls && (conn->capable_ext & acls) == acls) {
        mount->dont_mask = fuse_set_feature_flag(conn, FUSE_CAP_POSIX_ACL) &&
                           fuse_set_feature_flag(conn, FUSE_CAP_DONT_MASK);
    }
    mount->backing_acls = mount->dont_mask;
    mount->has_selinux = has_selinux();
}

/* The handler of INIT, in the thread that creates the session. */
static void negotiation_init(void *userdata, struct fuse_conn_info *conn)
{
    struct bale_mount *mount = userdata;

    conn->max_write = current->max_write;
    conn->max_read = current->max_read;
    conn->max_background = MAX_BACKGROUND;
    conn->congestion_threshold = CONGESTION;
    conn->time_gran = 1;
    conn->no_interrupt = 1; /* the session handles interrupts itself */
    choose_capabilities(mount, conn);
    int length = snprintf(current->text, sizeof current->text,
                          "/dev/fuse %u.%u, max_write %u, background %u, io %s, capabilities",
                          conn->proto_major, conn->proto_minor, conn->max_write,
                          conn->max_background, mount->direct ? "direct" : "cached");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (conn->want_ext & names[i].flag && length < (int)sizeof current->text) {
            length += snprintf(current->text + length, sizeof current->text - (size_t)length, " %s",
                               names[i].name);
        }
    }
    current->agreed = true;
}

/* Without getlk, setlk and flock: the kernel's own locks suffice. */
static const struct fuse_lowlevel_ops ops = {
    .init = negotiation_init,
    .lookup = bale_op_lookup,
    .forget = bale_op_forget,
    .forget_multi = bale_op_forget_multi,
    .getattr = bale_op_getattr,
    .setattr = bale_op_setattr,
    .statfs = bale_op_statfs,
    .opendir = bale_op_opendir,
    .readdir = bale_op_readdir,
    .readdirplus = bale_op_readdirplus,
    .releasedir = bale_op_releasedir,
    .fsyncdir = bale_op_fsyncdir,
    .open = bale_op_open,
    .release = bale_op_release,
    .create = bale_op_create,
    .tmpfile = bale_op_tmpfile,
    .mknod = bale_op_mknod,
    .read = bale_op_read,
    .write = bale_op_write,
    .flush = bale_op_flush,
    .fsync = bale_op_fsync,
    .fallocate = bale_op_fallocate,
    .lseek = bale_op_lseek,
    .copy_file_range = bale_op_copy_file_range,
    .mkdir = bale_op_mkdir,
    .symlink = bale_op_symlink,
    .readlink = bale_op_readlink,
    .unlink = bale_op_unlink,
    .rmdir = bale_op_rmdir,
    .rename = bale_op_rename,
    .link = bale_op_link,
    .setxattr = bale_op_setxattr,
    .getxattr = bale_op_getxattr,
    .listxattr = bale_op_listxattr,
    .removexattr = bale_op_removexattr,
    .ioctl = bale_op_ioctl,
};

/* ---- Mounting ---- */

/* Whether this process can open the device, and so fusermount3, which runs with its ids. */
static bool has_device(void)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

struct fuse_session *bale_negotiation_mount(struct bale_negotiation *negotiation,
                                            struct bale_mount *mount,
                                            const struct bale_mount_options *options,
                                            const struct bale_trust *trust, const char *mountpoint,
                                            struct bale_reason *why)
{
    struct bale_kernel_options o;
    char *argv[] = {(char[]){"balefs"}, (char[]){"-o"}, o.text, NULL};
    struct fuse_args args = {.argc = 3, .argv = argv};
    struct bale_stderr_capture capture;
    char line[256];

    current = negotiation;
    bale_kernel_options_compose(mount, options, trust, &o);
    negotiation->max_read = o.max_read;
    negotiation->max_write = bale_max_write(bale_memory_cap(bale_volume_memory(mount->volume)));
    negotiation->text[0] = '\0';
    snprintf(negotiation->trouble, sizeof negotiation->trouble, "no reason given");
    fuse_set_log_func(negotiation_log);
    struct fuse_session *session = o.full ? NULL : fuse_session_new(&args, &ops, sizeof ops, mount);
    fuse_opt_free_args(&args);
    if (!session) {
        bale_reason_set(why, "%s: the mount options are not accepted: %s: see balefs-mount(1)",
                        mountpoint, o.full ? "too long" : negotiation->trouble);
        return NULL;
    }
    bale_stderr_capture_begin(&capture);
    bool mounted = fuse_session_mount(session, mountpoint) == 0;
    bale_stderr_capture_end(&capture, mounted ? NULL : "fusermount3", line, sizeof line);
    if (!mounted) {
        bale_reason_set(why, "%s: cannot be mounted on: %s: %s", mountpoint,
                        line[0] ? line : negotiation->trouble,
                        line[0] && has_device() ? "see fusermount3(1)"
                                                : "balefs doctor shows what this machine lacks");
        fuse_session_destroy(session);
        return NULL;
    }
    return session;
}

/* ---- Read-ahead ---- */

static int read_ahead_file(uint64_t device, int flags)
{
    char path[64];

    snprintf(path, sizeof path, "/sys/class/bdi/%u:%u/read_ahead_kb", major(device), minor(device));
    return open(path, flags | O_CLOEXEC);
}

void bale_negotiation_read_ahead(struct bale_negotiation *negotiation, uint64_t device)
{
    char text[16] = "";
    int fd = read_ahead_file(device, O_WRONLY);

    if (fd >= 0) {
        int length = snprintf(text, sizeof text, "%d", READ_AHEAD_KIB);
        (void)!write(fd, text, (size_t)length);
        close(fd);
    }
    fd = read_ahead_file(device, O_RDONLY);
    if (fd >= 0) {
        ssize_t got = read(fd, text, sizeof text - 1);
        text[got > 0 ? got : 0] = '\0';
        close(fd);
    }
    size_t length = strlen(negotiation->text);
    if (strtoul(text, NULL, 10) > 0) {
        snprintf(negotiation->text + length, sizeof negotiation->text - length,
                 ", read-ahead %lu KiB", strtoul(text, NULL, 10));
    }
}
