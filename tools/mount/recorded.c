#include "tools/mount/recorded.h"

#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"

void bale_recorded_begin(struct bale_recorded *recorded, const char *store)
{
    char why[BALE_WHY];

    *recorded = (struct bale_recorded){0};
    recorded->open =
        store && bale_look_open(store, BALE_STORE_UNLOCKED, &recorded->look, why) == BALE_OK;
}

/* What a new file would get where path is. */
static bool of_new(const struct bale_recorded *recorded, const char *path,
                   struct bale_setting *setting)
{
    struct bale_container_attr attr;
    char *above = strdup(path);
    const char *slash = strrchr(path, '/');
    int dir = above ? open(dirname(above), O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    bool known = dir >= 0 && bale_properties_for_new(recorded->look.store, dir,
                                                     slash ? slash + 1 : path, &attr) == BALE_OK;

    if (known)
        *setting = attr.setting;
    if (dir >= 0)
        close(dir);
    free(above);
    return known;
}

void bale_recorded_compare(struct bale_recorded *recorded, int fd, const char *path)
{
    struct bale_setting setting;

    if (!recorded->open || recorded->path)
        return;
    ssize_t got = fgetxattr(fd, BALE_XATTR_CODEC, recorded->has, sizeof recorded->has - 1);
    if (got <= 0 || !of_new(recorded, path, &setting))
        return;
    recorded->has[got] = '\0';
    bale_setting_print(setting, recorded->gets, sizeof recorded->gets);
    if (strcmp(recorded->has, recorded->gets) != 0)
        recorded->path = strdup(path);
}

void bale_recorded_end(struct bale_recorded *recorded)
{
    if (recorded->open)
        bale_look_close(&recorded->look);
    free(recorded->path);
    *recorded = (struct bale_recorded){0};
}
