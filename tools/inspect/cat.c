/* balefs cat: prints files of a store without a mount. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/reason.h"
#include "kernels/engine/engine.h"
#include "tools/balefs.h"
#include "tools/common/contents.h"
#include "tools/common/message.h"
#include "tools/common/options.h"
#include "tools/common/stored_path.h"

static const char help[] =
    "usage: balefs cat [--root ROOT] PATH...\n"
    "\n"
    "Prints files of a store, as cat does, without a mount: PATH lies in the store itself.\n"
    "Needs no /dev/fuse and no more rights than to read the store.\n"
    "\n"
    "The store may be mounted meanwhile, here or elsewhere. The output is one complete\n"
    "commit: data written in the last 5 s may be missing (balefs sync MOUNTPOINT commits\n"
    "it). If the file changes while it is printed, printing may stop with a message.\n"
    "\n"
    "Printing stops at damage, as reading in a mount does: no wrong data is printed. balefs\n"
    "export saves what is left of a damaged file.\n"
    "\n"
    "      --root ROOT  older or newest: of the two states that a file may have, print this\n"
    "                   one, as far as it can be read, not the one that a mount shows\n"
    "  -h, --help\n"
    "\n"
    "Example:\n"
    "  balefs cat /scratch/store/run1/out.log | tail\n"
    "\n"
    "Exit status: 0 done, 1 failed, 2 wrong usage.\n";

enum { OPTION_ROOT = 256 };

static const struct option long_options[] = {
    {"root", required_argument, NULL, OPTION_ROOT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Results of print_piece: standard output cannot be written, and errno says why; or the piece is
 * damaged. */
#define CANNOT_PRINT 1
#define DAMAGED 2
/* Returned by print_contents: nothing was printed, and there is a newer commit. */
#define AGAIN 3

#define TRIES 20

struct printing {
    struct bale_damage damage;
    struct bale_pool *pool;
    unsigned threads;
    enum bale_root_pick pick;
    uint64_t printed; /* bytes of the present file */
};

static int print(struct printing *printing, const uint8_t *data, uint64_t length)
{
    while (length > 0) {
        ssize_t put = write(STDOUT_FILENO, data, (size_t)length);
        if (put < 0 && errno != EINTR)
            return CANNOT_PRINT;
        if (put > 0) {
            data += put;
            length -= (uint64_t)put;
            printing->printed += (uint64_t)put;
        }
    }
    return 0;
}

/* The number of bytes before the first damage. Later pieces are decoded already, so their damage
 * may be listed as well. */
static uint64_t good_until(struct bale_damage *damage, uint64_t from, uint64_t length)
{
    uint64_t end = from + length;

    pthread_mutex_lock(&damage->lock);
    for (size_t i = 0; i < damage->count; i++)
        if (damage->faults[i].offset < end)
            end = damage->faults[i].offset;
    if (damage->overflow)
        end = from;
    pthread_mutex_unlock(&damage->lock);
    return end > from ? end - from : 0;
}

/* Into a regular file beyond its end, a hole is jumped. A file without room for it, or what is no
 * regular file, gets zeros. */
static bool jump(struct printing *printing, uint64_t length)
{
    struct stat st;
    off_t at = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    bool can = at >= 0 && !(fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) &&
               fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) && at >= st.st_size &&
               length <= (uint64_t)(INT64_MAX - at) &&
               ftruncate(STDOUT_FILENO, at + (off_t)length) == 0 &&
               lseek(STDOUT_FILENO, (off_t)length, SEEK_CUR) >= 0;

    printing->printed += can ? length : 0;
    return can;
}

static int print_piece(void *arg, uint64_t from, const uint8_t *data, uint64_t length)
{
    static const uint8_t zeros[1 << 16];
    struct printing *printing = arg;
    uint64_t good = good_until(&printing->damage, from, length);
    int err = 0;

    if (data)
        err = print(printing, data, good);
    for (uint64_t left = good; !data && left > 0 && err == 0 && !jump(printing, left);) {
        uint64_t some = left < sizeof zeros ? left : sizeof zeros;
        err = print(printing, zeros, some);
        left -= some;
    }
    return err ? err : good < length ? DAMAGED : 0;
}

