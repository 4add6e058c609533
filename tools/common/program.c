#include "tools/common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int bale_program_run(char *const words[], int fd, char *said, size_t size)
{
    posix_spawn_file_actions_t actions;
    int pipes[2], state = -1;
    size_t used = 0;
    ssize_t got;
    pid_t pid;

    said[0] = '\0';
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], fd);
    int err = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipes[1]);
    while (err == 0 && used + 1 < size && (got = read(pipes[0], said + used, size - used - 1)) > 0)
        used += (size_t)got;
    said[used] = '\0';
    close(pipes[0]);
    while (err == 0 && waitpid(pid, &state, 0) < 0)
        if (errno != EINTR)
            err = errno;
    errno = err;
    return err == 0 && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

void bale_fusermount_find(struct bale_fusermount_program *program)
{
    const char *at = getenv("PATH");
    struct stat st;

    *program = (struct bale_fusermount_program){0};
    while (at && *at) {
        size_t length = strcspn(at, ":");
        snprintf(program->path, sizeof program->path, "%.*s/fusermount3", (int)length, at);
        if (stat(program->path, &st) == 0 && S_ISREG(st.st_mode) &&
            access(program->path, X_OK) == 0) {
            program->setuid = st.st_uid == 0 && (st.st_mode & S_ISUID);
            return;
        }
        at += length + (at[length] == ':');
    }
    program->path[0] = '\0';
}
