#include "fs/store/holder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/file.h"

char *bale_holder_self(int fd)
{
    struct stat st;
    char host[BALE_HOST];
    char boot[BALE_IDENTITY];
    char since[32];
    time_t now = time(NULL);
    struct tm tm;
    json_t *json;
    char *text;

    bale_platform_host(host);
    bale_platform_boot(boot);
    gmtime_r(&now, &tm);
    strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &tm);
    json = json_pack("{s:s, s:s, s:I, s:s, s:I, s:I, s:I}", "host", host, "boot", boot, "process",
                     (json_int_t)getpid(), "since", since, "start",
                     (json_int_t)bale_platform_process_start(getpid()), "namespace",
                     (json_int_t)bale_platform_pid_namespace(), "device",
                     fstat(fd, &st) == 0 ? (json_int_t)st.st_dev : 0);
    text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

/* Whether the text can be given to -o takeover, which stands between commas. */
static bool is_boot(const char *text)
{
    size_t length = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz-");

    return text[length] == '\0' && length < 64;
}

void bale_holder_parse(const char *text, size_t length, struct bale_holder *holder)
{
    json_t *json = json_loadb(text, length, 0, NULL);
    const char *host = json_string_value(json_object_get(json, "host"));
    const char *boot = json_string_value(json_object_get(json, "boot"));
    const char *since = json_string_value(json_object_get(json, "since"));

    memset(holder, 0, sizeof *holder);
    holder->present = strspn(text, "\n") < length;
    holder->pid = (pid_t)json_integer_value(json_object_get(json, "process"));
    holder->start = (uint64_t)json_integer_value(json_object_get(json, "start"));
    holder->namespace = (uint64_t)json_integer_value(json_object_get(json, "namespace"));
    holder->device = (uint64_t)json_integer_value(json_object_get(json, "device"));
    snprintf(holder->host, sizeof holder->host, "%s", host ? host : "");
    if (boot && is_boot(boot))
        snprintf(holder->boot, sizeof holder->boot, "%s", boot);
    if (host && holder->pid > 0)
        snprintf(holder->who, sizeof holder->who, "process %ld on host %.64s since %.32s",
                 (long)holder->pid, holder->host, since ? since : "an unknown time");
    else
        snprintf(holder->who, sizeof holder->who, "another process");
    bale_text_printable(holder->who);
    json_decref(json);
}

int bale_holder_read(int dir, struct bale_holder *holder)
{
    char *text;
    size_t length;

    if (bale_store_file_read(dir, BALE_LOCK, BALE_HOLDER_MAX, &text, &length) < 0) {
        int err = bale_err_from_errno(errno);

        bale_holder_parse("", 0, holder);
        return err;
    }
    bale_holder_parse(text, length, holder);
    free(text);
    return 0;
}

static bool holder_runs(const struct bale_holder *holder)
{
    uint64_t start;

    if (bale_platform_process_ended(holder->pid))
        return false;
    start = bale_platform_process_start(holder->pid);
    return start == 0 || holder->start == 0 || start == holder->start;
}

void bale_lock_look_at(int dir, bool flocked, struct bale_lock_view *view)
{
    struct stat st;

    *view = (struct bale_lock_view){.flocked = flocked, .network = bale_platform_is_network(dir)};
    if (fstat(dir, &st) == 0)
        view->device = st.st_dev;
}

enum bale_verdict bale_holder_judge(const struct bale_holder *holder,
                                    const struct bale_lock_view *view)
{
    char boot[BALE_IDENTITY];

    if (!holder->present || (view->flocked && !view->network))
        return BALE_HOLDER_GONE;
    bale_platform_boot(boot);
    if (!boot[0] || strcmp(boot, holder->boot) != 0)
        return BALE_HOLDER_UNKNOWN;
    /* One mount of a file system knows all locks that were taken through it. */
    if (view->flocked && (holder->device == 0 || holder->device == view->device))
        return BALE_HOLDER_GONE;
    if (holder->pid <= 0 || holder->namespace != bale_platform_pid_namespace())
        return BALE_HOLDER_UNKNOWN;
    if (!holder_runs(holder))
        return BALE_HOLDER_GONE;
    /* We have the flock, but the holder may have the lock through another mount, or hold what this
     * store is a copy of. */
    return view->flocked ? BALE_HOLDER_UNKNOWN : BALE_HOLDER_RUNS;
}

const char *bale_holder_boot(const struct bale_holder *holder)
{
    return holder->boot[0] ? holder->boot : "unknown";
}

bool bale_holder_may_replace(const struct bale_holder *holder, const struct bale_lock_view *view,
                             const char *takeover)
{
    enum bale_verdict verdict = bale_holder_judge(holder, view);

    return verdict == BALE_HOLDER_GONE || (verdict == BALE_HOLDER_UNKNOWN && takeover &&
                                           strcmp(takeover, bale_holder_boot(holder)) == 0);
}

bool bale_holder_is_self(const struct bale_holder *holder)
{
    char boot[BALE_IDENTITY];

    bale_platform_boot(boot);
    return holder->pid == getpid() && holder->start == bale_platform_process_start(getpid()) &&
           holder->namespace == bale_platform_pid_namespace() && strcmp(boot, holder->boot) == 0;
}
