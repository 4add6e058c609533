#!/usr/bin/env bash
# How far a mount relies on its store: the flags of the file system below, stores of others, closed decoders, and mounts
# that others have made.
# usage: trust.sh PLUGIN
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root
fuse_for_all
needs_fuse
plugin=${1:?usage: trust.sh PLUGIN}
needs_fusermount

install_alone
cp "$plugin" "$work/usr/lib/balefs/libbalefs_cuda.so"
export BALE_FAKE_GPU=
mnt=$work/mnt
mkdir "$mnt" "$work/below"
has_flag() { awk -v at="$mnt" '$2 == at { print "," $4 "," }' /proc/self/mounts | grep -q ",$1,"; }
root_balefs=$balefs
cat >"$work/user" <<END2
#!/bin/bash
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$root_balefs" "\$@"
END2
chmod 755 "$work/user"

# --- the file system below has flags: so has the mount, whatever its options say
flags=(nosuid nodev noexec)
# An older kernel or mount(8) does not know this one.
if mount -t tmpfs -o nosymfollow tmpfs "$work/below" 2>/dev/null; then
    flags+=(nosymfollow)
    umount "$work/below"
fi
for flag in "${flags[@]}"; do
    mount -t tmpfs -o "size=16m,mode=755,$flag" tmpfs "$work/below" || skip "no tmpfs"
    run 0 init "$work/below/store"
    for options in rw suid,dev,exec,symfollow trusted; do
        run 0 mount -o "engine=cpu,$options" "$work/below/store" "$mnt"
        for other in "${flags[@]}"; do
            if [ "$other" = "$flag" ]; then
                has_flag "$other" || fail "not $other on a file system that is, -o $options"
            else
                ! has_flag "$other" || fail "$other on a file system that is not, -o $options"
            fi
        done
        run 0 umount "$mnt"
    done
    umount "$work/below"
done
mount -t tmpfs -o size=16m,mode=777,noexec tmpfs "$work/below"
mkdir -m 777 "$work/below/mnt"
balefs=$work/user
run 0 init "$work/below/store"
chown 65534 "$mnt"
run 0 mount "$work/below/store" "$mnt"
has_flag noexec || fail "a user's mount is not noexec on a file system that is"
has_flag nosuid || fail "a user's mount is not nosuid"
run 0 umount "$mnt"
umount "$work/below"
chown root "$mnt"
balefs=$root_balefs

# --- who may have what on a GPU that decodes without care
seq 1000000 >"$work/data"
chmod 644 "$work/data"
# cold FILE: reads it, from the store
cold() { cmp "$work/data" "$mnt/$1" || fail "$1 is not as it was written"; }
decoded() { "$balefs" stat --json "$mnt" | /usr/bin/python3 -c 'import json, sys
print(json.load(sys.stdin)["mount"]["engines"]["gpu"]["decoded"] > 0)'; }
# up OPTIONS: mounted with the GPU open; no cache but the daemon's own, which goes with the last close
up() {
    rm -f "$work/log"
    run 0 mount --log "$work/log" -o "engine=gpu,memory=128M,io=direct,$1" "$store" "$mnt"
    soon grep -q ' GPU: .*: open$' "$work/log" || fail "no GPU: $(cat "$work/log")"
}
# reads OPTIONS EXPECTED WHAT: whether the GPU decodes old, which another mount has made
reads() {
    up "$1"
    cold old
    is "$2" "$(decoded)" "decoding by the GPU: $3"
    run 0 umount "$mnt"
}
# makes OPTIONS EXPECTED WHAT: whether the GPU decodes what this mount has made
makes() {
    up "$1"
    rm -f "$mnt/new"
    /usr/bin/python3 -S - "$work/data" "$mnt/new" <<'PYTHON' || fail "new is not as it was written"
import os, subprocess, sys
data, new = sys.argv[1:]
with open(data, "rb") as source, open(new, "wb") as file:
    known = os.open(new, os.O_PATH)     # to the kernel, also when another test drops the caches
    file.write(source.read())
subprocess.run(["cmp", data, new], check=True)
PYTHON
    is "$2" "$(decoded)" "decoding by the GPU: $3"
    run 0 umount "$mnt"
}

store=$work/store
run 0 init -c zstd:1 "$store"
chmod 700 "$store"
run 0 mount -o engine=cpu "$store" "$mnt"
cp "$work/data" "$mnt/old"
run 0 umount "$mnt"
reads rw False "root's store, another mount's file"
reads trusted True "root's store, -o trusted"
reads trusted,untrusted False "root's store, -o trusted,untrusted"
makes rw True "root's store, this mount's file"
makes untrusted False "this mount's file, -o untrusted"
# A file that was there before may be open in somebody's hands.
up rw
cp "$work/data" "$mnt/old"
cold old
is False "$(decoded)" "decoding by the GPU: written by this mount into a file that was there"
run 0 umount "$mnt"
chmod 711 "$store"
makes rw False "this mount's file in an open store"
makes trusted True "this mount's file in an open store, -o trusted"
chmod 700 "$store"

# --- a store whose directory is not root's
chown 65534 "$store"
for options in rw trusted suid,dev,exec trusted,suid,dev; do
    rm -f "$work/log"
    run 0 mount --log "$work/log" -o "engine=cpu,$options" "$store" "$mnt"
    for flag in nosuid nodev; do
        has_flag "$flag" || fail "a stranger's store is not $flag with -o $options"
    done
    ! has_flag noexec || fail "a stranger's store is noexec"
    case $options in
    *trusted*) ;;
    *) grep -q "$store: its directory belongs to somebody else: mounted as with -o untrusted: " "$work/log" || fail "the log says nothing of it" ;;
    esac
    run 0 umount "$mnt"
