/* usage: memfs MNT [-f] [-d] [-m MIB]
 *   -f  stay in the foreground
 *   -d  open files with direct_io, direct writes in parallel
 *   -m  have so much memory touched before: what the system takes for fresh pages is no part of
 *       the transport */
#include "memfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MAX = 32 };

bool memfs_direct;

static void op_init(void *data, struct fuse_conn_info *conn)
{
    (void)data;
    conn->max_write = 1 << 20;
    conn->max_background = 128;
    conn->congestion_threshold = 96;
    conn->no_interrupt = 1;
    conn->time_gran = 1;
    fuse_unset_feature_flag(conn, FUSE_CAP_AUTO_INVAL_DATA);
    fuse_unset_feature_flag(conn, FUSE_CAP_SPLICE_READ);
    fuse_set_feature_flag(conn, FUSE_CAP_EXPLICIT_INVAL_DATA);
    fuse_set_feature_flag(conn, FUSE_CAP_HANDLE_KILLPRIV_V2);
    fuse_set_feature_flag(conn, FUSE_CAP_PARALLEL_DIROPS);
    fuse_set_feature_flag(conn, FUSE_CAP_CACHE_SYMLINKS);
    fuse_set_feature_flag(conn, FUSE_CAP_SETXATTR_EXT);
    if (memfs_direct)
        fuse_set_feature_flag(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
}

static int fail(const char *what, const char *hint)
{
    fprintf(stderr, "memfs: %s: %s\n", what, hint);
    return 1;
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
    memfs_names(&ops);
    memfs_inodes(&ops);
    memfs_data(&ops);
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
    bool foreground = false, good = argc >= 2;
    uint64_t ready = 0;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-f") == 0)
            foreground = true;
        else if (strcmp(argv[i], "-d") == 0)
            memfs_direct = true;
        else if (strcmp(argv[i], "-m") == 0 && i + 1 < argc)
            ready = strtoull(argv[++i], NULL, 10) << 20;
        else
            good = false;
    }
    if (!good) {
        fputs("usage: memfs MNT [-f] [-d] [-m MIB]\n", stderr);
        return 2;
    }
    if (!memfs_data_begin(ready))
        return fail("no memory", "free some");
    char *mountpoint = realpath(argv[1], NULL);
    if (!mountpoint)
        return fail(argv[1], "is no directory");
    struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
    int rc;
    if (fuse_opt_add_arg(&args, argv[0]) != 0 ||
        fuse_opt_add_arg(&args, "-ofsname=memfs,subtype=memfs,default_permissions") != 0 ||
        (geteuid() == 0 && fuse_opt_add_arg(&args, "-oallow_other") != 0))
        rc = fail("no memory", "free some");
    else
        rc = mount_and_serve(&args, mountpoint, foreground);
    free(mountpoint);
    fuse_opt_free_args(&args);
    return rc;
}
