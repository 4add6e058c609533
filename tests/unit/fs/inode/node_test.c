/* The inode table with room for few descriptors: files are found again by name, and only as
 * themselves. */
#include <pthread.h>

#include "tests/unit/fs/inode/nodes.h"

#define FILES 50

static void test_budget(void)
{
    struct bale_node *found[FILES];
    struct bale_node *root = bale_nodes_root(nodes);
    char name[32];
    unsigned before = open_descriptors();

    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        REQUIRE(make(name) == 0);
        found[i] = find(root, name);
        REQUIRE(found[i] != NULL);
    }
    CHECK(open_descriptors() <= before + BUDGET);
    CHECK_EQ_U(bale_nodes_count(nodes), FILES + 1);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "f%d", i);
        CHECK_EQ(reach(found[i], ino_of(name)), 0);
        CHECK(find(root, name) == found[i]);
    }
    CHECK(open_descriptors() <= before + BUDGET);
    for (int i = 0; i < FILES; i++) {
        bale_node_forget(nodes, found[i], 2);
        snprintf(name, sizeof name, "f%d", i);
        CHECK_EQ(unlink(name), 0);
    }
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
}

struct reacher {
    struct bale_node *node;
    ino_t ino;
    int err;
};

static void *reacher_thread(void *arg)
{
    struct reacher *reacher = arg;

    reacher->err = reach(reacher->node, reacher->ino);
    return NULL;
}

/* While a rename is under way, which may stall, other names are walked through; what it moves is
 * found when it has ended. */
static void test_walks_beside_a_rename(void)
{
    struct bale_node *root = bale_nodes_root(nodes);
    pthread_t thread;

    CHECK_EQ(mkdir("moves", 0755), 0);
    CHECK_EQ(mkdir("stays", 0755), 0);
    CHECK_EQ(make("moves/f"), 0);
    CHECK_EQ(make("stays/f"), 0);
    struct bale_node *moves = find(root, "moves"), *stays = find(root, "stays");
    struct reacher below = {find(moves, "f"), ino_of("moves/f"), -1};
    struct bale_node *beside = find(stays, "f");
    evict_all();
    bale_nodes_rename_begin(nodes);
    CHECK_EQ(reach(below.node, below.ino), 0); /* not moved yet */
    evict_all();
    CHECK_EQ(rename("moves", "moved"), 0);
    CHECK_EQ(reach(beside, ino_of("stays/f")), 0);
    CHECK_EQ(pthread_create(&thread, NULL, reacher_thread, &below), 0);
    bale_node_renamed(nodes, moves, root, "moves", root, "moved");
    bale_nodes_rename_end(nodes);
    pthread_join(thread, NULL);
    CHECK_EQ(below.err, 0);
    bale_node_forget(nodes, below.node, 1);
    bale_node_forget(nodes, beside, 1);
    bale_node_forget(nodes, moves, 1);
    bale_node_forget(nodes, stays, 1);
    CHECK_EQ(unlink("moved/f") | unlink("stays/f") | rmdir("moved") | rmdir("stays"), 0);
}

/* Directories move; what lies below is still found, and keeps them known. */
static void test_moves(void)
{
    struct bale_node *root = bale_nodes_root(nodes);

    CHECK_EQ(mkdir("a", 0755), 0);
    CHECK_EQ(mkdir("a/b", 0755), 0);
    CHECK_EQ(make("a/b/f"), 0);
    struct bale_node *a = find(root, "a");
    struct bale_node *b = find(a, "b");
    struct bale_node *f = find(b, "f");
    ino_t ino = ino_of("a/b/f");
    char path[16];
    evict_all();
    CHECK_EQ(reach(f, ino), 0);
    evict_all();
    CHECK_EQ(rename("a/b", "c"), 0);
    CHECK_EQ(reach(f, ino), ESTALE);
    bale_node_renamed(nodes, b, a, "b", root, "c");
    CHECK_EQ(reach(f, ino), 0);
    bale_node_path(nodes, f, path, sizeof path);
    CHECK_EQ_STR(path, "c/f");
    bale_node_forget(nodes, b, 1);
    CHECK_EQ_U(bale_nodes_count(nodes), 4);
    bale_node_forget(nodes, f, 1);
    CHECK_EQ_U(bale_nodes_count(nodes), 2);
    bale_node_forget(nodes, a, 1);
    CHECK_EQ(unlink("c/f"), 0);
    CHECK_EQ(rmdir("c"), 0);
    CHECK_EQ(rmdir("a"), 0);
}

