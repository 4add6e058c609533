#include "fs/daemon/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/same_inode.h"
#include "kernels/base/cond.h"
#include "kernels/base/thread.h"

#define FILE_MOST ((uint64_t)512 << 10) /* bytes */
#define MEMORY ((size_t)64 << 10)
#define END_S 5u
#define NAME_SIZE 48

enum place { PLACE_STORE, PLACE_RUN, PLACE_RUNTIME, PLACE_TMP, PLACES };

static struct {
    pthread_t thread;
    /* Set by begin; then the thread's. */
    char uuid[37];
    char store[PATH_MAX];
    enum place place;
    int dir, fd; /* of the place; -1: there is none */
    char name[NAME_SIZE];
    bool used_before; /* the file has lines of earlier daemons */

    pthread_mutex_t lock; /* guards the rest */
    pthread_cond_t wake;  /* there is something to do */
    pthread_cond_t idle;  /* nothing is left; made by begin */
    char memory[2][MEMORY];
    unsigned filling; /* which of the two gets lines; the thread writes the other */
    size_t used;      /* of it */
    unsigned long dropped;
    bool running, held, ending, ended;
    bool matters; /* a line is a warning or an error, or is missing */
    char path[PATH_MAX];
} own = {.dir = -1, .fd = -1, .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

void bale_log_file_put(const char *line, size_t length)
{
    pthread_mutex_lock(&own.lock);
    own.matters |= memmem(line, length, "] warning: ", 11) || memmem(line, length, "] error: ", 9);
    if (length <= MEMORY - own.used) {
        memcpy(own.memory[own.filling] + own.used, line, length);
        own.used += length;
    } else {
        own.dropped++;
        own.matters = true;
    }
    pthread_cond_signal(&own.wake);
    pthread_mutex_unlock(&own.lock);
}

/* ---- Places ---- */

/* Nobody else can write to it. */
static bool is_own_directory(const struct stat *st)
{
    return S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* Makes and opens a directory that nobody else can write to, or returns -1. */
static int open_own_directory(const char *path)
{
    struct stat st;

    if (!path[0])
        return -1;
    (void)mkdir(path, 0700);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !is_own_directory(&st))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The directory of a place, or "" if this user has none there. store: the store's path. */
static void place_path(enum place place, const char *store, char path[static PATH_MAX])
{
    const char *base = place == PLACE_TMP ? "/tmp" : getenv("XDG_RUNTIME_DIR");
    struct stat st;
    int length = 0;

    path[0] = '\0';
    if (place == PLACE_STORE)
        length = snprintf(path, PATH_MAX, "%s/" BALE_STORE_DIR, store);
    else if (place == PLACE_RUN && geteuid() == 0)
        length = snprintf(path, PATH_MAX, "/run/balefs");
    /* XDG_RUNTIME_DIR is another user's after sudo -E or su. */
    else if (place == PLACE_TMP || (place == PLACE_RUNTIME && base && base[0] == '/' &&
                                    lstat(base, &st) == 0 && is_own_directory(&st)))
        length = snprintf(path, PATH_MAX, "%s/balefs-%u", base, (unsigned)geteuid());
    if (length < 0 || length >= PATH_MAX)
        path[0] = '\0';
}

static void place_name(enum place place, const char *uuid, char name[static NAME_SIZE])
{
    snprintf(name, NAME_SIZE, place == PLACE_STORE ? BALE_STORE_LOG : "%.36s.log", uuid);
}

static void set_path(const char *directory)
{
    pthread_mutex_lock(&own.lock);
    int length =
        own.fd >= 0 ? snprintf(own.path, sizeof own.path, "%s/%s", directory, own.name) : -1;
    if (length < 0 || (size_t)length >= sizeof own.path)
        own.path[0] = '\0';
    pthread_mutex_unlock(&own.lock);
}

static void close_place(void)
{
    if (own.fd >= 0)
        close(own.fd);
    if (own.dir >= 0)
        close(own.dir);
    own.fd = own.dir = -1;
}

/* Locks the file. Outside of the store, all daemons that write to it have it locked, so that the
 * last one can remove it. */
static void share(void)
{
    struct stat st;

    own.used_before |= fstat(own.fd, &st) != 0 || st.st_size > 0;
    (void)flock(own.fd, LOCK_SH | LOCK_NB);
}

/* Opens the file in own.dir, or in the first place after own.place where that is possible. */
static void find_place(void)
{
    char directory[PATH_MAX];

    place_path(own.place, own.store, directory);
    place_name(own.place, own.uuid, own.name);
    while (own.dir < 0 || bale_store_log_open(own.dir, own.name, false, &own.fd) != BALE_OK) {
        close_place();
        if (++own.place >= PLACES)
            break;
        place_path(own.place, own.store, directory);
        place_name(own.place, own.uuid, own.name);
        own.dir = open_own_directory(directory);
    }
    if (own.fd >= 0 && own.place != PLACE_STORE)
        share();
    set_path(directory);
}

/* ---- Writing ---- */

/* Makes sure that the file still has its name, and room for so many bytes. Others may have removed
 * it, or another daemon may have begun a new one. */
static int keep_file(size_t length)
{
    struct stat st, named;
    bool gone = fstat(own.fd, &st) != 0 ||
                fstatat(own.dir, own.name, &named, AT_SYMLINK_NOFOLLOW) != 0 ||
                !bale_same_inode(&st, &named);
    bool full = !gone && st.st_size > 0 && (uint64_t)st.st_size + length > FILE_MOST;
    int fd;

    if (!gone && !full)
        return BALE_OK;
    int err = bale_store_log_open(own.dir, own.name, full, &fd);
    if (err == BALE_OK) {
        close(own.fd);
        own.fd = fd;
        own.used_before |= full;
        if (own.place != PLACE_STORE)
            share();
    }
    return err;
}

static void write_lines(const char *lines, size_t length)
{
    while (length > 0 && own.fd >= 0) {
        ssize_t wrote = keep_file(length) == BALE_OK ? write(own.fd, lines, length) : -1;
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0) {
            close_place();
            find_place();
            continue;
        }
        lines += wrote;
        length -= (size_t)wrote;
    }
}

static void write_dropped(unsigned long dropped)
{
    char line[128];
    int length = snprintf(line, sizeof line,
                          "balefs[%d] warning: %lu lines are missing here: the log could not be "
                          "written in time\n",
                          (int)getpid(), dropped);

    write_lines(line, (size_t)length);
}

static void *log_file_thread(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&own.lock);
    while (!own.ending || own.used > 0 || own.dropped > 0) {
        if ((own.used == 0 && own.dropped == 0) || (own.held && !own.ending)) {
            pthread_cond_wait(&own.wake, &own.lock);
            continue;
        }
        const char *lines = own.memory[own.filling];
        size_t used = own.used;
        unsigned long dropped = own.dropped;
        own.filling = !own.filling;
        own.used = 0;
        own.dropped = 0;
        pthread_mutex_unlock(&own.lock);
        write_lines(lines, used);
        if (dropped > 0)
            write_dropped(dropped);
        pthread_mutex_lock(&own.lock);
    }
    own.ended = true;
    pthread_cond_signal(&own.idle);
    pthread_mutex_unlock(&own.lock);
    return NULL;
}

