/* What memfs and passthrough share: the parts of a FUSE daemon around its operations. */
#ifndef BALE_TESTS_BENCH_SERVE_H
#define BALE_TESTS_BENCH_SERVE_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

/* Prints "PROGRAM: what: hint". Returns 1. */
int serve_fail(const char *what, const char *hint);

/* Asks the kernel for what balefs asks it for (fs/daemon/negotiate.c), except POSIX ACLs, extended
 * attributes' flags and mapped files past the page cache. */
void serve_negotiate(struct fuse_conn_info *conn);

/* Mounts at path, as root for all users, and serves until it is unmounted. options: "-o" and what
 * else mounting needs. The exit status. */
int serve_at(const char *path, const char *options, const struct fuse_lowlevel_ops *ops,
             bool foreground);

#endif
