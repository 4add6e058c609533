/* Entries of an archive that is being written, and messages about it. */
#include "tools/transfer/tar.h"

#include <archive.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/reason.h"
#include "tools/common/message.h"
#include "tools/transfer/tar_attributes.h"

void bale_tar_fail(struct bale_tar *tar, const char *path, const char *why)
{
    tar->failed = true;
    bale_progress_end(&tar->progress);
    bale_message("%s%s%s: %s", bale_store_path(tar->export->reader.store), *path ? "/" : "", path,
                 why);
}

void bale_tar_broken(struct bale_tar *tar)
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

const char *bale_tar_shown(const struct bale_tar *tar, const char *path)
{
    const char *shown = path + strlen(tar->export->below);

    shown += strspn(shown, "/");
    return *shown ? shown : ".";
}

void bale_tar_describe(struct bale_tar *tar, const char *path, const char *end,
                       const struct stat *st)
{
    char *full;

    archive_entry_clear(tar->entry);
    archive_entry_copy_stat(tar->entry, st);
    archive_entry_unset_ctime(tar->entry);
    if (asprintf(&full, "%s%s", bale_tar_shown(tar, path), end) >= 0) {
        archive_entry_copy_pathname(tar->entry, full);
        free(full);
    }
}

void bale_tar_add_attributes(struct bale_tar *tar, const char *shown, int fd, const char *name,
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
        bale_tar_fail(tar, shown, why.text);
    }
}

bool bale_tar_write_header(struct bale_tar *tar)
{
    if (archive_write_header(tar->archive, tar->entry) < ARCHIVE_WARN) {
        bale_tar_broken(tar);
        return false;
    }
    tar->files++;
    bale_progress_show(&tar->progress, tar->files, tar->bytes);
    return true;
}
