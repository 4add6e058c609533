/* User and mount namespaces, in which an ordinary user may mount without fusermount3. */
#ifndef BALE_TOOLS_MOUNT_NAMESPACE_H
#define BALE_TOOLS_MOUNT_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>

struct bale_helper {
    char path[4096]; /* of fusermount3; empty: there is none in PATH */
    bool setuid;     /* root's, and set-user-ID */
};

/* What posix_spawnp would run. */
void bale_helper_find(struct bale_helper *helper);

/* True if this user can mount only in a namespace: not root, and fusermount3 is missing, is not
 * set-user-ID, or may not become root here (no_new_privs). */
bool bale_namespace_needed(void);

/* Puts this process into a user and a mount namespace of its own, with its own ids. Says why not:
 * 0 or a negative bale_err. */
int bale_namespace_enter(void);

/* Puts this process into the mount namespace of the process pid, another one of the same user's, if
 * it is not in it. Says why not: 0 or a negative bale_err. */
int bale_namespace_join(int pid);

#endif
