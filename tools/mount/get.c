/* balefs get: prints how files and directories are stored. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/json.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/reader.h"

#define VALUE 4096

static const char help[] =
    "usage: balefs get [--json] PATH...\n"
    "\n"
    "Prints how new data is stored, for files and directories in a mount or a store: codec,\n"
    "extent size in bytes, and a directory's match lines. A setting that was neither chosen\n"
    "for the path nor inherited from the directory it was created in is the volume's\n"
    "default, marked \"(default)\".\n"
    "\n"
    "      --json  an object for one PATH, an array for several: path, codec, codec_chosen,\n"
    "              extent, extent_chosen, match\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs get /mnt/scratch/run1\n"
    "  balefs get --json /scratch/store | jq -r .codec\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_JSON = 256 };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct settings {
    char codec[VALUE], extent[VALUE], match[VALUE]; /* match: lines */
    bool codec_chosen, extent_chosen;
};

/* True if the attribute can be read. */
static bool attribute(const char *path, const char *name, char value[static VALUE])
{
    ssize_t got = getxattr(path, name, value, VALUE - 1);

    value[got < 0 ? 0 : got] = '\0';
    return got >= 0;
}

/* True if the attribute is listed. A file in a mount has a value for every setting, but lists only
 * those that were chosen for it. */
static bool listed(const char *path, const char *name)
{
    char names[VALUE];
    ssize_t got = listxattr(path, names, sizeof names);

    for (const char *at = names; got > 0 && at < names + got; at += strlen(at) + 1)
        if (strcmp(at, name) == 0)
            return true;
    return false;
}

static void use_defaults(const struct bale_container_attr *attr, struct settings *settings)
{
    if (!settings->codec_chosen)
        bale_setting_print(attr->setting, settings->codec, sizeof settings->codec);
    if (!settings->extent_chosen)
        snprintf(settings->extent, sizeof settings->extent, "%u", attr->extent);
}

/* Reads the settings of a file, which are in its container. */
static int of_file(const struct bale_reader *reader, const char *below, struct settings *settings,
                   struct bale_reason *why)
{
    struct bale_container *container;
    struct bale_container_attr attr;
    int err = bale_reader_open_container_at(reader, below, &container, why);

    if (err != BALE_OK)
        return err;
    bale_container_attr(container, &attr);
    bale_container_close(container);
    use_defaults(&attr, settings);
    settings->codec_chosen = attr.setting_explicit;
    settings->extent_chosen = attr.extent_explicit;
    return BALE_OK;
}

static void from_attributes(const char *path, struct settings *settings)
{
    settings->codec_chosen = attribute(path, BALE_XATTR_CODEC, settings->codec);
    settings->extent_chosen = attribute(path, BALE_XATTR_EXTENT, settings->extent);
    attribute(path, BALE_XATTR_MATCH, settings->match);
}

/* No default changes values, and copying programs do not see such a setting. */
static bool is_lossy(const char *codec)
{
    struct bale_setting setting;

    return bale_setting_parse(codec, &setting, NULL) == BALE_OK &&
           bale_codec_is_lossy(setting.codec);
}

static int from_store(const char *path, const struct bale_location *location, const struct stat *st,
                      struct settings *settings)
{
    struct bale_reason why;
    struct bale_reason where;
    struct bale_reader reader;
    int err = bale_reader_open(location->store, BALE_STORE_UNLOCKED, &reader, &why);

    if (err != BALE_OK) {
        bale_message("%s", why.text);
        return err;
    }
    if (S_ISDIR(st->st_mode)) {
        from_attributes(path, settings);
        use_defaults(&reader.defaults, settings);
    } else {
        err = of_file(&reader, location->below, settings, &where);
        if (err != BALE_OK)
            bale_message("%s: %s", path, where.text);
    }
    bale_reader_close(&reader);
    return err;
}

/* A file in a mount has all its settings as attributes. The defaults of the volume, which a
 * directory may leave to it, are in the store; a user who may not read the store does not learn
 * them. */
