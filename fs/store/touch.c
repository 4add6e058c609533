/* Keeping the files of a store in use young. */
#include <fcntl.h>
#include <sys/stat.h>

#include "fs/store/file.h"
#include "fs/store/internal.h"

/* Those that a mount reads and never writes; it writes the others when it begins and at
 * checkpoints. */
void bale_store_touch(const struct bale_store *store)
{
    static const char *const names[] = {BALE_VOLUME, BALE_VOLUME_COPY, BALE_TOP};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)utimensat(store->dir_fd, names[i], NULL, AT_SYMLINK_NOFOLLOW);
    (void)utimensat(store->root_fd, BALE_STORE_DIR, NULL, AT_SYMLINK_NOFOLLOW);
}
