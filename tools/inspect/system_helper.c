#include "tools/inspect/system_helper.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tools/balefs.h"
#include "tools/common/help.h"
#include "tools/common/options.h"

enum { ERRORS_LEFT = 4, OPERATIONAL = 8, USAGE = 16, DOUBT = 64 };

static const char fsck_help[] =
    "usage: fsck.balefs [-a | -n | -y] [-C[FD]] STORE\n"
    "\n"
    "fsck(8) runs this for fsck -t balefs STORE and for lines of /etc/fstab; it checks as\n"
    "balefs fsck does.\n"
    "\n"
    "  -a, -p      repair, and leave what somebody has to decide\n"
    "  -n          change nothing; the default\n"
    "  -y          repair everything\n"
    "  -f, -v, -r, -M, -R, -T, -V, -C[FD]\n"
    "              accepted without effect\n"
    "  -h, --help\n"
    "\n"
    "Exit status, as fsck(8): 0 clean, 1 repaired, 4 problems found, 8 could not be checked,\n"
    "16 wrong usage, 32 cancelled. They are added up.\n";

static const char mkfs_help[] =
    "usage: mkfs.balefs [OPTIONS] STORE\n"
    "\n"
    "mkfs(8) runs this for mkfs -t balefs STORE; it makes a store as balefs init does, with the\n"
    "same options.\n"
    "\n"
    "  -v, -V      accepted without effect; so is a size behind STORE\n"
    "  -h, --help\n"
    "\n"
    "Exit status, as mkfs(8): 0 done, 1 failed.\n";

static const struct bale_command fsck_helper = {.name = "fsck", .help = fsck_help, .usage = USAGE};

static const struct option long_options[] = {
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static int run_fsck(int argc, char **argv)
{
    char *words[6] = {"fsck"};
    int count = 1, option, how = 0;

    while ((option = bale_options_next(&fsck_helper, argc, argv, ":apnyfvrMRTVC::h",
                                       long_options)) != BALE_OPTION_END) {
        if (option < 0)
            return bale_options_status(&fsck_helper, option);
        if (strchr("apny", option))
            how = option;
    }
    if (argc - optind != 1)
        return bale_usage_error(&fsck_helper, "one STORE is needed");
    if (how && how != 'n') {
        words[count++] = "--repair";
        words[count++] = "--yes";
    }
    if (how == 'a' || how == 'p')
        words[count++] = "--keep-doubts";
    words[count++] = argv[optind];
    optind = 0; /* makes getopt start from the first word */
    int status = bale_command_fsck.run(&bale_command_fsck, count, words);
    return status & DOUBT ? (status & ~DOUBT) | ERRORS_LEFT : status;
}

static bool is_number(const char *word)
{
    while (isdigit((unsigned char)*word))
        word++;
    return *word == '\0';
}

static int run_mkfs(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 1, sizeof *words);
    int count = 0;

    if (!words)
        return BALE_EXIT_FAILED;
    words[count++] = "init";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            free(words);
            bale_help_print(mkfs_help);
            return BALE_EXIT_DONE;
        }
        bool size = i == argc - 1 && i > 1 && argv[i - 1][0] != '-' && is_number(argv[i]);
        if (strcmp(argv[i], "-v") != 0 && strcmp(argv[i], "-V") != 0 && !size)
            words[count++] = argv[i];
    }
    int status = bale_command_init.run(&bale_command_init, count, words);
    free(words);
    return status == BALE_EXIT_DONE ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
}

static const char *name_of(const char *program)
{
    const char *slash = strrchr(program, '/');

    return slash ? slash + 1 : program;
}

bool bale_is_system_helper(const char *program)
{
    const char *name = name_of(program);

    return strcmp(name, "fsck.balefs") == 0 || strcmp(name, "mkfs.balefs") == 0;
}

int bale_system_helper(int argc, char **argv)
{
    return name_of(argv[0])[0] == 'f' ? run_fsck(argc, argv) : run_mkfs(argc, argv);
}
