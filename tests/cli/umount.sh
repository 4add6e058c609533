#!/usr/bin/env bash
# balefs umount: stores everything first, refuses a busy mount and names its users, and reports what was lost.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse
make_store_and_mnt

# has_open PID FILE
has_open() { readlink "/proc/$1"/fd/* 2>/dev/null | grep -xF "$2" >/dev/null; }

# --- busy: by an open file, then by a working directory
run 0 mount "$store" "$mnt"
echo text >"$mnt/open"
tail -f "$mnt/open" >/dev/null &
user=$!
soon has_open "$user" "$mnt/open" || fail "tail does not open its file"
run 32 umount "$mnt"
says "^balefs: $mnt: is in use by tail \($user\): end that and try again, or use --lazy$"
is_mounted "$mnt" || fail "a busy mount is gone"
is text "$(cat "$mnt/open")" "a file of a busy mount"
kill "$user"
wait "$user" 2>/dev/null || true
(cd "$mnt" && exec sleep 1000) &
user=$!
soon has_become "$user" sleep || fail "no sleep in the mount"
run 32 umount "$mnt"
says "sleep \($user\)"
kill "$user"
wait "$user" 2>/dev/null || true
run 0 umount "$mnt"

# --- we ourselves do not keep it busy, nor are we named
run 0 mount "$store" "$mnt"
(
    cd "$mnt"
    run 32 umount .
    says "^balefs: $mnt: is in use by [^,]*: end that"
)
(cd "$mnt" && exec "$balefs" umount .) || fail "umount of its own working directory"
! is_mounted "$mnt" || fail "still mounted after umount ."

# --- frozen: somebody may be copying the store
run 0 mount "$store" "$mnt"
run 0 freeze "$mnt"
(echo late >"$mnt/late") &
writer=$!
for options in "" "--lazy"; do
    # shellcheck disable=SC2086
    fails 32 "$mnt: is frozen: end that with balefs thaw $mnt first, or use --force" umount $options "$mnt"
done
is_mounted "$mnt" || fail "a frozen mount is gone"
[ ! -s "$store/late" ] || fail "umount changed a frozen store"
run 0 thaw "$mnt"
wait "$writer"
run 0 freeze "$mnt"
run 0 umount --force "$mnt"
[ -z "$err" ] || fail "umount --force of a frozen mount says: $err"
run 0 mount "$store" "$mnt"
is late "$(cat "$mnt/late")" "what waited for the thaw"
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
! unlocked "$store" || fail "unlocked while a file is open"
exec 8<&-
soon unlocked "$store" || fail "still locked after the last user"
run 0 fsck "$store"

# --- what cannot be stored is reported. The daemon may not write files larger than a few KiB.
# allow_little: mounts, with that limit
allow_little() {
    (
        trap '' XFSZ
        run 0 mount "$store" "$mnt"
    )
    prlimit --fsize=3000: --pid "$(process "$mnt")"
}

# While somebody still has the file, it may yet be stored, and the mount stays but for --force.
allow_little
exec 7>"$mnt/lost"
cp "$work/data" /dev/fd/7 2>/dev/null || true
run 1 sync "$mnt"
says "^balefs: $mnt: cannot sync: .*: the daemon's log says more$"
run 32 umount --lazy "$mnt"
says "^balefs: $mnt: not everything written can be stored: .*; --force gives up what cannot be stored$"
is_mounted "$mnt" || fail "unmounted although not everything was stored"
run 32 umount --lazy --force "$mnt"
says "^balefs: $mnt: not everything written can be stored: .*: unmounting anyway$"
! is_mounted "$mnt" || fail "still mounted after --force"
exec 7>&-
soon unlocked "$store" || fail "still locked after --force, and the last user"

# Without one it is lost, and umount says so.
allow_little
cp "$work/data" "$mnt/lost" 2>/dev/null && fail "written beyond the limit"
run 32 umount "$mnt"
says "^balefs: $mnt: (unmounted: .*not everything could be stored|not everything written can be stored)"
! is_mounted "$mnt" || "$balefs" umount --force "$mnt" 2>/dev/null || true
rm -f "$store/lost"
run 0 fsck --data "$store"

# --- somebody else's
needs_root
copy_for_users
run 0 mount "$store" "$mnt"
got=0
as_user "$work/balefs" umount "$mnt" 2>"$work/err" || got=$?
is 1 "$got" "exit status of an ordinary user's umount of root's mount"
is "balefs: $mnt: is a mount of user root: only root may unmount it" "$(cat "$work/err")" "umount of root's mount"
is_mounted "$mnt" || fail "an ordinary user's umount took root's mount away"
run 0 umount "$mnt"

# --- bind mounts, of a directory, a file, something else, and the whole: only the last one of the store ends it
if [ -n "${BALE_NAMESPACE:-}" ]; then
    mkdir "$work/dir" "$work/whole"
    touch "$work/file" "$work/pipe"
    ln -s "$balefs" "$work/umount.fuse.balefs"
    # bind: mounts the store, and four of its parts
    bind() {
        run 0 mount "$store" "$mnt"
        mkdir -p "$mnt/in"
        echo bound >"$mnt/in/file"
        [ -p "$mnt/pipe" ] || mkfifo "$mnt/pipe"
        mount --bind "$mnt/in" "$work/dir"
        mount --bind "$mnt/in/file" "$work/file"
        mount --bind "$mnt/pipe" "$work/pipe"
        mount --bind "$mnt" "$work/whole"
    }
    bind
    for part in dir file pipe; do
        "$work/umount.fuse.balefs" "$work/$part" 2>"$work/err" || fail "umount.fuse.balefs of a $part in a mount"
        is "" "$(cat "$work/err")" "what it says of a $part"
        ! is_mounted "$work/$part" || fail "$part is still mounted"
    done
    run 0 umount "$work/whole"
    says "^balefs: $work/whole: unmounted; the store is still mounted on $mnt$"
    is bound "$(cat "$mnt/in/file")" "the mount after its bind mounts"
    run 0 umount "$mnt"
    unlocked "$store" || fail "still locked after the last mount"
    bind
    echo stored >"$mnt/in/file"
    run 0 umount "$mnt"
    says "^balefs: $mnt: unmounted; the store is still mounted on $work/"
    run 0 cat "$store/in/file"
    is stored "$out" "what was written before the mount went on elsewhere"
    for part in whole pipe dir file; do # the last one ends the mount
        ! unlocked "$store" || fail "ended before $part"
        run 0 umount "$work/$part"
    done
    unlocked "$store" || fail "still locked after the last bind mount"
    bind
    umount -i "$work/dir" "$work/whole" "$work/file" "$mnt"
    run 0 umount "$work/pipe"
    unlocked "$store" || fail "still locked after the last bind mount, of a pipe"
fi

# --- another mount namespace has the mount: it goes on there, everything is stored, and umount says who has it
if unshare --mount true 2>/dev/null; then
    run 0 mount "$store" "$mnt"
    unshare --mount --propagation private sleep 1000 &
    holder=$!
    soon has_become "$holder" sleep || fail "no sleep in the namespace"
    echo late >"$mnt/late"
    run 32 umount "$mnt"
    says "^balefs: $mnt: unmounted here and stored, but still mounted in the mount namespace of sleep \($holder\): "
    ! is_mounted "$mnt" || fail "still mounted here"
    run 0 cat "$store/late"
    is late "$out" "what was written before the mount went on elsewhere"
    is late "$(nsenter --mount --target "$holder" cat "$mnt/late")" "the mount in the other namespace"
    kill "$holder"
    wait "$holder" 2>/dev/null || true
    soon unlocked "$store" || fail "the daemon goes on without a mount"

    run 0 mount "$store" "$mnt"
    unshare --mount --propagation private sleep 1000 &
    holder=$!
    soon has_become "$holder" sleep || fail "no sleep in the namespace"
    echo later >"$mnt/later"
    run 0 umount --other-namespaces "$mnt"
    [ -z "$err" ] || fail "umount --other-namespaces said: $err"
    ! nsenter --mount --target "$holder" ls "$mnt" >/dev/null 2>&1 || fail "the mount goes on elsewhere"
    kill "$holder"
    wait "$holder" 2>/dev/null || true
    run 0 cat "$store/later"
    is later "$out" "what was written before --other-namespaces"
fi
