/* Acting as the caller of a request, and giving up what the daemon does not need. Ids, capabilities
 * and (after unshare(CLONE_FS)) the umask belong to a thread. */
#ifndef BALE_FS_FUSE_CALLER_H
#define BALE_FS_FUSE_CALLER_H

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <sys/types.h>

/* Between enter and leave, new objects that this thread makes get the caller's ids and umask. errno
 * survives leave. */
void bale_caller_enter(fuse_req_t req);
void bale_caller_leave(fuse_req_t req);

/* Whether gid is among the caller's groups. */
bool bale_caller_in_group(fuse_req_t req, gid_t gid);

/* The mode to make an object with: without sgid where the caller's groups forbid it. */
mode_t bale_caller_mode(fuse_req_t req, int dir_fd, mode_t mode);

/* Gives this thread a umask of its own. False: the system does not allow it. */
bool bale_caller_own_umask(void);

/* Between the calls with begins true and false, this thread and those that it starts act on the
 * backing store as the user nobody, with all capabilities: our writes then do not use the space
 * that ext4 reserves for root. Can be the around callback of bale_pool_enter. */
void bale_caller_as_nobody(bool begins);

/* Gives up the capabilities that are not needed, CAP_SYS_RESOURCE first: the quotas and reserves of
 * the backing store hold for the daemon. Where the system allows it, the others then stay when a
 * thread changes its ids, and need not be taken again. Call it before there are threads. */
void bale_caller_drop_capabilities(void);

#endif
