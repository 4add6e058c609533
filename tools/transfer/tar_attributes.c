#include "tools/transfer/tar_attributes.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "fs/store/store.h"
#include "kernels/frame/setting.h"

/* Decodes system.posix_acl_*: a version, then entries of tag, permissions and id. */
static void add_acl(struct archive_entry *entry, int type, const uint8_t *value, size_t length)
{
    static const struct {
        uint16_t tag;
        int kind;
    } kinds[] = {
        {0x01, ARCHIVE_ENTRY_ACL_USER_OBJ},  {0x02, ARCHIVE_ENTRY_ACL_USER},
        {0x04, ARCHIVE_ENTRY_ACL_GROUP_OBJ}, {0x08, ARCHIVE_ENTRY_ACL_GROUP},
        {0x10, ARCHIVE_ENTRY_ACL_MASK},      {0x20, ARCHIVE_ENTRY_ACL_OTHER},
    };

    for (size_t at = 4; at + 8 <= length; at += 8)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (kinds[i].tag == bale_get16(value + at))
                archive_entry_acl_add_entry(entry, type, bale_get16(value + at + 2) & 7,
                                            kinds[i].kind, (int)bale_get32(value + at + 4), NULL);
}

static void add_attribute(struct archive_entry *entry, const char *path, bool follow,
                          const char *name)
{
    char *value;
    size_t length = 0;

    if (bale_attribute_get(path, follow, name, &value, &length) != 0)
        return;
    if (strcmp(name, "system.posix_acl_access") == 0)
        add_acl(entry, ARCHIVE_ENTRY_ACL_TYPE_ACCESS, (uint8_t *)value, length);
    else if (strcmp(name, "system.posix_acl_default") == 0)
        add_acl(entry, ARCHIVE_ENTRY_ACL_TYPE_DEFAULT, (uint8_t *)value, length);
    else
        archive_entry_xattr_add_entry(entry, name, value, length);
    free(value);
}

int bale_tar_attributes(struct archive_entry *entry, const struct bale_attributes_rules *rules,
                        const char *path, bool follow)
{
    char *names;
    size_t length;

    int e = bale_attributes_list(path, follow, &names, &length);

    for (size_t at = 0; at < length; at += strlen(names + at) + 1)
        if (bale_attribute_wanted(rules, names + at))
            add_attribute(entry, path, follow, names + at);
    free(names);
    return e;
}

void bale_tar_settings(struct archive_entry *entry, const struct bale_container_attr *attr)
{
    char text[BALE_SETTING_TEXT];

    if (attr->setting_explicit && !bale_codec_is_lossy(attr->setting.codec)) {
        bale_setting_print(attr->setting, text, sizeof text);
        archive_entry_xattr_add_entry(entry, BALE_XATTR_CODEC, text, strlen(text));
    }
    if (attr->extent_explicit) {
        snprintf(text, sizeof text, "%u", attr->extent);
        archive_entry_xattr_add_entry(entry, BALE_XATTR_EXTENT, text, strlen(text));
    }
}
