/* The program balefs: finds a command in the table and runs it. */
#include "tools/balefs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/base/log.h"
#include "kernels/engine/dispatch.h"
#include "tools/common/help.h"
#include "tools/common/message.h"
#include "tools/inspect/survey.h"
#include "tools/inspect/system_helper.h"
#include "tools/mount/helper.h"
#include "tools/mount/helper_name.h"

#define WORD 32 /* longer words are not compared beyond this */

#define COMMAND_ADDRESS(name) &bale_command_##name,
static const struct bale_command *const commands[] = {BALE_COMMANDS(COMMAND_ADDRESS)};
#undef COMMAND_ADDRESS

enum { COMMANDS = sizeof commands / sizeof *commands };

static void print_help(FILE *out)
{
    fputs("usage: balefs COMMAND [OPTIONS] ARGUMENTS\n"
          "       balefs help COMMAND | codecs [--json]\n"
          "       balefs --version\n"
          "\n"
          "A transparent compressed file system: files that are written below a mount point are\n"
          "kept compressed in a directory, the store.\n"
          "\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-12s  %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n"
          "balefs COMMAND --help prints the options and exit codes of a command.\n",
          out);
}

/* The command that the first words name. *count: how many words that were. */
static const struct bale_command *find_command(int argc, char **argv, int *count)
{
    const struct bale_command *found = NULL;

    for (size_t i = 0; i < COMMANDS; i++) {
        const char *name = commands[i]->name;
        const char *blank = strchr(name, ' ');
        size_t length = blank ? (size_t)(blank - name) : strlen(name);
        if (strncmp(argv[0], name, length) != 0 || argv[0][length] != '\0' ||
            (blank && (argc < 2 || strcmp(argv[1], blank + 1) != 0)))
            continue;
        found = commands[i];
        *count = blank ? 2 : 1;
        if (blank)
            break;
    }
    return found;
}

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The number of letters to change, add, take away or swap to make one word of the other. */
static unsigned word_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD + 1];
    size_t m = strnlen(a, WORD), n = strnlen(b, WORD);
    unsigned *before = rows[0], *above = rows[1], *row = rows[2];

    for (unsigned j = 0; j <= n; j++)
        above[j] = before[j] = j;
    for (unsigned i = 1; i <= m; i++) {
        row[0] = i;
        for (unsigned j = 1; j <= n; j++) {
            row[j] = least(above[j - 1] + (a[i - 1] != b[j - 1]), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[n];
}

static int unknown_command(const char *name)
{
    const struct bale_command *best = NULL;
    unsigned best_distance = 3;

    for (size_t i = 0; i < COMMANDS; i++) {
        unsigned distance = word_distance(name, commands[i]->name);
        if (distance < best_distance) {
            best_distance = distance;
            best = commands[i];
        }
    }
    if (best)
        bale_message("%s: no such command: did you mean balefs %s?", name, best->name);
    else
        bale_message("%s: no such command: see balefs --help", name);
    return BALE_EXIT_USAGE;
}

/* argv[0] is "help", or the option. */
static int run_help(int argc, char **argv)
{
    int count;

    if (argc < 2) {
        print_help(stdout);
        return BALE_EXIT_DONE;
    }
    if (strcmp(argv[1], "codecs") == 0 && argc > 2 && strcmp(argv[2], "--json") == 0)
        return bale_help_codecs_json() ? BALE_EXIT_DONE : BALE_EXIT_FAILED;
    if (strcmp(argv[1], "codecs") == 0) {
        bale_help_codecs();
        return BALE_EXIT_DONE;
    }
    const struct bale_command *command = find_command(argc - 1, argv + 1, &count);
    if (!command)
        return unknown_command(argv[1]);
    bale_help_print(command->help);
    return BALE_EXIT_DONE;
}

/* argv[0] is the first word after the program's name. */
static int run_command(int argc, char **argv)
{
    int count;

    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
        printf("balefs %s\n", BALEFS_VERSION);
        return BALE_EXIT_DONE;
    }
    if (strcmp(argv[0], "help") == 0 || strcmp(argv[0], "--help") == 0 ||
        strcmp(argv[0], "-h") == 0)
        return run_help(argc, argv);
    if (argv[0][0] == '-') {
        bale_message("unknown option %s: see balefs --help", argv[0]);
        return BALE_EXIT_USAGE;
    }
    const struct bale_command *command = find_command(argc, argv, &count);
    return command ? command->run(command, argc - count + 1, argv + count - 1)
                   : unknown_command(argv[0]);
}

/* Opens /dev/null for each standard stream that is closed: a file that is opened later must not
 * become standard output or standard error. */
static bool open_standard_streams(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void log_line(enum bale_level level, const char *line)
{
    (void)level;
    bale_message("%s", line);
}

/* A reader of our output may stop reading, which needs no message. errno may be stale, so the pipe
 * itself is checked too. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

static int flush_output(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (!reader_left())
        bale_message("standard output: cannot write: %s",
                     errno ? strerror(errno) : "not everything was printed");
    return status == BALE_EXIT_DONE ? BALE_EXIT_FAILED : status;
}

static int finish_program(int status)
{
    status = flush_output(status);
    if (bale_dispatch_hangs() || bale_survey_hangs())
        _exit(status);
    return status;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams())
        return BALE_EXIT_FAILED;
    bale_log_to(log_line, BALE_LOG_WARNING);
    if (argc > 0 && bale_is_mount_helper(argv[0]))
        return finish_program(bale_mount_helper(argc, argv));
    if (argc > 0 && bale_is_system_helper(argv[0]))
        return finish_program(bale_system_helper(argc, argv));
    if (argc < 2) {
        print_help(stderr);
        return BALE_EXIT_USAGE;
    }
    return finish_program(run_command(argc - 1, argv + 1));
}
