/* Writes a store as a tar archive, with libarchive. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/base/container_of.h"
#include "tools/balefs.h"
#include "tools/common/message.h"
#include "tools/transfer/export.h"
#include "tools/transfer/tar_attributes.h"

/* Result of write_piece: the archive cannot be written. */
#define CANNOT_WRITE 1

#define ZEROS ((size_t)INT_MAX) /* the most that archive_write_data() takes */

/* With holes of 2^62 bytes, which a container of 200 bytes may have, even that takes minutes. */
#define SIZE_MOST ((uint64_t)1 << 50)

struct tar {
    const struct bale_export *export;
    const char *name; /* of the archive, for messages */
    struct archive *archive;
    struct archive_entry *entry;
    struct bale_pool *pool;
    struct bale_tree_walk walk;
    struct bale_progress progress;
    const void *zeros; /* a mapping of ZEROS bytes */
    uint64_t size;     /* of the file that is being written */
    atomic_bool stop;
    uint64_t files, bytes;
    bool failed;
    void *links; /* tsearch */
};

/* A file with several names that is in the archive already, with its path there. */
struct known {
    dev_t dev;
    ino_t ino;
    bool damaged;
    char path[];
};

static struct tar *tar_of(struct bale_tree_walk *walk)
{
    return BALE_CONTAINER_OF(walk, struct tar, walk);
}

static void fail(struct tar *tar, const char *path, const char *why)
{
    tar->failed = true;
    bale_progress_end(&tar->progress);
    bale_message("%s%s%s: %s", bale_store_path(tar->export->reader.store), *path ? "/" : "", path,
                 why);
}

static void tar_walk_fail(struct bale_tree_walk *walk, const char *path, int e)
{
    struct bale_reason why;

    bale_reason_set(&why, "cannot be read: %s", strerror(e));
    fail(tar_of(walk), path, why.text);
}

