#include "tools/common/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/base/same_inode.h"

/* Replaces the escapes \ooo for blank, tab, newline and backslash (proc(5)), in place. */
static void unescape(char *text)
{
    char *out = text;

    for (char *in = text; *in; out++) {
        if (in[0] == '\\' && in[1] >= '0' && in[1] <= '3' && in[2] >= '0' && in[2] <= '7' &&
            in[3] >= '0' && in[3] <= '7') {
            *out = (char)((in[1] - '0') * 64 + (in[2] - '0') * 8 + (in[3] - '0'));
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

/* "rw,user_id=0,group_id=0,allow_other" */
static void parse_options(struct bale_mount_line *mount, char *options)
{
    char *word;

    while ((word = strsep(&options, ",\n")))
        if (strncmp(word, "user_id=", 8) == 0)
            mount->owner = (uid_t)strtoul(word + 8, NULL, 10);
        else if (strcmp(word, "allow_other") == 0)
            mount->allow_other = true;
}

/* Splits a line "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [OPTIONAL]... - TYPE SOURCE SUPER", which
 * is in mount->text. False: it is not such a line. */
static bool parse(struct bale_mount_line *mount)
{
    char *save, *words[5];
    char *tail = strstr(mount->text, " - ");

    if (!tail)
        return false;
    *tail = '\0';
    for (int i = 0; i < 5; i++)
        if (!(words[i] = strtok_r(i ? NULL : mount->text, " ", &save)))
            return false;
    mount->id = strtoull(words[0], NULL, 10);
    mount->device = words[2];
    mount->root = words[3];
    mount->point = words[4];
    mount->type = strtok_r(tail + 3, " \n", &save);
    mount->source = strtok_r(NULL, " \n", &save);
    if (!mount->type || !mount->source)
        return false;
    parse_options(mount, strtok_r(NULL, " \n", &save));
    unescape(mount->root);
    unescape(mount->point);
    unescape(mount->type);
    unescape(mount->source);
    return true;
}

static bool line_matches(const char *line,
                         bool (*matches)(const struct bale_mount_line *mount, const void *arg),
                         const void *arg)
{
    struct bale_mount_line mount = {.text = strdup(line)};
    bool does = mount.text && parse(&mount) && matches(&mount, arg);

    bale_mount_line_free(&mount);
    return does;
}

/* Finds the last line of the table that matches: later mounts lie over earlier ones. */
static int find_in(const char *path,
                   bool (*matches)(const struct bale_mount_line *mount, const void *arg),
                   const void *arg, struct bale_mount_line *found)
{
    FILE *table = fopen(path, "re");
    char *line = NULL, *last = NULL;
    size_t size = 0;

    *found = (struct bale_mount_line){0};
    if (!table)
        return bale_err_from_errno(errno);
    while (getline(&line, &size, table) > 0) {
        if (!line_matches(line, matches, arg))
            continue;
        free(last);
        last = strdup(line);
    }
    free(line);
    fclose(table);
    if (!last)
        return BALE_E_NOENT;
    found->text = last;
    return parse(found) ? BALE_OK : BALE_E_NOENT;
}

static int find(bool (*matches)(const struct bale_mount_line *mount, const void *arg),
                const void *arg, struct bale_mount_line *found)
{
    return find_in("/proc/self/mountinfo", matches, arg, found);
}

static bool has_id(const struct bale_mount_line *mount, const void *id)
{
    return mount->id == *(const uint64_t *)id;
}

int bale_mounts_of(const char *path, struct bale_mount_line *mount)
{
    struct statx st;

    *mount = (struct bale_mount_line){0};
    if (statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_MNT_ID, &st) != 0)
        return bale_err_from_errno(errno);
    if (!(st.stx_mask & STATX_MNT_ID))
        return BALE_E_UNSUPPORTED;
    uint64_t id = st.stx_mnt_id;
    return find(has_id, &id, mount);
}

static bool has_point(const struct bale_mount_line *mount, const void *point)
{
    return strcmp(mount->point, point) == 0;
}

int bale_mounts_at(const char *point, struct bale_mount_line *mount)
{
    return find(has_point, point, mount);
}

int bale_mounts_holding(const char *path, struct bale_mount_line *mount)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0), *text = NULL;
    int err = BALE_E_NOENT;

    *mount = (struct bale_mount_line){0};
    if (asprintf(&text, "%s%s%s", here ? here : "", here ? "/" : "", path) < 0)
        text = NULL;
    for (char *end = text && !strstr(text, "..") ? text + strlen(text) : NULL;
         end && err == BALE_E_NOENT; end = strrchr(text, '/')) {
        *end = '\0';
        err = bale_mounts_at(*text ? text : "/", mount);
        if (!*text)
            break;
    }
    free(here);
    free(text);
    return err;
}

static bool is_like(const struct bale_mount_line *mount, const void *arg)
{
    const struct bale_mount_line *like = arg;

    return strcmp(mount->device, like->device) == 0 && strcmp(mount->type, like->type) == 0 &&
           strcmp(mount->source, like->source) == 0;
}