/* ---- The life of the log ---- */

int bale_log_file_begin(const struct bale_store *store)
{
    snprintf(own.uuid, sizeof own.uuid, "%s", bale_store_config(store)->uuid);
    snprintf(own.store, sizeof own.store, "%s", bale_store_path(store));
    own.dir = bale_store_log_directory(store);
    find_place();
    bale_cond_init(&own.idle);
    if (bale_thread_start(&own.thread, "balefs-log", log_file_thread, NULL) != 0)
        return BALE_E_NOMEM;
    own.running = true;
    return BALE_OK;
}

void bale_log_file_path(char *path, size_t size)
{
    pthread_mutex_lock(&own.lock);
    snprintf(path, size, "%s", own.path);
    pthread_mutex_unlock(&own.lock);
}

bool bale_log_file_place(const struct bale_store *store, unsigned i, char *path, size_t size)
{
    char directory[PATH_MAX], name[NAME_SIZE];

    if (i >= PLACES)
        return false;
    place_path((enum place)i, bale_store_path(store), directory);
    place_name((enum place)i, bale_store_config(store)->uuid, name);
    int length = directory[0] ? snprintf(path, size, "%s/%s", directory, name) : 0;
    if (length <= 0 || (size_t)length >= size)
        path[0] = '\0';
    return true;
}

void bale_log_file_hold(bool hold)
{
    pthread_mutex_lock(&own.lock);
    own.held = hold;
    pthread_cond_signal(&own.wake);
    pthread_mutex_unlock(&own.lock);
}

/* The thread has ended. */
static void forget_file(void)
{
    if (own.fd >= 0 && own.place != PLACE_STORE && !own.matters && !own.used_before &&
        flock(own.fd, LOCK_EX | LOCK_NB) == 0)
        (void)unlinkat(own.dir, own.name, 0);
}

void bale_log_file_end(bool forget)
{
    uint64_t deadline = bale_clock_ns() + END_S * BALE_SECOND_NS;
    bool in_time = true;

    if (!own.running)
        return;
    pthread_mutex_lock(&own.lock);
    own.ending = true;
    pthread_cond_signal(&own.wake);
    while (!own.ended && in_time)
        in_time = bale_cond_wait_until(&own.idle, &own.lock, deadline);
    bool ended = own.ended;
    pthread_mutex_unlock(&own.lock);
    if (ended)
        pthread_join(own.thread, NULL);
    else
        pthread_detach(own.thread);
    if (ended && forget)
        forget_file();
    own.running = false;
}
