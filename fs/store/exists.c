#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "format/err.h"
#include "fs/store/file.h"
#include "fs/store/store.h"

bool bale_store_exists(const char *path, bool *closed)
{
    /* Any of them will do: what cleans up scratch space may have removed the others. */
    static const char *const names[] = {BALE_VOLUME, BALE_VOLUME_COPY, BALE_SESSIONS, BALE_LOCK};
    char name[PATH_MAX];
    struct stat st;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (snprintf(name, sizeof name, "%s/" BALE_STORE_DIR "/%s", path, names[i]) >=
            (int)sizeof name)
            return false;
        if (lstat(name, &st) == 0) {
            if (S_ISREG(st.st_mode))
                return true;
        } else if (errno == EACCES && closed) {
            *closed = true;
        }
    }
    return false;
}

int bale_store_not_one(const char *path, struct bale_reason *why)
{
    return bale_store_fail(why, BALE_E_NOENT,
                           "%s: is not a store: it has no " BALE_STORE_DIR "/" BALE_VOLUME
                           ": see balefs init, or balefs fsck --repair if it was one",
                           path);
}
