/* What is known of the extended attributes that the kernel itself asks for: ACLs, to check the
 * permissions of each user, and security.capability, before it runs a program. So a file in memory
 * can be used while the store stalls.
 *
 * That a node has no such attribute is a mark of the node. The values of ACLs are in a table of
 * bounded size, which the memory cap counts; one that is overwritten there, or longer than
 * BALE_KNOWN_MAX, is read from the store each time. All is forgotten with the node. What others
 * change in the store is seen only then, as with all that the kernel caches; beside a writer
 * nothing is kept. */
#ifndef BALE_FS_FUSE_KNOWN_H
#define BALE_FS_FUSE_KNOWN_H

#include "fs/fuse/mount.h"

#define BALE_KNOWN_MAX 252 /* an ACL of 31 entries */
#define BALE_ACL_ACCESS "system.posix_acl_access"
#define BALE_ACL_DEFAULT "system.posix_acl_default"
#define BALE_CAPABILITY_XATTR "security.capability"

struct bale_known;
int bale_known_create(struct bale_memory *memory, struct bale_known **known);
void bale_known_destroy(struct bale_known *known); /* NULL is fine */

/* The value, and 0 in *e; or ENODATA. False: read it from the store. */
bool bale_known_get(struct bale_mount *mount, struct bale_node *node, const char *name,
                    char value[BALE_KNOWN_MAX], size_t *length, int *e);

/* Before looking for an attribute; after reading it from the store, note what came of it: e is 0 or
 * an errno. It is not kept if an attribute was changed in between. Any name. */
uint64_t bale_known_ticket(struct bale_mount *mount);
void bale_known_note(struct bale_mount *mount, struct bale_node *node, const char *name,
                     uint64_t ticket, int e, const char *value, size_t length);

/* After a change of the backing inode, also one that failed, and before it is acknowledged: the
 * attribute was set or removed; or the mode was set, which changes an ACL, but makes none. */
void bale_known_changed(struct bale_mount *mount, struct bale_node *node, const char *name);
void bale_known_mode_changed(struct bale_mount *mount, struct bale_node *node);

#endif
