#include "tools/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/err.h"

/* proc(5): blank, tab, newline and backslash come as \ooo. In place. */
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

static char *field(const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (copy)
        unescape(copy);
    return copy;
}

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [OPTIONAL]... - TYPE SOURCE SUPER. BALE_E_INVALID: not such a line. */
static int parse_line(char *line, struct bale_mount_line *mount)
{
    char *save, *words[5];
    char *tail = strstr(line, " - ");

    if (!tail)
        return BALE_E_INVALID;
    *tail = '\0';
    for (int i = 0; i < 5; i++)
        if (!(words[i] = strtok_r(i ? NULL : line, " ", &save)))
            return BALE_E_INVALID;
    char *type = strtok_r(tail + 3, " \n", &save);
    char *source = strtok_r(NULL, " \n", &save);
    *mount = (struct bale_mount_line){.id = strtoull(words[0], NULL, 10),
                                      .root = field(words[3]),
                                      .point = field(words[4]),
                                      .type = field(type ? type : ""),
                                      .source = field(source ? source : "")};
    if (mount->root && mount->point && mount->type && mount->source)
        return BALE_OK;
    bale_mount_line_free(mount);
    return BALE_E_NOMEM;
}

/* The last line that matches: later mounts lie over earlier ones. */
static int find(bool (*matches)(const struct bale_mount_line *mount, const void *arg),
                const void *arg, struct bale_mount_line *found)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    char *line = NULL;
    size_t size = 0;
    int err = BALE_OK;

    *found = (struct bale_mount_line){0};
    if (!table)
        return bale_err_from_errno(errno);
    while (err == BALE_OK && getline(&line, &size, table) > 0) {
        struct bale_mount_line mount;
        err = parse_line(line, &mount);
        if (err == BALE_E_INVALID) {
            err = BALE_OK;
        } else if (err == BALE_OK && matches(&mount, arg)) {
            bale_mount_line_free(found);
            *found = mount;
        } else if (err == BALE_OK) {
            bale_mount_line_free(&mount);
        }
    }
    free(line);
    fclose(table);
    if (err != BALE_OK)
        bale_mount_line_free(found);
    else if (!found->point)
        err = BALE_E_NOENT;
    return err;
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

static bool has_source(const struct bale_mount_line *mount, const void *source)
{
    return bale_mount_line_is_balefs(mount) && strcmp(mount->source, source) == 0;
}

int bale_mounts_from(const char *store, struct bale_mount_line *mount)
{
    return find(has_source, store, mount);
}

void bale_mount_line_free(struct bale_mount_line *mount)
{
    free(mount->root);
    free(mount->point);
    free(mount->type);
    free(mount->source);
    *mount = (struct bale_mount_line){0};
}

bool bale_mount_line_is_balefs(const struct bale_mount_line *mount)
{
    return mount->type && strcmp(mount->type, "fuse.balefs") == 0;
}

char *bale_mounts_path(const char *path)
{
    char *real = realpath(path, NULL), *copy = NULL, *parent = NULL, *result = NULL;

    if (real || errno != ENOTCONN)
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
