#include "fs/fuse/attr.h"

#include <errno.h>
#include <fcntl.h>

#include "format/err.h"
#include "fs/base/timespec.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/ctime.h"
#include "fs/fuse/opened.h"
#include "kernels/base/clock.h"

#define BLKSIZE_MOST (1 << 20)
#define FEWER_NS BALE_SECOND_NS

/* How the container of a node can be read. */
struct source {
    int fd;        /* of the node */
    bool readable; /* fd is open for reading */
};

/* The io of the container. A bale_err. */
static int open_source(struct bale_mount *mount, const struct source *source, struct bale_io **io)
{
    if (source->readable)
        return bale_io_borrow_fd(source->fd, io);
    struct bale_proc_path path = bale_proc_path(source->fd);
    int real;

    do {
        real = bale_backing_open(path.text, O_RDONLY);
    } while (bale_backing_retry(mount, real));
    if (real < 0)
        return errno == ESTALE ? BALE_E_NOENT : bale_err_from_errno(errno);
    int err = bale_io_open_fd(real, io);
    if (err == BALE_OK && bale_volume_container_config(mount->volume)->remote)
        bale_io_set_remote(*io);
    return err;
}

/* A bale_err; BALE_E_UNVERIFIED: the container must be opened and verified first. */
static int peek_backing(struct bale_mount *mount, const struct source *source,
                        struct bale_container_attr *attr)
{
    struct bale_io *io = NULL;
    int err = open_source(mount, source, &io);

    if (!io)
        return err;
    err = bale_container_peek(io, bale_volume_container_config(mount->volume), &mount->defaults,
                              attr, NULL);
    io->ops->close(io);
    return err;
}

/* Reads the attributes from the root of a container that is not open here. EAGAIN: open it first;
 * another errno: they cannot be read. */
static int peek_container(struct bale_mount *mount, struct bale_node *node,
                          const struct source *source, off_t size, struct bale_container_attr *attr)
{
    /* Beside a writer the size may be an older one than that of the root. */
    if (size == 0 && !mount->beside) {
        *attr = mount->defaults;
        attr->size = attr->generation = 0;
        return 0;
    }
    if (node->marks & BALE_MARK_BROKEN && !mount->beside)
        return bale_err_to_errno(BALE_E_CORRUPT);
    int err = peek_backing(mount, source, attr);
    if (err == BALE_E_UNVERIFIED && node->marks & BALE_MARK_HELD)
        return 0;
    if (err == BALE_E_UNVERIFIED) {
        atomic_fetch_or(&node->marks, BALE_MARK_UNCERTAIN);
        /* A writer's latest commits are uncertain; verifying them would make a listing slow. */
        return mount->beside ? 0 : EAGAIN;
    }
    return bale_err_to_errno(err);
}

/* The attributes of the open file, or else of the container; *is_open says which. */
static int read_attr(struct bale_mount *mount, struct bale_node *node, const struct source *source,
                     off_t size, struct bale_file_attr *open, struct bale_container_attr *attr,
                     bool *is_open)
{
    int e;

    do {
        *is_open = bale_opened_attr(mount, node, open);
        if (*is_open) {
            *attr = open->container;
            return 0;
        }
        e = peek_container(mount, node, source, size, attr);
        /* If the file was opened meanwhile, the uncertain root was one that it was writing. */
    } while (e == EAGAIN && bale_opened_attr(mount, node, open));
    return e;
}

int bale_attr_container(struct bale_mount *mount, struct bale_node *node, int fd,
                        struct bale_container_attr *attr)
{
    struct bale_file_attr open;
    struct stat st;
    bool is_open;

    if (bale_opened_attr(mount, node, &open)) {
        *attr = open.container;
        return 0;
    }
    const struct source source = {.fd = fd};
    return fstat(fd, &st) == 0 ? read_attr(mount, node, &source, st.st_size, &open, attr, &is_open)
                               : errno;
}

static void show_container(struct bale_mount *mount, const struct bale_container_attr *attr,
                           struct stat *st)
{
    if (mount->modes_in_container && attr->mode & BALE_ROOT_MODE_IN_CONTAINER)
        st->st_mode = (st->st_mode & S_IFMT) | bale_root_permissions(attr->mode, st->st_mode);
    st->st_blksize = attr->extent < BLKSIZE_MOST ? (blksize_t)attr->extent : BLKSIZE_MOST;
}

static void show_open(const struct bale_file_attr *open, struct stat *st)
{
    st->st_size = (off_t)open->size;
    st->st_mtim = open->mtime;
    if (open->ctime.tv_sec != 0)
        st->st_ctim = open->ctime;
    st->st_blocks += (blkcnt_t)(open->dirty + 511) / 512;
}

/* before: the node's mode before the call of stat. If a chmod has changed it since then, that one
 * is newer. */
