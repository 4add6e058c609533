/* The commands of balefs. Each has a file of its own and is found through the table in balefs.c. */
#ifndef BALE_TOOLS_BALEFS_H
#define BALE_TOOLS_BALEFS_H

/* Exit codes, but for mount, umount (mount(8)) and fsck (fsck(8)). */
enum { BALE_EXIT_DONE = 0, BALE_EXIT_FAILED = 1, BALE_EXIT_USAGE = 2 };

struct bale_command {
    const char *name;
    const char *summary; /* for the list of commands */
    const char *help;    /* all of --help, with a newline at the end */
    int usage;           /* exit code for wrong usage */
    /* argv[0] is the command's name. Returns the exit code. */
    int (*run)(const struct bale_command *command, int argc, char **argv);
};

extern const struct bale_command bale_command_init;
extern const struct bale_command bale_command_mount;
extern const struct bale_command bale_command_umount;
extern const struct bale_command bale_command_run;
extern const struct bale_command bale_command_sync;
extern const struct bale_command bale_command_freeze;
extern const struct bale_command bale_command_thaw;
extern const struct bale_command bale_command_set;
extern const struct bale_command bale_command_get;
extern const struct bale_command bale_command_recompress;
extern const struct bale_command bale_command_stat;
extern const struct bale_command bale_command_inspect;
extern const struct bale_command bale_command_fsck;
extern const struct bale_command bale_command_cat;
extern const struct bale_command bale_command_export;
extern const struct bale_command bale_command_import;
extern const struct bale_command bale_command_compress;
extern const struct bale_command bale_command_decompress;
extern const struct bale_command bale_command_bench;
extern const struct bale_command bale_command_doctor;

#endif
