#include "tools/common/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "format/root.h"
#include "fs/base/open.h"
#include "fs/store/platform.h"
#include "tools/common/message.h"
#include "tools/common/options.h"

#define BLOCK 4096 /* what a read past the page cache is aligned to */
#define TRIES 5

int bale_root_take(const struct bale_command *command, enum bale_root_pick *pick)
{
    if (strcmp(optarg, "older") == 0)
        *pick = BALE_PICK_OLDER;
    else if (strcmp(optarg, "newest") == 0)
        *pick = BALE_PICK_NEWEST;
    else
        return bale_usage_error(command, "--root %s: it is older or newest", optarg);
    return 0;
}

int bale_reader_open_silently(const char *top, enum bale_store_access how,
                              struct bale_reader *reader, struct bale_reason *why)
{
    *reader = (struct bale_reader){0};
    int err = bale_store_open(top, how, &reader->store, why);
    if (err != BALE_OK) {
        reader->store = NULL;
        return err;
    }
    bale_store_container_config(reader->store, &reader->config);
    bale_store_defaults(reader->store, &reader->defaults);
    reader->config.writable = false;
    return BALE_OK;
}

int bale_reader_open(const char *top, enum bale_store_access how, struct bale_reader *reader,
                     struct bale_reason *why)
{
    int err = bale_reader_open_silently(top, how, reader, why);
    const struct bale_store_notice *notice;

    for (unsigned i = 0; err == BALE_OK && (notice = bale_store_notice(reader->store, i)); i++)
        bale_message("%s/%s: %s", bale_store_path(reader->store), notice->below, notice->text);
    return err;
}

void bale_reader_close(struct bale_reader *reader)
{
    if (reader->store)
        bale_store_close(reader->store, false, NULL);
    *reader = (struct bale_reader){0};
}

static int failed(struct bale_reason *why)
{
    int err = bale_err_from_errno(errno);

    bale_reason_set(why, "cannot be opened: %s%s", strerror(errno),
                    errno == EACCES || errno == EPERM ? ": be root or the file's owner" : "");
    return err;
}

static int reopen(int path, int how)
{
    char proc[40];

    snprintf(proc, sizeof proc, "/proc/self/fd/%d", path);
    return bale_open_now(proc, how);
}

static int open_below(int dir, const char *path_below, bool write, int *fd, struct bale_reason *why)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    struct stat st;
    long path = syscall(SYS_openat2, dir, path_below, &how, sizeof how);

    *fd = -1;
    if (path < 0)
        return failed(why);
    if (fstat((int)path, &st) != 0 || !S_ISREG(st.st_mode)) {
        bale_reason_set(why, "is no regular file%s",
                        S_ISDIR(st.st_mode)
                            ? ", but a directory: name a file in it; balefs stat and "
                              "balefs export take directories"
                            : "");
        close((int)path);
        return BALE_E_INVALID;
    }
    *fd = reopen((int)path, write ? O_RDWR : O_RDONLY | O_NOATIME);
    if (*fd < 0 && errno == EPERM && !write)
        *fd = reopen((int)path, O_RDONLY);
    int err = *fd < 0 ? failed(why) : BALE_OK;
    close((int)path);
    return err;
}

int bale_reader_open_below(int dir, const char *path_below, int *fd, struct bale_reason *why)
{
    return open_below(dir, path_below, false, fd, why);
}

int bale_reader_open_file(const struct bale_reader *reader, const char *below, int *fd,
                          struct bale_reason *why)
{
    return open_below(bale_store_root_fd(reader->store), *below ? below : ".",
                      reader->config.writable, fd, why);
}

/* Reads the first bytes without the page cache, which may have older ones if another machine
 * writes. 0 or a negative bale_err. */
