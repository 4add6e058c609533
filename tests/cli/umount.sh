#!/usr/bin/env bash
# balefs umount: stores everything first, refuses a busy mount and names who uses it, and tells of what was lost.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse

store=$work/store
mnt=$work/mnt
mkdir "$mnt"
run 0 init "$store"

# --- busy: by an open file, then by a working directory
run 0 mount "$store" "$mnt"
echo text >"$mnt/open"
tail -f "$mnt/open" >/dev/null &
user=$!
for _ in {1..100}; do
    ! readlink "/proc/$user"/fd/* 2>/dev/null | grep -qF "$mnt/open" || break
    sleep 0.05
done
run 32 umount "$mnt"
says "^balefs: $mnt: is in use by tail \($user\): end that and try again, or use --lazy$"
is_mounted "$mnt" || fail "a busy mount is gone"
is text "$(cat "$mnt/open")" "a file of a busy mount"
kill "$user"
wait "$user" 2>/dev/null || true
(cd "$mnt" && exec sleep 1000) &
user=$!
while [ "$(cat "/proc/$user/comm")" != sleep ]; do sleep 0.05; done
run 32 umount "$mnt"
says "sleep \($user\)"
kill "$user"
wait "$user" 2>/dev/null || true
run 0 umount "$mnt"

# --- several, of which one is none
run 0 mount "$store" "$mnt"
run 32 umount "$work" "$mnt"
says "^balefs: $work: is not mounted"
! is_mounted "$mnt" || fail "the second of two stays mounted"
fails 32 "$mnt: is not mounted: name a mount point" umount "$mnt"

# --- what was written just before is there
run 0 mount "$store" "$mnt"
head -c 20000000 /dev/urandom >"$work/data"
cp "$work/data" "$mnt/data"
cd "$work"
run 0 umount mnt
run 0 fsck --data "$store"
run 0 mount "$store" "$mnt"
cmp "$work/data" "$mnt/data" || fail "what was written before umount is not what is read after"

# --- lazy: out of the tree at once; ends when its last user does
exec 8<"$mnt/data"
run 0 umount --lazy "$mnt"
! is_mounted "$mnt" || fail "still in the tree after --lazy"
cmp "$work/data" - <&8 || fail "a file that was open at --lazy"
! flock -n "$store/.balefs/lock" true || fail "unlocked while a file is open"
exec 8<&-
for _ in {1..200}; do
    ! flock -n "$store/.balefs/lock" true || break
    sleep 0.05
done
flock -n "$store/.balefs/lock" true || fail "still locked after the last user"
run 0 fsck "$store"

# --- somebody else's
needs_root
cp "$balefs" "$work/balefs"
chmod 755 "$work/balefs"
run 0 mount "$store" "$mnt"
got=0
as_user "$work/balefs" umount "$mnt" 2>"$work/err" || got=$?
[ "$got" != 0 ] || fail "an ordinary user unmounts root's mount"
grep -q "^balefs: $mnt: " "$work/err" || fail "$(cat "$work/err")"
is_mounted "$mnt" || fail "an ordinary user's umount took root's mount away"
run 0 umount "$mnt"

# --- a store that is full: what cannot be stored is told of, and nothing is unmounted but by --force
mkdir "$work/small"
mount -t tmpfs -o size=24m small "$work/small" 2>/dev/null || skip "cannot mount a tmpfs for the rest"
run 0 init "$work/small/store"
run 0 mount "$work/small/store" "$mnt"
head -c 4000000 /dev/urandom >"$mnt/before"
head -c 40000000 /dev/urandom >"$work/much"
cp "$work/much" "$mnt/much" 2>/dev/null && fail "more was written than there is room for"
got=0
"$balefs" umount "$mnt" 2>"$work/err" || got=$?
if [ "$got" != 0 ]; then # an error may have been told of at close, and nothing be left to store
    grep -Eq "^balefs: $mnt: .*stored" "$work/err" || fail "$(cat "$work/err")"
    ! is_mounted "$mnt" || "$balefs" umount --force "$mnt" 2>/dev/null || true
fi
! is_mounted "$mnt" || fail "still mounted after umount --force"
rm -f "$work/small/store/much"
run 0 fsck --data "$work/small/store"
umount "$work/small"
