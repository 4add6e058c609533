/* balefs set: chooses codec and extent size of files and directories. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/location.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/size.h"

#define VALUE 4096

static const char help[] =
    "usage: balefs set [--extent SIZE] PATH... CODEC\n"
    "       balefs set --extent SIZE PATH...\n"
    "       balefs set --match GLOB DIR... CODEC\n"
    "       balefs set --unset [--match GLOB | --extent default] PATH...\n"
    "       balefs set --closed STORE...\n"
    "\n"
    "Chooses how files in a mount are stored from now on. A setting of a directory applies\n"
    "to files and directories created in it later. CODEC (balefs help codecs) is one of\n"
    "{codecs}.\n"
    "Existing data stays as it is stored: see balefs recompress.\n"
    "\n"
    "  -m, --match GLOB   for new files in DIR whose name matches, before DIR's own codec;\n"
    "                     of several globs the first match wins\n"
    "  -e, --extent SIZE  bytes compressed together: 16K to 64M, in steps of 4K; for a\n"
    "                     file only while it is empty. It must fit in half of the mount's\n"
    "                     memory. default: removes the setting\n"
    "  -u, --unset        removes the codec setting of PATH, or its match line for GLOB\n"
    "      --closed       makes the directory of a store that is not mounted its owner's alone;\n"
    "                     the mount shows the permissions that it had. balefs init does so for\n"
    "                     root's stores\n"
    "  -h, --help\n"
    "\n"
    "With --extent, a last word that could be a codec or a path is a codec: for the path\n"
    "write ./zstd. Directories of a store that is not mounted can be set too.\n"
    "\n"
    "Examples:\n"
    "  balefs set /mnt/scratch/run1 zstd:3\n"
    "  balefs set --match '*.log' /mnt/scratch/run1 zstd:9\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_CLOSED = 256 };

static const struct option long_options[] = {
    {"match", required_argument, NULL, 'm'}, {"extent", required_argument, NULL, 'e'},
    {"unset", no_argument, NULL, 'u'},       {"closed", no_argument, NULL, OPTION_CLOSED},
    {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
};

/* The change to make to each path. */
struct wish {
    const char *glob;
    const char *codec;  /* checked */
    const char *extent; /* checked; "" removes the setting */
    bool unset;
    bool closed; /* --closed, which excludes all others */
};

/* The user's word for an attribute. */
static const char *title(const char *name)
{
    return strcmp(name, BALE_XATTR_EXTENT) == 0  ? "--extent"
           : strcmp(name, BALE_XATTR_MATCH) == 0 ? "--match"
                                                 : "the codec";
}

static bool say_failed(const char *path, const char *name, const char *value)
{
    bool is_extent = strcmp(name, BALE_XATTR_EXTENT) == 0;

    switch (errno) {
    case EACCES:
    case EPERM:
        bale_message("%s: may not be changed: be its owner or root", path);
        break;
    case EROFS:
        bale_message("%s: cannot be changed: it is mounted read-only: mount it without -o ro",
                     path);
        break;
    case ENOTSUP:
        bale_message("%s: cannot hold settings: the store's file system has no user attributes",
                     path);
        break;
    case EINVAL:
    case EBUSY:
        if (is_extent)
            bale_message("%s: has data already: set an extent size on the directory, then write a "
                         "new file",
                         path);
        else
            bale_message(
                "%s: %s is refused: does the program that serves the mount have its codec?", path,
                value);
        break;
    default:
        bale_message("%s: %s cannot be set: %s: the daemon's log may say more", path, title(name),
                     strerror(errno));
    }
    return false;
}

static bool put(const char *path, const char *name, const char *value)
{
    if (value && *value)
        return setxattr(path, name, value, strlen(value), 0) == 0 || say_failed(path, name, value);
    return removexattr(path, name) == 0 || errno == ENODATA || say_failed(path, name, "");
}

static bool same_glob(const char *line, const char *glob)
{
    size_t length = strlen(glob);

    return strncmp(line, glob, length) == 0 && line[length] == ' ' &&
           !strchr(line + length + 1, ' ');
}

