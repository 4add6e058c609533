/* The command balefs: finds the command in a table and runs it. */
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
#include "tools/bench/engine.h"
#include "tools/common/options.h"
#include "tools/mount/helper.h"

/* clang-format off */
static const struct bale_command *const commands[] = {
    &bale_command_init,
    &bale_command_mount,
    &bale_command_umount,
    &bale_command_run,
    &bale_command_sync,
    &bale_command_freeze,
    &bale_command_thaw,
    &bale_command_set,
    &bale_command_get,
    &bale_command_stat,
    &bale_command_inspect,
    &bale_command_fsck,
    &bale_command_cat,
    &bale_command_export,
    &bale_command_import,
    &bale_command_compress,
    &bale_command_decompress,
    &bale_command_bench,
    &bale_command_recompress,
    &bale_command_doctor,
    NULL,
};
/* clang-format on */

static void print_help(FILE *out)
{
    fputs("usage: balefs COMMAND [OPTIONS] ARGUMENTS\n"
          "       balefs help COMMAND\n"
          "       balefs --version\n"
          "\n"
          "A transparent compressed file system: what is written below a mount point is kept\n"
          "compressed in a directory, the store.\n"
          "\n",
          out);
    for (const struct bale_command *const *each = commands; *each; each++)
        fprintf(out, "  %-10s  %s\n", (*each)->name, (*each)->summary);
    fputs("\n"
          "balefs COMMAND --help tells the command's options and exit codes.\n",
          out);
}

static const struct bale_command *find_command(const char *name)
{
    for (const struct bale_command *const *each = commands; *each; each++)
        if (strcmp((*each)->name, name) == 0)
            return *each;
    return NULL;
}

static int unknown_command(const char *name)
{
    const struct bale_command *best = NULL;
    unsigned best_distance = 3;

    for (const struct bale_command *const *each = commands; *each; each++) {
        unsigned distance = bale_word_distance(name, (*each)->name);
        if (distance < best_distance) {
            best_distance = distance;
            best = *each;
        }
    }
    if (best)
        bale_message("%s: no such command: did you mean balefs %s?", name, best->name);
    else
        bale_message("%s: no such command: see balefs --help", name);
    return BALE_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stdout);
        return BALE_EXIT_DONE;
    }
    const struct bale_command *command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    if (command == &bale_command_bench && argc > 2 && strcmp(argv[2], "engine") == 0)
        command = &bale_command_bench_engine;
    fputs(command->help, stdout);
    return BALE_EXIT_DONE;
}

/* argv[0] is the command's name. */
static int run(int argc, char **argv)
{
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) {
        print_help(stdout);
        return BALE_EXIT_DONE;
    }
    if (strcmp(argv[0], "--version") == 0 || strcmp(argv[0], "-V") == 0) {
        printf("balefs %s\n", BALEFS_VERSION);
        return BALE_EXIT_DONE;
    }
    if (strcmp(argv[0], "help") == 0)
        return help(argc, argv);
    if (argv[0][0] == '-') {
        bale_message("unknown option %s: see balefs --help", argv[0]);
        return BALE_EXIT_USAGE;
    }
    const struct bale_command *command = find_command(argv[0]);
    return command ? command->run(command, argc, argv) : unknown_command(argv[0]);
}

/* What is opened later must not become standard output or error. */
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

/* Whoever reads our output may stop reading; that is no failure worth a message. errno may be long
 * gone. */
static bool reader_left(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return errno == EPIPE || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR));
}

static int end_output(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (!reader_left())
        bale_message("standard output: cannot write: %s",
                     errno ? strerror(errno) : "not everything was printed");
    return status == BALE_EXIT_DONE ? BALE_EXIT_FAILED : status;
}

static int end(int status)
{
    status = end_output(status);
    if (bale_dispatch_hangs())
        _exit(status);
    return status;
}

int main(int argc, char **argv)
{
    if (!open_standard_streams())
        return BALE_EXIT_FAILED;
    bale_log_to(log_line, BALE_LOG_WARNING);
    if (argc > 0 && bale_is_mount_helper(argv[0]))
        return end(bale_mount_helper(argc, argv));
    if (argc < 2) {
        print_help(stderr);
        return BALE_EXIT_USAGE;
    }
    return end(run(argc - 1, argv + 1));
}
