/* Programs that remove what nobody has used for a while: systemd-tmpfiles, by its configuration,
 * and those of scratch file systems, which can only be guessed from the names of directories. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/common/mounts.h"
#include "tools/doctor/doctor.h"

#define ADVICE                                                                                     \
    "keep results elsewhere; a mount keeps the files of .balefs young, and balefs fsck --repair "  \
    "makes those that were lost"

struct rule {
    char top[PATH_MAX]; /* what it cleans; empty: no rule */
    char age[32];
};

/* Takes a line "TYPE PATH MODE USER GROUP AGE ..." of tmpfiles.d(5) if it cleans path, and nothing
 * more specific is known. */
static void take_line(const char *line, const char *path, struct rule *rule)
{
    char type[16], top[PATH_MAX], age[32];

    if (sscanf(line, "%15s %4095s %*s %*s %*s %31s", type, top, age) != 3 ||
        !strchr("dDevqQC", type[0]) || strcmp(age, "-") == 0)
        return;
    if (bale_mounts_rest(top, path) && strlen(top) >= strlen(rule->top)) {
        snprintf(rule->top, sizeof rule->top, "%s", top);
        snprintf(rule->age, sizeof rule->age, "%s", age);
    }
}

static void read_rules(const char *directory, const char *path, struct rule *rule)
{
    char name[PATH_MAX], line[PATH_MAX];
    DIR *dir = opendir(directory);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".conf") != 0)
            continue;
        snprintf(name, sizeof name, "%s/%s", directory, entry->d_name);
        FILE *file = fopen(name, "re");
        while (file && fgets(line, sizeof line, file))
            take_line(line, path, rule);
        if (file)
            fclose(file);
    }
    if (dir)
        closedir(dir);
}

/* Whether a directory on the path has a name that is usual for scratch space. */
static bool is_scratch(const char *path)
{
    for (const char *at = path; (at = strchr(at, '/')); at++) {
        size_t length = strcspn(at + 1, "/");
        if (strncmp(at + 1, "scratch", 7) == 0 || (length == 3 && strncmp(at + 1, "tmp", 3) == 0))
            return true;
    }
    return false;
}

void bale_doctor_purge(struct bale_doctor *doctor, const char *path, bool shared)
{
    static const char *const directories[] = {"/usr/lib/tmpfiles.d", "/run/tmpfiles.d",
                                              "/etc/tmpfiles.d"};
    char *real = realpath(path, NULL);
    struct rule rule = {0};

    for (size_t i = 0; real && i < sizeof directories / sizeof *directories; i++)
        read_rules(directories[i], real, &rule);
    if (rule.top[0])
        bale_doctor_report(doctor, "old files", BALE_FINDING_NOTE, ADVICE,
                           "systemd-tmpfiles removes what is older than %s from %s", rule.age,
                           rule.top);
    else if (real && (shared || is_scratch(real)))
        bale_doctor_report(doctor, "old files", BALE_FINDING_NOTE, ADVICE,
                           "%s may be cleaned up, as scratch space often is: ask who runs it",
                           real);
    free(real);
}
