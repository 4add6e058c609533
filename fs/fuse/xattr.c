#include "fs/fuse/xattr.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "fs/fuse/backing.h"
#include "fs/fuse/capability.h"
#include "fs/fuse/ops.h"
#include "fs/fuse/xattr_balefs.h"

#define ACL_PREFIX "system.posix_acl_"
#define TRUSTED "trusted."
#define SELINUX "security.selinux"
#define LIST_MAX 65536
#define ACLS_MAX 64 /* room for the names of two ACLs */

static bool is_acl(const char *name)
{
    return strncmp(name, ACL_PREFIX, strlen(ACL_PREFIX)) == 0;
}

static int reach(struct bale_mount *mount, struct bale_node *node, struct bale_xattr_path *path)
{
    path->file = bale_opened_file(mount, node);
    if (path->file) {
        path->fd = bale_file_fd(path->file);
        return 0;
    }
    int e = bale_node_pin(mount->nodes, node, &path->fd);
    path->pinned = e ? NULL : node;
    return e;
}

int bale_xattr_path_open(struct bale_mount *mount, struct bale_node *node, const char *attribute,
                         struct bale_xattr_path *path)
{
    char *name = NULL;

    *path = (struct bale_xattr_path){.follow = !S_ISLNK(node->mode)};
    int e = path->follow ? 0 : bale_node_locate(mount->nodes, node, &path->dir, &name);
    if (e)
        return e;
    e = reach(mount, path->follow ? node : path->dir, path);
    if (!e) {
        int fd = path->fd;
        if (path->follow && is_acl(attribute))
            fd = bale_permissions_fd(mount, node, fd);
        struct bale_proc_path proc = bale_proc_path(fd);
        if (asprintf(&path->text, "%s%s%s", proc.text, name ? "/" : "", name ? name : "") < 0) {
            path->text = NULL;
            e = ENOMEM;
        }
    }
    free(name);
    return e;
}

void bale_xattr_path_close(struct bale_mount *mount, struct bale_xattr_path *path)
{
    if (path->file)
        bale_file_unref(path->file);
    if (path->pinned)
        bale_node_unpin(mount->nodes, path->pinned);
    bale_node_unref(mount->nodes, path->dir);
    free(path->text);
}

int bale_xattr_check_name(const struct bale_mount *mount, const struct bale_node *node,
                          const char *name)
{
    if (!mount->backing_acls && is_acl(name))
        return EOPNOTSUPP;
    if (bale_is_setting_xattr(name) && S_ISDIR(node->mode) && strcmp(name, BALE_XATTR_CODEC) != 0 &&
        strcmp(name, BALE_XATTR_EXTENT) != 0 && strcmp(name, BALE_XATTR_MATCH) != 0)
        return ENODATA;
    return 0;
}

bool bale_xattr_is_setting(const struct bale_node *node, const char *name)
{
    return bale_node_is_regular(node) && bale_is_setting_xattr(name);
}

/* Reads a value from the backing store; size 0: only its length. */
static int get_xattr(struct bale_mount *mount, struct bale_node *node, const char *name,
                     char *value, size_t size, size_t *length)
{
    struct bale_xattr_path path;
    int e = bale_xattr_path_open(mount, node, name, &path);

    if (!e) {
        ssize_t got = path.follow ? getxattr(path.text, name, value, size)
                                  : lgetxattr(path.text, name, value, size);
        e = got < 0 ? errno : 0;
        *length = got < 0 ? 0 : (size_t)got;
    }
    bale_xattr_path_close(mount, &path);
    return e;
}

/* The errno to reply. Without SELinux, ls asks for the label of each file, as long as the reply is
 * that this file has none. If the reply is that there are no labels, ls does not ask again. */
static int absent(const struct bale_mount *mount, const char *name, int e)
{
    return e == ENODATA && !mount->has_selinux && strcmp(name, SELINUX) == 0 ? EOPNOTSUPP : e;
}

bool bale_xattr_known(struct bale_mount *mount, struct bale_node *node, const char *name,
                      char value[BALE_KNOWN_MAX], size_t *length, int *e)
{
    bool is_capability = strcmp(name, BALE_CAPABILITY_XATTR) == 0;

    *e = is_capability && mount->hides_set_id ? ENODATA : bale_xattr_check_name(mount, node, name);
    if (*e)
        return true;
    *length = is_capability ? bale_capability_get(mount, node, value) : 0;
    return *length > 0 || bale_known_get(mount, node, name, value, length, e);
}

