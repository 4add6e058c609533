/* How tools talk to a running daemon: ioctl on any of the mount's directories and regular files,
 * opened O_RDONLY, as a bind mount may show no other, unless a request says otherwise. Structures
 * have fixed sizes and no padding; texts end with a zero byte. */
#ifndef BALE_FS_DAEMON_CONTROL_H
#define BALE_FS_DAEMON_CONTROL_H

#include <stdint.h>
#include <sys/ioctl.h>

#define BALE_CONTROL_MAGIC                                                                         \
    0x42414c45u /* tells a balefs from others that know the same ioctl number */
#define BALE_CONTROL_VERSION 9u

/* The work of an engine since the mount began. */
struct bale_control_work {
    uint64_t items;
    uint64_t encoded, decoded; /* raw bytes */
};

struct bale_control_gpu {
    struct bale_control_work work;
    uint64_t batches;
    uint64_t redone; /* items that the GPU got and the CPU did again */
    uint64_t mismatches;
    uint64_t device_memory, pinned; /* bytes */
    uint64_t codecs;                /* bit i: it does codec i */
    uint32_t used;                  /* 1: the engine is open and gets work */
    /* 1: it has a context and memory for batches now; it gives back the memory when it is idle, and
     * the context when it has been so for long. */
    uint32_t open;
    uint32_t kept; /* 1: it has the context alone */
    uint32_t reserved;
    char device[64]; /* name; empty: no device was opened */
};

struct bale_control_status {
    uint32_t magic;
    uint32_t version; /* of this structure */
    int32_t pid;
    uint32_t frozen;    /* 1: freeze was requested, and no thaw since */
    uint64_t read_only; /* 1: mounted with -o ro */
    uint64_t nodes;     /* known files and directories */
    /* As in struct bale_volume_stats. */
    uint64_t memory_cap, memory_used;
    uint64_t cached, dirty, dirty_limit;
    uint64_t files;
    uint64_t read_hits, read_misses;
    uint64_t commits, syncs, items, errors;
    uint64_t read, written;
    uint64_t raw_bytes, stored_bytes;
    uint64_t throttled;
    uint64_t reserve;
    uint64_t cpu_us; /* of the daemon */
    /* What waits now: writes for memory, or for the thaw of a frozen mount; requests that the thaw
     * keeps back; and requests whose handlers have been at work for a second or longer, most often
     * in a call on the store, with those that they keep back. */
    uint64_t waits_memory, waits_thaw, waits_store;
    uint64_t longest_ms;  /* the longest of waits_store, so far */
    uint64_t freeze_left; /* seconds until a frozen mount thaws by itself; 0: it is not frozen */
    struct bale_control_work cpu;
    struct bale_control_gpu gpu;
    char engine[32];  /* "cpu"; "gpu" while the GPU gets work too */
    char io[16];      /* "cached" or "direct" */
    char program[32]; /* version of balefs */
    char store[4096]; /* absolute path */
    char log[4096];   /* the file that has the daemon's log; empty: no file */
};

/* Commits and syncs everything; any user may request it. */
#define BALE_IOC_SYNC _IO(0xba, 1)
struct bale_control_freeze {
    uint64_t number;  /* which freeze; 0: begin one, or thaw whichever there is */
    uint32_t seconds; /* freeze: it thaws by itself so long after this */
    uint32_t reserved;
};
/* Commits and syncs everything, then keeps changes back until the thaw, except new names. Call
 * syncfs() first to include what programs wrote through shared mappings. With the number that it
 * gave, it may last longer; ETIME: that freeze has ended. This and the next two are for root and
 * the mount's owner. */
#define BALE_IOC_FREEZE _IOWR(0xba, 2, struct bale_control_freeze)
/* ETIME: the freeze had ended by itself, so what was copied meanwhile is not one state. */
#define BALE_IOC_THAW _IOW(0xba, 3, struct bale_control_freeze)
#define BALE_IOC_STATUS _IOR(0xba, 4, struct bale_control_status)

/* On a regular file, for its owner, root and the mount's owner: rewrites some of what is committed,
 * as struct bale_recompress of fs/cache/file.h says. */
#define BALE_CONTROL_SET_CODEC 1u /* in: with the codec below, not the file's own */
#define BALE_CONTROL_DRY 2u       /* in: changes nothing */
#define BALE_CONTROL_FORCE 4u     /* in: also while other programs use the mount */
#define BALE_CONTROL_BUSY 8u      /* out: nothing was done, try again a little later */
#define BALE_CONTROL_AT_END 16u   /* out: the end was reached */
/* In: rounds what the file has, as its lossy setting says (struct bale_round_stored); offset, BUSY,
 * AT_END and rewritten are as for a rewrite, the rest is not used. Out: still set if the file is
 * exact, because it is no array or its setting is not lossy. */
#define BALE_CONTROL_ROUND 32u
struct bale_control_recompress {
    uint64_t offset; /* in: where to begin; out: where to go on */
    uint64_t end;
    uint32_t flags;
    uint16_t codec;    /* as in struct bale_setting */
    int16_t parameter; /* likewise */
    /* Out, as in struct bale_recompress. */
    uint64_t extents, rewritten, logical, before, after, damaged;
};
#define BALE_IOC_RECOMPRESS _IOWR(0xba, 5, struct bale_control_recompress)

#endif
