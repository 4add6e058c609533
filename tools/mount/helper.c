#include "tools/mount/helper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/err.h"
#include "format/reason.h"
#include "tools/balefs.h"
#include "tools/common/options.h"
#include "tools/mount/helper_name.h"
#include "tools/mount/mount.h"
#include "tools/mount/options.h"
#include "tools/mount/remount.h"

static const char help[] =
    "usage: mount.balefs STORE MNT [-sfnv] [-o OPTIONS]\n"
    "\n"
    "mount(8) runs this for mount -t balefs STORE MNT and for lines of /etc/fstab; it mounts\n"
    "as balefs mount does. It ignores options for mount(8) itself, like noauto, nofail, user,\n"
    "_netdev and x-systemd.automount.\n"
    "\n"
    "  -s          ignore unknown options too\n"
    "  -f          do everything except the mount\n"
    "  -n, -v      accepted without effect; so are -N NAMESPACE and -t TYPE\n"
    "  -o OPTIONS  as of balefs mount; with remount, the kernel's flags change: ro, noatime\n"
    "              and the like\n"
    "  -h, --help\n"
    "\n"
    "Example, a line of /etc/fstab:\n"
    "  /scratch/store  /mnt/scratch  balefs  noatime,memory=2G,nofail  0 0\n"
    "\n"
    "Exit status, as mount(8): 0 mounted, 1 wrong usage or not allowed, 2 system error, 32\n"
    "failed.\n";

static const char umount_help[] =
    "usage: umount.fuse.balefs MNT [-flnrv]\n"
    "\n"
    "umount(8) runs this for mounts of balefs, so that umount too returns when everything is\n"
    "stored and the daemon has ended; it unmounts as balefs umount does.\n"
    "\n"
    "  -f, -l          as of balefs umount\n"
    "  -n, -r, -v      accepted without effect; so are -N NAMESPACE and -t TYPE\n"
    "  -h, --help\n"
    "\n"
    "Exit status, as umount(8): 0 done, 1 wrong usage or not allowed, 2 system error, 32\n"
    "failed.\n";

static const struct bale_command mount_helper = {
    .name = "mount", .help = help, .usage = BALE_EXIT_UNMOUNT_USAGE};
static const struct bale_command umount_helper = {
    .name = "umount", .help = umount_help, .usage = BALE_EXIT_UNMOUNT_USAGE};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Options for mount(8) and fstab(5); one that ends with '=' or '-' stands for every option that
 * begins with it. */
static const char *const for_mount[] = {
    "auto",    "noauto", "user",    "user=",    "users",  "nouser", "owner", "noowner", "group",
    "nogroup", "nofail", "_netdev", "comment=", "silent", "loud",   "x-",    "X-",
};

static bool is_for_mount(const char *word)
{
    for (size_t i = 0; i < sizeof for_mount / sizeof *for_mount; i++) {
        size_t length = strlen(for_mount[i]);
        bool any = strchr("=-", for_mount[i][length - 1]);
        if (any ? strncmp(word, for_mount[i], length) == 0 : strcmp(word, for_mount[i]) == 0)
            return true;
    }
    return false;
}

/* The options of both commands. */
struct arguments {
    bool sloppy, fake, force, lazy;
    char *options; /* all -o lists as one; the caller frees it */
};

static bool append(char **list, const char *words)
{
    char *longer;

    if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "", words) < 0)
        return false;
    free(*list);
    *list = longer;
    return true;
}

/* 0 or a BALE_OPTION_*. */
static int parse(const struct bale_command *command, const char *shorts, int argc, char **argv,
                 struct arguments *a)
{
    int option;

    while ((option = bale_options_next(command, argc, argv, shorts, long_options)) !=
           BALE_OPTION_END) {
        if (option < 0)
            return option;
        a->sloppy |= option == 's';
        a->fake |= command == &mount_helper && option == 'f';
        a->force |= command == &umount_helper && option == 'f';
        a->lazy |= option == 'l';
        if (option == 'o' && !append(&a->options, optarg))
            return BALE_OPTION_BAD;
    }
    return 0;
}

/* Selects the words of a list that are for balefs; the caller frees the result. Skips empty words.
 * NULL: no memory, or why names a word that is wrong. */
static char *choose(char *list, bool sloppy, struct bale_reason *why)
{
    char *chosen = strdup("defaults"), *word, *access = NULL;

    while (chosen && (word = strsep(&list, ","))) {
        struct bale_mount_words words = {0};
        if (is_for_mount(word))
            continue;
        /* As for mount(8), the last one counts: fstab's may be followed by the command line's. */
        if (strcmp(word, "ro") == 0 || strcmp(word, "rw") == 0) {
            access = word;
            continue;
        }
        char *copy = strdup(word);
        bool known = copy && bale_mount_words(&words, copy, why) == BALE_OK;
        free(copy);
        if ((!known && !sloppy) || (known && !append(&chosen, word))) {
            free(chosen);
            chosen = NULL;
        }
    }
    if (chosen && access && !append(&chosen, access)) {
        free(chosen);
        chosen = NULL;
    }
    return chosen;
}

static int run_mount(struct arguments *a, char **words)
{
    struct bale_reason why = {"out of memory"};
    char *options = choose(a->options, a->sloppy, &why);
    char *argv[] = {"mount", "-o", options, "--", words[0], words[1], NULL};
    int status = BALE_EXIT_DONE;

    if (!options)
        return bale_usage_error(&mount_helper, "%s", why.text);
    optind = 0; /* makes getopt start from the first word */
    if (!a->fake)
        status = bale_command_mount.run(&bale_command_mount, 6, argv);
    free(options);
    return status;
}

static int run_umount(const struct arguments *a, char *point)
{
    char *argv[6] = {"umount"};
    int argc = 1;

    if (a->force)
        argv[argc++] = "-f";
    if (a->lazy)
        argv[argc++] = "-l";
    argv[argc++] = "--";
    argv[argc++] = point;
    optind = 0;
    return bale_command_umount.run(&bale_command_umount, argc, argv);
}

int bale_mount_helper(int argc, char **argv)
{
    bool mounts = bale_mount_helper_name(argv[0])[0] == 'm';
    const struct bale_command *command = mounts ? &mount_helper : &umount_helper;
    struct arguments a = {0};

    int status = parse(command, mounts ? ":sfnvN:t:o:h" : ":flnrvN:t:h", argc, argv, &a);

    if (status < 0)
        status = bale_options_status(command, status);
    else if (mounts && argc - optind != 2)
        status = bale_usage_error(command, "STORE and MNT are needed");
    else if (!mounts && argc - optind != 1)
        status = bale_usage_error(command, "one MNT is needed");
    else if (mounts && bale_remount_is_asked(a.options))
        status = a.fake ? BALE_EXIT_DONE : bale_remount(argv[optind + 1], a.options);
    else
        status = mounts ? run_mount(&a, argv + optind) : run_umount(&a, argv[optind]);
    free(a.options);
    return status;
}
