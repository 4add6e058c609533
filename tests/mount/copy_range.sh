#!/usr/bin/env bash
# copy_file_range copies frames as they are stored: the same data, nothing that the source no longer shows, the target's
# own settings; kept after a kill and, once synced, after a power loss.
# usage: copy_range.sh LOSSY, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lossy=${1:?usage: copy_range.sh LOSSY}
mount_begin copy_range
mnt=$work/mnt
mkdir "$mnt" "$work/disk"

program() { /usr/bin/python3 "$BALE_SOURCE/tests/mount/copy_range.py" "$@" || fail "$*"; }

# lines TEXT BYTES
lines() { sh -c 'yes "$1" | head -c "$2"' - "$@"; }

# --- what was copied and synced survives the loss of everything else
base=$work/lossy
mkdir "$base"
lossy_up "$lossy" "$work/disk" "$base"
"$BALEFS" init --codec zstd:1 "$base/store"
mount_up "$base/store" "$mnt"
mkdir "$mnt/copies"
program make "$mnt"
program copy "$mnt" "$BALEFS"
/usr/bin/python3 -c 'import os, sys
a, b = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
while os.copy_file_range(a, b, 1 << 20): pass' "$mnt/text" "$mnt/unsynced"
mount_kill "$mnt"
lossy_down "$base"
lossy_up "$lossy" "$work/disk" "$base"
mount_up "$base/store" "$mnt"
program check "$mnt"
[ ! -s "$mnt/unsynced" ] || cat "$mnt/unsynced" >/dev/null || fail "a copy that was not synced is damaged"

# --- a kill alone loses nothing that was closed
/usr/bin/python3 -c 'import os, sys
a, b = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
while os.copy_file_range(a, b, 1 << 20): pass' "$mnt/text" "$mnt/copies/text-closed"
mount_kill "$mnt"
mount_up "$base/store" "$mnt"
program check "$mnt"
mount_down "$mnt"
fsck_clean "$base/store"
reader_clean "$base/store"
lossy_down "$base"

# --- where the backing file system shares blocks, the copy takes next to none, and each side goes its own way
# used: KiB
used() {
    sync -f "$base"
    df -k --output=used "$base" | tail -n 1
}

clones() {
    local before
    base=$work/$1
    loop_fs "$1" "$2" "$base"
    "$BALEFS" init --codec store "$base/store"
    mount_up "$base/store" "$mnt" -o memory=64M
    head -c 40M /dev/urandom >"$mnt/source"
    "$BALEFS" sync "$mnt"
    before=$(used)
    cp --sparse=never "$mnt/source" "$mnt/target"
    "$BALEFS" sync "$mnt"
    [ "$(used)" -lt $((before + 8000)) ] || fail "$1: a copy of 40 MiB takes $(($(used) - before)) KiB"
    cp "$mnt/source" "$work/source"
    dd if=/dev/urandom of="$mnt/source" bs=1M count=9 seek=3 conv=notrunc,fsync status=none
    cmp "$work/source" "$mnt/target" || fail "$1: the copy changed with its source"
    dd if="$work/source" of="$mnt/target" bs=1000 count=7000 skip=11000 seek=11000 conv=notrunc,fsync status=none
    cp --sparse=never "$mnt/target" "$mnt/again"
    mount_kill "$mnt"
    mount_up "$base/store" "$mnt"
    cmp "$work/source" "$mnt/target" || fail "$1: the copy, after a kill"
    cmp "$work/source" "$mnt/again" || fail "$1: a copy of the copy, after a kill"
    rm "$mnt/source"
    mount_down "$mnt"
    fsck_clean "$base/store"
    reader_clean "$base/store"
    umount "$base"
}

for size in btrfs:250 xfs:350; do
    if command -v "mkfs.${size%:*}" >/dev/null; then
        clones "${size%:*}" "${size#*:}"
    fi
done

# --- what was overwritten or cut off stays behind
store=$work/store
"$BALEFS" init --codec store "$store"
mount_up "$store" "$mnt"
lines secret_line 600000 >"$mnt/source"
sync "$mnt/source"
lines open_line__ 1000 | dd of="$mnt/source" conv=notrunc bs=1000 seek=3 status=none
lines open_line__ 131072 | dd of="$mnt/source" conv=notrunc bs=131072 seek=1 status=none
sync "$mnt/source"
truncate -s 262144 "$mnt/source"
lines open_line__ 131072 | dd of="$mnt/source" conv=notrunc bs=131072 status=none
lines open_line__ 100 | dd of="$mnt/source" conv=notrunc bs=100 seek=1310 status=none oflag=sync
cp --sparse=never "$mnt/source" "$mnt/target"
cmp "$mnt/source" "$mnt/target" || fail "the copy differs"
sync "$mnt/target"
! grep -aq secret_line "$store/target" || fail "the copy's container has what the source no longer shows"

# --- damage is not copied: the copy fails as reading does
head -c 600000 /dev/urandom >"$mnt/good"
mount_down "$mnt"
printf XXXX | dd of="$store/good" bs=1 seek=300000 conv=notrunc status=none
mount_up "$store" "$mnt"
! cp --sparse=never "$mnt/good" "$mnt/bad" 2>"$work/said" || fail "a damaged file was copied"
grep -q 'Input/output error' "$work/said" || fail "a damaged file: $(cat "$work/said")"
cat "$mnt/bad" >/dev/null || fail "what was copied before the damage cannot be read"
mount_down "$mnt"
rm "$store/good"
fsck_clean "$store"
reader_clean "$store"

# --- a full disk: the copy fails, and nothing of what was there
base=$work/full
loop_fs tmpfs 40 "$base"
"$BALEFS" init --codec store "$base/store"
mount_up "$base/store" "$mnt" -o memory=64M
head -c 12M /dev/urandom >"$mnt/source"
sync "$mnt/source"
copies=0
while cp --sparse=never "$mnt/source" "$mnt/copy$copies" 2>"$work/said"; do
    copies=$((copies + 1))
    [ "$copies" -lt 4 ] || fail "48 MiB in 40"
done
grep -q 'No space left' "$work/said" || fail "a full disk: $(cat "$work/said")"
for ((i = 0; i < copies; i++)); do
    cmp "$mnt/source" "$mnt/copy$i" || fail "a full disk: copy $i differs"
done
rm "$mnt/copy$copies" "$mnt/source"
mount_down "$mnt"
fsck_clean "$base/store"
