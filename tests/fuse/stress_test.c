/* Several processes make, move, link, write and remove things in one tree, with directories
 * moving under each other. Errors that two processes in each other's way may cause are fine;
 * others, and contents that belong to no file, are not. */
#include "tests/fuse/where.h"

#include <dirent.h>
#include <linux/fs.h>
#include <stdio.h>

#define PROCESSES 6
#define STEPS 3000
#define STEPS_FEW 1000
#define DIRECTORIES 8
#define FILES 24
#define DEPTH 3

static unsigned seed;

static unsigned chance(unsigned n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 10) % n;
}

/* "d3/d0/f17": any depth up to DEPTH, which may exist or not. */
static void random_path(char *path, size_t size, char kind)
{
    size_t length = 0;

    for (unsigned i = chance(DEPTH); i > 0; i--)
        length += (size_t)snprintf(path + length, size - length, "d%u/", chance(DIRECTORIES));
    snprintf(path + length, size - length, "%c%u", kind, chance(kind == 'd' ? DIRECTORIES : FILES));
}

static bool expected(int error)
{
    static const int errors[] = {ENOENT, EEXIST, ENOTEMPTY, ENOTDIR, EISDIR,
                                 EINVAL, ELOOP,  EXDEV,     EPERM};

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (error == errors[i])
            return true;
    return false;
}

static void see(const char *what, int rc)
{
    if (!check_note(rc >= 0 || expected(errno)))
        fprintf(stderr, "%s: %s\n", what, strerror(errno));
}

/* Every record says what it is; whole records only. */
static void write_records(int fd)
{
    char record[512];

    memset(record, (int)('A' + chance(26)), sizeof record);
    for (unsigned i = chance(20); i > 0; i--)
        CHECK_EQ(pwrite(fd, record, sizeof record, (off_t)(chance(400) * sizeof record)),
                 (ssize_t)sizeof record);
    if (chance(8) == 0)
        CHECK_EQ(ftruncate(fd, (off_t)(chance(400) * sizeof record)), 0);
    if (chance(16) == 0)
        CHECK_EQ(fsync(fd), 0);
}

static void read_records(int fd)
{
    char record[512];

    while (read(fd, record, sizeof record) == (ssize_t)sizeof record) {
        bool hole = record[0] == '\0';
        CHECK(hole || (record[0] >= 'A' && record[0] <= 'Z'));
        CHECK_EQ_MEM(record + 1, record, sizeof record - 1);
    }
}

static void use_file(const char *path, int flags)
{
    int fd = open(path, flags, 0644);

    see("open", fd);
    if (fd < 0)
        return;
    if (flags & O_CREAT)
        write_records(fd);
    else if (chance(4) == 0)
        read_records(fd);
    CHECK_EQ(close(fd), 0);
}

static void list(const char *path)
{
    DIR *dir = opendir(path);

    see("opendir", dir ? 0 : -1);
    while (dir) {
        struct stat st;
        struct dirent *entry = readdir(dir);
        if (!entry)
            break;
        see("fstatat", fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW));
    }
    if (dir)
        closedir(dir);
}

static void step(void)
{
    char a[128], b[128];
    struct stat st;

    switch (chance(16)) {
    case 0:
    case 1:
        random_path(a, sizeof a, 'd');
        see("mkdir", mkdir(a, 0755));
        break;
    case 2:
        random_path(a, sizeof a, 'd');
        see("rmdir", rmdir(a));
        break;
    case 3:
        random_path(a, sizeof a, 'd');
        random_path(b, sizeof b, 'd');
        see("rename", rename(a, b));
        break;
    case 4:
        random_path(a, sizeof a, 'd');
        random_path(b, sizeof b, chance(2) ? 'd' : 'f');
        see("exchange", renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
        break;
    case 5:
    case 6:
        random_path(a, sizeof a, 'f');
        random_path(b, sizeof b, 'f');
        see("rename", rename(a, b));
        break;
    case 7:
        random_path(a, sizeof a, 'f');
        random_path(b, sizeof b, 'f');
        see("link", link(a, b));
        break;
    case 8:
    case 9:
        random_path(a, sizeof a, 'f');
        see("unlink", unlink(a));
        break;
    case 10:
    case 11:
    case 12:
        random_path(a, sizeof a, 'f');
        use_file(a, O_CREAT | O_RDWR | (chance(6) ? 0 : O_TRUNC));
        break;
    case 13:
        random_path(a, sizeof a, 'd');
        list(a);
        break;
    case 14:
        random_path(a, sizeof a, 'f');
        see("chmod", chmod(a, 0700 + chance(64)));
        see("stat", stat(a, &st));
        break;
    default:
        random_path(a, sizeof a, 'f');
        use_file(a, O_RDONLY);
    }
}

static int count_entry(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)ftw;
    CHECK(kind != FTW_NS);
    if (S_ISREG(st->st_mode)) {
        int fd = open(path, O_RDONLY);
        if (CHECK(fd >= 0)) {
            read_records(fd);
            close(fd);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    int steps = check_few(&argc, argv) ? STEPS_FEW : STEPS;
    pid_t pids[PROCESSES];

    where_begin(argc, argv);
    for (unsigned i = 0; i < PROCESSES; i++) {
        fflush(NULL);
        pids[i] = fork();
        if (pids[i] == 0) {
            seed = i + 1;
            for (int n = 0; n < steps; n++)
                step();
            fflush(NULL);
            _exit(atomic_load(&check_failures) > 0);
        }
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status;
        CHECK_EQ(waitpid(pids[i], &status, 0), pids[i]);
        CHECK_EQ(status, 0);
    }
    CHECK_EQ(nftw(".", count_entry, 32, FTW_PHYS), 0);
    where_end();
    return check_result();
}
