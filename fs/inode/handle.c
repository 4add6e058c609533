#include "fs/inode/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define OWN_DIRECTORY ".balefs"

/* The handles of Linux, include/linux/exportfs.h: an inode number and a generation. */
enum { INO32_GENERATION = 1, XFS_INO64_GENERATION = 0x81 };

struct known_handle {
    struct file_handle head;
    unsigned char bytes[MAX_HANDLE_SZ];
};

struct bale_handles {
    uint64_t serial; /* no other that this process has or had has it */
    bool xfs;
    int fd; /* of the store's directory, as O_PATH is not enough */
    dev_t device;
    uint64_t root, own; /* inode numbers of the store's directory and of .balefs in it */
    uint32_t key[2][4]; /* of numbers, and of generations */
};

/* ---- The cipher ---- */

/* XTEA, a block cipher of 64 bits (Needham, Wheeler 1997). */
#define ROUNDS 32
#define DELTA 0x9e3779b9u

static uint32_t mix(uint32_t v, uint32_t sum, uint32_t key)
{
    return (((v << 4) ^ (v >> 5)) + v) ^ (sum + key);
}

static uint64_t encipher(const uint32_t key[4], uint64_t block)
{
    uint32_t a = (uint32_t)(block >> 32), b = (uint32_t)block, sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        a += mix(b, sum, key[sum & 3]);
        sum += DELTA;
        b += mix(a, sum, key[sum >> 11 & 3]);
    }
    return (uint64_t)a << 32 | b;
}

static uint64_t decipher(const uint32_t key[4], uint64_t block)
{
    uint32_t a = (uint32_t)(block >> 32), b = (uint32_t)block, sum = DELTA * ROUNDS;

    for (int i = 0; i < ROUNDS; i++) {
        b -= mix(a, sum, key[sum >> 11 & 3]);
        sum -= DELTA;
        a -= mix(b, sum, key[sum & 3]);
    }
    return (uint64_t)a << 32 | b;
}

/* The kernel gives 0 and 1 a meaning: they change places with what they are enciphered to. No inode
 * has these numbers. */
uint64_t bale_handle_number(const struct bale_handles *handles, uint64_t ino)
{
    uint64_t number = encipher(handles->key[0], ino);

    while (number <= 1)
        number = encipher(handles->key[0], number);
    return number;
}

/* A request asks for its nodes several times, and deciphering takes longer than the rest of finding
 * one: each thread keeps what it has found last. */
#define MEMORIES 16u

struct memory {
    uint64_t serial, number, ino;
};

uint64_t bale_handle_ino(const struct bale_handles *handles, uint64_t number)
{
    static _Thread_local struct memory memories[MEMORIES];
    struct memory *memory = &memories[number % MEMORIES];

    if (memory->serial == handles->serial && memory->number == number)
        return memory->ino;
    uint64_t ino = decipher(handles->key[0], number);
    while (ino <= 1)
        ino = decipher(handles->key[0], ino);
    *memory = (struct memory){handles->serial, number, ino};
    return ino;
}

/* ---- The file system's own handles ---- */

/* ext4 takes the generation 0 for any. */
static int handle_of(uint64_t ino, uint32_t generation, bool xfs, struct known_handle *handle)
{
    uint32_t ino32 = (uint32_t)ino;
    size_t size = xfs ? sizeof ino : sizeof ino32;

    if (!xfs && ino32 != ino)
        return ESTALE;
    memset(handle, 0, sizeof *handle);
    handle->head.handle_bytes = (unsigned)(size + sizeof generation);
    handle->head.handle_type = xfs ? XFS_INO64_GENERATION : INO32_GENERATION;
    memcpy(handle->head.f_handle, xfs ? (void *)&ino : (void *)&ino32, size);
    memcpy(handle->head.f_handle + size, &generation, sizeof generation);
    return 0;
}

static bool generation_of(int fd, uint64_t ino, uint32_t *generation)
{
    struct known_handle handle = {.head.handle_bytes = MAX_HANDLE_SZ};
    uint32_t ino32 = (uint32_t)ino;
    int mount;

    if (name_to_handle_at(fd, "", &handle.head, &mount, AT_EMPTY_PATH) != 0)
        return false;
    size_t size = handle.head.handle_type == INO32_GENERATION       ? sizeof ino32
                  : handle.head.handle_type == XFS_INO64_GENERATION ? sizeof ino
                                                                    : 0;
    if (size == 0 || handle.head.handle_bytes < size + sizeof *generation ||
        memcmp(handle.head.f_handle, size == sizeof ino ? (void *)&ino : (void *)&ino32, size) != 0)
        return false;
    memcpy(generation, handle.head.f_handle + size, sizeof *generation);
    return true;
}

