#include "fs/fuse/unsynced.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "fs/base/log.h"
#include "fs/fuse/sync_node.h"
#include "fs/fuse/sync_tree.h"
#include "kernels/base/array.h"
#include "kernels/base/thread.h"

#define PATH_TEXT 512
#define THREADS 8u      /* a sync is mostly waiting for a server */
#define THREAD_NODES 4u /* the least for each thread: for fewer, starting one is not worth it */

/* Referenced nodes in the order in which they were added; NULL where one was forgotten. */
struct node_list {
    struct bale_node **nodes;
    size_t count, capacity;
};

struct bale_unsynced {
    pthread_mutex_t syncing; /* one sync at a time: the next returns after those before it */
    pthread_mutex_t lock;    /* guards the rest, and node->unsynced */
    struct node_list directories, others;
    bool lost; /* a node could not be added, because memory was short: to be found by walking */

    pthread_mutex_t whole; /* held while everything is synced; taken before moves and syncing */
    atomic_bool earlier;   /* an earlier mount may have left something, or some is lost */
    /* Held for reading over each rename; for writing while walking changes, and over the end of
     * syncing everything. Taken before syncing. */
    pthread_rwlock_t moves;
    bool walking;           /* everything is being synced */
    struct node_list moved; /* what was moved meanwhile, with BALE_MARK_MOVED */
};

