#include "tools/transfer/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bale_tree_dir *bale_tree_dir_ref(struct bale_tree_dir *dir)
{
    atomic_fetch_add(&dir->refs, 1);
    return dir;
}

void bale_tree_dir_unref(struct bale_tree_dir *dir)
{
    while (dir && atomic_fetch_sub(&dir->refs, 1) == 1) {
        struct bale_tree_dir *parent = dir->parent;

        if (dir->walk->leave)
            dir->walk->leave(dir->walk, dir);
        close(dir->from);
        if (dir->to >= 0)
            close(dir->to);
        free(dir);
        dir = parent;
    }
}

char *bale_tree_dir_path(const struct bale_tree_dir *dir, const char *name)
{
    char *path;

    return asprintf(&path, "%s%s%s", dir->path, *dir->path ? "/" : "", name) < 0 ? NULL : path;
}

static void fail(struct bale_tree_walk *walk, const struct bale_tree_dir *dir, const char *name,
                 int e)
{
    char *path = bale_tree_dir_path(dir, name);

    walk->fail(walk, path ? path : name, path ? e : ENOMEM);
    free(path);
}

static int open_directory(int dir, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags | O_NOATIME);

    return fd < 0 && errno == EPERM ? openat(dir, name, flags) : fd;
}

static void walk_dir(struct bale_tree_dir *dir);

static void descend(struct bale_tree_dir *parent, const char *name)
{
    struct bale_tree_walk *walk = parent->walk;
    char *path = bale_tree_dir_path(parent, name);
    struct bale_tree_dir *dir = path ? calloc(1, sizeof *dir + strlen(path) + 1) : NULL;
    int fd = dir ? open_directory(parent->from, name) : -1;

    if (fd < 0 || fstat(fd, &dir->st) != 0) {
        fail(walk, parent, name, dir ? errno : ENOMEM);
        if (fd >= 0)
            close(fd);
        free(dir);
        free(path);
        return;
    }
    strcpy(dir->path, path);
    free(path);
    dir->walk = walk;
    dir->parent = parent;
    dir->from = fd;
    dir->to = -1;
    atomic_init(&dir->refs, 1);
    if ((walk->one_device && dir->st.st_dev != parent->st.st_dev) ||
        !walk->enter(walk, dir, name)) {
        close(fd);
        if (dir->to >= 0)
            close(dir->to);
        free(dir);
        return;
    }
    bale_tree_dir_ref(parent);
    walk_dir(dir);
    bale_tree_dir_unref(dir);
}

static void visit(struct bale_tree_dir *dir, const struct dirent *entry)
{
    struct bale_tree_walk *walk = dir->walk;
    const char *name = entry->d_name;
    struct stat st;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        (walk->hidden && !*dir->path && strcmp(name, walk->hidden) == 0))
        return;
    if (fstatat(dir->from, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) /* removed meanwhile */
            fail(walk, dir, name, errno);
    } else if (S_ISDIR(st.st_mode)) {
        descend(dir, name);
    } else {
        walk->entry(walk, dir, name, &st);
    }
}

static void walk_dir(struct bale_tree_dir *dir)
{
    struct dirent **entries;
    int count = scandirat(dir->from, ".", &entries, NULL, alphasort);

    if (count < 0) {
        dir->walk->fail(dir->walk, dir->path, errno);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (!atomic_load(dir->walk->stop))
            visit(dir, entries[i]);
        free(entries[i]);
    }
    free(entries);
}

void bale_tree_walk_tree(struct bale_tree_walk *walk, int from, int to, const char *path)
{
    struct bale_tree_dir *top = calloc(1, sizeof *top + strlen(path) + 1);

    if (!top || fstat(from, &top->st) != 0) {
        walk->fail(walk, path, top ? errno : ENOMEM);
        close(from);
        if (to >= 0)
            close(to);
        free(top);
        return;
    }
    strcpy(top->path, path);
    top->walk = walk;
    top->from = from;
    top->to = to;
    atomic_init(&top->refs, 1);
    if (walk->enter(walk, top, ""))
        walk_dir(top);
    bale_tree_dir_unref(top);
}
