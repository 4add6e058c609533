#include "tools/common/location.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/message.h"
#include "tools/common/mount_owner.h"
#include "tools/common/mounts.h"

/* Makes sure that the daemon answers. The kernel may cache attributes long after the daemon ended,
 * so this sends a request: it opens the top, which the daemon answers even if its store stalls. If
 * the top may not be opened, it asks for attributes. */
static int ask_daemon(const char *top, const char *path)
{
    struct statx st;
    int flags = AT_STATX_FORCE_SYNC | AT_NO_AUTOMOUNT;
    int fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0) {
        close(fd);
        return BALE_OK;
    }
    return statx(AT_FDCWD, path, flags, STATX_MODE, &st) == 0 ? BALE_OK
                                                              : bale_err_from_errno(errno);
}

static int in_mount(const char *real, const struct bale_mount_line *mount,
                    struct bale_location *location)
{
    const char *rest = bale_mounts_rest(mount->point, real);
    const char *root = mount->root + strspn(mount->root, "/");

    location->mounted = true;
    location->top = strdup(mount->point);
    if (mount->source[0] == '/')
        location->store = strdup(mount->source);
    if (!rest || asprintf(&location->below, "%s%s%s", root, *root && *rest ? "/" : "", rest) < 0)
        location->below = NULL;
    return location->top && location->below ? ask_daemon(mount->point, real) : BALE_E_NOMEM;
}

/* Searches upwards. A bind mount may show a directory of a store without the top of the store. */
static int in_store(const char *real, struct bale_location *location)
{
    char *wide = bale_mounts_widest(real), *top = wide ? strdup(wide) : NULL;
    int err = BALE_E_NOMEM;
    bool closed = false;

    while (top && !bale_store_exists(top, &closed)) {
        char *slash = strrchr(top, '/');
        if (!slash || !top[1]) {
            err = closed ? BALE_E_PERM : BALE_E_NOENT;
            goto out;
        }
        slash[slash == top] = '\0';
    }
    if (top) {
        location->top = strdup(top);
        location->store = strdup(top);
        location->below = strdup(bale_mounts_rest(top, wide));
        err = location->top && location->store && location->below ? BALE_OK : BALE_E_NOMEM;
    }
out:
    free(top);
    free(wide);
    return err;
}

static void say_why(const char *path, int err)
{
    struct stat st;

    if (err == BALE_E_NOENT && stat(path, &st) == 0)
        bale_message("%s: neither in a balefs mount nor in a store: name a path in one", path);
    else if (err == BALE_E_NOENT)
        bale_message("%s: no such file or directory: check the path", path);
    else if (err == BALE_E_PERM && bale_owner_keeps_out(path))
        return;
    else if (err == BALE_E_PERM)
        bale_message(
            "%s: cannot be read: %s: let its owner or root do it, or name it below a mount", path,
            bale_err_text(err));
    else if (bale_mounts_is_gone(errno))
        bale_message("%s: its daemon has ended without unmounting: balefs mount or balefs umount "
                     "cleans it up",
                     path);
    else
        bale_message("%s: cannot be read: %s", path, bale_err_text(err));
}

static int find(const char *real, struct bale_location *location)
{
    struct bale_mount_line mount;
    int err = bale_mounts_of(real, &mount);

    if (err == BALE_OK && bale_mount_line_is_balefs(&mount))
        err = in_mount(real, &mount, location);
    else if (err == BALE_OK || err == BALE_E_UNSUPPORTED) /* this kernel has no mount ids */
        err = in_store(real, location);
    bale_mount_line_free(&mount);
    return err;
}

int bale_location_find(const char *path, struct bale_location *location)
{
    *location = (struct bale_location){0};
    location->real = realpath(path, NULL);
    int err = location->real ? find(location->real, location) : bale_err_from_errno(errno);
    if (err == BALE_OK)
        return err;
    say_why(path, err);
    bale_location_free(location);
    return err;
}

char *bale_location_existing(const char *path, bool *missing)
{
    char *real = realpath(path, NULL), *copy;

    *missing = !real && errno == ENOENT;
    if (!*missing || !(copy = strdup(path)))
        return real;
    real = realpath(dirname(copy), NULL);
    int e = errno;
    free(copy);
    errno = e;
    return real;
}

int bale_location_around(const char *path, struct bale_location *location, bool *missing)
{
    *location = (struct bale_location){0};
    location->real = bale_location_existing(path, missing);
    int err = location->real ? find(location->real, location) : bale_err_from_errno(errno);
    if (err != BALE_OK)
        bale_location_free(location);
    return err;
}

void bale_location_free(struct bale_location *location)
{
    free(location->top);
    free(location->store);
    free(location->real);
    free(location->below);
    *location = (struct bale_location){0};
}