/* Renames must not keep a sync waiting for good. */
static void moves_init(pthread_rwlock_t *moves)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(moves, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

int bale_unsynced_create(struct bale_mount *mount)
{
    struct bale_unsynced *unsynced;

    if (mount->read_only || bale_store_believes_syncfs(mount->store))
        return BALE_OK;
    unsynced = calloc(1, sizeof *unsynced);
    if (!unsynced)
        return BALE_E_NOMEM;
    atomic_init(&unsynced->earlier, bale_store_has_unsynced(mount->store));
    pthread_mutex_init(&unsynced->whole, NULL);
    pthread_mutex_init(&unsynced->syncing, NULL);
    pthread_mutex_init(&unsynced->lock, NULL);
    moves_init(&unsynced->moves);
    mount->unsynced = unsynced;
    return BALE_OK;
}

static void list_free(struct bale_mount *mount, struct node_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        bale_node_unref(mount->nodes, list->nodes[i]);
    free(list->nodes);
}

void bale_unsynced_destroy(struct bale_mount *mount)
{
    struct bale_unsynced *unsynced = mount->unsynced;

    if (!unsynced)
        return;
    mount->unsynced = NULL;
    list_free(mount, &unsynced->directories);
    list_free(mount, &unsynced->others);
    list_free(mount, &unsynced->moved);
    pthread_rwlock_destroy(&unsynced->moves);
    pthread_mutex_destroy(&unsynced->lock);
    pthread_mutex_destroy(&unsynced->syncing);
    pthread_mutex_destroy(&unsynced->whole);
    free(unsynced);
}

static struct node_list *list_of(struct bale_unsynced *unsynced, const struct bale_node *node)
{
    return S_ISDIR(node->mode) ? &unsynced->directories : &unsynced->others;
}

/* Owns a reference of the node, if that succeeds. Under unsynced->lock. */
static bool list_add(struct node_list *list, struct bale_node *node)
{
    struct bale_node **grown =
        bale_array_grow(list->nodes, list->count, &list->capacity, sizeof(struct bale_node *));

    if (!grown)
        return false;
    grown[list->count++] = node;
    list->nodes = grown;
    return true;
}

/* A node could not be added: the next sync goes through everything. Under unsynced->lock. */
static void note_lost(struct bale_unsynced *unsynced)
{
    unsynced->lost = true;
    atomic_store(&unsynced->earlier, true);
}

void bale_unsynced_add(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_unsynced *unsynced = mount->unsynced;
    bool added = false;

    if (!unsynced)
        return;
    bale_node_ref(mount->nodes, node);
    pthread_mutex_lock(&unsynced->lock);
    if (node->unsynced == 0) {
        struct node_list *list = list_of(unsynced, node);
        added = list_add(list, node);
        node->unsynced = added ? (uint32_t)list->count : 0;
        if (!added)
            note_lost(unsynced);
    }
    pthread_mutex_unlock(&unsynced->lock);
    if (!added)
        bale_node_unref(mount->nodes, node);
}

void bale_unsynced_forget(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_unsynced *unsynced = mount->unsynced;
    bool listed = false;

    if (!unsynced)
        return;
    pthread_mutex_lock(&unsynced->lock);
    if (node->unsynced > 0) {
        list_of(unsynced, node)->nodes[node->unsynced - 1] = NULL;
        node->unsynced = 0;
        listed = true;
    }
    pthread_mutex_unlock(&unsynced->lock);
    if (listed)
        bale_node_unref(mount->nodes, node);
}

void bale_unsynced_move_begin(struct bale_mount *mount)
{
    if (mount->unsynced)
        pthread_rwlock_rdlock(&mount->unsynced->moves);
}

void bale_unsynced_move_end(struct bale_mount *mount)
{
    if (mount->unsynced)
        pthread_rwlock_unlock(&mount->unsynced->moves);
}

void bale_unsynced_add_moved(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_unsynced *unsynced = mount->unsynced;
    bool added = false;

    if (!node || !unsynced || !unsynced->walking)
        return;
    bale_node_ref(mount->nodes, node);
    pthread_mutex_lock(&unsynced->lock);
    if (!(atomic_fetch_or(&node->marks, BALE_MARK_MOVED) & BALE_MARK_MOVED)) {
        added = list_add(&unsynced->moved, node);
        if (!added) {
            atomic_fetch_and(&node->marks, ~(uint32_t)BALE_MARK_MOVED);
            note_lost(unsynced);
        }
    }
    pthread_mutex_unlock(&unsynced->lock);
    if (!added)
        bale_node_unref(mount->nodes, node);
}

void bale_unsynced_add_above(struct bale_mount *mount, struct bale_node *node)
{
    struct bale_node *dir, *below = node;
    char *name;

    if (!mount->unsynced || !atomic_load(&mount->unsynced->earlier))
        return;
    bale_node_ref(mount->nodes, below);
    while (below != bale_nodes_root(mount->nodes) &&
           bale_node_locate(mount->nodes, below, &dir, &name) == 0) {
        free(name);
        bale_unsynced_add(mount, dir);
        bale_node_unref(mount->nodes, below);
        below = dir;
    }
    bale_node_unref(mount->nodes, below);
}

/* ---- Syncing --------------------------------------------------------------------------------- */

/* A list that several threads work on. */
struct sync_work {
    struct bale_mount *mount;
    struct node_list list;
    atomic_size_t next;
    atomic_int error; /* the first errno */
    atomic_bool lost; /* a node may not be durable even if its next sync succeeds, or has none */
};

/* The next sync tries again, unless this process may not open the node: then every sync would
 * fail. */
static void sync_failed(struct sync_work *work, struct bale_node *node, int e)
{
    char path[PATH_TEXT];
    int none = 0;

    bale_node_path(work->mount->nodes, node, path, sizeof path);
    bale_log(BALE_LOG_ERROR, "%s: could not be synced: %s: check the backing file system", path,
             strerror(e));
    if (e != EACCES && e != EPERM)
        bale_unsynced_add(work->mount, node);
    if (e != EMFILE && e != ENFILE && e != ENOMEM) /* these are of opening it */
        atomic_store(&work->lost, true);
    atomic_compare_exchange_strong(&work->error, &none, e);
}

static void *sync_thread(void *arg)
{
    struct sync_work *work = arg;

    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->list.count;) {
        struct bale_node *node = work->list.nodes[i];
        bool has_data = node && (S_ISDIR(node->mode) || S_ISREG(node->mode));
        int e = has_data ? bale_sync_node(work->mount, node) : 0;
        if (e)
            sync_failed(work, node, e);
    }
    return NULL;
}

static void sync_in_parallel(struct sync_work *work)
{
    pthread_t helpers[THREADS - 1];
    unsigned count = 0;

    while (count < THREADS - 1 && work->list.count > (size_t)(count + 1) * THREAD_NODES &&
           bale_thread_start(&helpers[count], "balefs-sync", sync_thread, work) == 0)
        count++;
    sync_thread(work);
    while (count > 0)
        pthread_join(helpers[--count], NULL);
}

