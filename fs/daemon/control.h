/* How tools talk to a running daemon: ioctl on the mount's root directory, opened O_RDONLY |
 * O_DIRECTORY, unless said. */
#ifndef BALE_FS_DAEMON_CONTROL_H
#define BALE_FS_DAEMON_CONTROL_H

#include <stdint.h>
#include <sys/ioctl.h>

#define BALE_CONTROL_MAGIC                                                                         \
    0x42414c45u /* tells our root directory from others that take the same number */
#define BALE_CONTROL_VERSION 5u

/* Fixed sizes, no padding. Texts end with a zero byte. */

/* What an engine has done since the mount began. */
struct bale_control_work {
    uint64_t items;
    uint64_t encoded, decoded; /* raw bytes */
};

struct bale_control_gpu {
    struct bale_control_work work;
    uint64_t batches;
    uint64_t redone; /* items that it was given and the CPU did */
    uint64_t mismatches;
    uint64_t device_memory, pinned; /* bytes */
    uint64_t codecs;                /* bit i: it takes codec i */
    uint32_t used;                  /* 1: it is open, and gets work */
    uint32_t open;                  /* 1: it has the device now; without work it lets go of it */
    char device[64];                /* name; empty: none was opened */
};

struct bale_control_status {
    uint32_t magic;
    uint32_t version; /* of this structure */
    int32_t pid;
    uint32_t frozen; /* 1: freeze was asked for and thaw was not */
    uint64_t nodes;  /* known files and directories */
    /* As in struct bale_volume_stats. */
    uint64_t memory_cap, memory_used;
    uint64_t cached, dirty, dirty_limit;
    uint64_t files;
    uint64_t read_hits, read_misses;
    uint64_t commits, syncs, items, errors;
    uint64_t written;
    uint64_t raw_bytes, stored_bytes;
    uint64_t throttled;
    uint64_t cpu_us; /* of the daemon */
    struct bale_control_work cpu;
    struct bale_control_gpu gpu;
    char engine[32];  /* "cpu"; "gpu" while that gets work beside it */
    char io[16];      /* "cached" or "direct" */
    char program[32]; /* version of balefs */
    char store[4096]; /* absolute path */
};

/* Commits and syncs everything; anyone may. */
#define BALE_IOC_SYNC _IO(0xba, 1)
/* Commits and syncs everything, then holds back all changes until thaw. To have what programs
 * wrote through shared mappings in it, call syncfs() first. For root and the mount's owner, as
 * are the next two. */
#define BALE_IOC_FREEZE _IO(0xba, 2)
#define BALE_IOC_THAW _IO(0xba, 3)
#define BALE_IOC_STATUS _IOR(0xba, 4, struct bale_control_status)

/* On a regular file, for its owner, root and the mount's owner: stores some of what is committed
 * anew, as struct bale_recompress of fs/cache/file.h says. Fixed sizes, no padding. */
#define BALE_CONTROL_SET_CODEC 1u /* with the codec below, not the file's own */
#define BALE_CONTROL_DRY 2u       /* changes nothing */
#define BALE_CONTROL_FORCE 4u     /* also while others use the mount */
#define BALE_CONTROL_BUSY 8u      /* out: nothing was done, ask again a little later */
#define BALE_CONTROL_AT_END 16u   /* out: the end was reached */
struct bale_control_recompress {
    uint64_t offset; /* in: from here; out: go on here */
    uint64_t end;
    uint32_t flags;
    uint16_t codec;    /* as in struct bale_setting */
    int16_t parameter; /* likewise */
    /* Out, as there. */
    uint64_t extents, rewritten, logical, before, after, damaged;
};
#define BALE_IOC_RECOMPRESS _IOWR(0xba, 5, struct bale_control_recompress)

#endif
