#include "tools/inspect/root_slots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/err.h"
#include "format/settings.h"
#include "kernels/frame/setting.h"
#include "tools/common/json.h"

static void read_slot(const uint8_t *bytes, struct bale_root_slot *slot)
{
    static const uint8_t zeros[BALE_ROOT_SIZE];
    int err = bale_root_decode(bytes, &slot->root, slot->feature);

    if (err == BALE_OK)
        slot->state = "valid";
    else if (err == BALE_E_UNSUPPORTED)
        slot->state = "unsupported";
    else
        slot->state = memcmp(bytes, zeros, sizeof zeros) == 0 ? "zero" : "damaged";
}

/* What the settings page says; a damaged one is for fsck to name. */
static void read_settings(int fd, struct bale_root *root)
{
    uint8_t page[BALE_SETTINGS_SIZE];
    struct bale_settings settings;

    if (root->height != BALE_HEIGHT_SETTINGS ||
        pread(fd, page, sizeof page, (off_t)root->tree.position) != (ssize_t)sizeof page ||
        bale_settings_decode(page, root, &settings) != BALE_OK)
        return;
    root->field = settings.field;
    root->rounds = settings.rounds;
}

int bale_root_slots_read(int fd, struct bale_root_slots *roots)
{
    uint8_t head[BALE_DATA_START] = {0};

    if (pread(fd, head, sizeof head, 0) < 0)
        return bale_err_from_errno(errno);
    for (unsigned i = 0; i < BALE_SLOTS; i++) {
        read_slot(head + i * BALE_ROOT_SIZE, &roots->slots[i]);
        if (strcmp(roots->slots[i].state, "valid") == 0)
            read_settings(fd, &roots->slots[i].root);
    }
    return BALE_OK;
}

static const char *setting_text(const struct bale_root *root, char text[static BALE_SETTING_TEXT])
{
    struct bale_setting setting = {
        .codec = root->codec, .parameter = (int16_t)root->parameter, .field = root->field};

    bale_setting_print(setting, text, BALE_SETTING_TEXT);
    return text;
}

static const char *time_text(int64_t nanoseconds, char text[static 48])
{
    int64_t second = nanoseconds / 1000000000, rest = nanoseconds % 1000000000;
    char date[32];
    struct tm tm;

    if (rest < 0) {
        rest += 1000000000;
        second--;
    }
    time_t time = (time_t)second;
    gmtime_r(&time, &tm);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(text, 48, "%s.%09" PRId64 "Z", date, rest);
    return text;
}

void bale_root_slot_print(const struct bale_root_slots *roots, unsigned number)
{
    const struct bale_root_slot *slot = &roots->slots[number];
    const struct bale_root *root = &slot->root;
    char setting[BALE_SETTING_TEXT], when[48];
    bool chosen = roots->chosen && root->generation == roots->chosen;

    printf("root %u: %s%s%s\n", number, slot->state, slot->feature[0] ? ": feature " : "",
           slot->feature);
    if (strcmp(slot->state, "valid") != 0)
        return;
    printf("  generation %" PRIu64 "%s, durable %" PRIu64 ", session %" PRIu32 "\n",
           root->generation,
           chosen                                ? " (chosen)"
           : root->generation == roots->rejected ? " (rejected: its data is not all there)"
                                                 : "",
           root->durable, root->session);
    printf("  size %" PRIu64 ", stored %" PRIu64 ", end %" PRIu64 ", mtime %s\n", root->size,
           root->stored, root->end, time_text(root->mtime, when));
    printf("  codec %s%s, extent %" PRIu32 "%s, mode ", setting_text(root, setting),
           root->flags & BALE_ROOT_CODEC_EXPLICIT ? " (chosen)" : "", root->extent,
           root->flags & BALE_ROOT_EXTENT_EXPLICIT ? " (chosen)" : "");
    printf(root->mode & BALE_ROOT_MODE_IN_CONTAINER ? "%04o" : "of the inode",
           (unsigned)root->mode & 07777u);
    printf(", container 0x%016" PRIx64 "%s\n", root->container_id,
           root->features & BALE_FEATURE_PARTS ? ", feature part" : "");
    if (root->height == 0)
        printf("  no data\n");
    else
        printf("  %s at %" PRIu64 ", %" PRIu32 " bytes, height %u, checksum 0x%016" PRIx64 "\n",
               root->height == BALE_HEIGHT_DIRECT     ? "one frame"
               : root->height == BALE_HEIGHT_SETTINGS ? "settings page"
                                                      : "index",
               root->tree.position, root->tree.length, root->height, root->tree.checksum);
}

json_t *bale_root_slot_json(const struct bale_root_slots *roots, unsigned number)
{
    const struct bale_root_slot *slot = &roots->slots[number];
    const struct bale_root *root = &slot->root;
    char setting[BALE_SETTING_TEXT];
    json_t *object = json_object();

    bale_json_count(object, "slot", number);
    bale_json_text(object, "state", slot->state);
    if (slot->feature[0])
        bale_json_text(object, "feature", slot->feature);
    if (strcmp(slot->state, "valid") != 0)
        return object;
    json_object_set_new(object, "chosen", json_boolean(root->generation == roots->chosen));
    json_object_set_new(object, "rejected", json_boolean(root->generation == roots->rejected));
    bale_json_count(object, "generation", root->generation);
    bale_json_count(object, "durable", root->durable);
    bale_json_count(object, "session", root->session);
    bale_json_count(object, "size", root->size);
    bale_json_count(object, "end", root->end);
    bale_json_count(object, "stored", root->stored);
    json_object_set_new(object, "mtime", json_integer(root->mtime));
    bale_json_hex(object, "container_id", root->container_id);
    bale_json_count(object, "flags", root->flags);
    json_object_set_new(object, "features",
                        root->features & BALE_FEATURE_PARTS ? json_pack("[s]", "part")
                                                            : json_array());
    bale_json_count(object, "mode", root->mode);
    bale_json_text(object, "codec", setting_text(root, setting));
    bale_json_count(object, "extent", root->extent);
    bale_json_count(object, "height", root->height);
    bale_json_count(object, "tree_position", root->tree.position);
    bale_json_count(object, "tree_length", root->tree.length);
    bale_json_hex(object, "tree_checksum", root->tree.checksum);
    return object;
}
