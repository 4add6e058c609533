/* usage: memfs MNT [-f] [-d] [-m MIB]
 *   -f  stay in the foreground
 *   -d  open files with direct_io, direct writes in parallel
 *   -m  have so much memory touched before: what the system takes for fresh pages is no part of
 *       the transport */
#include "tests/bench/memfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/serve.h"

bool memfs_direct;

static void op_init(void *data, struct fuse_conn_info *conn)
{
    (void)data;
    serve_negotiate(conn);
    fuse_set_feature_flag(conn, FUSE_CAP_SETXATTR_EXT);
    if (memfs_direct)
        fuse_set_feature_flag(conn, FUSE_CAP_DIRECT_IO_ALLOW_MMAP);
}

int main(int argc, char **argv)
{
    bool foreground = false, good = argc >= 2;
    uint64_t ready = 0;

    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "-f") == 0)
            foreground = true;
        else if (strcmp(argv[i], "-d") == 0)
            memfs_direct = true;
        else if (strcmp(argv[i], "-m") == 0 && i + 1 < argc)
            ready = strtoull(argv[++i], NULL, 10) << 20;
        else
            good = false;
    if (!good) {
        fputs("usage: memfs MNT [-f] [-d] [-m MIB]\n", stderr);
        return 2;
    }
    if (!memfs_data_begin(ready))
        return serve_fail("no memory", "free some");
    struct fuse_lowlevel_ops ops = {.init = op_init};
    memfs_names(&ops);
    memfs_inodes(&ops);
    memfs_data(&ops);
    return serve_at(argv[1], "-ofsname=memfs,subtype=memfs,default_permissions", &ops, foreground);
}
