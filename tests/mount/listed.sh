#!/usr/bin/env bash
# A listing looks at the ACL of each file that it shows: the file has that one until it is changed, and the new one then.
# usage: listed.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin listed
store=$work/store mnt=$work/mnt
mkdir "$mnt"
"$BALEFS" init "$store" || fail "init"

# acls STEP: makes files, or changes some, and has the kernel's answer for each compared with what was set.
acls() {
    ls -lR "$mnt" >"$work/list"
    /usr/bin/python3 - "$1" "$mnt" <<'PYTHON' || fail "$1"
import os, struct, sys

step, top = sys.argv[1:]
ACCESS = "system.posix_acl_access"
COUNT = 300     # more than a listing opens ahead
NONE = 0xffffffff

def acl(user, perm, mask=7):
    entries = ((1, 6, NONE), (2, perm, user), (4, 4, NONE), (16, mask, NONE), (32, 4, NONE))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)

def path(i):
    return os.path.join(top, f"file{i}")

def check(i, expected):
    try:
        found = os.getxattr(path(i), ACCESS)
    except OSError as error:
        found = error.errno
    assert found == expected, (step, i, found, expected)

def of(i):
    return acl(1000 + i, i % 8) if i % 3 == 0 else None

if step == "make":
    for i in range(COUNT):
        with open(path(i), "w") as file:
            file.write(str(i) * (i % 5))
        if of(i):
            os.setxattr(path(i), ACCESS, of(i))
for i in range(COUNT):
    check(i, of(i) or 61)       # ENODATA
if step == "change":
    os.setxattr(path(1), ACCESS, acl(77, 5))
    check(1, acl(77, 5))
    os.removexattr(path(1), ACCESS)
    check(1, 61)
    os.chmod(path(3), 0o614)    # its mask
    check(3, acl(1003, 3, mask=1))
    os.setxattr(path(3), ACCESS, of(3))
    os.rename(path(2), path(0))
    check(0, 61)
PYTHON
}

mount_up "$store" "$mnt"
if ! { touch "$mnt/probe" && setfacl -m u:1:r "$mnt/probe"; } 2>>"$work/err"; then
    skip "no ACLs below $work"
fi
rm "$mnt/probe"
acls make
for round in remounted forgotten; do
    if [ "$round" = remounted ]; then
        mount_down "$mnt"
        mount_up "$store" "$mnt"
    else
        drop_caches "$mnt"
    fi
    acls "$round"
done
drop_caches "$mnt"
acls change
mount_down "$mnt"
fsck_clean "$store"