static bool is_beside(const struct bale_mount_line *mount, const void *arg)
{
    return is_like(mount, arg) && mount->id != ((const struct bale_mount_line *)arg)->id;
}

bool bale_mounts_beside(const struct bale_mount_line *mount, struct bale_mount_line *other)
{
    return find(is_beside, mount, other) == BALE_OK;
}

bool bale_mounts_seen_by(const char *process, const struct bale_mount_line *mount)
{
    struct bale_mount_line found;
    char path[64];

    snprintf(path, sizeof path, "/proc/%.16s/mountinfo", process);
    bool seen = find_in(path, is_like, mount, &found) == BALE_OK;
    bale_mount_line_free(&found);
    return seen;
}

static bool is_same(const char *a, const char *b)
{
    struct stat at, bt;

    return stat(a, &at) == 0 && stat(b, &bt) == 0 && bale_same_inode(&at, &bt);
}

static bool is_of_store(const struct bale_mount_line *mount, const void *store)
{
    return bale_mount_line_is_balefs(mount) && is_same(mount->source, store);
}

bool bale_mounts_lost_by(const char *process, const char *store)
{
    struct bale_mount_line found;
    char path[64];

    snprintf(path, sizeof path, "/proc/%.16s/mountinfo", process);
    int err = find_in(path, is_of_store, store, &found);
    bale_mount_line_free(&found);
    return err == BALE_E_NOENT && access(path, R_OK) == 0;
}

const char *bale_mounts_rest(const char *top, const char *path)
{
    size_t length = strcmp(top, "/") ? strlen(top) : 0;

    if (strncmp(top, path, length) != 0 || (path[length] && path[length] != '/'))
        return NULL;
    return path + length + strspn(path + length, "/");
}

/* The mount that is known; a wider one shows more of the same file system. */
struct wider {
    const char *device;
    const char *root; /* of the known mount */
};

static bool is_wider(const struct bale_mount_line *mount, const void *arg)
{
    const struct wider *than = arg;

    return strcmp(mount->device, than->device) == 0 && strcmp(mount->root, than->root) != 0 &&
           bale_mounts_rest(mount->root, than->root);
}

/* The path, in the mount, of what is called inside in the file system. False: no memory, or another
 * mount hides it. */
static bool reach(const struct bale_mount_line *mount, const char *inside, const char *real,
                  char **path)
{
    const char *point = strcmp(mount->point, "/") ? mount->point : "";
    const char *rest = bale_mounts_rest(mount->root, inside);

    if (!rest || asprintf(path, "%s%s%s", point, *rest || !*point ? "/" : "", rest) < 0)
        *path = NULL;
    if (*path && is_same(*path, real))
        return true;
    free(*path);
    *path = NULL;
    return false;
}

char *bale_mounts_widest(const char *real)
{
    struct bale_mount_line mount, wide;
    char *inside = NULL, *found = NULL, *path;
    const char *rest;

    if (bale_mounts_of(real, &mount) != BALE_OK || !mount.text)
        return strdup(real);
    rest = bale_mounts_rest(mount.point, real);
    if (rest && asprintf(&inside, "%s/%s", strcmp(mount.root, "/") ? mount.root : "", rest) < 0)
        inside = NULL;
    while (inside && find(is_wider, &(struct wider){mount.device, mount.root}, &wide) == BALE_OK) {
        bale_mount_line_free(&mount);
        mount = wide;
        if (reach(&mount, inside, real, &path)) {
            free(found);
            found = path;
        }
    }
    bale_mount_line_free(&mount);
    free(inside);
    return found ? found : strdup(real);
}

bool bale_mounts_here(const char *path, struct bale_mount_line *mount)
{
    char *point = bale_mounts_path(path);
    bool here = point && bale_mounts_at(point, mount) == BALE_OK;

    free(point);
    if (here && !bale_mount_line_is_balefs(mount)) {
        bale_mount_line_free(mount);
        here = false;
    }
    return here;
}

void bale_mount_line_free(struct bale_mount_line *mount)
{
    free(mount->text);
    *mount = (struct bale_mount_line){0};
}

bool bale_mount_line_is_balefs(const struct bale_mount_line *mount)
{
    return mount->type && strcmp(mount->type, "fuse.balefs") == 0;
}

bool bale_mounts_is_gone(int error)
{
    return error == ENOTCONN || error == ECONNABORTED;
}

char *bale_mounts_path(const char *path)
{
    char *real = realpath(path, NULL), *copy = NULL, *parent = NULL, *result = NULL;

    if (real || !bale_mounts_is_gone(errno))
        return real;
    copy = strdup(path);
    char *again = strdup(path);
    if (copy && again && (parent = realpath(dirname(copy), NULL)) &&
        asprintf(&result, "%s/%s", strcmp(parent, "/") ? parent : "", basename(again)) < 0)
        result = NULL;
    free(copy);
    free(again);
    free(parent);
    return result;
}