/* XFS tells the generation of an inode by its number (xfs_fs.h; ioctl_xfs_bulkstat(2)). */
struct bulkstat {
    uint64_t ino;
    uint32_t flags, count, found, group;
    uint64_t reserved[5];
    struct {
        uint64_t ino, sizes[7];
        uint32_t generation;
        unsigned char rest[124];
    } inode;
};
_Static_assert(sizeof(struct bulkstat) == 64 + 192, "the structures of xfs_fs.h");
#define IOC_BULKSTAT _IOC(_IOC_READ, 'X', 127, 64)

static int xfs_generation(int fd, uint64_t ino, uint32_t *generation)
{
    struct bulkstat stat = {.ino = ino, .count = 1};

    if (ioctl(fd, IOC_BULKSTAT, &stat) != 0)
        return errno;
    *generation = stat.inode.generation;
    return stat.found == 1 && stat.inode.ino == ino ? 0 : ESTALE;
}

static int open_ino(const struct bale_handles *handles, uint64_t ino, int *fd)
{
    struct known_handle handle;
    uint32_t generation = 0;
    int e = handles->xfs ? xfs_generation(handles->fd, ino, &generation) : 0;

    if (!e)
        e = handle_of(ino, generation, handles->xfs, &handle);
    if (e)
        return e == EINVAL || e == ENOENT ? ESTALE : e;
    *fd = open_by_handle_at(handles->fd, &handle.head, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return *fd < 0 ? errno : 0;
}

/* ---- What is the store's ---- */

/* 0: the directory lies in the store. Closes fd in any case. */
static int climb(const struct bale_handles *handles, int fd)
{
    struct stat st;
    uint64_t last = 0;
    int e = 0;

    while (!e) {
        if (fstat(fd, &st) != 0)
            e = errno;
        else if (st.st_dev != handles->device || st.st_ino == handles->own || st.st_ino == last)
            e = ESTALE; /* the last directory of a file system lies in itself */
        else if (st.st_ino == handles->root)
            break;
        last = st.st_ino;
        int above = e ? -1 : openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (!e && above < 0)
            e = errno == ENOENT ? ESTALE : errno;
        close(fd);
        fd = above;
    }
    if (fd >= 0)
        close(fd);
    return e;
}

static int check(const struct bale_handles *handles, uint64_t ino, int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return errno;
    if (st.st_dev != handles->device || st.st_ino != ino || st.st_nlink == 0)
        return ESTALE;
    if (!S_ISDIR(st.st_mode))
        return 0;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return copy < 0 ? errno : climb(handles, copy);
}

int bale_handle_open(const struct bale_handles *handles, uint64_t number, int *fd)
{
    uint64_t ino = bale_handle_ino(handles, number);
    int e = open_ino(handles, ino, fd);

    if (e)
        return e;
    e = check(handles, ino, *fd);
    if (e)
        close(*fd);
    return e;
}

bool bale_handle_generation(const struct bale_handles *handles, uint64_t ino, int fd,
                            uint32_t *generation)
{
    bool has = generation_of(fd, ino, generation);

    if (has)
        *generation =
            (uint32_t)encipher(handles->key[1], encipher(handles->key[1], ino) ^ *generation);
    return has;
}

/* ---- Life ---- */

/* Whether this process may open, and finds, the store's directory. */
static bool works(const struct bale_handles *handles)
{
    uint32_t generation;
    int fd = -1;
    bool found = generation_of(handles->fd, handles->root, &generation) &&
                 open_ino(handles, handles->root, &fd) == 0 &&
                 check(handles, handles->root, fd) == 0;

    if (fd >= 0)
        close(fd);
    return found;
}

bool bale_handles_create(int root_fd, const uint8_t key[BALE_HANDLE_KEY], struct bale_handles **out)
{
    static atomic_uint_fast64_t created;
    struct bale_handles *handles = calloc(1, sizeof *handles);
    struct statfs fs;
    struct stat root, own;

    *out = handles;
    if (!handles)
        return false;
    handles->serial = atomic_fetch_add(&created, 1) + 1;
    memcpy(handles->key, key, sizeof handles->key);
    handles->fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool known = handles->fd >= 0 && fstatfs(handles->fd, &fs) == 0 &&
                 (fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC) &&
                 fstat(handles->fd, &root) == 0 &&
                 fstatat(handles->fd, OWN_DIRECTORY, &own, AT_SYMLINK_NOFOLLOW) == 0;
    if (known) {
        handles->xfs = fs.f_type == XFS_SUPER_MAGIC;
        handles->device = root.st_dev;
        handles->root = root.st_ino;
        handles->own = own.st_ino;
        /* A copy of the store has the key, too, and must give other numbers. */
        for (size_t i = 0; i < 2; i++) {
            uint64_t mine = encipher(handles->key[i], root.st_ino);
            handles->key[i][0] ^= (uint32_t)mine;
            handles->key[i][1] ^= (uint32_t)(mine >> 32);
        }
    }
    if (known && works(handles))
        return true;
    bale_handles_destroy(handles);
    *out = NULL;
    return false;
}

void bale_handles_destroy(struct bale_handles *handles)
{
    if (!handles)
        return;
    if (handles->fd >= 0)
        close(handles->fd);
    free(handles);
}
