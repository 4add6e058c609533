#include "fs/daemon/kernel_options.h"

#include <stdlib.h>
#include <string.h>

static void add_char(struct bale_kernel_options *o, char c)
{
    if (o->length + 1 < sizeof o->text)
        o->text[o->length++] = c;
    else
        o->full = true;
}

static void add_text(struct bale_kernel_options *o, const char *text)
{
    if (o->length > 0)
        add_char(o, ',');
    for (; *text; text++)
        add_char(o, *text);
}

static void add_value(struct bale_kernel_options *o, const char *name, const char *value)
{
    add_text(o, name);
    for (; *value; value++) {
        if (*value == ',' || *value == '\\')
            add_char(o, '\\');
        add_char(o, *value);
    }
}

/* The last max_read= counts. */
static unsigned max_read_of(const char *extra)
{
    static const char name[] = "max_read=";
    unsigned value = 0;

    for (const char *at = extra; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, name, strlen(name)) == 0)
            value = (unsigned)strtoul(at + strlen(name), NULL, 10);
    }
    return value;
}

void bale_kernel_options_compose(const struct bale_mount *mount,
                                 const struct bale_mount_options *options,
                                 const struct bale_trust *trust, struct bale_kernel_options *o)
{
    memset(o, 0, sizeof *o);
    add_value(o, "fsname=", bale_store_path(mount->store));
    add_text(o, "subtype=balefs,default_permissions");
    if (options->allow_other || mount->as_root)
        add_text(o, "allow_other");
    if (trust->suid_dev)
        add_text(o, "suid,dev");
    if (options->extra && options->extra[0])
        add_text(o, options->extra);
    /* These come last, because of contradicting options the kernel takes the last. */
    if (trust->nosuid)
        add_text(o, "nosuid");
    if (trust->nodev)
        add_text(o, "nodev");
    if (trust->noexec)
        add_text(o, "noexec");
    if (trust->nosymfollow)
        add_text(o, "nosymfollow");
    if (options->read_only)
        add_text(o, "ro");
    o->max_read = max_read_of(options->extra);
}
