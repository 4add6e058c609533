/* Putting a capability back while the store stalls keeps nobody from other files. */
#include "fs/fuse/capability.h"

#include <pthread.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/fs/fuse/stalled_xattr.h"

static const char value[] = "capability";
static char stored[sizeof value];

/* ---- The store, which answers when it is let go ---- */

int setxattr(const char *path, const char *name, const void *in, size_t size, int flags)
{
    (void)path;
    (void)name;
    (void)flags;
    CHECK_EQ_U(size, sizeof stored);
    memcpy(stored, in, sizeof stored);
    return 0;
}

/* ---- The case ---- */

static void *restore_thread(void *opened)
{
    bale_capability_restore(opened, "file");
    return NULL;
}

static void *take_thread(void *arg)
{
    struct bale_opened *opened = arg;

    bale_capability_set(opened->mount, opened->node, NULL, 0);
    CHECK_EQ_MEM(stored, value, sizeof value); /* it waited */
    return NULL;
}

int main(void)
{
    static struct bale_mount mount;
    static struct bale_node node;
    static struct bale_opened opened = {.mount = &mount, .node = &node};
    pthread_t restorer, taker;

    pthread_mutex_init(&mount.opened_lock, NULL);
    pthread_cond_init(&mount.restored, NULL);
    sem_init(&entered, 0, 0);
    sem_init(&go, 0, 0);
    node.opened = &opened;
    opened.capability = strdup(value);
    opened.capability_size = sizeof value;
    REQUIRE(pthread_create(&restorer, NULL, restore_thread, &opened) == 0);
    sem_wait(&entered);
    CHECK_EQ(pthread_mutex_trylock(&mount.opened_lock), 0);
    CHECK(opened.restoring);
    pthread_mutex_unlock(&mount.opened_lock);
    REQUIRE(pthread_create(&taker, NULL, take_thread, &opened) == 0);
    sem_post(&go);
    pthread_join(restorer, NULL);
    pthread_join(taker, NULL);
    CHECK(!opened.capability);
    return check_result();
}
