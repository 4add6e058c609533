/* The commands of balefs, in the order of the help. The completion and the tests read them from the
 * help. NAME stands for bale_command_NAME, which lies beside the command's parts. */
#ifndef BALE_TOOLS_BALEFS_H
#define BALE_TOOLS_BALEFS_H

#define BALE_COMMANDS(X)                                                                           \
    X(init)                                                                                        \
    X(mount)                                                                                       \
    X(umount)                                                                                      \
    X(run)                                                                                         \
    X(sync)                                                                                        \
    X(freeze)                                                                                      \
    X(thaw)                                                                                        \
    X(set)                                                                                         \
    X(get)                                                                                         \
    X(recompress)                                                                                  \
    X(stat)                                                                                        \
    X(inspect)                                                                                     \
    X(fsck)                                                                                        \
    X(scrub)                                                                                       \
    X(cat)                                                                                         \
    X(export)                                                                                      \
    X(import)                                                                                      \
    X(compress)                                                                                    \
    X(decompress)                                                                                  \
    X(quality)                                                                                     \
    X(bench)                                                                                       \
    X(bench_engine)                                                                                \
    X(doctor)

/* Exit codes. mount and umount have those of mount(8), fsck has those of fsck(8), run has its own.
 */
enum { BALE_EXIT_DONE = 0, BALE_EXIT_FAILED = 1, BALE_EXIT_USAGE = 2 };

struct bale_command {
    const char *name;    /* one word, or two for a part of another command */
    const char *summary; /* for the list of commands */
    const char *help;    /* all of --help, with a newline at the end */
    int usage;           /* exit code for wrong usage */
    /* argv[0] is the command's last word. Returns the exit code. */
    int (*run)(const struct bale_command *command, int argc, char **argv);
};

#define BALE_COMMAND_DECLARE(name) extern const struct bale_command bale_command_##name;
BALE_COMMANDS(BALE_COMMAND_DECLARE)
#undef BALE_COMMAND_DECLARE

#endif
