#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/err.h"
#include "format/limits.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"
#include "kernels/frame/setting.h"

#define FORMAT_VERSION 1
#define MATCH_MAX 1024 /* lines; each new file is matched against all of them */

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

static int bad_key(struct bale_reason *why, const char *path, const char *key, const char *must)
{
    return bale_store_fail(why, BALE_E_CORRUPT,
                           "%s/" BALE_STORE_DIR "/" BALE_VOLUME
                           ": is damaged: \"%s\" must be %s: see balefs fsck --repair",
                           path, key, must);
}

static bool uuid_ok(const char *text)
{
    for (size_t i = 0; i < 36; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? text[i] != '-' : !text[i] || !strchr("0123456789abcdefABCDEF", text[i]))
            return false;
    }
    return text[36] == '\0';
}

static int check_features(const json_t *json, const char *path, struct bale_reason *why)
{
    const json_t *format = json_object_get(json, "format");
    const json_t *features = json_object_get(json, "features");
    const json_t *feature;

    if (!json_is_integer(format) || json_integer_value(format) < 1)
        return bad_key(why, path, "format", "1");
    if (json_integer_value(format) > FORMAT_VERSION)
        return bale_store_fail(why, BALE_E_UNSUPPORTED,
                               "%s: is of format %lld and this program knows %d: use a newer one",
                               path, (long long)json_integer_value(format), FORMAT_VERSION);
    if (!json_is_array(features))
        return bad_key(why, path, "features", "an array of strings");
    feature = json_array_get(features, 0);
    if (feature && !json_is_string(feature))
        return bad_key(why, path, "features", "an array of strings");
    if (feature)
        return bale_store_fail(
            why, BALE_E_UNSUPPORTED,
            "%s: needs the feature \"%.64s\", which this program lacks: use a newer one", path,
            json_string_value(feature));
    return 0;
}

static int read_match(const json_t *json, const char *path, struct bale_store_config *config,
                      struct bale_reason *why)
{
    const json_t *match = json_object_get(json, "match");
    size_t count = json_array_size(match);

    if ((match && !json_is_array(match)) || count > MATCH_MAX)
        return bad_key(why, path, "match", "an array of at most 1024 strings");
    config->match = calloc(count + 1, sizeof *config->match);
    if (!config->match)
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < count; i++) {
        const char *line = json_string_value(json_array_get(match, i));
        struct bale_reason reason;
        struct bale_setting setting;
        size_t glob;

        if (!line)
            return bad_key(why, path, "match", "an array of at most 1024 strings");
        if (bale_match_parse(line, &glob, &setting, &reason) < 0 ||
            bale_setting_check_spread(setting, &reason) < 0)
            return bale_store_fail(why, BALE_E_UNSUPPORTED,
                                   "%s/" BALE_STORE_DIR "/" BALE_VOLUME
                                   ": \"match\": \"%.64s\": %s",
                                   path, line, reason.text);
        config->match[i] = strdup(line);
        if (!config->match[i])
            return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    }
    return 0;
}

/* config is zeroed. The caller frees what it owns, also on failure. */
static int read_config(const json_t *json, const char *path, struct bale_store_config *config,
                       struct bale_reason *why)
{
    const char *uuid = json_string_value(json_object_get(json, "uuid"));
    const char *modes = json_string_value(json_object_get(json, "modes"));
    const char *codec = json_string_value(json_object_get(json, "codec"));
    const json_t *extent = json_object_get(json, "extent");
    struct bale_reason reason;
    int err = check_features(json, path, why);

    if (err)
        return err;
    if (!uuid || !uuid_ok(uuid))
        return bad_key(why, path, "uuid", "a UUID");
    memcpy(config->uuid, uuid, sizeof config->uuid);
    if (!modes || (strcmp(modes, "inode") != 0 && strcmp(modes, "container") != 0))
        return bad_key(why, path, "modes", "\"inode\" or \"container\"");
    config->modes_in_container = strcmp(modes, "container") == 0;
    if (!codec)
        return bad_key(why, path, "codec", "a codec setting");
    if (bale_setting_parse(codec, &config->setting, &reason) < 0 ||
        bale_setting_check_spread(config->setting, &reason) < 0)
        return bale_store_fail(why, BALE_E_UNSUPPORTED,
                               "%s/" BALE_STORE_DIR "/" BALE_VOLUME ": \"codec\": %s", path,
                               reason.text);
    if (!json_is_integer(extent) || !bale_extent_is_valid((uint64_t)json_integer_value(extent)))
        return bad_key(why, path, "extent", "a multiple of 4096 from 16384 to 67108864");
    config->extent = (uint32_t)json_integer_value(extent);
    config->extent_chosen = json_is_true(json_object_get(json, "extent_chosen"));
    return read_match(json, path, config, why);
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
    err = read_config(json, store->path, &version->config, why);
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

/* Puts the keys that a user may change into json: codec, extent, whether that is chosen, and match. */
static int put_config(json_t *json, const struct bale_store_config *config, const char *path,
                      struct bale_reason *why)
{
    char text[BALE_SETTING_TEXT];
    json_t *match = json_array();
    int bad = match == NULL;