/* The archive cannot be written: ends the walk, because nothing that follows could be right. */
static void broken(struct tar *tar)
{
    if (atomic_load(&tar->stop))
        return;
    bale_progress_end(&tar->progress);
    tar->failed = true;
    atomic_store(&tar->stop, true);
    int e = archive_errno(tar->archive);
    if (e != EPIPE)
        bale_message("%s: cannot be written: %s", tar->name,
                     e > 0 ? strerror(e) : archive_error_string(tar->archive));
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* The path relative to the exported directory, as "tar -C DIR ." shows it. */
static const char *shown_in(const struct tar *tar, const char *path)
{
    const char *shown = path + strlen(tar->export->below);

    shown += strspn(shown, "/");
    return *shown ? shown : ".";
}

static void describe(struct tar *tar, const char *path, const char *end, const struct stat *st)
{
    char *full;

    archive_entry_clear(tar->entry);
    archive_entry_copy_stat(tar->entry, st);
    archive_entry_unset_ctime(tar->entry);
    if (asprintf(&full, "%s%s", shown_in(tar, path), end) >= 0) {
        archive_entry_copy_pathname(tar->entry, full);
        free(full);
    }
}

static void add_attributes(struct tar *tar, const char *shown, int fd, const char *name,
                           enum bale_attributes_part part)
{
    const struct bale_attributes_rules rules = {
        .settings = tar->export->settings, .acls = true, .part = part};
    char path[BALE_REACH];
    struct bale_reason why;

    bale_reach(fd, name, path);
    int e = bale_tar_attributes(tar->entry, &rules, path, !name);
    if (e) {
        bale_reason_set(&why, "its extended attributes cannot be read: %s", strerror(e));
        fail(tar, shown, why.text);
    }
}

static bool write_header(struct tar *tar)
{
    if (archive_write_header(tar->archive, tar->entry) < ARCHIVE_WARN) {
        broken(tar);
        return false;
    }
    tar->files++;
    bale_progress_show(&tar->progress, tar->files, tar->bytes);
    return true;
}

static bool tar_enter(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name)
{
    struct tar *tar = tar_of(walk);

    const struct bale_store *store = tar->export->reader.store;
    bool is_top = !dir->parent && !*tar->export->below && bale_store_top_fd(store) >= 0;
    struct stat st = dir->st;

    (void)name;
    int e = is_top ? bale_store_top_attributes(store, &st) : 0;
    if (e)
        tar_walk_fail(walk, dir->path, e);
    describe(tar, dir->path, "", &st);
    add_attributes(tar, dir->path, dir->from, NULL,
                   is_top ? BALE_ATTRIBUTES_OTHERS : BALE_ATTRIBUTES_ALL);
    if (is_top)
        add_attributes(tar, dir->path, bale_store_top_fd(store), NULL, BALE_ATTRIBUTES_ACLS);
    return write_header(tar);
}

/* libarchive takes the holes that add_holes() listed as zeros, which it does not read. So that a large
 * one takes few calls, the zeros are a mapping that has no memory. Of the last one it needs only one
 * call, with which it writes the list of a file without data. */
static int write_hole(struct tar *tar, uint64_t length, bool last)
{
    while (length > 0) {
        size_t some = length < ZEROS ? (size_t)length : ZEROS;
        la_ssize_t put = archive_write_data(tar->archive, tar->zeros, some);
        if (put <= 0)
            return CANNOT_WRITE;
        length = last ? 0 : length - (uint64_t)put;
    }
    return 0;
}

static int write_piece(void *arg, uint64_t from, const uint8_t *data, uint64_t length)
{
    struct tar *tar = arg;

    if (!data) {
        tar->bytes += length;
        return write_hole(tar, length, from + length == tar->size);
    }
    while (length > 0) {
        la_ssize_t put = archive_write_data(tar->archive, data, (size_t)length);
        if (put <= 0)
            return CANNOT_WRITE;
        data += put;
        length -= (uint64_t)put;
        tar->bytes += (uint64_t)put;
    }
    bale_progress_show(&tar->progress, tar->files, tar->bytes);
    return 0;
}

/* Lists the file's data, if it has holes. */
static void add_holes(struct tar *tar, const struct bale_contents *contents)
{
    uint64_t size = contents->attr.size, at = 0, from = 0, to = 0, begun = 0;

    while (bale_contents_next(contents, at, &from, &to)) {
        if (from > at && at > begun)
            archive_entry_sparse_add_entry(tar->entry, (int64_t)begun, (int64_t)(at - begun));
        begun = from > at ? from : begun;
        at = to;
    }
    if (begun == 0 && at == size)
        return; /* no holes */
    archive_entry_sparse_add_entry(tar->entry, (int64_t)begun, (int64_t)(at - begun));
    if (at < size)
        archive_entry_sparse_add_entry(tar->entry, (int64_t)size, 0);
}

/* The header has the name, which depends on damage, so the file is read twice: first to find
 * damage. */
static int write_contents(struct tar *tar, const char *path, const struct bale_contents *contents,
                          const struct stat *st, bool *damaged)
{
    struct bale_damage damage;
    struct bale_reason why;

    bale_damage_init(&damage);
    int err = bale_contents_stream(contents, tar->pool, tar->export->threads, &damage, NULL, NULL);
    *damaged = bale_damage_any(&damage);
    if (err == BALE_OK && *damaged && tar->export->live && bale_contents_moved(contents)) {
        bale_damage_clear(&damage);
        return BALE_E_STALE;
    }
    if (err == BALE_OK && *damaged) {
        char *full = NULL;
        tar->failed = true;
        bale_progress_end(&tar->progress);
        if (asprintf(&full, "%s/%s", bale_store_path(tar->export->reader.store), path) >= 0)
            bale_damage_report(&damage, full,
                               ": they are zeros in the archive's NAME" BALE_DAMAGED);
        free(full);
    }
    bale_damage_clear(&damage);
    if (err != BALE_OK)
        return err;
    describe(tar, path, *damaged ? BALE_DAMAGED : "", st);
    add_attributes(tar, path, bale_io_fd(bale_container_io(contents->container)), NULL,
                   BALE_ATTRIBUTES_ALL);
    if (tar->export->settings)
        bale_tar_settings(tar->entry, &contents->attr);
    add_holes(tar, contents);
    if (!write_header(tar))
        return CANNOT_WRITE;
    tar->size = contents->attr.size;
    err =
        bale_contents_stream(contents, tar->pool, tar->export->threads, &damage, write_piece, tar);
    if (err == BALE_OK && !*damaged && bale_damage_any(&damage)) {
        bale_reason_set(&why, "was changed while it was written: its copy in the archive has "
                              "zeros: try again");
        fail(tar, path, why.text);
    }
    bale_damage_clear(&damage);
    return err;
}

static int compare(const void *a, const void *b)
{
    const struct known *one = a, *other = b;

    return one->dev != other->dev ? (one->dev > other->dev) - (one->dev < other->dev)
                                  : (one->ino > other->ino) - (one->ino < other->ino);
}

static bool write_link(struct tar *tar, const char *path, const struct stat *st)
{
    struct known key = {.dev = st->st_dev, .ino = st->st_ino};
    struct known **found = tfind(&key, &tar->links, compare);

    if (!found)
        return false;
    describe(tar, path, (*found)->damaged ? BALE_DAMAGED : "", st);
    archive_entry_set_hardlink(tar->entry, (*found)->path);
    archive_entry_unset_size(tar->entry);
    (void)write_header(tar);
    return true;
}

static void note_link(struct tar *tar, const char *path, const struct stat *st, bool damaged)
{
    const char *shown = shown_in(tar, path), *end = damaged ? BALE_DAMAGED : "";
    size_t size = strlen(shown) + strlen(end) + 1;
    struct known *known = malloc(sizeof *known + size);

    if (!known)
        return; /* its other names become files of their own */
    *known = (struct known){.dev = st->st_dev, .ino = st->st_ino, .damaged = damaged};
    snprintf(known->path, size, "%s%s", shown, end);
    if (!tsearch(known, &tar->links, compare))
        free(known);
}

static void report_recovery(struct tar *tar, const char *path, const struct bale_contents *contents)
{
    bool lost, failed = tar->failed;
    const char *recovery = bale_contents_recovery(contents, &lost);

    if (recovery)
        fail(tar, path, recovery);
    tar->failed = failed || lost;
}

static void write_file(struct tar *tar, struct bale_tree_dir *dir, const char *name,
                       const char *path, const struct stat *found)
{
    struct bale_contents contents;
    struct stat st;
    struct bale_reason why;
    bool damaged = false;
    int err = BALE_E_STALE;

    if (found->st_nlink > 1 && write_link(tar, path, found))
        return;
    for (int i = 0; i < 5 && err == BALE_E_STALE; i++) {
        bale_reason_set(&why, "keeps changing: try again, or unmount first");
        err = bale_export_open(tar->export, dir->from, name, &contents, &st, &why);
        if (err == BALE_E_NOENT && tar->export->live)
            return;
        if (err != BALE_OK)
            break;
        if (contents.attr.size > SIZE_MOST) {
            bale_contents_close(&contents);
            bale_reason_set(&why, "is larger than 1 PiB, too large for an archive: export it to a "
                                  "directory");
            err = BALE_E_TOOBIG;
            break;
        }
        err = write_contents(tar, path, &contents, &st, &damaged);
        if (err == BALE_OK)
            report_recovery(tar, path, &contents);
        bale_contents_close(&contents);
        if (err != BALE_OK && err != BALE_E_STALE)
            bale_reason_set(&why, "cannot be read: %s", bale_err_text(err));
    }
    if (err == CANNOT_WRITE)
        broken(tar);
    else if (err != BALE_OK)
        fail(tar, path, why.text);
    else if (found->st_nlink > 1)
        note_link(tar, path, found, damaged);
}

static void write_special(struct tar *tar, struct bale_tree_dir *dir, const char *name,
                          const char *path, const struct stat *st)
{
    char target[PATH_MAX + 1];

    if (S_ISSOCK(st->st_mode))
        return; /* archives have no sockets */
    describe(tar, path, "", st);
    if (S_ISLNK(st->st_mode)) {
        ssize_t length = readlinkat(dir->from, name, target, PATH_MAX);
        if (length < 0) {
            tar_walk_fail(&tar->walk, path, errno);
            return;
        }
        target[length] = '\0';
        archive_entry_copy_symlink(tar->entry, target);
        archive_entry_unset_size(tar->entry);
    }
    add_attributes(tar, path, dir->from, name, BALE_ATTRIBUTES_ALL);
    (void)write_header(tar);
}

static void tar_entry(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name,
                      const struct stat *st)
{
    struct tar *tar = tar_of(walk);
    char *path = bale_tree_dir_path(dir, name);

    if (!path)
        fail(tar, name, "out of memory");
    else if (S_ISREG(st->st_mode))
        write_file(tar, dir, name, path, st);
    else
        write_special(tar, dir, name, path, st);
    free(path);
}

/* ---- The archive ----------------------------------------------------------------------------- */

static bool open_archive(struct tar *tar, int fd)
{
    void *zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (zeros != MAP_FAILED)
        tar->zeros = zeros;
    /* Headers are UTF-8; libarchive marks names that are not. */
    setlocale(LC_CTYPE, "C.UTF-8");
    tar->archive = archive_write_new();
    tar->entry = archive_entry_new();
    if (tar->zeros && tar->archive && tar->entry &&
        archive_write_set_format_pax(tar->archive) == ARCHIVE_OK &&
        archive_write_set_options(tar->archive, "xattrheader=SCHILY") == ARCHIVE_OK &&
        archive_write_set_bytes_per_block(tar->archive, 1 << 16) == ARCHIVE_OK &&
        archive_write_set_bytes_in_last_block(tar->archive, 10240) == ARCHIVE_OK &&
        archive_write_open_fd(tar->archive, fd) == ARCHIVE_OK)
        return true;
    bale_message("%s: cannot be started: %s", tar->name,
                 tar->zeros && tar->archive ? archive_error_string(tar->archive) : "out of memory");
    return false;
}

int bale_export_tar(const struct bale_export *export, int from, int fd, const char *name,
                    bool *whole)
{
    struct tar tar = {
        .export = export,
        .name = name,
        .walk = {.enter = tar_enter,
                 .entry = tar_entry,
                 .fail = tar_walk_fail,
                 .one_device = true,
                 .hidden = *export->below ? NULL : BALE_STORE_DIR},
    };

    tar.walk.stop = &tar.stop;
    if (bale_pool_create("balefs-pool", export->threads, &tar.pool) != BALE_OK ||
        !open_archive(&tar, fd)) {
        tar.failed = true;
        atomic_store(&tar.stop, true);
        close(from);
    } else {
        bale_progress_begin(&tar.progress, "exported");
        bale_tree_walk_tree(&tar.walk, from, -1, export->below);
        if (!atomic_load(&tar.stop) && archive_write_close(tar.archive) != ARCHIVE_OK)
            broken(&tar);
        bale_progress_end(&tar.progress);
    }
    *whole = !atomic_load(&tar.stop);
    if (!*whole && tar.archive)
        archive_write_fail(tar.archive);
    archive_entry_free(tar.entry);
    archive_write_free(tar.archive);
    if (tar.zeros)
        munmap((void *)tar.zeros, ZEROS);
    bale_pool_destroy(tar.pool);
    tdestroy(tar.links, free);
    return tar.failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}