static int from_mount(const char *path, const struct bale_location *location, const struct stat *st,
                      struct settings *settings)
{
    struct bale_reader reader;
    struct bale_reason why;

    from_attributes(path, settings);
    if (S_ISREG(st->st_mode)) {
        if (!settings->codec_chosen) {
            bale_message("%s: its settings cannot be read: %s", path, strerror(errno));
            return BALE_E_IO;
        }
        settings->codec_chosen = listed(path, BALE_XATTR_CODEC) || is_lossy(settings->codec);
        settings->extent_chosen = listed(path, BALE_XATTR_EXTENT);
    } else if (location->store &&
               bale_reader_open(location->store, BALE_STORE_UNLOCKED, &reader, &why) == BALE_OK) {
        use_defaults(&reader.defaults, settings);
        bale_reader_close(&reader);
    }
    return BALE_OK;
}

static int find(const char *path, struct settings *settings)
{
    struct bale_location location;
    struct stat st;
    int err = bale_location_find(path, &location);

    *settings = (struct settings){0};
    if (err != BALE_OK)
        return err;
    if (stat(path, &st) != 0) {
        err = bale_err_from_errno(errno);
        bale_message("%s: cannot be read: %s", path, strerror(errno));
    } else if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        err = BALE_E_INVALID;
        bale_message("%s: neither a file nor a directory: it holds nothing to store", path);
    } else {
        err = location.mounted ? from_mount(path, &location, &st, settings)
                               : from_store(path, &location, &st, settings);
    }
    bale_location_free(&location);
    return err;
}

static void print(const char *path, struct settings *settings)
{
    char clean[2 * VALUE];
    char *rest = settings->match, *line;

    printf("%s: codec %s%s", bale_clean_text(path, clean, sizeof clean),
           settings->codec[0] ? settings->codec : "?", settings->codec_chosen ? "" : " (default)");
    printf(", extent %s%s\n", settings->extent[0] ? settings->extent : "?",
           settings->extent_chosen ? "" : " (default)");
    while ((line = strsep(&rest, "\n")))
        if (*line)
            printf("  match %s\n", bale_clean_text(line, clean, sizeof clean));
}

static json_t *as_json(const char *path, struct settings *settings)
{
    json_t *object = json_object(), *lines = json_array();
    char *rest = settings->match, *line;

    bale_json_path(object, "path", path);
    json_object_set_new(object, "codec",
                        settings->codec[0] ? json_string(settings->codec) : json_null());
    json_object_set_new(object, "codec_chosen", json_boolean(settings->codec_chosen));
    json_object_set_new(object, "extent",
                        settings->extent[0] ? json_integer(atoll(settings->extent)) : json_null());
    json_object_set_new(object, "extent_chosen", json_boolean(settings->extent_chosen));
    while ((line = strsep(&rest, "\n")))
        if (*line)
            json_array_append_new(lines, json_string(line));
    json_object_set_new(object, "match", lines);
    return object;
}

static int get_run(const struct bale_command *command, int argc, char **argv)
{
    int option, status = BALE_EXIT_DONE;
    struct settings settings;
    json_t *all = NULL;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) !=
           BALE_OPTION_END) {
        if (option != OPTION_JSON) {
            json_decref(all);
            return bale_options_status(command, option);
        }
        if (!all)
            all = json_array();
    }
    if (optind == argc) {
        json_decref(all);
        return bale_usage_error(command, "PATH is missing");
    }
    for (int i = optind; i < argc; i++)
        if (find(argv[i], &settings) != BALE_OK)
            status = BALE_EXIT_FAILED;
        else if (all)
            json_array_append_new(all, as_json(argv[i], &settings));
        else
            print(argv[i], &settings);
    if (all && !bale_json_print_list(all, argc - optind == 1))
        status = BALE_EXIT_FAILED;
    return status;
}

const struct bale_command bale_command_get = {
    .name = "get",
    .summary = "prints codec and extent size of files and directories",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = get_run,
};
