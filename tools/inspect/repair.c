#include "tools/inspect/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/err.h"
#include "format/limits.h"
#include "format/root.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"
#include "tools/common/reader.h"

#define CHOICES 256 /* different settings that are counted; more are ignored */

/* A setting and extent size that files have without having been given one of their own. */
struct choice {
    struct bale_setting setting;
    uint32_t extent;
    uint64_t files;
};

struct evidence {
    uint64_t containers;
    uint64_t modes_in_container; /* of these */
    struct choice choices[CHOICES];
    size_t count;
};

static void count_choice(struct evidence *evidence, const struct bale_root *root)
{
    const struct bale_setting setting = {.codec = root->codec,
                                         .parameter = (int16_t)root->parameter};

    for (size_t i = 0; i < evidence->count; i++) {
        struct choice *known = &evidence->choices[i];

        if (known->setting.codec == setting.codec &&
            known->setting.parameter == setting.parameter && known->extent == root->extent) {
            known->files++;
            return;
        }
    }
    if (evidence->count < CHOICES)
        evidence->choices[evidence->count++] = (struct choice){setting, root->extent, 1};
}

static void count_root(struct evidence *evidence, const struct bale_root *root)
{
    evidence->containers++;
    if (root->mode & BALE_ROOT_MODE_IN_CONTAINER)
        evidence->modes_in_container++;
    /* What a settings page says was chosen for the file: it is no default. */
    if (!(root->flags & (BALE_ROOT_CODEC_EXPLICIT | BALE_ROOT_EXTENT_EXPLICIT)) &&
        root->height != BALE_HEIGHT_SETTINGS)
        count_choice(evidence, root);
}

/* A file that is no container, or is damaged, is no evidence. */
static int examine(struct evidence *evidence, int root, const char *below, const char *path,
                   struct bale_reason *why)
{
    uint8_t head[BALE_DATA_START];
    struct bale_roots roots;
    struct bale_reason reason;
    int fd, err = bale_reader_open_below(root, below, &fd, &reason);

    if (err != BALE_OK) {
        bale_reason_set(why, "%s: %s", path, reason.text);
        return err;
    }
    ssize_t got = pread(fd, head, sizeof head, 0);
    if (got < 0) {
        err = bale_err_from_errno(errno);
        bale_reason_set(why, "%s: cannot be read: %s", path, strerror(errno));
    }
    close(fd);
    if (got < 0)
        return err;
    err = bale_roots_read(head, (size_t)got, &roots);
    if (err == BALE_E_UNSUPPORTED) {
        bale_reason_set(why, "%s: was written by a newer program: use a newer one", path);
        return err;
    }
    if (err == BALE_OK && roots.newest >= 0)
        count_root(evidence, &roots.root[roots.newest]);
    return BALE_OK;
}

static int visit(struct evidence *evidence, FTS *fts, FTSENT *entry, int root, size_t top,
                 struct bale_reason *why)
{
    const char *below = entry->fts_path + top;

    below += strspn(below, "/");
    switch (entry->fts_info) {
    case FTS_D:
        if (entry->fts_level == 1 && strcmp(entry->fts_name, BALE_STORE_DIR) == 0)
            fts_set(fts, entry, FTS_SKIP);
        return BALE_OK;
    case FTS_F:
        return examine(evidence, root, below, entry->fts_path, why);
    case FTS_DNR:
    case FTS_ERR:
    case FTS_NS:
        bale_reason_set(why, "%s: cannot be read: %s", entry->fts_path, strerror(entry->fts_errno));
        return bale_err_from_errno(entry->fts_errno);
    default:
        return BALE_OK;
    }
}

static int gather(const char *path, int root, struct evidence *evidence, struct bale_reason *why)
{
    char *roots[] = {(char *)path, NULL};
    FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    FTSENT *entry;
    int err = BALE_OK;

    while (err == BALE_OK && fts && (errno = 0, entry = fts_read(fts)))
        err = visit(evidence, fts, entry, root, strlen(path), why);
    if (err == BALE_OK && errno != 0) {
        err = bale_err_from_errno(errno);
        bale_reason_set(why, "%s: cannot be read: %s", path, strerror(errno));
    }
    if (fts)
        fts_close(fts);
    return err;
}

/* Draws the conclusions. A user's store always has its modes in the containers. Root's store has
 * them in the inodes, unless every container says otherwise, because users of an open store can
 * write what they like into their own containers. */
static void conclude(const struct evidence *evidence, uid_t owner, struct bale_store_config *config)
{
    const struct choice *most = NULL;

    *config = (struct bale_store_config){.setting = {.codec = BALE_CODEC_AUTO},
                                         .extent = BALE_EXTENT_DEFAULT};
    config->modes_in_container =
        owner != 0 ||
        (evidence->containers > 0 && evidence->modes_in_container == evidence->containers);
    for (size_t i = 0; i < evidence->count; i++)
        if (!most || evidence->choices[i].files > most->files)
            most = &evidence->choices[i];
    if (most) {
        config->setting = most->setting;
        config->extent = most->extent;
    }
}

static int remake(const char *path, int root, const struct stat *st, struct bale_reason *done,
                  struct bale_reason *why)
{
    static struct evidence evidence; /* large; one thread */
    struct bale_store_config config;
    char setting[BALE_SETTING_TEXT];
    int err;

    evidence = (struct evidence){0};
    err = gather(path, root, &evidence, why);
    if (err != BALE_OK)
        return err;
    if (evidence.containers == 0 && !bale_store_exists(path, NULL)) {
        bale_reason_set(
            why, "%s: is not a store, and no file in it is a container: see balefs init", path);
        return BALE_E_NOENT;
    }
    conclude(&evidence, st->st_uid, &config);
    err = bale_store_remake(path, &config, why);
    if (err != BALE_OK)
        return err;
    bale_setting_print(config.setting, setting, sizeof setting);
    bale_reason_set(done,
                    "was lost, and so was its copy: it was made again from %" PRIu64
                    " files: modes in %s, codec %s, extent %" PRIu32
                    ": check these with balefs get, and set patterns for names again if it had any",
                    evidence.containers, config.modes_in_container ? "containers" : "inodes",
                    setting, config.extent);
    return BALE_OK;
}

int bale_repair_volume(const char *path, struct bale_reason *done, struct bale_reason *why)
{
    struct stat st;
    int root, err = bale_store_check_volume(path, why);

    done->text[0] = '\0';
    if (err != BALE_E_CORRUPT)
        return err;
    root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0 || fstat(root, &st) != 0) {
        err = bale_err_from_errno(errno);
        bale_reason_set(why, "%s: cannot be opened: %s", path, strerror(errno));
    } else {
        err = remake(path, root, &st, done, why);
    }
    if (root >= 0)
        close(root);
    return err;
}
