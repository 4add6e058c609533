#include "fs/fuse/xattr_balefs.h"
#include "fs/fuse/unsynced.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "format/err.h"
#include "format/reason.h"
#include "fs/base/log.h"
#include "fs/fuse/attr.h"
#include "fs/fuse/backing.h"
#include "fs/fuse/drop.h"
#include "fs/fuse/in_flight.h"
#include "fs/fuse/opened.h"
#include "fs/fuse/xattr.h"
#include "kernels/base/container_of.h"
#include "kernels/frame/field.h"
#include "kernels/frame/setting.h"

#define VALUE_MAX 4096
#define PATH_TEXT 512

bool bale_is_setting_xattr(const char *name)
{
    return strncmp(name, BALE_XATTR_PREFIX, strlen(BALE_XATTR_PREFIX)) == 0;
}

bool bale_directory_has_settings(struct bale_node *dir, int fd)
{
    static const char *const names[] = {BALE_XATTR_CODEC, BALE_XATTR_EXTENT, BALE_XATTR_MATCH};
    struct bale_proc_path path;
    bool found = false;

    if (dir->marks & BALE_MARK_NO_SETTINGS)
        return false;
    path = bale_proc_path(fd);
    for (int i = 0; i < 3 && !found; i++) {
        found = getxattr(path.text, names[i], NULL, 0) >= 0;
        if (!found && errno == EACCES)
            return false; /* the owner may not read the directory: make new objects all the same */
        found = found || (errno != ENODATA && errno != EOPNOTSUPP);
    }
    if (!found)
        atomic_fetch_or(&dir->marks, BALE_MARK_NO_SETTINGS);
    return found;
}

/* A request for which the file is opened: to sum up the space that it takes, to verify it before
 * its settings are read, or to change them. */
struct setting_op {
    struct bale_use use;
    fuse_req_t req;
    struct bale_request *request; /* of bale_in_flight_detach */
    struct bale_job job;
    size_t size;   /* the room that getxattr has */
    unsigned what; /* BALE_ATTR_*, which member of attr to set */
    struct bale_container_attr attr;
    char name[32];
};

static struct setting_op *setting_op_create(fuse_req_t req, struct bale_node *node,
                                            const char *name,
                                            void (*ready)(struct bale_use *use, int e))
{
    struct setting_op *op = calloc(1, sizeof *op);

    if (!op) {
        fuse_reply_err(req, ENOMEM);
        return NULL;
    }
    op->use = (struct bale_use){.mount = bale_mount_of(req), .node = node, .ready = ready};
    op->req = req;
    op->request = bale_in_flight_detach(op->use.mount->in_flight);
    snprintf(op->name, sizeof op->name, "%s", name);
    return op;
}

/* After the reply. */
static void setting_op_destroy(struct setting_op *op)
{
    bale_in_flight_complete(op->use.mount->in_flight, op->request);
    free(op);
}

/* ---- The space that a file takes ---- */

static json_t *codecs_json(const struct bale_container_usage *usage)
{
    json_t *codecs = json_object();

    for (int i = 0; i < 256; i++) {
        const char *name = bale_codec_name((uint8_t)i);
        if (usage->extents[i] > 0) {
            (void)json_object_set_new(
                codecs, name ? name : "unknown",
                json_pack("{s:I,s:I,s:I,s:I}", "extents", (json_int_t)usage->extents[i], "raw",
                          (json_int_t)usage->raw[i], "logical", (json_int_t)usage->logical[i],
                          "stored", (json_int_t)usage->stored[i]));
        }
    }
    return codecs;
}