static void read_and_reply(fuse_req_t req, struct bale_node *node, const char *name, size_t size,
                           uint64_t ticket)
{
    struct bale_mount *mount = bale_mount_of(req);
    char *value = size ? malloc(size) : NULL;
    size_t length = 0;
    int e = size && !value ? ENOMEM : get_xattr(mount, node, name, value, size, &length);

    if (e || size > 0)
        bale_known_note(mount, node, name, ticket, e, value, length);
    if (e)
        fuse_reply_err(req, absent(mount, name, e));
    else
        bale_xattr_reply(req, value, length, size);
    free(value);
}

void bale_op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    uint64_t ticket = bale_known_ticket(mount); /* first: the capability may be put back */
    char known[BALE_KNOWN_MAX];
    size_t length;
    int e;

    if (strcmp(name, BALE_ACL_ACCESS) == 0)
        atomic_store_explicit(&mount->acls_follow, true, memory_order_relaxed);
    if (bale_xattr_is_setting(node, name))
        bale_setting_xattr_get(req, node, name, size);
    else if (!bale_xattr_known(mount, node, name, known, &length, &e))
        read_and_reply(req, node, name, size, ticket);
    else if (e)
        fuse_reply_err(req, absent(mount, name, e));
    else
        bale_xattr_reply(req, known, length, size);
}

/* The names of the ACLs of .balefs/top. They replace those of the store's directory in the list. */
static size_t list_top_acls(struct bale_mount *mount, struct bale_node *node, char *list)
{
    static const char *const acls[] = {BALE_ACL_ACCESS, BALE_ACL_DEFAULT};
    size_t length = 0, known;

    for (size_t i = 0; mount->backing_acls && i < sizeof acls / sizeof *acls; i++)
        if (get_xattr(mount, node, acls[i], NULL, 0, &known) == 0) {
            strcpy(list + length, acls[i]);
            length += strlen(acls[i]) + 1;
        }
    return length;
}

/* Copying programs must not make other files lossy. */
static bool makes_lossy(int fd, const char *name)
{
    return strcmp(name, BALE_XATTR_MATCH) == 0 && bale_properties_has_bound(fd);
}

/* Removes the names that are not shown; returns the new length. Trusted attributes are shown to
 * root alone: the kernel refuses other users their values, but leaves the list to this process. */
static size_t filter_names(const struct bale_mount *mount, const struct bale_node *node, int fd,
                           bool trusted, bool acls, char *list, size_t length)
{
    size_t kept = 0;

    for (size_t at = 0; at < length;) {
        size_t size = strlen(list + at) + 1;
        if ((trusted || strncmp(list + at, TRUSTED, strlen(TRUSTED)) != 0) &&
            (acls || !is_acl(list + at)) && !bale_xattr_is_setting(node, list + at) &&
            !makes_lossy(fd, list + at) && bale_xattr_check_name(mount, node, list + at) == 0) {
            memmove(list + kept, list + at, size);
            kept += size;
        }
        at += size;
    }
    return kept;
}

void bale_op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_node *node = bale_node_of(mount, ino);
    struct bale_xattr_path path;
    ssize_t got = 0;
    bool top = node == bale_nodes_root(mount->nodes) && bale_store_top_fd(mount->store) >= 0;
    char *list = malloc(LIST_MAX + ACLS_MAX + BALE_SETTING_XATTR_LIST);

    if (!list) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    int e = bale_xattr_path_open(mount, node, "", &path);
    if (!e) {
        got = path.follow ? listxattr(path.text, list, LIST_MAX)
                          : llistxattr(path.text, list, LIST_MAX);
        e = got < 0 && errno != EOPNOTSUPP ? errno : 0;
        got = got < 0 ? 0 : got;
    }
    if (!e) {
        bool trusted = fuse_req_ctx(req)->uid == 0;
        size_t length = filter_names(mount, node, path.fd, trusted, !top, list, (size_t)got);
        if (top)
            length += list_top_acls(mount, node, list + length);
        if (bale_node_is_regular(node))
            length += bale_setting_xattr_list(mount, node, path.fd, list + length);
        bale_xattr_reply(req, list, length, size);
    } else {
        fuse_reply_err(req, e);
    }
    bale_xattr_path_close(mount, &path);
    free(list);
}