/* Copies the match lines. The line of glob becomes "GLOB CODEC" at its old position, or is removed;
 * if there is none, it is added at the end. False: too long. *found: there was a line of glob. */
static bool edit_lines(char *lines, const struct wish *wish, char out[static VALUE], bool *found)
{
    char *rest = lines, *line;
    const char *codec = wish->codec;
    size_t used = 0;

    *found = false;
    out[0] = '\0';
    while (used < VALUE && (line = strsep(&rest, "\n"))) {
        bool same = same_glob(line, wish->glob);
        *found = *found || same;
        if (!*line || (same && !codec))
            continue;
        used += (size_t)snprintf(out + used, VALUE - used, "%s%s%s%s", used ? "\n" : "",
                                 same ? wish->glob : line, same ? " " : "", same ? codec : "");
        if (same)
            codec = NULL;
    }
    if (codec && used < VALUE)
        used += (size_t)snprintf(out + used, VALUE - used, "%s%s %s", used ? "\n" : "", wish->glob,
                                 codec);
    return used < VALUE;
}

/* Reads, changes and writes the lines under a lock, so that two such commands do not lose a change.
 */
static bool put_match(const char *path, const struct wish *wish)
{
    char lines[VALUE], edited[VALUE], clean[VALUE];
    struct bale_reason why;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = false, found;

    if (fd < 0 && errno == ENOTDIR) {
        bale_message("%s: is no directory: --match is for directories", path);
        return false;
    }
    if (fd < 0) {
        bale_message("%s: cannot be opened: %s", path, strerror(errno));
        return false;
    }
    if (flock(fd, LOCK_EX) != 0 && errno != ENOLCK && errno != ENOTSUP) {
        bale_message("%s: cannot be locked: %s", path, strerror(errno));
        goto out;
    }
    ssize_t got = getxattr(path, BALE_XATTR_MATCH, lines, sizeof lines - 1);
    if (got < 0 && errno != ENODATA) {
        say_failed(path, BALE_XATTR_MATCH, "");
        goto out;
    }
    lines[got < 0 ? 0 : got] = '\0';
    if (!edit_lines(lines, wish, edited, &found))
        bale_message("%s: its match lines would have more than 4095 bytes: use fewer globs", path);
    else if (!wish->codec && !found)
        bale_message("%s: has no match line for %s: balefs get %s prints those it has", path,
                     wish->glob, path);
    else if (edited[0] &&
             bale_properties_check(BALE_XATTR_MATCH, edited, strlen(edited), clean, &why) != 0)
        bale_message("%s: --match: %s", path, bale_reason(why.text));
    else
        done = put(path, BALE_XATTR_MATCH, edited[0] ? clean : "");
out:
    close(fd);
    return done;
}

/* Without a mount only directories can be changed, and only while the store is not mounted. */
static bool may_change(const char *path)
{
    struct bale_location location;
    struct stat st;
    char who[256];
    bool may = false;

    if (bale_location_find(path, &location) != BALE_OK)
        return false;
    if (location.mounted) {
        may = true;
    } else if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        bale_message("%s: is a file of a store: mount the store and set it there", path);
    } else {
        may = !bale_store_locked_by(location.top, who, sizeof who);
        if (!may)
            bale_message("%s: the store is in use by %s: set it in the mount", path, who);
    }
    bale_location_free(&location);
    return may;
}

static bool close_store(const char *path)
{
    struct bale_reason why;
    int err = bale_store_shut(path, &why);

    if (err != BALE_OK)
        bale_message("%s", why.text);
    return err == BALE_OK;
}