    bale_setting_print(config->setting, text, sizeof text);
    for (char **line = config->match; line && *line; line++) {
        struct bale_reason reason;
        struct bale_setting setting;
        size_t glob;

        if (bale_match_parse(*line, &glob, &setting, &reason) < 0 ||
            bale_setting_check_spread(setting, &reason) < 0) {
            json_decref(match);
            return bale_store_fail(why, BALE_E_INVALID, "%s: match \"%.64s\": %s", path, *line,
                                   reason.text);
        }
        bad |= json_array_append_new(match, json_string(*line));
    }
    if (json_array_size(match) > MATCH_MAX) {
        json_decref(match);
        return bale_store_fail(why, BALE_E_INVALID, "%s: has too many match lines: 1024 are enough",
                               path);
    }
    bad |= json_object_set_new(json, "codec", json_string(text));
    bad |= json_object_set_new(json, "extent", json_integer(config->extent));
    bad |= json_object_set_new(json, "extent_chosen", json_boolean(config->extent_chosen));
    bad |= json_object_set_new(json, "match", match);
    return bad ? bale_store_fail(why, BALE_E_INVALID,
                                 "%s: the settings are not UTF-8 text: give names in UTF-8", path)
               : 0;
}

static int check_config(const struct bale_store_config *config, const char *path,
                        struct bale_reason *why)
{
    struct bale_reason reason;

    if (!bale_extent_is_valid(config->extent))
        return bale_store_fail(
            why, BALE_E_INVALID,
            "%s: an extent of %u bytes: it is a multiple of 4096 from 16K to 64M", path,
            config->extent);
    if (bale_setting_check_spread(config->setting, &reason) < 0)
        return bale_store_fail(why, BALE_E_INVALID, "%s: codec: %s", path, reason.text);
    if (!bale_setting_valid(config->setting))
        return bale_store_fail(why, BALE_E_INVALID, "%s: codec %u with parameter %d: no such codec",
                               path, config->setting.codec, config->setting.parameter);
    return 0;
}

static bool make_uuid(char uuid[static 37])
{
    uint8_t b[16];

    if (getrandom(b, sizeof b, 0) != sizeof b)
        return false;
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40); /* RFC 4122: version 4, variant 1 */
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(uuid, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
             b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
    return true;
}

int bale_config_new(const struct bale_store_config *config, const char *path, json_t **json,
                    struct bale_reason *why)
{
    char uuid[37];
    int err = check_config(config, path, why);

    if (err)
        return err;
    *json = make_uuid(uuid)
                ? json_pack("{s:i, s:s, s:[], s:s}", "format", FORMAT_VERSION, "uuid", uuid,
                            "features", "modes", config->modes_in_container ? "container" : "inode")
                : NULL;
    if (!*json)
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    err = put_config(*json, config, path, why);
    if (err)
        json_decref(*json);
    return err;
}

const struct bale_store_config *bale_store_config(const struct bale_store *store)
{
    return &atomic_load(&store->config)->config;
}

int bale_store_set_config(struct bale_store *store, const struct bale_store_config *config,
                          struct bale_reason *why)
{
    json_t *json;
    int err = check_config(config, store->path, why);

    if (err)
        return err;
    if (store->access != BALE_STORE_WRITE)
        return bale_store_fail(why, BALE_E_RDONLY, "%s: is open for reading only", store->path);
    if (atomic_load(&store->stopped))
        return bale_store_fail(why, BALE_E_IO, "%s: another process has it: unmount", store->path);
    pthread_mutex_lock(&store->change);
    json = json_copy(store->volume);
    err = json ? put_config(json, config, store->path, why)
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