static void note_mode(struct bale_node *node, uint32_t before, mode_t mode)
{
    atomic_compare_exchange_strong(&node->mode, &before, mode);
}

static int get_attr(struct bale_mount *mount, struct bale_node *node, const struct source *source,
                    const struct stat *backing, struct stat *st, double *timeout)
{
    struct bale_file_attr open = {.size = 0};
    struct bale_container_attr attr = {.size = 0};
    uint32_t before = backing ? backing->st_mode : node->mode;
    double ignored;

    timeout = timeout ? timeout : &ignored;
    *timeout = bale_mount_cache_seconds(mount, BALE_CACHE_SECONDS);
    if (backing)
        *st = *backing;
    else if (fstat(source->fd, st) != 0)
        return errno;
    if (!S_ISREG(st->st_mode)) {
        int e =
            node == bale_nodes_root(mount->nodes) ? bale_store_top_attributes(mount->store, st) : 0;
        note_mode(node, before, st->st_mode);
        return e;
    }
    bale_ctimes_get(mount->ctimes, st->st_ino, &st->st_ctim);
    bool is_open;
    int e = read_attr(mount, node, source, st->st_size, &open, &attr, &is_open);
    e = e ? bale_backing_look_again(mount, node, e) : 0;
    if (e == EAGAIN || (e == ESTALE && mount->beside))
        return e;
    if (e) {
        *timeout = 0;
        note_mode(node, before, st->st_mode);
        return 0; /* show the backing inode's attributes, so that the file can be removed */
    }
    if (is_open) {
        show_open(&open, st);
        if (open.ctime.tv_sec != 0)
            *timeout = 0; /* the number of its blocks still changes */
    } else {
        st->st_size = (off_t)attr.size;
        if (attr.generation > 0)
            st->st_mtim = bale_timespec_of(attr.mtime);
    }
    show_container(mount, &attr, st);
    if (st->st_blocks == 0 && attr.stored > 0)
        st->st_blocks = 1;
    note_mode(node, before, st->st_mode);
    return 0;
}

void bale_attr_losing_link(struct bale_mount *mount, struct bale_node *node)
{
    atomic_fetch_add(&mount->losing_links, 1);
    atomic_fetch_or(&node->marks, BALE_MARK_FEWER);
}

void bale_attr_lost_link(struct bale_mount *mount)
{
    atomic_store(&mount->fewer_ns, bale_clock_ns());
    atomic_fetch_sub(&mount->losing_links, 1);
}

/* If the file may have lost a link of which the kernel does not know yet, keeps the kernel from
 * storing the attributes of the reply that follows: tells it that the file's attributes have
 * changed. It does not store those for which it asked before that. */
static void keep_links(struct bale_mount *mount, struct bale_node *node)
{
    if (!(node->marks & BALE_MARK_FEWER))
        return;
    uint64_t fewer_ns = atomic_load(&mount->fewer_ns);
    if (atomic_load(&mount->losing_links) == 0 && bale_clock_ns() >= fewer_ns + FEWER_NS) {
        atomic_fetch_and(&node->marks, ~(uint32_t)BALE_MARK_FEWER);
        if (atomic_load(&mount->losing_links) == 0 && atomic_load(&mount->fewer_ns) == fewer_ns)
            return;
        /* The mark may just have been set for another link. */
        atomic_fetch_or(&node->marks, BALE_MARK_FEWER);
    }
    fuse_lowlevel_notify_inval_inode(mount->session, bale_ino_of(mount, node), -1, 0);
}

int bale_attr_read(struct bale_mount *mount, struct bale_node *node, int fd,
                   const struct stat *backing, struct stat *st, double *timeout)
{
    return get_attr(mount, node, &(struct source){.fd = fd}, backing, st, timeout);
}

static int get_shown(struct bale_mount *mount, struct bale_node *node, const struct source *source,
                     const struct stat *backing, struct stat *st, double *timeout)
{
    int e = get_attr(mount, node, source, backing, st, timeout);

    if (e)
        return e;
    if (mount->hides_set_id && S_ISREG(st->st_mode))
        st->st_mode &= ~(mode_t)(S_ISUID | S_ISGID);
    if (mount->hides_devices)
        st->st_rdev = 0;
    keep_links(mount, node);
    return 0;
}

int bale_attr_get(struct bale_mount *mount, struct bale_node *node, int fd,
                  const struct stat *backing, struct stat *st, double *timeout)
{
    return get_shown(mount, node, &(struct source){.fd = fd}, backing, st, timeout);
}

int bale_attr_get_opened(struct bale_mount *mount, struct bale_node *node, int fd,
                         const struct stat *backing, struct stat *st, double *timeout)
{
    return get_shown(mount, node, &(struct source){.fd = fd, .readable = true}, backing, st,
                     timeout);
}
