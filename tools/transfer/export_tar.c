/* Writes a store as a tar archive, with libarchive. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
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
#include "tools/transfer/tar.h"

static struct bale_tar *tar_of(struct bale_tree_walk *walk)
{
    return BALE_CONTAINER_OF(walk, struct bale_tar, walk);
}

static void tar_walk_fail(struct bale_tree_walk *walk, const char *path, int e)
{
    struct bale_reason why;

    bale_reason_set(&why, "cannot be read: %s", strerror(e));
    bale_tar_fail(tar_of(walk), path, why.text);
}

static bool tar_enter(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name)
{
    struct bale_tar *tar = tar_of(walk);
    const struct bale_store *store = tar->export->reader.store;
    bool is_top = !dir->parent && !*tar->export->below && bale_store_top_fd(store) >= 0;
    struct stat st = dir->st;

    (void)name;
    int e = is_top ? bale_store_top_attributes(store, &st) : 0;
    if (e)
        tar_walk_fail(walk, dir->path, e);
    bale_tar_describe(tar, dir->path, "", &st);
    bale_tar_add_attributes(tar, dir->path, dir->from, NULL,
                            is_top ? BALE_ATTRIBUTES_OTHERS : BALE_ATTRIBUTES_ALL);
    if (is_top)
        bale_tar_add_attributes(tar, dir->path, bale_store_top_fd(store), NULL,
                                BALE_ATTRIBUTES_ACLS);
    return bale_tar_write_header(tar);
}

static void write_special(struct bale_tar *tar, struct bale_tree_dir *dir, const char *name,
                          const char *path, const struct stat *st)
{
    char target[PATH_MAX + 1];

    if (S_ISSOCK(st->st_mode))
        return; /* archives have no sockets */
    bale_tar_describe(tar, path, "", st);
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
    bale_tar_add_attributes(tar, path, dir->from, name, BALE_ATTRIBUTES_ALL);
    (void)bale_tar_write_header(tar);
}

static void tar_entry(struct bale_tree_walk *walk, struct bale_tree_dir *dir, const char *name,
                      const struct stat *st)
{
    struct bale_tar *tar = tar_of(walk);
    char *path = bale_tree_dir_path(dir, name);

    if (!path)
        bale_tar_fail(tar, name, "out of memory");
    else if (S_ISREG(st->st_mode))
        bale_tar_write_file(tar, dir, name, path, st);
    else
        write_special(tar, dir, name, path, st);
    free(path);
}

static bool open_archive(struct bale_tar *tar, int fd)
{
    void *zeros =
        mmap(NULL, BALE_TAR_ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

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
    struct bale_tar tar = {
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
            bale_tar_broken(&tar);
        bale_progress_end(&tar.progress);
    }
    *whole = !atomic_load(&tar.stop);
    if (!*whole && tar.archive)
        archive_write_fail(tar.archive);
    archive_entry_free(tar.entry);
    archive_write_free(tar.archive);
    if (tar.zeros)
        munmap((void *)tar.zeros, BALE_TAR_ZEROS);
    bale_pool_destroy(tar.pool);
    tdestroy(tar.links, free);
    return tar.failed ? BALE_EXIT_FAILED : BALE_EXIT_DONE;
}