done
reads rw False "a stranger's store"
makes rw False "this mount's file in a stranger's store"
reads trusted True "a stranger's store, -o trusted"
chown root "$store"

# --- a user's own store is trusted; another user's is not
balefs=$work/user
mkdir -m 777 "$work/home"
store=$work/home/store
run 0 init -c zstd:1 "$store"
mnt=$work/home/mnt
as_user mkdir "$mnt"
chmod 777 "$work"
run 0 mount -o engine=cpu "$store" "$mnt"
as_user cp "$work/data" "$mnt/old"
run 0 umount "$mnt"
up rw
as_user cmp "$work/data" "$mnt/old" || fail "a user's file"
is True "$(decoded)" "decoding by the GPU: a user's own store"
run 0 umount "$mnt"
# another_user COMMAND...: fusermount3 wants one that has a name
another_user() { setpriv --reuid=bin --regid=bin --clear-groups "$@"; }
chmod 644 "$store/.balefs/lock" # as a store of an older version has it: others may mount it to read
chown bin "$mnt"
rm -f "$work/log"
another_user "$root_balefs" mount --log "$work/log" -o engine=gpu,memory=128M,io=direct,ro "$store" "$mnt" || fail "another user cannot mount it to read"
soon grep -q ' GPU: .*: open$' "$work/log" || fail "no GPU: $(cat "$work/log")"
another_user cmp "$work/data" "$mnt/old" || fail "another user's file"
is False "$(another_user "$root_balefs" stat --json "$mnt" | /usr/bin/python3 -c 'import json, sys
print(json.load(sys.stdin)["mount"]["engines"]["gpu"]["decoded"] > 0)')" "decoding by the GPU: another user's store"
another_user "$root_balefs" umount "$mnt"
balefs=$root_balefs

# --- root serves a mount that somebody else has made: no set-id bits, no capabilities, no devices
store=$work/store
mnt=$work/mnt
run 0 mount -o engine=cpu "$store" "$mnt"
cp /bin/true "$mnt/program"
chmod 6755 "$mnt/program"
mknod "$mnt/null" c 1 3
setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 "$mnt/old"
getfattr -n security.capability "$mnt/old" >/dev/null 2>&1 || fail "no capability was set"
mkdir -m 2755 "$mnt/shared"
run 0 umount "$mnt"
/usr/bin/python3 passed_fd.py "$mnt" "$balefs" mount -o engine=cpu "$store" /dev/fd/@ || fail "exit status $?"
is "755 c 0:0 2755" "$(stat -c %a "$mnt/program") $(stat -c '%A %t:%T' "$mnt/null" | sed 's/^c[^ ]*/c/') $(stat -c %a "$mnt/shared")" "what a passed mount shows"
! getfattr -n security.capability "$mnt/old" >/dev/null 2>&1 || fail "a passed mount shows a capability"
! chmod u+s "$mnt/program" 2>/dev/null || fail "chmod u+s in a passed mount"
! mknod "$mnt/zero" c 1 5 2>/dev/null || fail "mknod in a passed mount"
mkfifo "$mnt/fifo"
run 0 umount "$mnt"
run 0 mount -o engine=cpu "$store" "$mnt"
is "6755 1:3" "$(stat -c %a "$mnt/program") $(stat -c %t:%T "$mnt/null")" "the same in a mount of root's own"
run 0 umount "$mnt"
run 0 fsck --data "$store"
