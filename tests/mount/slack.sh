#!/usr/bin/env bash
# What a file no longer shows is gone from its container before somebody is admitted who could not read it: in an open
# store, where users read containers beside the mount.
# usage: slack.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin slack
store=$work/store mnt=$work/mnt
mkdir "$mnt"
chmod 755 "$work"
cp "$BALEFS" "$work/balefs" # the build directory may be closed to users
BALEFS=$work/balefs
alice=54321 bob=54322

as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

# fill SECRET BYTES: lines of it, as long as that
fill() { as "$alice" sh -c "yes '$1' | head -c '$2'"; }

# finds SECRET FILE: how many times the container has it
finds() { LC_ALL=C grep -aoF "$1" "$store/$2" | wc -l; }

# make NAME BYTES: a file that only alice may read, full of secrets and stored so
make() {
    as "$alice" sh -c "umask 077; yes secret_of_$1 | head -c $2 >'$mnt/$1'"
    sync -f "$mnt"
    as "$alice" "$BALEFS" sync "$mnt"
    [ "$(finds "secret_of_$1" "$1")" -gt 0 ] || fail "$1: the secret is not in the container to begin with"
}

# admitted NAME BY COMMAND...: the secret was overwritten, and is in the container; after the command it is not
admitted() {
    local name=$1 reader=$2
    shift 2
    cp "$mnt/$name" "$work/shown"
    [ "$(finds "secret_of_$name" "$name")" -gt 0 ] || fail "$name: the secret has gone before $*"
    "$@" || fail "$name: $*"
    [ "$(finds "secret_of_$name" "$name")" = 0 ] || fail "$name: after $* the container has the secret"
    as "$reader" cat "$mnt/$name" | cmp - "$work/shown" || fail "$name: cannot be read after $*, or is another"
    as "$reader" "$BALEFS" cat "$store/$name" 2>>"$work/err" | cmp - "$work/shown" || fail "$name: another container after $*"
}

# Stored as it is, in a store that users may look into.
"$BALEFS" init --codec store --extent 16K "$store"
chmod 755 "$store"
mount_up "$store" "$mnt"
chmod 1777 "$mnt"

# Overwritten as a whole; a piece of it; cut off; punched: before, the old frames stay in use or lie free.
make whole 100000
fill other 100000 | as "$alice" dd of="$mnt/whole" conv=notrunc bs=64K status=none
as "$alice" "$BALEFS" sync "$mnt"
admitted whole "$bob" as "$alice" chmod 644 "$mnt/whole"

# Smaller than a block, and not synced: what is dirty is committed first.
make small 3000
fill other 3000 | as "$alice" dd of="$mnt/small" conv=notrunc status=none
admitted small "$bob" as "$alice" chmod 604 "$mnt/small"

make piece 100000
for at in 100 20000 50001; do # each in its own way short of what a frame has; the rest is overwritten last
    fill other 19999 | as "$alice" dd of="$mnt/piece" conv=notrunc oflag=seek_bytes seek="$at" status=none
    as "$alice" "$BALEFS" sync "$mnt"
done
for at in 0 20099 39999 70000; do
    fill other 30000 | as "$alice" dd of="$mnt/piece" conv=notrunc oflag=seek_bytes seek="$at" status=none
done
admitted piece "$bob" chown "$bob" "$mnt/piece"

# Another group: it could read already, and is another one now.
make grouped 50000
as "$alice" chmod 640 "$mnt/grouped"
fill other 50000 | as "$alice" dd of="$mnt/grouped" conv=notrunc bs=64K status=none
as "$alice" "$BALEFS" sync "$mnt"
admitted grouped "$bob" chgrp "$bob" "$mnt/grouped"

make tail 100000
as "$alice" truncate -s 7 "$mnt/tail"
as "$alice" sh -c "printf visible | dd of='$mnt/tail' conv=notrunc status=none"
mount_down "$mnt"
mount_up "$store" "$mnt"
admitted tail "$bob" as "$alice" chmod 644 "$mnt/tail"

make holes 65536
as "$alice" fallocate -p -o 100 -l 5000 "$mnt/holes"
fill other 60436 | as "$alice" dd of="$mnt/holes" conv=notrunc oflag=seek_bytes seek=5100 status=none
fill other 100 | as "$alice" dd of="$mnt/holes" conv=notrunc status=none
admitted holes "$bob" as "$alice" chmod 644 "$mnt/holes"