static void test_links(void)
{
    struct bale_node *root = bale_nodes_root(nodes);
    struct stat st;
    int fd;

    CHECK_EQ(make("one"), 0);
    CHECK_EQ(link("one", "two"), 0);
    ino_t ino = ino_of("one");
    struct bale_node *node = find(root, "one");
    CHECK(find(root, "two") == node);
    /* Its known name goes: it keeps its descriptor until another is learnt. */
    CHECK_EQ(bale_node_pin(nodes, node, &fd), 0);
    CHECK_EQ(unlink("one"), 0);
    bale_node_unlinked(nodes, node, root, "one");
    bale_node_unpin(nodes, node);
    evict_all();
    CHECK_EQ(fcntl(fd, F_GETFD) >= 0, true);
    CHECK_EQ(reach(node, ino), 0);
    CHECK(find(root, "two") == node);
    evict_all();
    CHECK_EQ(reach(node, ino), 0);
    /* The last one goes: another file may get the number. */
    CHECK_EQ(bale_node_pin(nodes, node, &fd), 0);
    CHECK_EQ(unlink("two"), 0);
    bale_node_unlinked(nodes, node, root, "two");
    bale_node_mark_dead(nodes, node);
    CHECK(bale_node_find(nodes, ino) == NULL);
    CHECK(!bale_node_is_remembered(nodes, ino));
    CHECK_EQ(fstat(fd, &st), 0);
    CHECK_EQ(st.st_nlink, 0);
    bale_node_unpin(nodes, node);
    bale_node_forget(nodes, node, 3);
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
}

/* The kernel has what it got in a reply and has not forgotten; a pin of ours is something else. */
static void test_remembered(void)
{
    struct bale_node *root = bale_nodes_root(nodes), *node;
    struct stat st;
    int fd;

    CHECK_EQ(make("remembered"), 0);
    CHECK_EQ(stat("remembered", &st), 0);
    CHECK(!bale_node_is_remembered(nodes, st.st_ino));
    CHECK_EQ(bale_node_lookup(nodes, root, "remembered", &node, &fd, &st), 0);
    CHECK(!bale_node_is_remembered(nodes, st.st_ino));
    bale_node_remember(nodes, node);
    bale_node_remember(nodes, node);
    bale_node_forget(nodes, node, 1);
    CHECK(bale_node_is_remembered(nodes, st.st_ino));
    bale_node_forget(nodes, node, 1);
    CHECK(!bale_node_is_remembered(nodes, st.st_ino));
    bale_node_unpin(nodes, node);
    CHECK(!bale_node_is_remembered(nodes, st.st_ino));
    CHECK_EQ(unlink("remembered"), 0);
}

/* A listing finds files through descriptors of its own: the nodes need none, and are found again by
 * name. What is not the listed file is refused. */