/* The caller frees it. NULL: no memory. */
static char *usage_text(const struct bale_file_attr *attr, const struct bale_container_usage *usage)
{
    char codec[BALE_SETTING_TEXT];
    uint64_t stored = 0;

    bale_setting_print(attr->container.setting, codec, sizeof codec);
    for (int i = 0; i < 256; i++)
        stored += usage->stored[i];
    bool lossy = attr->greatest_step != 0;
    json_t *bound = lossy ? json_real(bale_field_bound(attr->greatest_step)) : json_null();
    json_t *ratio = stored > 0 ? json_real((double)attr->size / (double)stored) : json_null();
    json_t *all = json_pack(
        "{s:I,s:I,s:I,s:o,s:I,s:I,s:s,s:b,s:o,s:o}", "logical", (json_int_t)attr->size, "stored",
        (json_int_t)stored, "preallocated", (json_int_t)usage->unwritten, "ratio", ratio, "dirty",
        (json_int_t)attr->dirty, "extent", (json_int_t)attr->container.extent, "codec", codec,
        "lossy", lossy, "bound", bound, "codecs", codecs_json(usage));
    char *text = all ? json_dumps(all, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    json_decref(all);
    return text;
}

/* Reads the whole index, so it runs in the volume's pool. */
static void setting_stat_job(struct bale_job *job, struct bale_scratch *scratch)
{
    struct setting_op *op = BALE_CONTAINER_OF(job, struct setting_op, job);
    struct bale_file *file = op->use.node->opened->file;
    struct bale_file_attr attr;
    struct bale_container_usage usage;

    (void)scratch;
    bale_file_attr(file, &attr);
    int err = bale_file_usage(file, &usage);
    char *text = err == BALE_OK ? usage_text(&attr, &usage) : NULL;
    if (text)
        bale_xattr_reply(op->req, text, strlen(text), op->size);
    else
        fuse_reply_err(op->req, bale_err_to_errno(err == BALE_OK ? BALE_E_NOMEM : err));
    free(text);
    bale_use_end(op->use.mount, op->use.node);
    setting_op_destroy(op);
}

static void setting_stat_file_ready(struct bale_use *use, int e)
{
    struct setting_op *op = (struct setting_op *)use;

    if (e) {
        fuse_reply_err(op->req, e);
        setting_op_destroy(op);
        return;
    }
    op->job.run = setting_stat_job;
    op->job.turn.user = bale_working_for;
    bale_pool_submit(bale_volume_pool(use->mount->volume), &op->job);
}

/* ---- Settings ---- */

static int setting_text(const struct bale_container_attr *attr, const char *name, char *text,
                        size_t size)
{
    if (strcmp(name, BALE_XATTR_CODEC) == 0) {
        bale_setting_print(attr->setting, text, size);
        return 0;
    }
    if (strcmp(name, BALE_XATTR_EXTENT) == 0) {
        snprintf(text, size, "%u", attr->extent);
        return 0;
    }
    return ENODATA;
}

static void setting_get_file_ready(struct bale_use *use, int e)
{
    struct setting_op *op = (struct setting_op *)use;
    struct bale_container_attr attr;
    char text[BALE_SETTING_TEXT];
    bool used = !e;

    if (used)
        e = bale_attr_container(use->mount, use->node, -1, &attr);
    if (!e)
        e = setting_text(&attr, op->name, text, sizeof text);
    if (e)
        fuse_reply_err(op->req, e);
    else
        bale_xattr_reply(op->req, text, strlen(text), op->size);
    if (used)
        bale_use_end(use->mount, use->node);
    setting_op_destroy(op);
}

void bale_setting_xattr_get(fuse_req_t req, struct bale_node *node, const char *name, size_t size)
{
    struct bale_mount *mount = bale_mount_of(req);
    struct bale_container_attr attr;
    char text[BALE_SETTING_TEXT];
    int fd;
    bool stat = strcmp(name, BALE_XATTR_STAT) == 0;
    int e = stat ? EAGAIN : bale_node_pin(mount->nodes, node, &fd);

    if (!stat && !e) {
        e = bale_attr_container(mount, node, fd, &attr);
        bale_node_unpin(mount->nodes, node);
    }
    if (e == EAGAIN) {
        struct setting_op *op = setting_op_create(
            req, node, name, stat ? setting_stat_file_ready : setting_get_file_ready);
        if (op) {
            op->size = size;
            bale_use_begin(&op->use);
        }
        return;
    }
    if (!e)
        e = setting_text(&attr, name, text, sizeof text);
    if (e)
        fuse_reply_err(req, e);
    else
        bale_xattr_reply(req, text, strlen(text), size);
}

static void setting_set_done(void *arg, int64_t result)
{
    struct setting_op *op = arg;

    if (op->what & BALE_ATTR_SETTING && bale_file_is_lossy(op->use.node->opened->file))
        bale_drops_add(op->use.mount->drops, bale_ino_of(op->use.mount, op->use.node), 0, 0);
    bale_opened_touch_ctime(op->use.mount, op->use.node);
    fuse_reply_err(op->req, bale_err_to_errno(result < 0 ? (int)result : 0));
    bale_use_end(op->use.mount, op->use.node);
    setting_op_destroy(op);
}

static void setting_set_file_ready(struct bale_use *use, int e)
{
    struct setting_op *op = (struct setting_op *)use;

    if (e) {
        fuse_reply_err(op->req, e);
        setting_op_destroy(op);
        return;
    }
    struct bale_file *file = use->node->opened->file;
    struct bale_file_attr attr;
    bale_file_attr(file, &attr);
    if (!use->node->opened->writable)
        setting_set_done(op, BALE_E_PERM);
    else if (op->what == BALE_ATTR_EXTENT && op->attr.extent == attr.container.extent &&
             attr.size > 0)
        setting_set_done(op, BALE_OK); /* a copying program may set the size that the file has */
    else
        bale_file_set_attr(file, op->what, &op->attr, setting_set_done, op);
}

void bale_setting_xattr_refused(const struct bale_mount *mount, struct bale_node *node,
                                const char *why)
{
    char path[PATH_TEXT];

    bale_node_path(mount->nodes, node, path, sizeof path);
    bale_log(BALE_LOG_INFO, "%s: %s", path, why);
}

/* value NULL: back to the volume's setting. */
static int parse_setting(const struct bale_mount *mount, const char *name, const char *value,
                         size_t size, struct setting_op *op)
{
    char clean[VALUE_MAX];
    struct bale_reason why;

    op->attr = mount->defaults;
    if (strcmp(name, BALE_XATTR_CODEC) == 0) {
        op->what = BALE_ATTR_SETTING;
        op->attr.setting_explicit = value;
    } else if (strcmp(name, BALE_XATTR_EXTENT) == 0) {
        op->what = BALE_ATTR_EXTENT;
        op->attr.extent_explicit = value;
    } else {
        return value ? EINVAL : ENODATA;
    }
    if (!value)
        return 0;
    int err = op->what == BALE_ATTR_SETTING
                  ? bale_properties_check_codec(value, size, &op->attr.setting, &why)
                  : bale_properties_check(name, value, size, clean, &why);
    if (err != BALE_OK)
        bale_setting_xattr_refused(mount, op->use.node, why.text);
    if (err == BALE_OK && op->what == BALE_ATTR_EXTENT &&
        !bale_extent_parse(clean, &op->attr.extent))
        err = BALE_E_INVALID;
    return bale_err_to_errno(err);
}

void bale_setting_xattr_set(fuse_req_t req, struct bale_node *node, const char *name,
                            const char *value, size_t size)
{
    struct setting_op *op = setting_op_create(req, node, name, setting_set_file_ready);

    if (!op)
        return;
    int e = parse_setting(op->use.mount, name, value, size, op);
    if (e) {
        fuse_reply_err(req, e);
        setting_op_destroy(op);
    } else {
        bale_use_begin(&op->use);
    }
}

size_t bale_setting_xattr_list(struct bale_mount *mount, struct bale_node *node, int fd, char *list)
{
    struct bale_container_attr attr;
    size_t length = 0;

    if (bale_attr_container(mount, node, fd, &attr) != 0)
        return 0;
    /* Copying programs must not make other files lossy. */
    if (attr.setting_explicit && !bale_codec_is_lossy(attr.setting.codec)) {
        memcpy(list + length, BALE_XATTR_CODEC, sizeof BALE_XATTR_CODEC);
        length += sizeof BALE_XATTR_CODEC;
    }
    if (attr.extent_explicit) {
        memcpy(list + length, BALE_XATTR_EXTENT, sizeof BALE_XATTR_EXTENT);
        length += sizeof BALE_XATTR_EXTENT;
    }
    return length;
}
