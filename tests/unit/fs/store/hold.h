/* Another process that has a store open. */
#ifndef BALE_TESTS_UNIT_FS_STORE_HOLD_H
#define BALE_TESTS_UNIT_FS_STORE_HOLD_H

#include <signal.h>

#include "tests/unit/fs/store/scratch.h"

/* A process that opens a store and waits; with kill it dies holding it. */
static pid_t holder;
static int holder_pipe[2];

static inline void hold(const char *name, enum bale_store_access how)
{
    int ready[2];
    char byte;

    REQUIRE(pipe(ready) == 0 && pipe(holder_pipe) == 0);
    holder = fork();
    REQUIRE(holder >= 0);
    if (holder == 0) {
        struct bale_store *store = store_open(name, how);

        close(holder_pipe[1]);
        if (write(ready[1], "x", 1) != 1 || read(holder_pipe[0], &byte, 1) < 0)
            _exit(1);
        _exit(bale_store_close(store, true, NULL) == 0 ? 0 : 1);
    }
    close(ready[1]);
    close(holder_pipe[0]);
    REQUIRE(read(ready[0], &byte, 1) == 1);
    close(ready[0]);
}

static inline void let_go(bool with_kill)
{
    int status;

    if (with_kill)
        kill(holder, SIGKILL);
    close(holder_pipe[1]);
    REQUIRE(waitpid(holder, &status, 0) == holder);
    CHECK(with_kill || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

#endif
