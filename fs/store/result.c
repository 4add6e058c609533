/* last-unmount.json: how a mount ended. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

#define LAST_UNMOUNT "last-unmount.json"

void bale_store_set_totals(struct bale_store *store, const struct bale_store_totals *totals)
{
    store->totals = *totals;
}

/* NULL: no memory. */
static json_t *result_json(const struct bale_store *store, bool clean, const char *when,
                           const char *result)
{
    const struct bale_store_totals *totals = &store->totals;
    char mark[BALE_MARK_SIZE] = "";

    (void)bale_sessions_mark(store, mark);
    return json_pack("{s:I, s:I, s:s, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
                     "process", (json_int_t)getpid(), "session",
                     (json_int_t)atomic_load(&store->sessions.current), "sessions", mark, "clean",
                     clean, "time", when, "result", result, "read", (json_int_t)totals->read,
                     "written", (json_int_t)totals->written, "compressed",
                     (json_int_t)totals->compressed, "stored", (json_int_t)totals->stored,
                     "commits", (json_int_t)totals->commits, "syncs", (json_int_t)totals->syncs,
                     "throttled", (json_int_t)totals->throttled, "errors",
                     (json_int_t)totals->errors, "cpu_ms", (json_int_t)(totals->cpu_us / 1000));
}

/* A result names files, whose names need not be UTF-8. */
static void as_json_text(char *text)
{
    json_t *json = json_string(text);

    bale_text_printable(text);
    for (char *p = json ? text + strlen(text) : text; *p; p++)
        if ((unsigned char)*p > 0x7f)
            *p = '?';
    json_decref(json);
}

int bale_store_write_result(struct bale_store *store, bool clean, const char *result)
{
    char when[32], text[BALE_REASON_SIZE];
    time_t now = time(NULL);
    struct tm tm;
    json_t *json;
    int err = BALE_E_NOMEM;

    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    snprintf(text, sizeof text, "%s", result);
    as_json_text(text);
    json = result_json(store, clean, when, text);
    if (json)
        err = bale_store_file_replace_json(store->dir_fd, LAST_UNMOUNT, json, true);
    json_decref(json);
    return err;
}

/* The store may be another user's, who may have put anything there. */
static json_t *read_result(int dir)
{
    struct bale_reason why;
    struct stat owner, st;
    json_t *json;

    if (fstat(dir, &owner) < 0 || fstatat(dir, LAST_UNMOUNT, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (st.st_uid != 0 && st.st_uid != owner.st_uid && st.st_uid != geteuid()) ||
        bale_store_file_read_json(dir, "", LAST_UNMOUNT, &json, &why) < 0)
        return NULL;
    return json;
}

json_t *bale_store_last_unmount(const char *path)
{
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int dir = -1;
    json_t *json = NULL;

    if (root >= 0 && bale_store_directory_open(root, &dir) == 0)
        json = read_result(dir);
    if (dir >= 0)
        close(dir);
    if (root >= 0)
        close(root);
    return json;
}

bool bale_result_left_sessions(const struct bale_store *store)
{
    json_t *json = read_result(store->dir_fd);
    const char *left = json_string_value(json_object_get(json, "sessions"));
    char mark[BALE_MARK_SIZE];
    bool same = !left || (bale_sessions_mark(store, mark) && strcmp(left, mark) == 0);

    json_decref(json);
    return same;
}
