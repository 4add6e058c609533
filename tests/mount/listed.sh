#!/usr/bin/env bash
# Where ACLs are asked for, the next listing looks at that of each file: the file has that one until it is changed, and the new
# one then.
# usage: listed.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin listed
store=$work/store mnt=$work/mnt
mkdir "$mnt"
"$BALEFS" init "$store" || fail "init"

# acls STEP: makes files, or changes some, and has the kernel's answer for each compared with what was set.
acls() {
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

def found(name):
    try:
        return os.getxattr(name, ACCESS)
    except OSError as error:
        return error.errno

def check(i, expected):
    assert found(path(i)) == expected, (step, i, found(path(i)), expected)

def of(i):
    return acl(1000 + i, i % 8) if i % 3 == 0 else None

if step == "make":
    for i in range(COUNT):
        with open(path(i), "w") as file:
            file.write(str(i) * (i % 5))
        if of(i):
            os.setxattr(path(i), ACCESS, of(i))
found(top)
sizes = {entry.name: entry.stat().st_size for entry in os.scandir(top)}
assert len(sizes) == COUNT and sizes["file13"] == 6, sizes
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
mount_down "$mnt"
mount_up "$store" "$mnt"
acls remounted
drop_caches "$mnt"
acls forgotten
drop_caches "$mnt"
acls change
mount_down "$mnt"
fsck_clean "$store"
