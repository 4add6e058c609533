#include "tools/inspect/repair_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/message.h"

#define KEPT_MOST 1000 /* files for one position of one inode */

/* Keeps a copy of what a repair replaces: its callback stands between the repair and the repair's
 * caller. */
struct backup {
    const struct bale_reader *reader;
    const char *below;
    int fd; /* of the container */
    struct bale_repair *caller;
    struct bale_reason *why; /* set if something could not be kept */
};

static int damaged_directory(const struct bale_reader *reader)
{
    int root = bale_store_root_fd(reader->store);
    const char *path = BALE_STORE_DIR "/damaged";

    if (mkdirat(root, path, 0700) != 0 && errno != EEXIST)
        return -1;
    return openat(root, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Makes INODE.POSITION, or, after earlier repairs, INODE.POSITION.N. */
static int make_file(int dir, uint64_t inode, uint64_t position, char *name, size_t size)
{
    int fd = -1;

    for (int i = 1; fd < 0 && i < KEPT_MOST; i++) {
        int used = snprintf(name, size, "%" PRIu64 ".%" PRIu64, inode, position);
        if (i > 1)
            snprintf(name + used, size - (size_t)used, ".%d", i);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* Adds a line "NAME PATH" to the file "list". */
static bool list_file(int dir, const char *name, const char *below)
{
    char clean[BALE_REASON_SIZE], line[sizeof clean + 80];
    int length =
        snprintf(line, sizeof line, "%s %s\n", name, bale_clean_text(below, clean, sizeof clean));
    int list = openat(dir, "list", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool done = list >= 0 && write(list, line, (size_t)length) == length;

    if (list >= 0)
        close(list);
    return done;
}

static bool write_file(const struct backup *backup, int dir, uint64_t position, uint32_t length)
{
    uint8_t old[BALE_PAGE_MAX];
    char name[64];
    struct stat st;
    ssize_t got = pread(backup->fd, old, length, (off_t)position);

    if (fstat(backup->fd, &st) != 0)
        return false;
    int fd = make_file(dir, st.st_ino, position, name, sizeof name);
    if (fd < 0)
        return false;
    /* What cannot be read is not kept. */
    bool kept = list_file(dir, name, backup->below) &&
                (got <= 0 || write(fd, old, (size_t)got) == got) && fsync(fd) == 0;
    close(fd);
    return kept;
}

static bool keep_old(void *arg, uint64_t position, uint32_t length)
{
    struct backup *backup = arg;
    int dir = damaged_directory(backup->reader);
    bool kept = dir >= 0 && write_file(backup, dir, position, length);

    if (!kept)
        bale_reason_set(backup->why,
                        BALE_STORE_DIR "/damaged: cannot be written: %s: what a repair replaces is "
                                       "kept there: make room",
                        strerror(errno));
    if (dir >= 0)
        close(dir);
    return kept;
}

static void pass_found(void *arg, const struct bale_segment *segment)
{
    const struct backup *backup = arg;

    backup->caller->found(backup->caller->arg, segment);
}

static int open_rootless(const struct bale_reader *reader, const char *below,
                         struct bale_container **container, struct bale_reason *why)
{
    struct bale_io *io;
    int fd, err = bale_reader_open_file(reader, below, &fd, why);

    if (err == BALE_OK)
        err = bale_io_open_fd(fd, &io);
    return err == BALE_OK
               ? bale_container_open_rootless(io, &reader->config, &reader->defaults, container)
               : err;
}

/* Opens the container at the root that is to be repaired; if it has none, without a root, for
 * salvage. */
static int open_file(const struct bale_reader *reader, const char *below,
                     enum bale_recovery recovery, struct bale_repair *how,
                     struct bale_container **container, struct bale_reason *why)
{
    const bool blank = recovery == BALE_RECOVERY_BLANK && how->salvage;
    int err = blank ? BALE_E_CORRUPT : bale_reader_open_container_at(reader, below, container, why);

    if (err != BALE_E_CORRUPT || !how->salvage)
        return err;
    err = open_rootless(reader, below, container, why);
    how->stuck = err == BALE_OK || how->stuck;
    return blank && err == BALE_E_CORRUPT
               ? bale_reader_open_container_at(reader, below, container, why)
               : err;
}

int bale_repair_file(const struct bale_reader *reader, const char *below, int err,
                     enum bale_recovery recovery, enum bale_root_pick wanted,
                     struct bale_repair *repair, struct bale_reason *why)
{
    struct backup backup = {.reader = reader, .below = below, .caller = repair, .why = why};
    struct bale_reader writer = *reader;
    struct bale_repair how = *repair;
    struct bale_container *container;

    if (!bale_repair_root(err, recovery, repair->settle, wanted, &writer.config.pick))
        return 0;
    writer.config.writable = repair->write;
    err = open_file(&writer, below, recovery, &how, &container, why);
    if (err != BALE_OK)
        return err == BALE_E_CORRUPT ? 0 : err;
    backup.fd = bale_io_fd(bale_container_io(container));
    how.keep = keep_old;
    how.found = pass_found;
    how.arg = &backup;
    why->text[0] = '\0';
    err = bale_container_repair(container, &how);
    if (err != BALE_OK && why->text[0] == '\0')
        bale_reason_set(why, "cannot be repaired: %s%s", bale_err_text(err),
                        err == BALE_E_TOOBIG ? ": too much of it is lost: balefs export reads the "
                                               "rest"
                                             : "");
    bale_container_close(container);
    how.keep = repair->keep;
    how.found = repair->found;
    how.arg = repair->arg;
    *repair = how;
    return err == BALE_OK ? 1 : err;
}