/* A directory's codec is inherited, which that of a lossy setting must not be. */
static bool may_have_codec(const char *path, const char *codec)
{
    struct bale_setting setting;
    struct stat st;

    if (bale_setting_parse(codec, &setting, NULL) != BALE_OK ||
        !bale_codec_is_lossy(setting.codec) || stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return true;
    bale_message("%s: is a directory: %s changes values, and is for files: name them with "
                 "--match GLOB",
                 path, bale_codec_name(setting.codec));
    return false;
}

static bool apply(const char *path, const struct wish *wish)
{
    struct bale_control_status mount;

    if (wish->closed)
        return close_store(path);
    bool known = bale_control_status_by_name(path, &mount);
    if (known && mount.frozen)
        bale_message("%s: its mount is frozen: waiting for balefs thaw", path);
    if (!may_change(path))
        return false;
    if (wish->extent && !put(path, BALE_XATTR_EXTENT, wish->extent))
        return false;
    if (wish->extent && *wish->extent)
        bale_control_warn_extent(path, (uint32_t)strtoul(wish->extent, NULL, 10),
                                 known ? mount.memory_cap : 0);
    if (wish->glob)
        return put_match(path, wish);
    if (wish->codec && !may_have_codec(path, wish->codec))
        return false;
    if (wish->codec || (wish->unset && !wish->extent))
        return put(path, BALE_XATTR_CODEC, wish->codec);
    return true;
}

static int take_extent(const struct bale_command *command, const char *text,
                       char clean[static VALUE], struct wish *wish)
{
    uint32_t extent;

    clean[0] = '\0';
    if (strcmp(text, "default") != 0) {
        if (!bale_extent_size_parse(text, &extent))
            return bale_usage_error(
                command, "--extent %s: it is 16K to 64M, in steps of 4K, or default", text);
        snprintf(clean, VALUE, "%u", extent);
    }
    wish->extent = clean;
    return 0;
}

/* The last word is the codec, unless the options already say everything. Then *count becomes one
 * less. */
static int take_codec(const struct bale_command *command, int *count, char **words,
                      char clean[static VALUE], struct wish *wish)
{
    struct bale_reason why;
    struct bale_setting setting;

    if (wish->unset || wish->closed)
        return 0;
    const char *last = *count > 0 ? words[*count - 1] : "";
    int err = bale_setting_parse(last, &setting, &why);
    if (wish->extent && !wish->glob && (err != BALE_OK || *count < 2))
        return 0;
    if (*count < 2)
        return bale_usage_error(command,
                                *count ? "CODEC is missing" : "PATH and CODEC are missing");
    if (err != BALE_OK)
        return bale_codec_error(command, "%s: %s", last, why.text);
    bale_setting_print(setting, clean, VALUE);
    wish->codec = clean;
    --*count;
    return 0;
}

static int parse(const struct bale_command *command, int argc, char **argv, struct wish *wish,
                 char extent[static VALUE])
{
    int option, status = 0;

    while (status == 0 && (option = bale_options_next(command, argc, argv, ":m:e:uh",
                                                      long_options)) != BALE_OPTION_END)
        if (option == 'm')
            wish->glob = optarg;
        else if (option == 'e')
            status = take_extent(command, optarg, extent, wish);
        else if (option == 'u')
            wish->unset = true;
        else if (option == OPTION_CLOSED)
            wish->closed = true;
        else
            return option;
    if (status == 0 && wish->glob && (!*wish->glob || strchr(wish->glob, '\n')))
        status = bale_usage_error(command, "--match '%s': it is a pattern for names, as '*.log'",
                                  wish->glob);
    if (status == 0 && wish->unset && wish->extent && *wish->extent)
        status =
            bale_usage_error(command, "--unset and --extent with a size contradict each other");
    if (status == 0 && wish->closed && (wish->glob || wish->extent || wish->unset))
        status = bale_usage_error(command, "--closed goes with no other option");
    return status;
}

static int set_run(const struct bale_command *command, int argc, char **argv)
{
    char extent[VALUE], codec[VALUE];
    struct wish wish = {0};
    int status = parse(command, argc, argv, &wish, extent);

    if (status < 0)
        return bale_options_status(command, status);
    int count = argc - optind;
    if (status == 0)
        status = take_codec(command, &count, argv + optind, codec, &wish);
    if (status == 0 && count == 0)
        status = bale_usage_error(command, "PATH is missing");
    if (status != 0)
        return status;
    for (int i = 0; i < count; i++)
        if (!apply(argv[optind + i], &wish))
            status = BALE_EXIT_FAILED;
    return status;
}

const struct bale_command bale_command_set = {
    .name = "set",
    .summary = "chooses codec and extent size for files and directories",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = set_run,
};
