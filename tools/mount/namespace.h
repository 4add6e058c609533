/* User and mount namespaces, in which an ordinary user may mount without fusermount3. */
#ifndef BALE_TOOLS_MOUNT_NAMESPACE_H
#define BALE_TOOLS_MOUNT_NAMESPACE_H

#include <stdbool.h>

/* True if this user can mount only in a namespace: the user is not root, and fusermount3 is
 * missing, is not set-user-ID, or may not become root here (no_new_privs). */
bool bale_namespace_needed(void);

/* Puts this process into a user and a mount namespace of its own, in which it keeps its ids. 0 or a
 * negative bale_err, after a message. */
int bale_namespace_enter(void);

/* Puts this process into the mount namespace of the process pid, which belongs to the same user,
 * unless it is there already. 0 or a negative bale_err, after a message. */
int bale_namespace_join(int pid);

#endif
