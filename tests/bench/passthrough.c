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
#include "tests/bench/passthrough.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/bench/passthrough_inode.h"
#include "tests/bench/serve.h"

enum { FILES_FEW = 65536 };

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
    serve_negotiate(conn);
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
        return serve_fail("cannot drop a capability", strerror(errno));
    int rc = inode_root_open(argv[1]);
    if (rc != 0)
        return serve_fail(argv[1], strerror(-rc));
    if (!inode_have_handles())
        raise_file_limit();
    struct fuse_lowlevel_ops ops = {.init = op_init};
    passthrough_names(&ops);
    passthrough_inodes(&ops);
    passthrough_data(&ops);
    rc = serve_at(argv[2], "-osubtype=passthrough,default_permissions", &ops, foreground);
    inode_close_all();
    return rc;
}
