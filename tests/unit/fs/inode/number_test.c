/* The numbers of nodes: those of slots, and those that last. */
#include "tests/unit/fs/inode/nodes.h"

/* Numbers find their node while it is known, and none afterwards, also if its slot is used
 * again. */
static void test_numbers(void)
{
    enum { MANY = 5000 }; /* several blocks of slots */
    struct bale_node *root = bale_nodes_root(nodes);
    static struct bale_node *found[MANY];
    static uint64_t numbers[MANY];
    char name[32];

    CHECK(bale_node_of_number(nodes, root->number) == root);
    CHECK(root->number > 1);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "n%d", i);
        REQUIRE(make(name) == 0);
        found[i] = find(root, name);
        REQUIRE(found[i]);
        numbers[i] = found[i]->number;
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(bale_node_of_number(nodes, numbers[i]) == found[i]);
        CHECK(!bale_node_of_number(nodes, (uint64_t)(uintptr_t)found[i]));
        CHECK(!bale_node_of_number(nodes, numbers[i] + ((uint64_t)1 << 32)));
    }
    CHECK(!bale_node_of_number(nodes, 0));
    CHECK(!bale_node_of_number(nodes, 1));
    CHECK(!bale_node_of_number(nodes, UINT32_MAX));
    bale_node_forget(nodes, found[7], 1);
    CHECK(!bale_node_of_number(nodes, numbers[7]));
    found[7] = find(root, "n7");
    REQUIRE(found[7]);
    CHECK(found[7]->number != numbers[7] && !bale_node_of_number(nodes, numbers[7]));
    for (int i = 0; i < MANY; i++) {
        bale_node_forget(nodes, found[i], 1);
        snprintf(name, sizeof name, "n%d", i);
        CHECK_EQ(unlink(name), 0);
    }
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
}

/* Numbers that last: a node that was forgotten is found by its number alone, and opened by it again
 * when its descriptor was closed. */
static void test_handles(void)
{
    struct bale_node *node = find(bale_nodes_root(nodes), "handled/file"), *again;
    struct stat st;
    char name[32];
    int fd;

    CHECK(!node); /* a path is no name */
    CHECK_EQ(mkdir("handled", 0755), 0);
    CHECK_EQ(make("handled/file"), 0);
    struct bale_node *dir = find(bale_nodes_root(nodes), "handled");
    REQUIRE(dir);
    node = find(dir, "file");
    REQUIRE(node);
    uint64_t number = node->number, of_dir = dir->number;
    uint32_t generation = node->generation;
    ino_t ino = (ino_t)node->ino;
    CHECK(number > 1 && number != node->ino && of_dir != number);
    bale_node_forget(nodes, node, 1);
    bale_node_forget(nodes, dir, 1);
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
    CHECK(!bale_node_of_number(nodes, number));

    REQUIRE(bale_node_by_number(nodes, number, &node, &fd, &st) == 0);
    CHECK_EQ_U(st.st_ino, ino);
    CHECK(node->number == number && node->generation == generation);
    CHECK(bale_node_of_number(nodes, number) == node);
    bale_node_remember(nodes, node);
    bale_node_unpin(nodes, node);
    for (int i = 0; i < 2 * BUDGET; i++) { /* its descriptor is closed */
        snprintf(name, sizeof name, "other%d", i);
        CHECK_EQ(make(name), 0);
        struct bale_node *other = find(bale_nodes_root(nodes), name);
        CHECK_EQ(reach(other, (ino_t)other->ino), 0);
        CHECK_EQ(reach(node, ino), 0);
        bale_node_forget(nodes, other, 1);
        CHECK_EQ(unlink(name), 0);
    }
    CHECK_EQ(bale_node_by_number(nodes, number, &again, &fd, &st), 0);
    CHECK(again == node);
    bale_node_unpin(nodes, again);

    /* The directory, and the one above it. */
    REQUIRE(bale_node_by_number(nodes, of_dir, &dir, &fd, &st) == 0);
    REQUIRE(bale_node_above(nodes, dir, &again, &fd, &st) == 0);
    CHECK(again == bale_nodes_root(nodes));
    bale_node_unpin(nodes, again);
    bale_node_unpin(nodes, dir);
    CHECK_EQ(bale_node_by_number(nodes, number + 1, &again, &fd, &st), ESTALE);
    CHECK_EQ(bale_node_by_number(nodes, 1, &again, &fd, &st), ESTALE);

    /* Others removed the file, and a new one has its inode number: it gets another number, and the
     * old one finds only the new file, under another generation. */
    bool same = false;
    CHECK_EQ(bale_nodes_evict(nodes), true);
    for (int i = 0; i < 100 && !same; i++) {
        CHECK_EQ(unlink("handled/file"), 0);
        CHECK_EQ(make("handled/file"), 0);
        CHECK_EQ(stat("handled/file", &st), 0);
        same = st.st_ino == ino;
    }
    if (same) {
        CHECK_EQ(reach(node, ino), ESTALE);
        dir = find(bale_nodes_root(nodes), "handled");
        again = find(dir, "file");
        CHECK(again && again != node && again->number != number);
        bale_node_forget(nodes, again, 1);
        bale_node_forget(nodes, dir, 1);
    }
    bale_node_forget(nodes, node, 1);
    if (same) {
        CHECK_EQ(bale_node_by_number(nodes, number, &node, &fd, &st), 0);
        CHECK(node->generation != generation);
        bale_node_unpin(nodes, node);
    }
    CHECK_EQ(unlink("handled/file"), 0);
    CHECK_EQ(rmdir("handled"), 0);
    CHECK_EQ(bale_node_by_number(nodes, number, &node, &fd, &st), ESTALE);
    CHECK_EQ_U(bale_nodes_count(nodes), 1);
}

int main(void)
{
    REQUIRE(nodes_begin(false));
    test_numbers();
    nodes_end();
    if (nodes_begin(true))
        test_handles();
    else
        puts("no numbers that last here");
    nodes_end();
    return check_result();
}
