#include "tests/bench/serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 32 };

int serve_fail(const char *what, const char *hint)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, hint);
    return 1;
}

void serve_negotiate(struct fuse_conn_info *conn)
{
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

static int serve(struct fuse_session *se)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();

    if (!config)
        return serve_fail("no memory", "free some");
    fuse_loop_cfg_set_clone_fd(config, 1);
    fuse_loop_cfg_set_max_threads(config, THREADS_MAX);
    int rc = fuse_session_loop_mt(se, config);
    fuse_loop_cfg_destroy(config);
    return rc < 0 ? serve_fail("the connection broke", strerror(-rc)) : 0;
}

static int mount_and_serve(struct fuse_args *args, const char *mountpoint,
                           const struct fuse_lowlevel_ops *ops, bool foreground)
{
    struct fuse_session *se = fuse_session_new(args, ops, sizeof *ops, NULL);

    if (!se)
        return serve_fail("cannot start", "see above");
    int rc = 1;
    if (fuse_set_signal_handlers(se) != 0) {
        serve_fail("cannot set signal handlers", "see above");
        goto out_session;
    }
    if (fuse_session_mount(se, mountpoint) != 0) {
        serve_fail(mountpoint,
                   "cannot mount there: is it an empty directory, and is there /dev/fuse?");
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

int serve_at(const char *path, const char *options, const struct fuse_lowlevel_ops *ops,
             bool foreground)
{
    char *mountpoint = realpath(path, NULL); /* the daemon leaves this directory */

    if (!mountpoint)
        return serve_fail(path, strerror(errno));
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    int rc;
    if (fuse_opt_add_arg(&args, program_invocation_short_name) != 0 ||
        fuse_opt_add_arg(&args, options) != 0 ||
        (geteuid() == 0 && fuse_opt_add_arg(&args, "-oallow_other") != 0))
        rc = serve_fail("no memory", "free some");
    else
        rc = mount_and_serve(&args, mountpoint, ops, foreground);
    free(mountpoint);
    fuse_opt_free_args(&args);
    return rc;
}
