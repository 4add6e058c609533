#!/usr/bin/env bash
# One daemon for a store: others are refused, the end of the first frees it, a dead one is taken over.
# usage: lock.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin lock
store=$work/store mnt=$work/mnt other=$work/other
mkdir "$mnt" "$other"

# refused PATTERN ARGUMENT...: balefs mount fails, says why, and mounts nothing
refused() {
    local pattern=$1 status=0
    shift
    timeout 60 "$BALEFS" mount --log "$work/log" "$@" 2>"$work/refused" || status=$?
    [ "$status" != 0 ] || fail "not refused: mount $*"
    [ "$status" != 124 ] || fail "it hangs: mount $*"
    grep -qiE -- "$pattern" "$work/refused" || fail "mount $*: no '$pattern' in: $(cat "$work/refused")"
    ! is_mounted "${!#}" || [ "${!#}" = "$mnt" ] || fail "mounted: ${!#}"
}

"$BALEFS" init "$store"
mount_up "$store" "$mnt"
echo one >"$mnt/file"
refused "$daemon" "$store" "$other"
[ "$(cat "$mnt/file")" = one ] || fail "the first mount does not answer any longer"

# A store inside its own mount, and the reverse.
mkdir "$mnt/inside"
refused . "$store" "$store/inside"
refused . "$mnt/inside" "$other"
rmdir "$mnt/inside"

# In use: it stays. A file left open by nobody: it goes.
tail -f "$mnt/file" >/dev/null &
user=$!
if "$BALEFS" umount "$mnt" 2>"$work/refused"; then
    fail "unmounted although a file is open"
fi
is_mounted "$mnt" || fail "gone although a file is open"
echo two >>"$mnt/file" || fail "not writable after a refused umount"
kill "$user"
wait "$user" 2>/dev/null || true
mount_down "$mnt"

# The lock is free the moment umount returns.
for _ in 1 2 3 4 5; do
    mount_up "$store" "$other"
    echo more >>"$other/file"
    mount_down "$other"
done

# Readers beside each other and beside a writer, which neither hinder.
mount_up "$store" "$mnt" -o ro
[ "$(wc -l <"$mnt/file")" = 7 ] || fail "lines are missing"
if echo three 2>/dev/null >"$mnt/file"; then
    fail "written through a read-only mount"
fi
first=$daemon
mount_up "$store" "$other" -o ro
second=$daemon
mkdir -p "$work/mnt3"
mount_up "$store" "$work/mnt3"
mkdir "$work/mnt4"
refused "$daemon" "$store" "$work/mnt4"
mount_down "$work/mnt3"
daemon=$second
mount_down "$other"
daemon=$first
mount_down "$mnt"

# Killed: the next one takes over, on the same dead mount point.
mount_up "$store" "$mnt"
echo four >>"$mnt/file"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
mount_up "$store" "$mnt"
[ "$(wc -l <"$mnt/file")" = 8 ] || fail "a closed line is missing after a kill"
mount_down "$mnt"

# As a daemon of its own: gone and free when umount returns.
"$BALEFS" mount --log "$work/log" "$store" "$mnt" || fail "in the background"
pid=$(sed -nE 's/^.*"pid": *([0-9]+).*/\1/p' < <("$BALEFS" stat --json "$mnt") | head -n 1)
[ -z "$pid" ] || kill -0 "$pid" || fail "no process $pid"
echo five >>"$mnt/file"
"$BALEFS" umount "$mnt" || fail "umount of a daemon in the background"
# (init may not have collected it yet)
[ -z "$pid" ] || ! grep -q '^State:[[:space:]]*[RSDTtI]' "/proc/$pid/status" 2>/dev/null ||
    fail "process $pid is left"
fsck_clean "$store"
