/* What the kernel says about a request but libfuse does not pass on. */
#ifndef BALE_FS_FUSE_REQUEST_H
#define BALE_FS_FUSE_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bale_request_info {
    uint64_t unique;    /* the kernel's number of the request; 0: this thread handles none */
    uint32_t user;      /* its caller; 0 without a request */
    bool kill_suidgid;  /* write, open and truncate: the caller may not keep suid and sgid */
    bool acl_kill_sgid; /* setxattr of an ACL: likewise sgid */
};

/* Describes the request that this thread handles, or handled last. Valid in a handler; a
 * callback must have copied what it needs. */
extern _Thread_local struct bale_request_info bale_current_request;

/* For fs/daemon: where the number of the request that this thread handles stands, odd once the
 * request was given up, as the caller is dying. */
void bale_request_note_handler(const _Atomic uint64_t *unique);
/* Whether the handler that this thread runs was given up: nobody waits for it, and nothing of what
 * it has not done yet should be done. Until the handler returns, nobody else changes names in its
 * directories. */
bool bale_request_is_given_up(void);

/* Sets bale_current_request and bale_working_for from a request as the kernel wrote it, at least a
 * struct fuse_in_header long; nothing beyond that has been checked. */
void bale_request_note(const void *request, size_t size);

#endif
