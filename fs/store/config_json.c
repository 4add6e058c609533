/* The configuration as JSON, as volume.json has it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "format/err.h"
#include "format/limits.h"
#include "format/reason.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"
#include "kernels/frame/setting.h"

#define FORMAT_VERSION 1
#define MATCH_MAX 1024 /* lines; each new file is matched against all of them */

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

int bale_config_from_json(const json_t *json, const char *path, struct bale_store_config *config,
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

int bale_config_put(json_t *json, const struct bale_store_config *config, const char *path,
                    struct bale_reason *why)
{
    char text[BALE_SETTING_TEXT];
    json_t *match;
    int bad;
    int err = check_config(config, path, why);

    if (err)
        return err;
    match = json_array();
    bad = match == NULL;
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
    int err;

    *json = make_uuid(uuid)
                ? json_pack("{s:i, s:s, s:[], s:s}", "format", FORMAT_VERSION, "uuid", uuid,
                            "features", "modes", config->modes_in_container ? "container" : "inode")
                : NULL;
    if (!*json)
        return bale_store_fail(why, BALE_E_NOMEM, "%s: out of memory", path);
    err = bale_config_put(*json, config, path, why);
    if (err)
        json_decref(*json);
    return err;
}
