#!/usr/bin/env bash
# -o auto_unmount: what a killed daemon leaves goes away, and nothing else does.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse
make_store_and_mnt

# watchers: their processes, of all mounts below $work
watchers() {
    local process name
    for process in /proc/[0-9]*; do
        read -r name 2>/dev/null <"$process/comm" || continue # it may have ended
        [ "$name" = balefs-watch ] || continue
        ! tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -q "^$work/" || printf '%s\n' "${process#/proc/}"
    done
}

nobody_watches() { [ -z "$(watchers)" ]; }

# --- killed: unmounted, though somebody has a file open; the store can be mounted again
run 0 mount -o auto_unmount "$store" "$mnt"
is 1 "$(watchers | wc -l)" "watchers"
watcher=$(watchers)
is "0 1 2 3" "$(find "/proc/$watcher/fd" -type l -printf '%f\n' | sort -n | tr '\n' ' ' | sed 's/ $//')" "the watcher's descriptors"
is / "$(readlink "/proc/$watcher/cwd")" "the watcher's working directory"
is 0000000000000000 "$(awk '/^SigBlk/ { print $2 }' "/proc/$watcher/status")" "signals the watcher blocks"
is 0000000000000000 "$(awk '/^SigIgn/ { print $2 }' "/proc/$watcher/status")" "signals the watcher ignores"
[ "$(ps -o sid= -p "$watcher" | tr -d ' ')" != "$(ps -o sid= -p "$(process "$mnt")" | tr -d ' ')" ] ||
    fail "the watcher is in the daemon's session"
echo text >"$mnt/file"
exec 8<"$mnt/file"
kill -KILL "$(process "$mnt")"
soon unmounted "$mnt" || fail "still mounted after a kill"
soon nobody_watches || fail "the watcher stays after a kill"
exec 8<&-
soon unlocked "$store" || fail "locked after a kill"

# --- an orderly end leaves no watcher, and takes away nothing of what is mounted next
for end in umount signal detach; do
    run 0 mount -o auto_unmount "$store" "$mnt"
    is text "$(cat "$mnt/file")" "a file, before $end"
    case $end in
    umount) run 0 umount "$mnt" ;;
    signal) kill -TERM "$(process "$mnt")" ;;
    detach) umount -l "$mnt" 2>/dev/null || fusermount3 -uz "$mnt" ;;
    esac
    soon unmounted "$mnt" || fail "still mounted after $end"
    soon nobody_watches || fail "a watcher after $end"
    soon unlocked "$store" || fail "locked after $end"
done

# --- a mount that was never made leaves no watcher
run 32 mount -o auto_unmount "$work/none" "$mnt"
soon nobody_watches || fail "a watcher after a mount that failed"

# --- the killed daemon's mount is covered, or has made room for another: the other one stays
needs_root
run 0 mount -o auto_unmount "$store" "$mnt"
pid=$(process "$mnt")
mount -t tmpfs none "$mnt"
kill -KILL "$pid"
soon nobody_watches || fail "the watcher stays over a covered mount"
is tmpfs "$(awk -v at="$mnt" '$2 == at { type = $3 } END { print type }' /proc/self/mounts)" "what covers the mount"
umount "$mnt"
umount "$mnt"
soon unlocked "$store" || fail "locked after a kill"

run 0 mount -o auto_unmount "$store" "$mnt"
pid=$(process "$mnt")
kill -STOP "$pid" # so that it learns of nothing
umount -l "$mnt"
run 0 mount -o create "$work/other" "$mnt"
kill -KILL "$pid"
soon nobody_watches || fail "the watcher stays"
is "$work/other" "$(awk -v at="$mnt" '$2 == at { print $1 }' /proc/self/mounts)" "the next mount at the same place"
run 0 umount "$mnt"