static void test_listed(void)
{
    struct bale_node *root = bale_nodes_root(nodes), *node, *other;
    struct stat st;
    int own;

    CHECK_EQ(make("listed"), 0);
    CHECK_EQ(make("other"), 0);
    ino_t ino = ino_of("listed");
    int fd = open("listed", O_RDONLY), wrong = open("other", O_RDONLY), dir = open(".", O_RDONLY);
    unsigned before = open_descriptors();
    CHECK_EQ(bale_node_listed(nodes, root, "listed", ino, wrong, &node, &st), ESTALE);
    CHECK_EQ(bale_node_listed(nodes, root, ".", ino_of("."), dir, &node, &st), ESTALE);
    REQUIRE(bale_node_listed(nodes, root, "listed", ino, fd, &node, &st) == 0);
    CHECK_EQ_U(st.st_ino, ino);
    CHECK_EQ_U(open_descriptors(), before);
    CHECK(!bale_node_is_remembered(nodes, ino));
    CHECK(!bale_node_pin_open(nodes, node, &own));
    CHECK(bale_node_is_at(nodes, node, fd, &st));
    CHECK_EQ_U(st.st_ino, ino);
    CHECK(!bale_node_is_at(nodes, node, wrong, &st));
    CHECK_EQ(reach(node, ino), 0);
    CHECK(bale_node_pin_open(nodes, node, &own));
    bale_node_unpin(nodes, node);
    REQUIRE(bale_node_listed(nodes, root, "listed", ino, fd, &other, &st) == 0);
    CHECK(other == node && find(root, "listed") == node);
    bale_node_unref(nodes, node);
    bale_node_unref(nodes, node);
    bale_node_forget(nodes, node, 1);
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
    /* It was removed after it was opened. */
    CHECK_EQ(unlink("listed"), 0);
    CHECK_EQ(bale_node_listed(nodes, root, "listed", ino, fd, &node, &st), ESTALE);
    CHECK_EQ(close(fd) | close(wrong) | close(dir), 0);
    CHECK_EQ(unlink("other"), 0);
}

/* A file with several links falls back on the names it was found by. */
static void test_fallback(void)
{
    struct bale_node *root = bale_nodes_root(nodes);
    struct bale_node *found[FILES];
    char name[32], other[32], third[32], path[32];
    int fd;

    CHECK_EQ(mkdir("A", 0755), 0);
    CHECK_EQ(mkdir("B", 0755), 0);
    struct bale_node *a = find(root, "A"), *b = find(root, "B");
    unsigned before = open_descriptors();
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "A/%d", i);
        snprintf(other, sizeof other, "B/%d", i);
        snprintf(third, sizeof third, "A/%d.x", i);
        CHECK_EQ(make(name), 0);
        CHECK_EQ(link(name, other), 0);
        CHECK_EQ(link(name, third), 0);
        found[i] = find(b, other + 2);
        REQUIRE(found[i] != NULL);
        CHECK_EQ(link(name, "A/new"), 0);
        bale_node_linked(nodes, found[i], a, "new");
        CHECK_EQ(unlink("A/new"), 0);
        bale_node_unlinked(nodes, found[i], a, "new");
        bale_node_verify_name(nodes, found[i]);
        bale_node_path(nodes, found[i], path, sizeof path);
        CHECK_EQ_STR(path, other);
        CHECK(find(a, third + 2) == found[i]);
        CHECK(find(a, name + 2) == found[i]);
        CHECK(find(b, other + 2) == found[i]); /* not kept twice */
    }
    /* A moved name is known where it is; one removed by somebody else is not believed. */
    CHECK_EQ(rename("A", "C"), 0);
    bale_node_renamed(nodes, a, root, "A", root, "C");
    CHECK_EQ(rename("C/1", "C/one"), 0);
    bale_node_renamed(nodes, found[1], a, "1", a, "one");
    for (int i = 0; i < FILES; i++) {
        snprintf(third, sizeof third, "C/%d.x", i);
        snprintf(other, sizeof other, "B/%d", i);
        CHECK_EQ(unlink(third), 0);
        CHECK_EQ(bale_node_pin(nodes, found[i], &fd), 0);
        CHECK_EQ(unlink(other), 0);
        bale_node_unlinked(nodes, found[i], b, other + 2);
        bale_node_verify_name(nodes, found[i]);
        bale_node_unpin(nodes, found[i]);
    }
    CHECK_EQ(rmdir("B"), 0);
    bale_node_unlinked(nodes, b, root, "B");
    bale_node_forget(nodes, b, 1);
    CHECK(open_descriptors() <= before + BUDGET);
    evict_all();
    CHECK_EQ_U(bale_nodes_count(nodes), FILES + 2);
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, i == 1 ? "C/one" : "C/%d", i);
        CHECK_EQ(reach(found[i], ino_of(name)), 0);
        CHECK_EQ(unlink(name), 0);
        bale_node_forget(nodes, found[i], 4);
    }
    bale_node_forget(nodes, a, 1);
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
    CHECK_EQ(rmdir("C"), 0);
}

