#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "format/limits.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/store/file.h"
#include "fs/store/internal.h"
#include "kernels/frame/setting.h"

#define VALUE_MAX 4096 /* bytes of an attribute, NUL included */

bool bale_extent_parse(const char *text, uint32_t *extent)
{
    uint64_t value = 0;
    size_t digits = 0;

    for (; *text >= '0' && *text <= '9' && digits < 9; text++, digits++)
        value = value * 10 + (uint64_t)(*text - '0');
    if (digits == 0)
        return false;
    if (*text == 'K' || *text == 'k')
        value <<= 10, text++;
    else if (*text == 'M' || *text == 'm')
        value <<= 20, text++;
    if (*text != '\0' || !bale_extent_is_valid(value))
        return false;
    *extent = (uint32_t)value;
    return true;
}

/* ---- Attributes of directories --------------------------------------------------------------- */

struct fd_path {
    char text[32];
};

/* fgetxattr refuses O_PATH descriptors; a path in /proc works for both kinds. */
static struct fd_path path_of(int fd)
{
    struct fd_path path;

    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", fd);
    return path;
}

/* Some tools end values with a newline or a NUL. */
static size_t trimmed(const char *value, size_t length)
{
    while (length > 0 && (value[length - 1] == '\n' || value[length - 1] == '\0'))
        length--;
    return length;
}

/* The value with a NUL. BALE_E_NOENT: none, or no attributes here; BALE_E_TOOBIG: longer than any
 * we set. */
static int get_value(int fd, const char *name, char value[static VALUE_MAX])
{
    struct fd_path path = path_of(fd);
    ssize_t got = getxattr(path.text, name, value, VALUE_MAX - 1);

    if (got < 0 && (errno == ENODATA || errno == ENOTSUP))
        return BALE_E_NOENT;
    if (got < 0 && (errno == ERANGE || errno == E2BIG))
        return BALE_E_TOOBIG;
    if (got < 0)
        return bale_err_from_errno(errno);
    value[trimmed(value, (size_t)got)] = '\0';
    return 0;
}

/* Matches name against one line "GLOB CODEC". *bad: the line is invalid. */
static bool line_matches(const char *line, const char *name, struct bale_setting *setting,
                         bool *bad)
{
    char glob[VALUE_MAX];
    struct bale_reason reason;
    struct bale_setting parsed;
    size_t length;

    if (bale_match_parse(line, &length, &parsed, &reason) < 0 || length >= sizeof glob) {
        *bad = true;
        return false;
    }
    memcpy(glob, line, length);
    glob[length] = '\0';
    if (fnmatch(glob, name, 0) != 0)
        return false;
    *setting = parsed;
    return true;
}

static bool lines_match(char *lines, const char *name, struct bale_setting *setting, bool *bad)
{
    char *rest = lines;
    char *line;

    while ((line = strsep(&rest, "\n")))
        if (line[0] != '\0' && line_matches(line, name, setting, bad))
            return true;
    return false;
}

/* Sets the codec if the directory has one for this name. *bad: it has an invalid value. */
static int directory_codec(int fd, const char *name, struct bale_container_attr *attr, bool *bad)
{
    struct bale_setting parsed;
    char value[VALUE_MAX];
    int err = get_value(fd, BALE_XATTR_MATCH, value);

    if (err == BALE_E_TOOBIG)
        *bad = true;
    else if (err && err != BALE_E_NOENT)
        return err;
    else if (!err)
        attr->setting_explicit = lines_match(value, name, &attr->setting, bad);
    if (attr->setting_explicit)
        return 0;
    err = get_value(fd, BALE_XATTR_CODEC, value);
    if (!err && bale_setting_parse(value, &parsed, NULL) == 0 &&
        bale_setting_check_spread(parsed, NULL) == 0) {
        attr->setting = parsed;
        attr->setting_explicit = true;
    } else if (!err || err == BALE_E_TOOBIG)
        *bad = true;
    return err == BALE_E_TOOBIG || err == BALE_E_NOENT ? 0 : err;
}

