#include <stdio.h>
#include <stdlib.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"

static void config_free(struct bale_store_config *config)
{
    for (char **line = config->match; line && *line; line++)
        free(*line);
    free(config->match);
}

static void version_free(struct bale_config_version *version)
{
    if (!version)
        return;
    config_free(&version->config);
    free(version);
}

/* Validates json and makes it the store's configuration. Owns json from then on, also on
 * failure. */
static int adopt(struct bale_store *store, json_t *json, struct bale_reason *why)
{
    struct bale_config_version *version = calloc(1, sizeof *version);
    int err;

    if (!version) {
        json_decref(json);
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", store->path);
    }
    err = bale_config_from_json(json, store->path, &version->config, why);
    if (err) {
        version_free(version);
        json_decref(json);
        return err;
    }
    version->older = atomic_load(&store->config);
    atomic_store(&store->config, version);
    json_decref(store->volume);
    store->volume = json;
    return 0;
}

static int read_file(struct bale_store *store, const char *name, struct bale_reason *why)
{
    json_t *json;
    int err = bale_store_file_read_json(store->dir_fd, store->path, name, &json, why);

    return err ? err : adopt(store, json, why);
}

static int report_lost(const struct bale_store *store, struct bale_reason *why)
{
    if (!bale_store_exists(store->path, NULL))
        return bale_store_not_one(store->path, why);
    return bale_store_fail(why, BALE_E_CORRUPT,
                           "%s: has lost " BALE_STORE_DIR "/" BALE_VOLUME
                           " and its copy: balefs fsck --repair makes it again",
                           store->path);
}

int bale_config_read(struct bale_store *store, struct bale_reason *why)
{
    struct bale_reason reason = {0};
    int err = read_file(store, BALE_VOLUME, &reason);
    bool lost = err == BALE_E_NOENT;
    struct bale_store_notice *notice = &store->notices[BALE_NOTICE_VOLUME];

    *notice = (struct bale_store_notice){0};
    store->volume_missing = lost;
    if ((lost || err == BALE_E_CORRUPT) && read_file(store, BALE_VOLUME_COPY, NULL) == 0) {
        notice->below = BALE_STORE_DIR "/" BALE_VOLUME;
        snprintf(notice->text, sizeof notice->text,
                 "is %s: its copy is used: balefs fsck --repair makes it again",
                 lost ? "missing" : "damaged");
        return 0;
    }
    if (lost)
        return report_lost(store, why);
    if (err && why)
        *why = reason;
    return err;
}

static int write_volume(const struct bale_store *store, const char *name, const json_t *json,
                        struct bale_reason *why)
{
    char label[64];

    if (bale_store_file_replace_json(store->dir_fd, name, json, false) == 0)
        return 0;
    snprintf(label, sizeof label, BALE_STORE_DIR "/%s", name);
    return bale_store_fail_errno(why, store->path, label, "written");
}

/* volume.json decides, so its copy is written before it. */
static int write_both(const struct bale_store *store, const json_t *json, struct bale_reason *why)
{
    int err = write_volume(store, BALE_VOLUME_COPY, json, why);

    return err ? err : write_volume(store, BALE_VOLUME, json, why);
}

/* An older program changes volume.json and does not know of the copy. */
static bool copy_is_current(const struct bale_store *store)
{
    json_t *copy;
    bool equal;

    if (bale_store_file_read_json(store->dir_fd, store->path, BALE_VOLUME_COPY, &copy, NULL) < 0)
        return false;
    equal = json_equal(copy, store->volume);
    json_decref(copy);
    return equal;
}

int bale_config_restore(struct bale_store *store)
{
    return write_both(store, store->volume, NULL);
}

void bale_config_keep_both(struct bale_store *store)
{
    struct bale_store_notice *notice = &store->notices[BALE_NOTICE_VOLUME];
    bool bad = notice->below != NULL;
    bool restore = store->volume_missing || (bad && store->repair);
    struct bale_reason why;
    int err = 0;

    if (restore)
        err = write_volume(store, BALE_VOLUME, store->volume, &why);
    else if (!bad && !copy_is_current(store))
        err = write_volume(store, BALE_VOLUME_COPY, store->volume, &why);
    if (err)
        bale_log(BALE_LOG_WARNING, "%s: there is only one of the two: make room for it", why.text);
    notice->repaired = restore && !err;
    if (notice->repaired)
        snprintf(notice->text, sizeof notice->text, "was %s: it was made again from its copy",
                 store->volume_missing ? "missing" : "damaged");
}

int bale_config_remake(struct bale_store *store, const struct bale_store_config *config,
                       struct bale_reason *why)
{
    json_t *json;
    int err = bale_config_new(config, store->path, &json, why);

    if (err)
        return err;
    err = write_both(store, json, why);
    json_decref(json);
    return err;
}

void bale_config_free(struct bale_store *store)
{
    struct bale_config_version *version = atomic_load(&store->config);

    while (version) {
        struct bale_config_version *older = version->older;

        version_free(version);
        version = older;
    }
    json_decref(store->volume);
}

const struct bale_store_config *bale_store_config(const struct bale_store *store)
{
    return &atomic_load(&store->config)->config;
}

int bale_store_set_config(struct bale_store *store, const struct bale_store_config *config,
                          struct bale_reason *why)
{
    json_t *json;
    int err;

    if (store->access != BALE_STORE_WRITE)
        return bale_store_fail(why, BALE_E_RDONLY, "%s: is open for reading only", store->path);
    if (atomic_load(&store->stopped))
        return bale_store_fail(why, BALE_E_IO, "%s: another process has it: unmount", store->path);
    pthread_mutex_lock(&store->change);
    json = json_copy(store->volume);
    err = json ? bale_config_put(json, config, store->path, why)
               : bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", store->path);
    if (!err)
        err = write_both(store, json, why);
    if (!err)
        err = adopt(store, json, why);
    else
        json_decref(json);
    pthread_mutex_unlock(&store->change);
    return err;
}
