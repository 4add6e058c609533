#include "tools/mount/holders.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAMED 5      /* holders in a message */
#define LOOKED 1024u /* namespaces; more are not looked at */

struct seen {
    ino_t namespaces[LOOKED];
    size_t count;
};

/* Notes the namespace of the process. False: it was looked at before, or cannot be seen. */
static bool is_new(struct seen *seen, const char *process)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%.16s/ns/mnt", process);
    if (seen->count == LOOKED || stat(path, &st) != 0)
        return false;
    for (size_t i = 0; i < seen->count; i++)
        if (seen->namespaces[i] == st.st_ino)
            return false;
    seen->namespaces[seen->count++] = st.st_ino;
    return true;
}

static void name_of(const char *process, char name[17])
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%.16s/comm", process);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(name, 17, file))
        snprintf(name, 17, "?");
    name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
}

bool bale_holders(const struct bale_mount_line *mount, pid_t except, char *text, size_t size)
{
    struct seen *seen = calloc(1, sizeof *seen);
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    char number[16], name[17];
    size_t used = 0, count = 0;

    text[0] = '\0';
    snprintf(number, sizeof number, "%d", (int)except);
    if (seen) {
        (void)is_new(seen, "self");
        if (except > 0)
            (void)is_new(seen, number);
    }
    while (seen && dir && count < NAMED && used < size && (entry = readdir(dir))) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !is_new(seen, entry->d_name) ||
            !bale_mounts_seen_by(entry->d_name, mount))
            continue;
        name_of(entry->d_name, name);
        used += (size_t)snprintf(text + used, size - used, "%s%s (%.16s)", count ? ", " : "", name,
                                 entry->d_name);
        count++;
    }
    if (dir)
        closedir(dir);
    free(seen);
    return count > 0;
}
