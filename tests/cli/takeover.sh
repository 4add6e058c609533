#!/usr/bin/env bash
# A store on a file system whose locks do not tell who has it, here FUSE: a second lock, a lock that was removed, one that
# was left by another boot, and -o takeover.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root
needs_fuse

mkdir "$work/below" "$work/mnt" "$work/other"
run 0 init "$work/outer"
run 0 mount "$work/outer" "$work/below"
run 0 init "$work/new"
cp -a "$work/new" "$work/below/store"
store=$work/below/store
mnt=$work/mnt
own=$store/.balefs
log=$work/log

run 0 mount --log "$log" "$store" "$mnt"
pid=$(process "$mnt")
is 600 "$(stat -c %a "$own/lock2")" "the second lock"
seq 100000 >"$mnt/file"
sync -f "$mnt"
"$balefs" sync "$mnt"

# Without the lock the second one keeps others out; without both, a mount waits until the holder has made them again.
rm "$own/lock"
run 32 mount "$store" "$work/other"
says "^balefs: $store: is mounted by "
rm -f "$own"/lock* "$own"/*.json
run 8 fsck --repair "$store"
says "^balefs: $store: is mounted by process $pid "
soon [ -s "$own/sessions.json" ] || fail "not made again: $(ls "$own")"

# Left by this boot: the process is known to have ended. By another one: only the user can know.
kill -KILL "$pid"
soon eval "! lives $pid" || fail "the daemon lives"
run 0 mount --log "$log" "$store" "$mnt"
pid=$(process "$mnt")
kill -KILL "$pid"
soon eval "! lives $pid" || fail "the daemon lives"
sed -i 's/"boot":"[^"]*"/"boot":"5d1f-0a"/' "$own/lock" # the host's name is ours
left="$store: was left locked by process $pid on host [^ ]* since [^ ]*Z, and its file system does not tell whether that still has it: unmount it there, or only if that is known to have ended, or if this is a copy, mount with -o takeover=5d1f-0a"
run 32 mount --log "$log" "$store" "$mnt"
says "^balefs: $left$"
run 0 mount --log "$log" -o ro "$store" "$mnt"
cmp <(seq 100000) "$mnt/file" || fail "a reader sees another file"
run 0 umount "$mnt"
run 8 fsck "$store"
says "^balefs: $left$"
run 32 mount --log "$log" -o takeover=5d1f-0b "$store" "$mnt"
says "^balefs: $left$"
run 1 mount -o takeover= "$store" "$mnt"
before=$(stat -c %i "$own/lock")
run 0 mount --log "$log" -o takeover=5d1f-0a "$store" "$mnt"
[ "$(stat -c %i "$own/lock")" != "$before" ] || fail "a holder that comes back would take the lock for its own"
cmp <(seq 100000) "$mnt/file" || fail "the file is not whole"

# A holder that was cut off comes back to a lock that is another's.
echo '{"host": "far", "boot": "5d1f-0c", "process": 7}' >"$own/lock.new"
mv "$own/lock.new" "$own/lock"
soon grep -q "error: $store: process 7 on host far since an unknown time has taken the store although it is mounted here" "$log" ||
    fail "the log does not say it: $(tail -n 3 "$log")"
! mkdir "$mnt/dir" 2>/dev/null || fail "not refused"
cmp <(seq 100000) "$mnt/file" || fail "the file cannot be read"
run 32 umount "$mnt"
grep -q '"far"' "$own/lock" || fail "the other's lock is gone"
run 0 mount --log "$log" -o takeover=5d1f-0c "$store" "$mnt"
run 0 umount "$mnt"
run 0 fsck --data "$store"
run 0 umount "$work/below"
