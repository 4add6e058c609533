/* ACLs, in the form the kernel takes them. */
#include "tests/fuse/where.h"

#include <sys/xattr.h>

struct acl_entry {
    uint16_t tag, perm;
    uint32_t id;
};
struct acl {
    uint32_t version;
    struct acl_entry entries[5];
};
enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, MASK = 16, OTHER = 32 };
#define NONE 0xffffffffu

static const struct acl acl_of_one_user = {2,
                                           {{USER_OBJ, 7, NONE},
                                            {USER, 5, 12345},
                                            {GROUP_OBJ, 0, NONE},
                                            {MASK, 5, NONE},
                                            {OTHER, 0, NONE}}};

static void test_acls(void)
{
    struct acl acl = acl_of_one_user;
    struct acl got;

    make_file("f", "data", 4);
    CHECK_EQ(mkdir("d", 0755), 0);
    if (setxattr("d", "system.posix_acl_default", &acl, sizeof acl, 0) != 0 &&
        errno == EOPNOTSUPP) {
        printf("no ACLs here\n");
        return;
    }
    CHECK_EQ(setxattr("d", "system.posix_acl_default", &acl, sizeof acl, 0), 0);
    CHECK_EQ(setxattr("f", "system.posix_acl_access", &acl, sizeof acl, 0), 0);
    CHECK_EQ_U(mode_of("f"), 0750);
    CHECK_EQ(getxattr("f", "system.posix_acl_access", &got, sizeof got), (ssize_t)sizeof got);
    CHECK_EQ_MEM(&got, &acl, sizeof got);
    CHECK_EQ(chmod("f", 0710), 0); /* changes the mask */
    CHECK_EQ(getxattr("f", "system.posix_acl_access", &got, sizeof got), (ssize_t)sizeof got);
    CHECK_EQ(got.entries[3].perm, 1);
    /* New files in d get its default ACL; the umask has no effect. */
    umask(077);
    int fd = open("d/new", O_CREAT | O_WRONLY, 0666);
    CHECK(fd >= 0);
    CHECK_EQ(fchmod(fd, mode_of("d/new")), 0);
    close(fd);
    CHECK_EQ_U(mode_of("d/new"), 0640);
    CHECK_EQ(getxattr("d/new", "system.posix_acl_access", &got, sizeof got), (ssize_t)sizeof got);
    CHECK_EQ(got.entries[1].id, 12345);
    CHECK_EQ(got.entries[3].perm, 4);
    CHECK_EQ(mkdir("d/sub", 0777), 0);
    CHECK_EQ_U(mode_of("d/sub"), 0750);
    CHECK_EQ(getxattr("d/sub", "system.posix_acl_default", &got, sizeof got), (ssize_t)sizeof got);
    umask(022);
    CHECK_EQ(removexattr("d", "system.posix_acl_default"), 0);
    fd = open("d/plain", O_CREAT | O_WRONLY, 0666);
    CHECK_EQ_U(mode_of("d/plain"), 0644);
    close(fd);
}

/* The ACL as the daemon tells it, past the kernel's copy, which is dropped with the attributes. */
static ssize_t asked(const char *name, const char *attribute, void *value, size_t size)
{
    struct statx st;

    CHECK_EQ(statx(AT_FDCWD, name, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st), 0);
    return getxattr(name, attribute, value, size);
}

/* What was asked for before a change is not told after it. */
static void test_acls_change(void)
{
    static const char access[] = "system.posix_acl_access", initial[] = "system.posix_acl_default";
    struct {
        uint32_t version;
        struct acl_entry entries[104];
    } got, large = {2, {{USER_OBJ, 7, NONE}}};
    struct acl acl = acl_of_one_user;

    for (unsigned i = 0; i < 100; i++)
        large.entries[1 + i] = (struct acl_entry){USER, 5, 20000 + i};
    large.entries[101] = (struct acl_entry){GROUP_OBJ, 0, NONE};
    large.entries[102] = (struct acl_entry){MASK, 5, NONE};
    large.entries[103] = (struct acl_entry){OTHER, 0, NONE};
    make_file("changed", "data", 4);
    CHECK_EQ(mkdir("above", 0755), 0);
    if (setxattr("above", initial, &acl, sizeof acl, 0) != 0 && errno == EOPNOTSUPP)
        return;
    CHECK_EQ(removexattr("above", initial), 0);
    for (int round = 0; round < 2; round++) {
        CHECK_EQ(asked("changed", access, &got, sizeof got), -1);
        CHECK_EQ(asked("above", initial, &got, sizeof got), -1);
        CHECK_EQ(setxattr("changed", access, &acl, sizeof acl, 0), 0);
        for (int again = 0; again < 2; again++) {
            CHECK_EQ(asked("changed", access, &got, sizeof got), (ssize_t)sizeof acl);
            CHECK_EQ_MEM(&got, &acl, sizeof acl);
        }
        CHECK_EQ(chmod("changed", 0710), 0);
        CHECK_EQ(asked("changed", access, &got, sizeof got), (ssize_t)sizeof acl);
        CHECK_EQ(got.entries[3].perm, 1);
        CHECK_EQ(setxattr("changed", access, &large, sizeof large, 0), 0);
        for (int again = 0; again < 2; again++) {
            CHECK_EQ(asked("changed", access, &got, sizeof got), (ssize_t)sizeof large);
            CHECK_EQ_MEM(&got, &large, sizeof large);
        }
        CHECK_EQ(setxattr("above", initial, &acl, sizeof acl, 0), 0);
        CHECK_EQ(asked("above", initial, &got, sizeof got), (ssize_t)sizeof acl);
        make_file("above/new", "data", 4);
        CHECK_EQ(asked("above/new", access, &got, sizeof got), (ssize_t)sizeof acl);
        CHECK_EQ(unlink("above/new"), 0);
        CHECK_EQ(removexattr("above", initial), 0);
        CHECK_EQ(removexattr("changed", access), 0);
        make_file("above/new", "data", 4);
        CHECK_EQ(asked("above/new", access, &got, sizeof got), -1);
        CHECK_EQ(unlink("above/new"), 0);
    }
}

int main(int argc, char **argv)
{
    where_begin(argc, argv);
    test_acls();
    where_clear();
    test_acls_change();
    where_end();
    return check_result();
}
