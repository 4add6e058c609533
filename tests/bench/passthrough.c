/* A plain pass-through file system, the yardstick for balefs: what a directory costs when it is
 * only shown through FUSE, by the same libfuse, with the same settings, and nothing done to the
 * data.
 *
 * usage: passthrough SOURCE MNT [-f]
 *
 * As root for all users, files made belonging to who made them; otherwise for oneself. The kernel
 * checks permissions and caches data and attributes: nothing else may write to SOURCE meanwhile.
 * Read-ahead is what the kernel gives (/sys/class/bdi/MAJOR:MINOR/read_ahead_kb): a benchmark sets
 * it alike for both. */
#include "passthrough.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "passthrough_inode.h"

enum { THREADS_MAX = 32, FILES_FEW = 65536 };

bool passthrough_as_root;

void passthrough_reply(fuse_req_t req, int rc)
{
    fuse_reply_err(req, rc < 0 ? errno : 0);
}

int passthrough_entry(fuse_ino_t parent, const char *name, struct fuse_entry_param *e)
{
    struct inode *inode = NULL;
    *e = (struct fuse_entry_param){.attr_timeout = passthrough_cache_seconds,
                                   .entry_timeout = passthrough_cache_seconds};
    int rc = inode_lookup(inode_get(parent), name, &inode, &e->attr);
    e->ino = (uintptr_t)inode;
    return rc;
}

void passthrough_enter_caller(fuse_req_t req)
{
    if (!passthrough_as_root)
        return;
    const struct fuse_ctx *ctx = fuse_req_ctx(req);
    setfsgid(ctx->gid);
    setfsuid(ctx->uid);
}

void passthrough_leave_caller(void)
{
    if (!passthrough_as_root)
        return;
    int saved = errno;
    setfsuid(0);
    setfsgid(0);
    errno = saved;
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
    (void)data;
    conn->max_write = 1 << 20;
    conn->max_background = 128;
    conn->congestion_threshold = 96;
    conn->no_interrupt = 1;
    conn->time_gran = 1;
    /* Otherwise each write costs a GETXATTR, and a write and a stat empty the page cache. */
    fuse_set_feature_flag(conn, FUSE_CAP_HANDLE_KILLPRIV_V2);
    fuse_unset_feature_flag(conn, FUSE_CAP_AUTO_INVAL_DATA);
    fuse_unset_feature_flag(conn, FUSE_CAP_SPLICE_READ);
    fuse_set_feature_flag(conn, FUSE_CAP_EXPLICIT_INVAL_DATA);
    fuse_set_feature_flag(conn, FUSE_CAP_PARALLEL_DIROPS);
    fuse_set_feature_flag(conn, FUSE_CAP_CACHE_SYMLINKS);
}

static int fail(const char *what, const char *hint)
{
    fprintf(stderr, "passthrough: %s: %s\n", what, hint);
    return 1;
}

/* With this capability writing would leave the set-id bits that the kernel counts on us to
 * clear. */
static int drop_fsetid(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2];
    if (syscall(SYS_capget, &header, sets) != 0)
        return -1;
    sets[0].effective &= ~(1U << CAP_FSETID);
    sets[0].permitted &= ~(1U << CAP_FSETID);
    return (int)syscall(SYS_capset, &header, sets);
}

/* Without file handles one descriptor for each known inode: root may go to the kernel's usual
 * maximum, others to their limit. */
static void raise_file_limit(void)
{
    struct rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < FILES_FEW)
        fprintf(stderr, "passthrough: no more than %llu open files: raise ulimit -n\n",
                (unsigned long long)limit.rlim_cur);
}

static int serve(struct fuse_session *se)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return fail("no memory", "free some");
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
    int rc = fuse_session_loop_mt(se, config);
    fuse_loop_cfg_destroy(config);
    return rc < 0 ? fail("the connection broke", strerror(-rc)) : 0;
}

static int mount_and_serve(struct fuse_args *args, const char *mountpoint, bool foreground)
{
    struct fuse_lowlevel_ops ops = {.init = op_init};
    passthrough_names(&ops);
    passthrough_inodes(&ops);
    passthrough_data(&ops);
    struct fuse_session *se = fuse_session_new(args, &ops, sizeof ops, NULL);
    if (!se)
        return fail("cannot start", "see above");
    int rc = 1;
    if (fuse_set_signal_handlers(se) != 0) {
        fail("cannot set signal handlers", "see above");
        goto out_session;
    }
    if (fuse_session_mount(se, mountpoint) != 0) {
        fail(mountpoint, "cannot mount there: is it an empty directory, and is there /dev/fuse?");
        goto out_handlers;
    }
    if (fuse_daemonize(foreground) == 0)
        rc = serve(se);
    fuse_session_unmount(se);
out_handlers:
    fuse_remove_signal_handlers(se);
out_session:
    fuse_session_destroy(se);
    return rc;
}

int main(int argc, char **argv)
{
    bool foreground = argc == 4 && strcmp(argv[3], "-f") == 0;
    if (argc != 3 && !foreground) {
        fputs("usage: passthrough SOURCE MNT [-f]\n", stderr);
        return 2;
    }
    passthrough_as_root = geteuid() == 0;
    umask(0); /* the kernel has applied the caller's */
    if (passthrough_as_root && drop_fsetid() != 0)
        return fail("cannot drop a capability", strerror(errno));
    int rc = inode_root_open(argv[1]);
    if (rc != 0)
        return fail(argv[1], strerror(-rc));
    if (!inode_have_handles())
        raise_file_limit();
    char *mountpoint = realpath(argv[2], NULL); /* the daemon leaves this directory */
    if (!mountpoint)
        return fail(argv[2], strerror(errno));
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    if (fuse_opt_add_arg(&args, argv[0]) != 0 ||
        fuse_opt_add_arg(&args, "-osubtype=passthrough,default_permissions") != 0 ||
        (passthrough_as_root && fuse_opt_add_arg(&args, "-oallow_other") != 0))
        rc = fail("no memory", "free some");
    else
        rc = mount_and_serve(&args, mountpoint, foreground);
    free(mountpoint);
    fuse_opt_free_args(&args);
    inode_close_all();
    return rc;
}
