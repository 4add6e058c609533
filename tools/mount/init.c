/* balefs init: creates a store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/balefs.h"
#include "tools/common/control.h"
#include "tools/common/message.h"
#include "tools/common/mounts.h"
#include "tools/common/options.h"
#include "tools/common/output_path.h"
#include "tools/common/size.h"

static const char help[] =
    "usage: balefs init [OPTIONS] STORE\n"
    "\n"
    "Creates a store in a directory that is new or empty, and that lies neither in a store\n"
    "nor in a mount.\n"
    "\n"
    "  -c, --codec CODEC         codec for new files [auto] (balefs help codecs):\n"
    "                            {codecs}\n"
    "  -e, --extent SIZE         bytes compressed together [128K]: 16K to 64M, in steps of\n"
    "                            4K; it must fit in half of a mount's memory\n"
    "  -m, --match 'GLOB CODEC'  codec for new files whose name matches; may be given\n"
    "                            again, the first match wins\n"
    "      --modes WHERE         where the permission bits of files are stored: inode (of\n"
    "                            the files in the store) or container (inside them) [inode\n"
    "                            for root; always container for ordinary users]\n"
    "  -h, --help\n"
    "\n"
    "Examples:\n"
    "  balefs init /scratch/store\n"
    "  balefs init --codec zstd:3 --match '*.h5 store' /scratch/store\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_MODES = 256 };

static const struct option long_options[] = {
    {"codec", required_argument, NULL, 'c'}, {"extent", required_argument, NULL, 'e'},
    {"match", required_argument, NULL, 'm'}, {"modes", required_argument, NULL, OPTION_MODES},
    {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0},
};

static int take_codec(const struct bale_command *command, const char *text,
                      struct bale_store_config *config)
{
    struct bale_reason why;

    if (bale_setting_parse(text, &config->setting, &why) != BALE_OK)
        return bale_codec_error(command, "--codec %s: %s", text, why.text);
    return 0;
}

static int take_match(const struct bale_command *command, char *line,
                      struct bale_store_config *config)
{
    static char clean[4096];
    struct bale_reason why;
    size_t count = 0;

    if (bale_properties_check(BALE_XATTR_MATCH, line, strlen(line), clean, &why) != BALE_OK)
        return bale_usage_error(command, "--match: %s", bale_reason(why.text));
    while (config->match[count])
        count++;
    struct bale_setting setting;
    if (bale_setting_parse(strrchr(clean, ' ') + 1, &setting, &why) != BALE_OK)
        return bale_codec_error(command, "--match: \"%s\": %s", line, why.text);
    config->match[count] = line; /* the array has an entry for each word of the command line */
    return 0;
}

static int take_modes(const struct bale_command *command, const char *text,
                      struct bale_store_config *config)
{
    if (strcmp(text, "container") == 0)
        config->modes_in_container = true;
    else if (strcmp(text, "inode") == 0)
        config->modes_in_container = false;
    else
        return bale_usage_error(command, "--modes %s: it is inode or container", text);
    if (!config->modes_in_container && geteuid() != 0)
        return bale_usage_error(command,
                                "--modes inode: only for stores made by root: an ordinary user "
                                "could not open its own read-only files");
    return 0;
}

/* 0 or the exit code. */
static int take_option(const struct bale_command *command, int option,
                       struct bale_store_config *config)
{
    switch (option) {
    case 'c':
        return take_codec(command, optarg, config);
    case 'e':
        if (!bale_extent_size_parse(optarg, &config->extent))
            return bale_usage_error(command, "--extent %s: it is 16K to 64M, in steps of 4K",
                                    optarg);
        config->extent_chosen = true;
        return 0;
    case 'm':
        return take_match(command, optarg, config);
    default:
        return take_modes(command, optarg, config);
    }
}

static bool is_mount(const char *path)
{
    struct bale_mount_line mount;

    if (!bale_mounts_here(path, &mount))
        return false;
    bale_message("%s: is a mount of the store %s: name a directory outside", path, mount.source);
    bale_mount_line_free(&mount);
    return true;
}

static int init_run(const struct bale_command *command, int argc, char **argv)
{
    struct bale_store_config config = {.setting = {.codec = BALE_CODEC_AUTO},
                                       .extent = BALE_EXTENT_DEFAULT,
                                       .modes_in_container = geteuid() != 0};
    struct bale_reason why;
    int option, status = BALE_EXIT_DONE;

    config.match = calloc((size_t)argc + 1, sizeof *config.match);
    if (!config.match) {
        bale_message("out of memory");
        return BALE_EXIT_FAILED;
    }
    while (status == 0 && (option = bale_options_next(command, argc, argv, ":c:e:m:h",
                                                      long_options)) != BALE_OPTION_END) {
        if (option < 0) {
            status = bale_options_status(command, option);
            goto out;
        }
        status = take_option(command, option, &config);
    }
    if (status != 0)
        goto out;
    if (optind + 1 != argc) {
        status =
            bale_usage_error(command, optind < argc ? "one STORE at a time" : "STORE is missing");
        goto out;
    }
    if (is_mount(argv[optind]) || bale_output_path_check_mounts(argv[optind]) != BALE_OK) {
        status = BALE_EXIT_FAILED;
    } else if (bale_store_init(argv[optind], &config, &why) != BALE_OK) {
        bale_message("%s", why.text);
        status = BALE_EXIT_FAILED;
    } else {
        bale_control_warn_extent(argv[optind], config.extent, 0);
    }
out:
    free(config.match);
    return status;
}

const struct bale_command bale_command_init = {
    .name = "init",
    .summary = "creates a store in an empty directory",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = init_run,
};