/* Syncs the nodes of a list and empties it. Under unsynced->syncing. A positive errno. */
static int sync_list(struct bale_mount *mount, struct node_list *list)
{
    struct bale_unsynced *unsynced = mount->unsynced;
    struct sync_work work = {.mount = mount};
    bool moved = list == &unsynced->moved;

    pthread_mutex_lock(&unsynced->lock);
    work.list = *list;
    *list = (struct node_list){0};
    for (size_t i = 0; !moved && i < work.list.count; i++)
        if (work.list.nodes[i])
            work.list.nodes[i]->unsynced = 0;
    int e = unsynced->lost ? ENOMEM : 0;
    pthread_mutex_unlock(&unsynced->lock);
    sync_in_parallel(&work);
    for (size_t i = 0; moved && i < work.list.count; i++)
        atomic_fetch_and(&work.list.nodes[i]->marks, ~(uint32_t)BALE_MARK_MOVED);
    list_free(mount, &work.list);
    int failed = atomic_load(&work.error);
    if (atomic_load(&work.lost))
        (void)bale_store_taint(mount->store);
    return e ? e : failed;
}

int bale_unsynced_sync_directories(struct bale_mount *mount)
{
    struct bale_unsynced *unsynced = mount->unsynced;

    if (!unsynced)
        return 0;
    pthread_mutex_lock(&unsynced->syncing);
    int e = sync_list(mount, &unsynced->directories);
    pthread_mutex_unlock(&unsynced->syncing);
    return e;
}

/* What was moved, and the directories. Under unsynced->syncing. */
static int sync_moves(struct bale_mount *mount)
{
    int moved = sync_list(mount, &mount->unsynced->moved);
    int directories = sync_list(mount, &mount->unsynced->directories);

    return moved ? moved : directories;
}

static int sync_lists(struct bale_mount *mount)
{
    struct bale_unsynced *unsynced = mount->unsynced;

    pthread_mutex_lock(&unsynced->syncing);
    /* The files come first, so that a durable name leads to a durable file. */
    int others = sync_list(mount, &unsynced->others);
    int moves = sync_moves(mount);
    pthread_mutex_unlock(&unsynced->syncing);
    return others ? others : moves;
}

/* From here on what cannot be added is lost again. Under moves, for writing. */
static void begin_walk(struct bale_unsynced *unsynced)
{
    pthread_mutex_lock(&unsynced->lock);
    unsynced->lost = false;
    pthread_mutex_unlock(&unsynced->lock);
    unsynced->walking = true;
}

/* e: the result. Under moves, for writing. */
static void end_walk(struct bale_unsynced *unsynced, int e)
{
    unsynced->walking = false;
    pthread_mutex_lock(&unsynced->lock);
    atomic_store(&unsynced->earlier, e != 0 || unsynced->lost);
    pthread_mutex_unlock(&unsynced->lock);
}

/* Syncs everything, as an earlier mount may have left any of it, and what is listed. What moves
 * meanwhile is listed, and so is what leaves a moved directory before that is synced. At the end
 * renames wait while what has moved is synced: little is left then. What was written meanwhile is
 * for the next sync. */
static int sync_everything(struct bale_mount *mount)
{
    struct bale_unsynced *unsynced = mount->unsynced;

    pthread_rwlock_wrlock(&unsynced->moves);
    begin_walk(unsynced);
    pthread_rwlock_unlock(&unsynced->moves);
    int walked = bale_sync_tree(bale_store_root_fd(mount->store));
    int listed = sync_lists(mount);
    pthread_rwlock_wrlock(&unsynced->moves);
    pthread_mutex_lock(&unsynced->syncing);
    int last = sync_moves(mount);
    pthread_mutex_unlock(&unsynced->syncing);
    int e = walked ? walked : listed ? listed : last;
    end_walk(unsynced, e);
    pthread_rwlock_unlock(&unsynced->moves);
    return e;
}

int bale_unsynced_sync(void *arg)
{
    struct bale_mount *mount = arg;
    struct bale_unsynced *unsynced = mount->unsynced;

    if (!unsynced)
        return BALE_OK;
    pthread_mutex_lock(&unsynced->whole);
    bool earlier = atomic_load(&unsynced->earlier);
    int e = earlier ? sync_everything(mount) : 0;
    pthread_mutex_unlock(&unsynced->whole);
    if (!earlier)
        e = sync_lists(mount);
    return e ? bale_err_from_errno(e) : BALE_OK;
}
