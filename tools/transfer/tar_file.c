/* A regular file in an archive. */
#include <archive.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/transfer/tar.h"
#include "tools/transfer/tar_attributes.h"

/* Result of write_piece: the archive cannot be written. */
#define CANNOT_WRITE 1

/* With holes of 2^62 bytes, which a container of 200 bytes may have, even that takes minutes. */
#define SIZE_MOST ((uint64_t)1 << 50)

/* A file with several names that is in the archive already, with its path there. */
struct known {
    dev_t dev;
    ino_t ino;
    bool damaged;
    char path[];
};

/* Writes a hole that add_holes() has listed. libarchive wants zeros for it and does not read them.
 * They are a mapping without memory, so that a large hole takes few calls. last: the hole ends the
 * file. Then one call is enough; with it libarchive writes the list of a file that has no data. */
static int write_hole(struct bale_tar *tar, uint64_t length, bool last)
{
    while (length > 0) {
        size_t some = length < BALE_TAR_ZEROS ? (size_t)length : BALE_TAR_ZEROS;
        la_ssize_t put = archive_write_data(tar->archive, tar->zeros, some);
        if (put <= 0)
            return CANNOT_WRITE;
        length = last ? 0 : length - (uint64_t)put;
    }
    return 0;
}

static int write_piece(void *arg, uint64_t from, const uint8_t *data, uint64_t length)
{
    struct bale_tar *tar = arg;

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
static void add_holes(struct bale_tar *tar, const struct bale_contents *contents)
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

/* Reads the file twice, first to find damage, because the name in the header depends on it. */
static int write_contents(struct bale_tar *tar, const char *path,
                          const struct bale_contents *contents, const struct stat *st,
                          bool *damaged)
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
    bale_tar_describe(tar, path, *damaged ? BALE_DAMAGED : "", st);
    bale_tar_add_attributes(tar, path, bale_io_fd(bale_container_io(contents->container)), NULL,
                            BALE_ATTRIBUTES_ALL);
    if (tar->export->settings)
        bale_tar_settings(tar->entry, &contents->attr);
    add_holes(tar, contents);
    if (!bale_tar_write_header(tar))
        return CANNOT_WRITE;
    tar->size = contents->attr.size;
    err =
        bale_contents_stream(contents, tar->pool, tar->export->threads, &damage, write_piece, tar);
    if (err == BALE_OK && !*damaged && bale_damage_any(&damage)) {
        bale_reason_set(&why, "was changed while it was written: its copy in the archive has "
                              "zeros: try again");
        bale_tar_fail(tar, path, why.text);
    }
    bale_damage_clear(&damage);
    return err;
}

static int compare_known(const void *a, const void *b)
{
    const struct known *one = a, *other = b;

    return one->dev != other->dev ? (one->dev > other->dev) - (one->dev < other->dev)
                                  : (one->ino > other->ino) - (one->ino < other->ino);
}

static bool write_link(struct bale_tar *tar, const char *path, const struct stat *st)
{
    struct known key = {.dev = st->st_dev, .ino = st->st_ino};
    struct known **found = tfind(&key, &tar->links, compare_known);

    if (!found)
        return false;
    bale_tar_describe(tar, path, (*found)->damaged ? BALE_DAMAGED : "", st);
    archive_entry_set_hardlink(tar->entry, (*found)->path);
    archive_entry_unset_size(tar->entry);
    (void)bale_tar_write_header(tar);
    return true;
}

static void note_link(struct bale_tar *tar, const char *path, const struct stat *st, bool damaged)
{
    const char *shown = bale_tar_shown(tar, path), *end = damaged ? BALE_DAMAGED : "";
    size_t size = strlen(shown) + strlen(end) + 1;
    struct known *known = malloc(sizeof *known + size);

    if (!known)
        return; /* its other names become files of their own */
    *known = (struct known){.dev = st->st_dev, .ino = st->st_ino, .damaged = damaged};
    snprintf(known->path, size, "%s%s", shown, end);
    if (!tsearch(known, &tar->links, compare_known))
        free(known);
}

static void report_recovery(struct bale_tar *tar, const char *path,
                            const struct bale_contents *contents)
{
    bool lost, failed = tar->failed;
    const char *recovery = bale_contents_recovery(contents, &lost);

    if (recovery)
        bale_tar_fail(tar, path, recovery);
    tar->failed = failed || lost;
}

void bale_tar_write_file(struct bale_tar *tar, struct bale_tree_dir *dir, const char *name,
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
        bale_tar_broken(tar);
    else if (err != BALE_OK)
        bale_tar_fail(tar, path, why.text);
    else if (found->st_nlink > 1)
        note_link(tar, path, found, damaged);
}
