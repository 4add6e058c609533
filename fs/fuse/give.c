#include "fs/fuse/give.h"

#include <fcntl.h>
#include <stdlib.h>

#include "fs/base/timespec.h"

#define GIVE_MOST ((uint64_t)64 << 10)
#define EXPECTED 16u /* opens that are taken to be like the one whose file was read */

void bale_give_note_read(struct bale_mount *mount)
{
    if (atomic_load_explicit(&mount->reads_expected, memory_order_relaxed) != EXPECTED)
        atomic_store_explicit(&mount->reads_expected, EXPECTED, memory_order_relaxed);
}

/* Takes one of the reads that are expected; the number before that. */
static unsigned take_expected(struct bale_mount *mount)
{
    unsigned left = atomic_load_explicit(&mount->reads_expected, memory_order_relaxed);

    while (left > 0 &&
           !atomic_compare_exchange_weak_explicit(&mount->reads_expected, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
    return left;
}

enum bale_expected bale_give_expect(struct bale_mount *mount, struct bale_node *node, int flags)
{
    uint32_t marks = atomic_fetch_or(&node->marks, BALE_MARK_OPENED);
    bool direct = mount->direct || flags & O_DIRECT;
    bool cached = !direct && marks & (BALE_MARK_OPENED | BALE_MARK_MADE);

    if (cached || mount->beside || (flags & (O_ACCMODE | O_TRUNC)) != O_RDONLY)
        return BALE_EXPECT_NOTHING;
    unsigned left = take_expected(mount);
    if (left == 0)
        return BALE_EXPECT_NOTHING;
    return left == 1 || direct ? BALE_EXPECT_READ : BALE_EXPECT_GIVE;
}

struct give {
    struct bale_opened *opened;
    struct bale_file *file;
    struct bale_read read;
    bale_given *done;
};

static void store(struct bale_opened *opened, const struct bale_read *read)
{
    size_t count = (size_t)read->count;
    struct fuse_bufvec *data = calloc(1, sizeof *data + count * sizeof data->buf[0]);

    if (!data)
        return;
    data->count = count;
    for (size_t i = 0; i < count; i++)
        data->buf[i] =
            (struct fuse_buf){.size = read->pieces[i].iov_len, .mem = read->pieces[i].iov_base};
    (void)fuse_lowlevel_notify_store(opened->mount->session,
                                     bale_ino_of(opened->mount, opened->node), 0, data, 0);
    free(data);
}

/* The kernel shows the access time that it was told before the file was opened. */
static void tell_access_time(const struct bale_opened *opened, const struct bale_file *file)
{
    struct stat st;

    if (fstat(bale_file_fd(file), &st) != 0 ||
        bale_nanoseconds_of(st.st_atim) == bale_nanoseconds_of(opened->backing.st_atim))
        return;
    (void)fuse_lowlevel_notify_inval_inode(opened->mount->session,
                                           bale_ino_of(opened->mount, opened->node), -1, 0);
}

static void give_read(void *arg, int64_t result)
{
    struct give *give = arg;

    if (result > 0)
        store(give->opened, &give->read);
    bale_read_release(&give->read);
    tell_access_time(give->opened, give->file);
    give->done(give->opened, give->file);
    free(give);
}

void bale_give(struct bale_opened *opened, struct bale_file *file, bale_given *done)
{
    struct bale_file_attr attr;
    struct give *give = NULL;

    bale_file_attr(file, &attr);
    if (attr.size > 0 && attr.size <= GIVE_MOST && !bale_file_is_lossy(file))
        give = malloc(sizeof *give);
    if (!give) {
        done(opened, file);
        return;
    }
    *give = (struct give){.opened = opened, .file = file, .done = done};
    bale_opened_note_access(opened, file);
    bale_file_read(file, 0, (size_t)attr.size, &give->read, give_read, give);
}