if command -v setfacl >/dev/null && setfacl -m "u:$bob:rwx" "$mnt" 2>>"$work/err"; then
    make acl 50000
    fill other 50000 | as "$alice" dd of="$mnt/acl" conv=notrunc bs=64K status=none
    admitted acl "$bob" as "$alice" setfacl -m "u:$bob:r" "$mnt/acl"
    # Without its ACL the group gets what the mask has.
    make mask 50000
    as "$alice" setfacl -m "u:$bob:r,g::-" "$mnt/mask"
    chgrp "$bob" "$mnt/mask"
    make mask 50000
    fill other 50000 | as "$alice" dd of="$mnt/mask" conv=notrunc bs=64K status=none
    admitted mask "$bob" as "$alice" setfattr -x system.posix_acl_access "$mnt/mask"
else
    say "no ACLs here"
fi

# The rewriting must not show: a capability stays.
make able 50000
fill other 50000 | as "$alice" dd of="$mnt/able" conv=notrunc bs=64K status=none
as "$alice" "$BALEFS" sync "$mnt"
if setcap cap_net_raw=ep "$mnt/able" 2>>"$work/err"; then
    admitted able "$bob" as "$alice" chmod 644 "$mnt/able"
    getcap "$mnt/able" | grep -q cap_net_raw || fail "the capability of a file is gone"
fi

# Killed just after: the file is whole.
make killed 100000
fill other 100000 | as "$alice" dd of="$mnt/killed" conv=notrunc bs=64K status=none
as "$alice" chmod 644 "$mnt/killed"
mount_kill "$mnt"
mount_up "$store" "$mnt"
as "$bob" sh -c "yes other | head -c 100000 | cmp - '$mnt/killed'" || fail "another file after a kill"
[ "$(finds secret_of_killed killed)" = 0 ] || fail "the secret is back after a kill"

# A change that admits nobody leaves the container alone; and so does any in a closed store.
make own 100000
fill other 100000 | as "$alice" dd of="$mnt/own" conv=notrunc bs=64K status=none
as "$alice" "$BALEFS" sync "$mnt"
before=$(finds secret_of_own own)
as "$alice" chmod 400 "$mnt/own"
[ "$(finds secret_of_own own)" = "$before" ] || fail "a change that admits nobody changed the container"
chmod 700 "$store"
as "$alice" chmod 644 "$mnt/own"
[ "$(finds secret_of_own own)" = "$before" ] || fail "in a closed store the container was changed"
mount_down "$mnt"
fsck_clean "$store"
reader_clean "$store"

# A user's own store and mount: the mode is in the container, and others look at that.
if ! command -v fusermount3 >/dev/null; then
    say "no fusermount3: no user's mount"
else
    fuse_for_all
    cp /etc/passwd "$work/passwd"
    echo "alice:x:$alice:$alice::/:/bin/sh" >>"$work/passwd"
    mount --bind "$work/passwd" /etc/passwd
    mkdir "$work/home"
    chown "$alice" "$work/home"
    store=$work/home/store mnt=$work/home/mnt
    as "$alice" sh -c "umask 022; mkdir '$mnt'; '$BALEFS' init --codec store --extent 16K '$store'"
    as "$alice" "$BALEFS" mount --log "$work/home/log" "$store" "$mnt"
    as "$alice" sh -c "umask 077; yes secret_of_users | head -c 50000 >'$mnt/users'"
    as "$alice" "$BALEFS" sync "$mnt"
    fill other 50000 | as "$alice" dd of="$mnt/users" conv=notrunc bs=64K status=none
    [ "$(finds secret_of_users users)" -gt 0 ] || fail "users: the secret is not in the container to begin with"
    as "$alice" chmod 644 "$mnt/users"
    [ "$(finds secret_of_users users)" = 0 ] || fail "users: after chmod the container has the secret"
    as "$bob" "$BALEFS" cat "$store/users" 2>>"$work/err" | cmp - <(yes other | head -c 50000) || fail "users: another container"
    as "$alice" "$BALEFS" umount "$mnt"
    as "$alice" "$BALEFS" fsck --data "$store" >/dev/null || fail "fsck of a user's store"
fi
say "passed"