static int read_head(int fd, uint8_t *head, size_t *length)
{
    int direct = reopen(fd, O_RDONLY | O_DIRECT);
    void *block = NULL;
    ssize_t got = -1;

    if (posix_memalign(&block, BLOCK, BLOCK) == 0 && direct >= 0)
        got = pread(direct, block, BLOCK, 0);
    if (got < 0 && block) { /* the file system has no O_DIRECT */
        (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        got = pread(fd, block, BLOCK, 0);
    }
    if (got >= 0) {
        *length = got < BALE_DATA_START ? (size_t)got : BALE_DATA_START;
        memcpy(head, block, *length);
    }
    free(block);
    if (direct >= 0)
        close(direct);
    return got < 0 ? BALE_E_IO : BALE_OK;
}

bool bale_reader_newest(int fd, uint64_t *generation)
{
    uint8_t head[BALE_DATA_START];
    struct bale_roots roots;
    size_t length = 0;

    if (read_head(fd, head, &length) != BALE_OK)
        return false;
    int err = bale_roots_read(head, length, &roots);
    *generation = err == BALE_OK && roots.newest >= 0 ? roots.root[roots.newest].generation : 0;
    return err == BALE_OK || err == BALE_E_BLANK;
}

static int open_container(const struct bale_reader *reader, int fd,
                          struct bale_container **container, char *feature)
{
    struct bale_io *io;
    int err = bale_io_open_fd(fd, &io);

    if (err == BALE_OK && reader->config.modes_in_container)
        bale_io_keep_set_id(io);
    return err == BALE_OK
               ? bale_container_open(io, &reader->config, &reader->defaults, container, feature)
               : err;
}

/* Whether the container looks damaged, or cut off by a crash. */
static bool is_suspect(int err, const struct bale_container *container)
{
    return err == BALE_E_CORRUPT || (err == BALE_OK && bale_container_rejected(container) > 0);
}

/* Opens a container without the store's lock. A writer may reuse the space of what this root refers
 * to, so nothing counts as damaged as long as there is a newer root. If the writer may be on
 * another machine, first drops this machine's cached pages, so that none is older than the root.
 * Takes over fd. */
static int open_beside_writer(const struct bale_reader *reader, int fd,
                              struct bale_container **container, char *feature)
{
    uint64_t before, after;
    int err = BALE_E_IO;

    for (int i = 0; i < TRIES; i++) {
        if (i > 0 || bale_platform_is_network(fd))
            (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        bool known = i > 0 && bale_reader_newest(fd, &before);
        int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (own < 0)
            err = bale_err_from_errno(errno);
        else
            err = open_container(reader, own, container, feature);
        if (!is_suspect(err, *container) || i == TRIES - 1 ||
            (known && bale_reader_newest(fd, &after) && before == after))
            break;
        bale_container_close(*container);
        *container = NULL;
    }
    close(fd);
    return err;
}

int bale_reader_open_container(const struct bale_reader *reader, int fd,
                               struct bale_container **container, struct bale_reason *why)
{
    char feature[5] = "";
    int err;

    *container = NULL;
    err = reader->config.writable ? open_container(reader, fd, container, feature)
                                  : open_beside_writer(reader, fd, container, feature);
    if (err == BALE_E_UNSUPPORTED && feature[0])
        bale_reason_set(why, "needs the feature \"%s\", which this program lacks: use a newer one",
                        feature);
    else if (err == BALE_E_UNSUPPORTED)
        bale_reason_set(why, "was written by a newer program: use a newer one");
    else if (err == BALE_E_CORRUPT)
        bale_reason_set(why, "is damaged: %s: balefs inspect and balefs fsck say more",
                        bale_err_text(err));
    else if (err == BALE_E_INVALID && reader->config.pick == BALE_PICK_OLDER)
        bale_reason_set(why, "has no older root: use --root=newest");
    else if (err != BALE_OK)
        bale_reason_set(why, "cannot be read: %s", bale_err_text(err));
    return err;
}

int bale_reader_open_container_at(const struct bale_reader *reader, const char *below,
                                  struct bale_container **container, struct bale_reason *why)
{
    int fd, err = bale_reader_open_file(reader, below, &fd, why);

    return err == BALE_OK ? bale_reader_open_container(reader, fd, container, why) : err;
}