/* The last to be forgotten takes its directories along, once each. */
static void test_forgotten(void)
{
    struct bale_node *root = bale_nodes_root(nodes);

    CHECK_EQ(mkdir("E", 0755), 0);
    CHECK_EQ(mkdir("E/F", 0755), 0);
    CHECK_EQ(make("E/1"), 0);
    CHECK_EQ(link("E/1", "E/2"), 0);
    CHECK_EQ(link("E/1", "E/F/3"), 0);
    struct bale_node *e = find(root, "E");
    struct bale_node *f = find(e, "F");
    struct bale_node *node = find(e, "1");
    CHECK(find(e, "2") == node);
    CHECK(find(f, "3") == node);
    bale_node_forget(nodes, f, 1);
    bale_node_forget(nodes, e, 1);
    CHECK_EQ_U(bale_nodes_count(nodes), 4);
    bale_node_forget(nodes, node, 3);
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
    CHECK_EQ(unlink("E/F/3"), 0);
    CHECK_EQ(unlink("E/1"), 0);
    CHECK_EQ(unlink("E/2"), 0);
    CHECK_EQ(rmdir("E/F"), 0);
    CHECK_EQ(rmdir("E"), 0);
}

/* Somebody else puts another file in its place. */
static void test_replaced(void)
{
    struct bale_node *root = bale_nodes_root(nodes);

    CHECK_EQ(make("x"), 0);
    ino_t ino = ino_of("x");
    struct bale_node *node = find(root, "x");
    evict_all();
    CHECK_EQ(rename("x", "kept"), 0);
    CHECK_EQ(make("x"), 0);
    CHECK_EQ(reach(node, ino), ESTALE);
    struct bale_node *other = find(root, "x");
    CHECK(other != NULL && other != node);
    CHECK_EQ(reach(other, ino_of("x")), 0);
    CHECK(find(root, "nothing") == NULL);
    bale_node_forget(nodes, node, 1);
    bale_node_forget(nodes, other, 1);
    CHECK_EQ(unlink("x"), 0);
    CHECK_EQ(unlink("kept"), 0);
}

static void count_gone(void *arg)
{
    ++*(int *)arg;
}

/* The descriptor of a removed file keeps its blocks; that of another file is of no interest. */
static void test_gone(void)
{
    struct bale_node *root = bale_nodes_root(nodes);
    int gone = 0;

    bale_nodes_on_gone(nodes, count_gone, &gone);
    CHECK_EQ(make("there"), 0);
    CHECK_EQ(make("removed"), 0);
    struct bale_node *there = find(root, "there"), *removed = find(root, "removed");
    CHECK_EQ(unlink("removed"), 0);
    bale_node_unlinked(nodes, removed, root, "removed");
    bale_node_mark_dead(nodes, removed);
    bale_node_forget(nodes, there, 1);
    CHECK_EQ(gone, 0);
    bale_node_forget(nodes, removed, 1);
    CHECK_EQ(gone, 1);
    bale_nodes_on_gone(nodes, NULL, NULL);
    CHECK_EQ(unlink("there"), 0);
}

static void test_table(void)
{
    test_budget();
    test_moves();
    test_walks_beside_a_rename();
    test_links();
    test_remembered();
    test_listed();
    test_fallback();
    test_forgotten();
    test_replaced();
    test_gone();
}

int main(void)
{
    REQUIRE(nodes_begin(false));
    test_table();
    nodes_end();
    if (nodes_begin(true))
        test_table();
    else
        puts("no numbers that last here");
    nodes_end();
    return check_result();
}
