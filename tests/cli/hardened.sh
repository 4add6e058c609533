#!/usr/bin/env bash
# The capabilities that the example of a systemd unit leaves the daemon are enough for all that a mount of root's offers.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root
needs_fuse
make_store_and_mnt
unit=${BALE_SOURCE:?}/tools/examples/mnt-scratch.mount

value() { sed -n "s/^$1=//p" "$unit"; }

kept=$(value CapabilityBoundingSet | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
[ -n "$kept" ] || fail "no capabilities in $unit"
is yes "$(value NoNewPrivileges)" "NoNewPrivileges"
! grep -E '^(Protect(System|Home)|Private[A-Z]|ReadOnlyPaths|InaccessiblePaths|MemoryDenyWriteExecute)' "$unit" ||
    fail "a setting that hides the mount, or keeps a GPU from being used"

setpriv --no-new-privs --bounding-set="-all,$kept" "$balefs" mount --log "$work/log" "$store" "$mnt" || fail "cannot mount"
chmod 1777 "$mnt"
as_user sh -c "echo mine >'$mnt/file'; mkdir '$mnt/dir'; chmod 700 '$mnt/dir'; echo in >'$mnt/dir/in'; chmod 0 '$mnt/dir/in'"
is "65534 in" "$(stat -c %u "$mnt/file") $(cat "$mnt/dir/in")" "root in a user's directory"
chown 65533:65532 "$mnt/file"
chmod 6755 "$mnt/file"
is "65533:65532 6755" "$(stat -c '%u:%g %a' "$mnt/file")" "owner and set-id bits"
mknod "$mnt/device" c 1 3
[ -c "$mnt/device" ] || fail "no device"
mkfifo "$mnt/fifo"
if command -v setcap >/dev/null; then
    cp /bin/true "$mnt/true"
    setcap cap_net_raw=ep "$mnt/true" 2>/dev/null && { getcap "$mnt/true" | grep -q cap_net_raw || fail "no capability"; }
fi
if command -v setfattr >/dev/null && setfattr -n trusted.x -v 1 "$work" 2>/dev/null; then
    setfattr -n trusted.x -v 1 "$mnt/file" || fail "no trusted attribute"
fi
run 0 recompress "$mnt"
run 0 freeze "$mnt"
run 0 thaw "$mnt"
run 0 stat "$mnt"
run 0 umount "$mnt"
run 0 fsck --data "$store"
