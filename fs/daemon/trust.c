#include "fs/daemon/trust.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "fs/daemon/mountpoint.h"

#ifndef ST_NOSYMFOLLOW
#define ST_NOSYMFOLLOW 0x2000 /* of the kernel, include/linux/statfs.h */
#endif

/* A mount of the store must not lift what the mount that the store lies on forbids. */
static void take_over_flags(int root_fd, bool as_root, struct bale_trust *trust)
{
    struct statvfs vfs;
    unsigned long flags = fstatvfs(root_fd, &vfs) == 0
                              ? vfs.f_flag
                              : ST_NOSUID | ST_NODEV | ST_NOEXEC | ST_NOSYMFOLLOW;

    trust->nosuid |= (flags & ST_NOSUID) != 0;
    trust->nodev |= (flags & ST_NODEV) != 0;
    trust->noexec |= (flags & ST_NOEXEC) != 0;
    trust->nosymfollow |= as_root && (flags & ST_NOSYMFOLLOW) != 0;
}

void bale_trust_decide(struct bale_mount *mount, const struct bale_mount_options *options,
                       const char *mountpoint, struct bale_trust *trust)
{
    int root_fd = bale_store_root_fd(mount->store);
    bool passed = bale_mountpoint_is_passed(mountpoint);
    struct stat st;
    bool own = fstat(root_fd, &st) == 0 && st.st_uid == mount->owner;
    bool trusted = options->trust == BALE_TRUSTED;

    *trust = (struct bale_trust){0};
    trust->untrusted_store = !trusted && (!own || options->trust == BALE_UNTRUSTED);
    trust->unasked = trust->untrusted_store && options->trust != BALE_UNTRUSTED;
    trust->untrusted_input = !trusted && mount->as_root;
    trust->suid_dev = mount->as_root && own && options->trust != BALE_UNTRUSTED;
    trust->nosuid = trust->nodev = !own || options->trust == BALE_UNTRUSTED;
    take_over_flags(root_fd, mount->as_root, trust);
    mount->hides_set_id =
        mount->as_root && (passed || (mount->modes_in_container && !options->set_id));
    mount->hides_devices = mount->as_root && passed;
    mount->keeps_made = mount->as_root && own && !bale_store_reach(mount->store);
}
