/* What import into a store and into a mount share. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "kernels/frame/setting.h"
#include "tools/common/size.h"
#include "tools/transfer/import.h"
#include "tools/transfer/move.h"

int bale_import_open(const struct bale_task *task, struct stat *st)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int fd = openat(task->dir->from, task->name, flags | O_NOATIME);

    if (fd < 0 && errno == EPERM)
        fd = openat(task->dir->from, task->name, flags);
    if (fd < 0)
        return -1;
    int e = fstat(fd, st) != 0 ? errno : S_ISREG(st->st_mode) ? 0 : ESTALE;
    if (e == 0)
        return fd;
    close(fd);
    errno = e;
    return -1;
}

bool bale_import_wish(int fd, const char *name, char *value, size_t size)
{
    char path[BALE_REACH], *names;
    size_t length, at = 0;

    bale_reach(fd, NULL, path);
    ssize_t got = fgetxattr(fd, name, value, size - 1);
    if (got <= 0 || bale_attributes_list(path, true, &names, &length) != 0)
        return false;
    value[got] = '\0';
    while (at < length && strcmp(names + at, name) != 0)
        at += strlen(names + at) + 1;
    free(names);
    return at < length;
}

bool bale_import_changed(int fd, const struct stat *st)
{
    struct stat now;

    return fstat(fd, &now) == 0 &&
           (now.st_size != st->st_size || now.st_mtim.tv_sec != st->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != st->st_mtim.tv_nsec);
}

bool bale_import_refuses(struct bale_task *task, const struct bale_setting *setting)
{
    char text[BALE_SETTING_TEXT];

    if (!task->transfer->move || !bale_codec_is_lossy(setting->codec))
        return false;
    bale_setting_print(*setting, text, sizeof text);
    bale_transfer_fail(task->transfer, task->dir, task->name,
                       "left as it is: a match line rounds such files (%s): --codec moves it "
                       "exactly, and import without --move makes a rounded copy",
                       text);
    return true;
}

void bale_import_report(const struct bale_transfer *transfer)
{
    char size[BALE_TEXT];

    printf("%s: %" PRIu64 " files, %s imported", transfer->to_top, transfer->files,
           bale_size_text(transfer->bytes, size));
    if (transfer->kept)
        printf(", %" PRIu64 " were there", transfer->kept);
    bale_move_report(transfer, transfer->from_top);
    printf("%s\n", transfer->failed ? ", and not everything could be" : "");
}
