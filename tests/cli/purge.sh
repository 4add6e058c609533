#!/usr/bin/env bash
# Files of .balefs are removed under a mount, as what cleans up scratch space does: that costs nothing, and lets no second
# writer in.   purge.sh root|user
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse

# me COMMAND...: as the user who mounts
me() { "$@"; }

if [ "$1" = user ]; then
    fuse_for_all
    needs_fusermount
    be_user "$PATH"
    me() { as_user "$@"; }
else
    needs_root
    make_store_and_mnt
fi
mkdir -m 777 "$work/tmp"
me mkdir "$work/tmp/mnt"
own=$store/.balefs
log=$work/tmp/log

# writes N: a file that fsync has acknowledged
writes() {
    me dd if=/dev/urandom of="$mnt/file$1" bs=64K count=4 conv=fsync status=none || fail "file $1 cannot be written"
    me cp "$mnt/file$1" "$work/tmp/file$1"
}

all_whole() {
    local file
    for file in "$work"/tmp/file*; do
        me cmp "$file" "$mnt/${file##*/}" || fail "${file##*/} is not whole"
    done
}

# A second mount, a repair and a new store are refused.
nobody_gets_in() {
    run 32 mount "$store" "$work/tmp/mnt"
    says "^balefs: $store: "
    run 8 fsck --repair "$store"
    run 1 init "$store"
}

is_whole() {
    local name
    for name in lock volume.json volume-copy.json sessions.json; do
        [ -s "$own/$name" ] || return 1
    done
}

me cp -a "$own" "$work/tmp/backup"
run 0 mount --log "$log" "$store" "$mnt"
pid=$(process "$mnt")
[ "$1" = user ] || chmod 1777 "$mnt"
mode=$(me stat -c %a "$mnt")
writes 0
if [ "$1" != user ]; then
    rmdir "$own/top"
    soon [ -d "$own/top" ] || fail "top is not made again"
    is 1777 "$(stat -c %a "$own/top")" "top's mode"
fi
for name in $(me ls "$own" | grep -v '^top$'); do
    me rm -f "$own/$name"
    nobody_gets_in
    writes "_$name"
    soon is_whole || fail "$name: is not made again: $(me ls "$own")"
    nobody_gets_in
done
me mv "$own" "$store/removed" # at once: the daemon may be making files in it
run 8 fsck --repair "$store"  # waits until the daemon has made it again
says "^balefs: $store: is mounted by process $pid "
me rm -r "$store/removed"
writes 1
soon is_whole || fail ".balefs is not made again"
nobody_gets_in
run 32 mount "$store" "$work/tmp/mnt"
says "^balefs: $store: is mounted by process $pid "
grep -q "warning: $own: files were removed or replaced, and are made again: .*: exclude it from what cleans up$" "$log" ||
    fail "the log does not say it: $(cat "$log")"
all_whole
run 0 sync "$mnt"
is "$mode" "$(me stat -c %a "$mnt")" "mode of the mount's root"

# A copy from before the mount is put in their place, and the daemon has no time to look: no file there says that the store
# is mounted.
me kill -STOP "$pid"
me mv "$own" "$work/tmp/removed"
me cp -a "$work/tmp/backup" "$own"
held="^balefs: $store: is mounted by process $pid on this host: unmount it there first$"
me mkdir "$work/tmp/tree"
for command in "32 mount $store $work/tmp/mnt" "8 fsck $store" \
    "8 fsck --repair $store" "1 import $work/tmp/tree $store" "1 set --closed $store"; do
    # shellcheck disable=SC2086
    run $command
    says "$held"
done
me kill -CONT "$pid"
nobody_gets_in
writes copy
all_whole

# At the end, and when the daemon is killed, they may be missing too.
me rm -f "$own/lock" "$own/volume.json" "$own/sessions.json" "$own/reserve"
run 0 umount "$mnt"
is 1 "$(stat -c %s "$own/lock")" "the lock after umount"
run 0 fsck "$store"
run 0 mount --log "$log" "$store" "$mnt"
is "$mode" "$(me stat -c %a "$mnt")" "mode of the mount's root after mounting again"
all_whole
pid=$(process "$mnt")
writes 2
me kill -STOP "$pid"
me rm -f "$own"/*.json "$own/lock" "$own/reserve"
me kill -KILL "$pid"
soon eval "! lives $pid" || fail "the daemon lives"
run 32 mount "$store" "$mnt"
says "balefs fsck --repair"
run 1 fsck --repair "$store"
run 0 mount --log "$log" "$store" "$mnt"
all_whole

# Somebody else got in: nothing is written any more, and what was acknowledged can be read.
me /usr/bin/python3 - "$own/lock" "$work/tmp" <<'END' &
import fcntl, os, sys, time
while True: # until the daemon's lock is not there for a moment
    try:
        os.unlink(sys.argv[1])
    except FileNotFoundError:
        pass
    try:
        fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        break
    except (FileExistsError, BlockingIOError):
        pass
os.write(fd, b'{"host": "far", "boot": "b", "process": 7}')
open(sys.argv[2] + "/held", "w").close()
while os.path.isdir(sys.argv[2]) and not os.path.exists(sys.argv[2] + "/end"):
    time.sleep(0.01)
END
soon [ -e "$work/tmp/held" ] || fail "the lock cannot be taken"
soon grep -q "error: $store: .*has taken the store although it is mounted here" "$log" ||
    fail "the log does not say it: $(tail -n 3 "$log")"
! me dd if=/dev/zero of="$mnt/file0" bs=4K count=1 conv=notrunc,fsync status=none 2>"$work/tmp/err" ||
    fail "what was written counts as stored"
grep -q 'Input/output error' "$work/tmp/err" || fail "not EIO: $(cat "$work/tmp/err")"
for change in "touch $mnt/new" "mkdir $mnt/new" "rm $mnt/file0" "mv $mnt/file0 $mnt/new" "chmod 600 $mnt/file0" \
    "ln -s x $mnt/new" "truncate -s 1 $mnt/file0"; do
    # shellcheck disable=SC2086
    ! me $change 2>"$work/tmp/err" || fail "not refused: $change"
    grep -q 'Input/output error' "$work/tmp/err" || fail "$change: not EIO: $(cat "$work/tmp/err")"
done
all_whole
run 32 umount "$mnt"
says "^balefs: $mnt: unmounted, but its daemon did not end cleanly: see its log"
unmounted "$mnt" || fail "still mounted"
me grep -q '"far"' "$own/lock" || fail "the other's lock is gone"
touch "$work/tmp/end"
wait
run 0 mount --log "$log" "$store" "$mnt"
all_whole
run 0 umount "$mnt"
run 0 fsck --data "$store"