static int directory_extent(int fd, struct bale_container_attr *attr, bool *bad)
{
    char value[VALUE_MAX];
    int err = get_value(fd, BALE_XATTR_EXTENT, value);

    if (!err && bale_extent_parse(value, &attr->extent))
        attr->extent_explicit = true;
    else if (!err || err == BALE_E_TOOBIG)
        *bad = true;
    return err == BALE_E_TOOBIG || err == BALE_E_NOENT ? 0 : err;
}

void bale_properties_fit_extent(const struct bale_store *store, struct bale_container_attr *attr)
{
    if (!attr->extent_explicit && !bale_store_config(store)->extent_chosen &&
        attr->extent == BALE_EXTENT_DEFAULT && bale_codec_has_part(attr->setting.codec))
        attr->extent = BALE_EXTENT_WITH_PART;
}

int bale_properties_for_new(const struct bale_store *store, int dir_fd, const char *name,
                            struct bale_container_attr *attr)
{
    bool bad = false;
    int err = 0;

    bale_store_defaults(store, attr);
    if (dir_fd >= 0 && store->abilities.user_xattr) {
        err = directory_codec(dir_fd, name, attr, &bad);
        if (!err)
            err = directory_extent(dir_fd, attr, &bad);
    }
    if (!err && !attr->setting_explicit)
        for (char **line = bale_store_config(store)->match; *line; line++)
            if (line_matches(*line, name, &attr->setting, &bad))
                break;
    bale_properties_fit_extent(store, attr);
    if (bad && !atomic_flag_test_and_set(&((struct bale_store *)store)->bad_setting_reported))
        bale_log(BALE_LOG_WARNING,
                 "%s: the directory of the new file \"%s\" has settings that this program does not "
                 "know: they are passed over: see balefs get",
                 store->path, name);
    return err;
}

static bool line_is_lossy(const char *line)
{
    struct bale_setting setting;
    size_t glob;

    return bale_match_parse(line, &glob, &setting, NULL) == BALE_OK &&
           bale_codec_is_lossy(setting.codec);
}

/* Removes the match lines that are lossy. */
static void drop_lossy(char *lines)
{
    char *kept = lines, *rest = lines, *line;

    while ((line = strsep(&rest, "\n"))) {
        size_t length = strlen(line);

        if (length == 0 || line_is_lossy(line))
            continue;
        if (kept > lines)
            *kept++ = '\n';
        memmove(kept, line, length);
        kept += length;
    }
    *kept = '\0';
}

bool bale_properties_has_bound(int dir_fd)
{
    char value[VALUE_MAX], *rest = value, *line;
    int err = get_value(dir_fd, BALE_XATTR_MATCH, value);

    if (err != 0)
        return err != BALE_E_NOENT;
    while ((line = strsep(&rest, "\n")))
        if (line_is_lossy(line))
            return true;
    return false;
}

int bale_properties_inherit(int parent_fd, int child_fd)
{
    static const char *const names[] = {BALE_XATTR_CODEC, BALE_XATTR_EXTENT, BALE_XATTR_MATCH};
    struct fd_path child = path_of(child_fd);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char value[VALUE_MAX];
        int err = get_value(parent_fd, names[i], value);

        if (err == BALE_E_NOENT || err == BALE_E_TOOBIG)
            continue;
        if (err)
            return err;
        if (strcmp(names[i], BALE_XATTR_MATCH) == 0)
            drop_lossy(value);
        if (value[0] == '\0')
            continue;
        if (setxattr(child.text, names[i], value, strlen(value), 0) < 0)
            return bale_err_from_errno(errno);
    }
    return 0;
}

/* ---- Values to be set ------------------------------------------------------------------------ */

static int check_codec(const char *value, char *clean, struct bale_reason *why)
{
    struct bale_setting setting;
    struct bale_reason reason;

    if (bale_setting_parse(value, &setting, &reason) < 0 ||
        bale_setting_check_spread(setting, &reason) < 0)
        return bale_store_fail(why, BALE_E_INVALID, BALE_XATTR_CODEC ": %s", reason.text);
    bale_setting_print(setting, clean, BALE_SETTING_TEXT);
    return 0;
}

