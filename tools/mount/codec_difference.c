#include "tools/mount/codec_difference.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/frame/setting.h"

void bale_codec_difference_begin(struct bale_codec_difference *difference, const char *store)
{
    struct bale_reason why;

    *difference = (struct bale_codec_difference){0};
    difference->open =
        store && bale_reader_open(store, BALE_STORE_UNLOCKED, &difference->reader, &why) == BALE_OK;
}

/* The setting that a new file at path would get. */
static bool of_new(const struct bale_codec_difference *difference, const char *path,
                   struct bale_setting *setting)
{
    struct bale_container_attr attr;
    char *above = strdup(path);
    const char *slash = strrchr(path, '/');
    int dir = above ? open(dirname(above), O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool known = dir >= 0 && bale_properties_for_new(difference->reader.store, dir,
                                                     slash ? slash + 1 : path, &attr) == BALE_OK;

    if (known)
        *setting = attr.setting;
    if (dir >= 0)
        close(dir);
    free(above);
    return known;
}

void bale_codec_difference_compare(struct bale_codec_difference *difference, int fd,
                                   const char *path)
{
    struct bale_setting setting;

    if (!difference->open || difference->path)
        return;
    ssize_t got = fgetxattr(fd, BALE_XATTR_CODEC, difference->has, sizeof difference->has - 1);
    if (got <= 0 || !of_new(difference, path, &setting))
        return;
    difference->has[got] = '\0';
    bale_setting_print(setting, difference->gets, sizeof difference->gets);
    if (strcmp(difference->has, difference->gets) != 0)
        difference->path = strdup(path);
}

void bale_codec_difference_end(struct bale_codec_difference *difference)
{
    if (difference->open)
        bale_reader_close(&difference->reader);
    free(difference->path);
    *difference = (struct bale_codec_difference){0};
}
