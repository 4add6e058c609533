#include "tools/transfer/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bale_branch *bale_branch_ref(struct bale_branch *branch)
{
    atomic_fetch_add(&branch->refs, 1);
    return branch;
}

void bale_branch_unref(struct bale_branch *branch)
{
    while (branch && atomic_fetch_sub(&branch->refs, 1) == 1) {
        struct bale_branch *parent = branch->parent;

        if (branch->walk->leave)
            branch->walk->leave(branch->walk, branch);
        close(branch->from);
        if (branch->to >= 0)
            close(branch->to);
        free(branch);
        branch = parent;
    }
}

char *bale_branch_path(const struct bale_branch *branch, const char *name)
{
    char *path;

    return asprintf(&path, "%s%s%s", branch->path, *branch->path ? "/" : "", name) < 0 ? NULL
                                                                                       : path;
}

static void fail(struct bale_walk *walk, const struct bale_branch *branch, const char *name, int e)
{
    char *path = bale_branch_path(branch, name);

    walk->fail(walk, path ? path : name, path ? e : ENOMEM);
    free(path);
}

static int open_directory(int dir, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags | O_NOATIME);

    return fd < 0 && errno == EPERM ? openat(dir, name, flags) : fd;
}

static void walk_branch(struct bale_branch *branch);

static void descend(struct bale_branch *parent, const char *name)
{
    struct bale_walk *walk = parent->walk;
    char *path = bale_branch_path(parent, name);
    struct bale_branch *branch = path ? calloc(1, sizeof *branch + strlen(path) + 1) : NULL;
    int fd = branch ? open_directory(parent->from, name) : -1;

    if (fd < 0 || fstat(fd, &branch->st) != 0) {
        fail(walk, parent, name, branch ? errno : ENOMEM);
        if (fd >= 0)
            close(fd);
        free(branch);
        free(path);
        return;
    }
    strcpy(branch->path, path);
    free(path);
    branch->walk = walk;
    branch->parent = parent;
    branch->from = fd;
    branch->to = -1;
    atomic_init(&branch->refs, 1);
    if ((walk->one_device && branch->st.st_dev != parent->st.st_dev) ||
        !walk->enter(walk, branch, name)) {
        close(fd);
        if (branch->to >= 0)
            close(branch->to);
        free(branch);
        return;
    }
    bale_branch_ref(parent);
    walk_branch(branch);
    bale_branch_unref(branch);
}

static void visit(struct bale_branch *branch, const struct dirent *entry)
{
    struct bale_walk *walk = branch->walk;
    const char *name = entry->d_name;
    struct stat st;

    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        (walk->hidden && !*branch->path && strcmp(name, walk->hidden) == 0))
        return;
    if (fstatat(branch->from, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT) /* gone meanwhile */
            fail(walk, branch, name, errno);
    } else if (S_ISDIR(st.st_mode)) {
        descend(branch, name);
    } else {
        walk->entry(walk, branch, name, &st);
    }
}

static void walk_branch(struct bale_branch *branch)
{
    struct dirent **entries;
    int count = scandirat(branch->from, ".", &entries, NULL, alphasort);

    if (count < 0) {
        branch->walk->fail(branch->walk, branch->path, errno);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (!atomic_load(branch->walk->stop))
            visit(branch, entries[i]);
        free(entries[i]);
    }
    free(entries);
}

void bale_walk_tree(struct bale_walk *walk, int from, int to, const char *path)
{
    struct bale_branch *top = calloc(1, sizeof *top + strlen(path) + 1);

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
        walk_branch(top);
    bale_branch_unref(top);
}