static int check_extent(const char *value, char *clean, struct bale_reason *why)
{
    uint32_t extent;

    if (!bale_extent_parse(value, &extent))
        return bale_store_fail(why, BALE_E_INVALID,
                               BALE_XATTR_EXTENT ": \"%.32s\" is no extent size: it is a multiple "
                                                 "of 4096 from 16K to 64M",
                               value);
    snprintf(clean, VALUE_MAX, "%u", extent);
    return 0;
}

/* Removes empty lines and spaces around a line. */
static int check_match(char *value, char *clean, struct bale_reason *why)
{
    char *rest = value;
    char *line;
    size_t used = 0;

    clean[0] = '\0';
    while ((line = strsep(&rest, "\n"))) {
        struct bale_setting setting;
        char text[BALE_SETTING_TEXT];
        struct bale_reason reason;
        size_t end = strlen(line);
        size_t glob;

        while (end > 0 && isspace((unsigned char)line[end - 1]))
            line[--end] = '\0';
        while (isspace((unsigned char)*line))
            line++;
        if (*line == '\0')
            continue;
        if (bale_match_parse(line, &glob, &setting, &reason) < 0)
            return bale_store_fail(why, BALE_E_INVALID, BALE_XATTR_MATCH ": \"%.64s\": %s", line,
                                   reason.text);
        bale_setting_print(setting, text, sizeof text);
        used += (size_t)snprintf(clean + used, VALUE_MAX - used, "%s%.*s %s", used ? "\n" : "",
                                 (int)glob, line, text);
        if (used >= VALUE_MAX)
            return bale_store_fail(why, BALE_E_TOOBIG,
                                   BALE_XATTR_MATCH ": has more than 4095 bytes: use fewer globs");
    }
    if (used == 0)
        return bale_store_fail(why, BALE_E_INVALID,
                               BALE_XATTR_MATCH ": is empty: remove the attribute instead");
    return 0;
}

/* The value as text, in own, which is empty after an error. */
static int take_value(const char *name, const char *value, size_t length,
                      char own[static VALUE_MAX], struct bale_reason *why)
{
    own[0] = '\0';
    length = trimmed(value, length);
    if (length >= VALUE_MAX)
        return bale_store_fail(why, BALE_E_TOOBIG,
                               "%s: has more than 4095 bytes: use a shorter one", name);
    if (length == 0)
        return bale_store_fail(why, BALE_E_INVALID, "%s: is empty: remove the attribute instead",
                               name);
    if (memchr(value, '\0', length))
        return bale_store_fail(why, BALE_E_INVALID, "%s: has a zero byte inside: it is text", name);
    memcpy(own, value, length);
    own[length] = '\0';
    return 0;
}

int bale_properties_check_codec(const char *value, size_t length, struct bale_setting *setting,
                                struct bale_reason *why)
{
    struct bale_reason reason;
    char own[VALUE_MAX];
    int err = take_value(BALE_XATTR_CODEC, value, length, own, why);

    if (err)
        return err;
    if (bale_setting_parse(own, setting, &reason) < 0)
        return bale_store_fail(why, BALE_E_INVALID, BALE_XATTR_CODEC ": %s", reason.text);
    return 0;
}

int bale_properties_check(const char *name, const char *value, size_t length, char *clean,
                          struct bale_reason *why)
{
    char own[VALUE_MAX];
    int err = take_value(name, value, length, own, why);

    if (err)
        return err;
    if (strcmp(name, BALE_XATTR_CODEC) == 0)
        return check_codec(own, clean, why);
    if (strcmp(name, BALE_XATTR_EXTENT) == 0)
        return check_extent(own, clean, why);
    if (strcmp(name, BALE_XATTR_MATCH) == 0)
        return check_match(own, clean, why);
    return bale_store_fail(why, BALE_E_INVALID,
                           "%s: is no setting: settings are " BALE_XATTR_CODEC
                           ", " BALE_XATTR_EXTENT " and " BALE_XATTR_MATCH,
                           name);
}
