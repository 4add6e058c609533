/* See lossy.h.
 *
 * usage: lossy DIR MNT [PERCENT]
 *   DIR      has what is durable
 *   PERCENT  of the changes that become durable at once, as caches write out what they like to */
#include "tests/mount/lossy.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fuse_session *lossy_session;
struct lossy_node *lossy_nodes;

static unsigned percent;
static uint64_t last_id = LOSSY_ROOT;

struct lossy_node *lossy_node_of(fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? lossy_nodes : (struct lossy_node *)(uintptr_t)ino;
}

struct lossy_node *lossy_node_make(uint64_t id, mode_t mode)
{
    struct lossy_node *node = calloc(1, sizeof *node);
    struct lossy_node **at = &lossy_nodes;

    if (!node)
        abort();
    if (id > last_id)
        last_id = id;
    node->id = id ? id : ++last_id;
    node->st.st_mode = mode;
    node->data.fd = -1;
    lossy_touch(node, true);
    node->st.st_atim = node->st.st_mtim;
    if (*at) /* the root stays the first */
        at = &(*at)->next;
    node->next = *at;
    *at = node;
    return node;
}

void lossy_node_free(struct lossy_node *node)
{
    struct lossy_node **at = &lossy_nodes;

    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    while (node->entries)
        lossy_entry_remove(node, &node->entries);
    while (node->xattrs)
        lossy_xattr_set(node, node->xattrs->name, NULL, 0);
    lossy_data_free(&node->data);
    free(node->target);
    free(node);
}

void lossy_stat(const struct lossy_node *node, struct stat *st)
{
    *st = node->st;
    st->st_ino = node->id;
    st->st_nlink = S_ISDIR(node->st.st_mode) ? 2 : node->links;
    st->st_size = (off_t)node->data.size;
    st->st_blocks = (blkcnt_t)((node->data.size + 511) / 512);
    st->st_blksize = LOSSY_PAGE;
}

void lossy_touch(struct lossy_node *node, bool modified)
{
    clock_gettime(CLOCK_REALTIME, &node->st.st_ctim);
    if (modified)
        node->st.st_mtim = node->st.st_ctim;
}

void lossy_reply_entry(fuse_req_t req, struct lossy_node *node, struct fuse_file_info *fi)
{
    struct fuse_entry_param entry = {
        .ino = (uintptr_t)node, .attr_timeout = 1000, .entry_timeout = 1000};

    node->lookups++;
    lossy_stat(node, &entry.attr);
    if (fi)
        fuse_reply_create(req, &entry, fi);
    else
        fuse_reply_entry(req, &entry);
}

bool lossy_keeps(void)
{
    return (unsigned)random() % 100 < percent;
}

static void op_init(void *data, struct fuse_conn_info *conn)
{
    (void)data;
    conn->max_write = 1u << 20;
    fuse_unset_feature_flag(conn, FUSE_CAP_WRITEBACK_CACHE);
}

int main(int argc, char **argv)
{
    char *words[] = {argv[0], "-oallow_other,default_permissions,fsname=lossy,subtype=lossy", NULL};
    struct fuse_args args = FUSE_ARGS_INIT(2, words);
    struct fuse_lowlevel_ops ops = {.init = op_init};

    if (argc < 3 || argc > 4) {
        fputs("usage: lossy DIR MNT [PERCENT]\n", stderr);
        return 2;
    }
    percent = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
    srandom((unsigned)time(NULL));
    lossy_disk_open(argv[1]);
    lossy_names_ops(&ops);
    lossy_inodes_ops(&ops);
    lossy_data_ops(&ops);
    lossy_session = fuse_session_new(&args, &ops, sizeof ops, NULL);
    if (!lossy_session || fuse_session_mount(lossy_session, argv[2]) != 0)
        return 1;
    fuse_session_loop(lossy_session);
    fuse_session_unmount(lossy_session);
    return 0;
}
