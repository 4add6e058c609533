#include "tools/inspect/scrub_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "fs/store/store.h"
#include "tools/common/json.h"

#define NAME BALE_STORE_DIR "/scrub.json"
#define SIZE_MOST (1 << 20)
#define PROBLEMS_MOST 1000 /* that are kept */

int bale_scrub_order(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    /* A directory comes before what is in it, and that before the next name. */
    int x = *a == '/' ? 0 : (unsigned char)*a, y = *b == '/' ? 0 : (unsigned char)*b;
    if (x != y)
        return x - y;
    return (*a == '/') - (*b == '/');
}

static uint64_t count_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));

    return value > 0 ? (uint64_t)value : 0;
}

/* The name as bale_json_path has written it; NULL: there is none. */
static char *path_of(const json_t *object)
{
    const char *hex = json_string_value(json_object_get(object, "path_hex"));
    const char *text = json_string_value(json_object_get(object, "path"));
    size_t length = hex ? strlen(hex) / 2 : 0;

    if (!hex)
        return text ? strdup(text) : NULL;
    char *path = calloc(1, length + 1);
    for (size_t i = 0; path && i < length; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        path[i] = (char)strtoul(digits, NULL, 16);
    }
    return path;
}

/* Takes over what the file says. One that somebody has spoilt counts as none. */
static void take_over(struct bale_scrub_state *state)
{
    char *text = malloc(SIZE_MOST);
    ssize_t got = text ? pread(state->fd, text, SIZE_MOST, 0) : -1;
    json_t *object = got > 0 ? json_loadb(text, (size_t)got, 0, NULL) : NULL;
    const char *begun = json_string_value(json_object_get(object, "begun"));
    json_t *problems = json_object_get(object, "problems");

    if (begun && strlen(begun) < sizeof state->begun && json_is_array(problems) &&
        json_is_false(json_object_get(object, "finished")) && (state->path = path_of(object))) {
        memcpy(state->begun, begun, strlen(begun) + 1);
        state->offset = json_is_true(json_object_get(object, "whole")) ? UINT64_MAX
                                                                       : count_of(object, "offset");
        state->files = count_of(object, "files");
        state->bytes = count_of(object, "bytes");
        state->damaged = count_of(object, "damaged");
        json_array_extend(state->problems, problems);
        state->continued = true;
    }
    json_decref(object);
    free(text);
}

int bale_scrub_state_open(int root, bool restart, struct bale_scrub_state *state,
                          struct bale_reason *why)
{
    time_t now = time(NULL);
    struct stat st;
    struct tm utc;

    *state = (struct bale_scrub_state){.problems = json_array()};
    why->text[0] = '\0';
    gmtime_r(&now, &utc);
    strftime(state->begun, sizeof state->begun, "%Y-%m-%dT%H:%M:%SZ", &utc);
    state->fd = openat(root, NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (state->fd >= 0 && (fstat(state->fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(state->fd);
        state->fd = -1;
        errno = EINVAL;
    }
    if (state->fd < 0) {
        bale_reason_set(why,
                        "%s: cannot be written: %s: if this scrub is ended early, the next one "
                        "begins again",
                        NAME, strerror(errno));
        return BALE_OK;
    }
    if (flock(state->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        bale_reason_set(why, "is being scrubbed by another process");
        return BALE_E_BUSY;
    }
    if (!restart)
        take_over(state);
    return BALE_OK;
}

void bale_scrub_state_move(struct bale_scrub_state *state, const char *path, uint64_t offset)
{
    if (!state->path || strcmp(state->path, path) != 0) {
        free(state->path);
        state->path = strdup(path);
    }
    state->offset = offset;
}

bool bale_scrub_state_keep(const struct bale_scrub_state *state, bool finished)
{
    json_t *object = json_object();
    bool whole = state->offset == UINT64_MAX;

    if (state->fd < 0)
        return true;
    bale_json_text(object, "begun", state->begun);
    json_object_set_new(object, "finished", json_boolean(finished));
    if (state->path)
        bale_json_path(object, "path", state->path);
    json_object_set_new(object, "whole", json_boolean(whole));
    bale_json_count(object, "offset", whole ? 0 : state->offset);
    bale_json_count(object, "files", state->files);
    bale_json_count(object, "bytes", state->bytes);
    bale_json_count(object, "damaged", state->damaged);
    json_t *problems = json_array();
    for (size_t i = 0; i < PROBLEMS_MOST && i < json_array_size(state->problems); i++)
        json_array_append(problems, json_array_get(state->problems, i));
    json_object_set_new(object, "problems", problems);
    char *text = json_dumps(object, JSON_INDENT(1));
    size_t length = text ? strlen(text) : 0;
    /* In place, because the lock is the file's. A shorter text is cut to its length last: what is
     * there if that does not happen is no JSON, and the next run begins again. */
    bool done = text && pwrite(state->fd, text, length, 0) == (ssize_t)length &&
                ftruncate(state->fd, (off_t)length) == 0;
    free(text);
    json_decref(object);
    return done;
}

void bale_scrub_state_close(struct bale_scrub_state *state)
{
    if (state->fd >= 0)
        close(state->fd);
    free(state->path);
    json_decref(state->problems);
    *state = (struct bale_scrub_state){.fd = -1};
}
