/* The parts of passthrough. Each fills in its operations. */
#ifndef BALE_TESTS_BENCH_PASSTHROUGH_H
#define BALE_TESTS_BENCH_PASSTHROUGH_H

#include <fuse_lowlevel.h>
#include <stdbool.h>

/* Attributes and names are the kernel's to keep: nothing else writes to what is shown. */
static const double passthrough_cache_seconds = 86400;

extern bool passthrough_as_root;

void passthrough_names(
    struct fuse_lowlevel_ops *ops); /* lookups, what makes and removes names, directories */
void passthrough_inodes(
    struct fuse_lowlevel_ops *ops); /* attributes, extended attributes, links' targets, statfs */
void passthrough_data(struct fuse_lowlevel_ops *ops); /* open files */

/* Looks up what was asked for, or just made, and counts a lookup for the kernel. 0 or a negative
 * errno. */
int passthrough_entry(fuse_ino_t parent, const char *name, struct fuse_entry_param *e);

/* Files are made with the caller's ids: set for this thread only. Both keep errno. The caller's
 * other groups are not known here; a directory writable only through one of them refuses. */
void passthrough_enter_caller(fuse_req_t req);
void passthrough_leave_caller(void);

/* Replies to a call that returned rc, with errno when that is negative. */
void passthrough_reply(fuse_req_t req, int rc);

#endif
