/* Other programs: running one for what it prints, and finding fusermount3. */
#ifndef BALE_TOOLS_COMMON_PROGRAM_H
#define BALE_TOOLS_COMMON_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Runs words[0], which is looked up in PATH, and collects as text what it writes to its descriptor
 * fd, as much as fits. Returns its exit code; or -1 with errno, which is 0 if a signal ended the
 * program and otherwise says why it could not be run. */
int bale_program_run(char *const words[], int fd, char *said, size_t size);

struct bale_fusermount_program {
    char path[4096]; /* "": there is none in PATH */
    bool setuid;     /* owned by root, and set-user-ID */
};

/* Finds the fusermount3 that posix_spawnp would run. */
void bale_fusermount_find(struct bale_fusermount_program *program);

#endif
