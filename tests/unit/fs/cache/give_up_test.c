/* A write or a copy that is given up while the backing file system stalls is not done later. */
#include "fs/cache/copy.h"
#include "tests/unit/fs/cache/stall.h"

#define PART 100
#define SIZE (MIB - PART)

/* It needs the old contents of a block. */
static void give_up_write(struct bale_file *file, uint64_t at)
{
    static const uint8_t other[PART];
    atomic_bool given_up = false;
    const struct bale_writer writer = {.given_up = &given_up};
    struct bale_wait wait = BALE_WAIT;
    struct bale_file_attr attr;

    stall(&reads_stall);
    bale_file_write_by(file, at, other, sizeof other, &writer, bale_wait_done, &wait);
    sem_wait(&entered);
    atomic_store(&given_up, true);
    let_go();
    CHECK_EQ(bale_wait_for(&wait), BALE_E_CANCELLED);
    bale_file_attr(file, &attr);
    CHECK_EQ_U(attr.size, SIZE);
    CHECK_EQ_U(attr.dirty, 0);
}

static void gives_up_writes(void)
{
    struct bale_file *file = open_file("written");

    volume_file_write(file, 0, data, SIZE);
    volume_file_close(file);
    file = open_last("written"); /* again, so that nothing of it is cached */
    give_up_write(file, MIB / 2 + 10);
    give_up_write(file, SIZE + 10);
    volume_file_close(file);
}

static atomic_bool copy_given_up;

static bool is_given_up(void *arg)
{
    (void)arg;
    return atomic_load(&copy_given_up);
}

/* It waits until the source is stored. */
static void gives_up_copies(void)
{
    struct bale_copy copy = {.length = MIB, .given_up = is_given_up};
    struct bale_wait wait = BALE_WAIT;
    struct bale_file_attr attr;
    struct bale_file *from = open_last("source"), *to = open_last("target");

    write_mib(from, 1);
    stall(&writes_stall);
    bale_file_copy(from, to, &copy, bale_wait_done, &wait);
    sem_wait(&entered);
    atomic_store(&copy_given_up, true);
    let_go();
    CHECK_EQ(bale_wait_for(&wait), BALE_E_CANCELLED);
    bale_file_attr(to, &attr);
    CHECK_EQ_U(attr.size, 0);
    volume_file_close(from);
    volume_file_close(to);
}

int main(void)
{
    stall_begin();
    gives_up_writes();
    gives_up_copies();
    stall_end();
    return check_result();
}
