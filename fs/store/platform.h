/* The machine that a store is used on: boot, host, mount, processes. Only for fs/store and its
 * tests. */
#ifndef BALE_FS_STORE_PLATFORM_H
#define BALE_FS_STORE_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define BALE_IDENTITY 96 /* room for BOOT:MOUNT */
#define BALE_HOST 72

/* Overrides for tests, which set them before any thread starts. */
struct bale_store_platform {
    const char *boot;     /* NULL: the kernel's boot id */
    const char *host;     /* NULL: the node name */
    bool network;         /* treat every file system as a network's */
    unsigned await_ms;    /* how long bale_lock_await waits */
    int believes_syncfs;  /* on every file system (1), on none (-1), by its type (0) */
    int64_t (*now)(void); /* NULL: the clock */
    int (*syncfs)(int fd);
    int (*flock)(int fd, int operation);
};
extern struct bale_store_platform bale_store_platform;

/* Milliseconds of a clock that goes on while the process or the machine is suspended. */
int64_t bale_platform_now(void);
void bale_platform_boot(char boot[static BALE_IDENTITY]); /* empty: unknown */
void bale_platform_host(char host[static BALE_HOST]);
/* "BOOT:MOUNT" of fd's file system (FORMAT.md 2); empty: unknown, or syncfs is not believed. */
void bale_platform_identity(int fd, char identity[static BALE_IDENTITY]);
/* When a process was started, in clock ticks since the boot; 0: there is no such process. */
uint64_t bale_platform_process_start(pid_t pid);
/* Whether there is no such process, or only what its parent has not waited for. */
bool bale_platform_process_ended(pid_t pid);
uint64_t bale_platform_pid_namespace(void);
/* The real user of a process, which set-user-ID programs keep. False: it may not be looked at, or
 * the user has no number in this namespace of users. */
bool bale_platform_process_user(pid_t pid, uid_t *user);
/* Whether other machines may have fd's file system mounted too. */
bool bale_platform_is_network(int fd);
/* Whether a descriptor in fd's file system that stays open, or the page cache, may not show what a
 * writer elsewhere has written. */
bool bale_platform_may_be_stale(int fd);
/* Whether syncfs() on fd's file system makes all that was written to it durable (doc/durability.md
 * has the reasons). False for a type that is not known. */
bool bale_platform_believes_syncfs(int fd);
/* Whether a file that was made with O_TMPFILE on fd's file system stays when it was given a name
 * and closed. JuiceFS 1.4 removes it some time later; its type is that of all of FUSE. */
bool bale_platform_keeps_tmpfile(int fd);

#endif