static int print_contents(struct printing *printing, const char *path,
                          const struct bale_contents *contents)
{
    bale_damage_init(&printing->damage);
    int err = bale_contents_stream(contents, printing->pool, printing->threads, &printing->damage,
                                   print_piece, printing);

    bool moved = err == DAMAGED && bale_contents_moved(contents);

    if (moved && printing->printed == 0)
        err = AGAIN;
    else if (moved)
        bale_message("%s: was changed while it was printed: the rest is missing: try again", path);
    else if (err == DAMAGED)
        bale_damage_report(&printing->damage, path,
                           ": printing stops there: balefs export brings "
                           "out the rest");
    else if (err == CANNOT_PRINT && errno != EPIPE)
        bale_message("standard output: cannot write: %s", strerror(errno));
    else if (err < 0)
        bale_message("%s: cannot be read: %s", path, bale_err_text(err));
    bale_damage_clear(&printing->damage);
    return err;
}

/* Prints the newest commit. */
static int print_commit(struct printing *printing, const char *path,
                        const struct bale_reader *reader, const char *below)
{
    struct bale_contents contents = {0};
    struct bale_reason why;
    bool lost;
    int fd;
    int err = bale_reader_open_file(reader, below, &fd, &why);

    if (err == BALE_OK)
        err = bale_contents_open(reader, fd, &contents, &why);
    if (err != BALE_OK) {
        bale_message("%s: %s", path, why.text);
        return err;
    }
    const char *recovery = bale_contents_recovery(&contents, &lost);
    if (recovery)
        bale_message("%s: %s", path, recovery);
    err = print_contents(printing, path, &contents);
    bale_contents_close(&contents);
    return err == BALE_OK && lost ? DAMAGED : err;
}

static int print_file(struct printing *printing, const char *path)
{
    struct bale_stored_path stored;
    struct bale_reader reader = {0};
    struct bale_reason why;
    int err = bale_stored_path_find(path, "use cat", &stored);

    if (err != BALE_OK)
        return err;
    err = bale_reader_open(stored.top, BALE_STORE_UNLOCKED, &reader, &why);
    if (err != BALE_OK) {
        bale_message("%s", why.text);
        goto out;
    }
    reader.config.pick = printing->pick;
    printing->printed = 0;
    err = AGAIN;
    for (int i = 0; i < TRIES && err == AGAIN; i++)
        err = print_commit(printing, path, &reader, stored.below);
    if (err == AGAIN)
        bale_message("%s: keeps changing: try again", path);
out:
    bale_reader_close(&reader);
    bale_stored_path_free(&stored);
    return err;
}

static int cat_run(const struct bale_command *command, int argc, char **argv)
{
    struct printing printing = {.threads = bale_cpus()};
    int option, status = BALE_EXIT_DONE;

    while ((option = bale_options_next(command, argc, argv, ":h", long_options)) != BALE_OPTION_END)
        if (option != OPTION_ROOT)
            return bale_options_status(command, option);
        else if ((status = bale_root_take(command, &printing.pick)) != 0)
            return status;
    if (optind == argc)
        return bale_usage_error(command, "PATH is missing");
    int err = bale_pool_create("balefs-pool", printing.threads, &printing.pool);
    if (err != BALE_OK) {
        bale_message("cannot start threads: %s", bale_err_text(err));
        return BALE_EXIT_FAILED;
    }
    for (int i = optind; i < argc; i++) {
        err = print_file(&printing, argv[i]);
        if (err != BALE_OK)
            status = BALE_EXIT_FAILED;
        if (err == CANNOT_PRINT)
            break;
    }
    bale_pool_destroy(printing.pool);
    return status;
}

const struct bale_command bale_command_cat = {
    .name = "cat",
    .summary = "prints files of a store without a mount",
    .help = help,
    .usage = BALE_EXIT_USAGE,
    .run = cat_run,
};
