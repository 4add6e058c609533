#!/usr/bin/env bash
# A store on an overlayfs, whose files get another time of birth, and another place, when they are first written: what is
# open stays one file, what was closed is synced, and a sync reaches the disk below.
# usage: overlay.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin overlay
disk=$work/disk over=$work/over store=$work/over/store mnt=$work/mnt source=$work/source
mkdir "$over" "$mnt" "$source"
loop_fs ext4 200 "$disk"
device=${loops[0]}
# The journal is written only when a sync asks for it.
mount -o remount,commit=300 "$disk"
mkdir "$disk/lower" "$disk/upper" "$disk/work"
files=800 # more than descriptors, below
for ((i = 0; i < files; i++)); do
    echo "old $i" >"$source/f$i"
done
mkdir "$source/dir"
seq 50000 >"$source/dir/large"
echo one >"$source/dir/linked"
ln "$source/dir/linked" "$source/dir/other"
"$BALEFS" import --create "$source" "$disk/lower/store" >/dev/null || fail "import"
sync -f "$disk"

overlay_up() {
    mount -t overlay overlay -o "lowerdir=$disk/lower,upperdir=$disk/upper,workdir=$disk/work" "$over" ||
        skip "no overlay file system here"
}

overlay_up
# The daemon may have few descriptors, so that it closes those of files that are not in use.
ulimit -Sn 400
ulimit -Hn 400
mount_up "$store" "$mnt"

# One file, although its name leads to another time of birth now, and to another number if it has two names: overlayfs
# copies one of them.
for name in linked large; do
    for top in "$source" "$mnt"; do
        exec 7<>"$top/dir/$name"
        echo first >&7
        ls -l "$top/dir" >/dev/null
        echo last >>"$top/dir/$name"
        echo second >&7
        ls -l "$top/dir" >/dev/null
        exec 7<&-
    done
    cmp "$source/dir/$name" "$mnt/dir/$name" || fail "$name was open while it was copied up"
done
say "open while it is copied up"

# Closed, and their descriptors closed as well.
for top in "$source" "$mnt"; do
    for ((i = 0; i < files; i += 2)); do
        echo "new $i" >>"$top/f$i"
    done
    cat "$top"/f* >/dev/null
    mv "$top/f1" "$top/dir/f1"
    rm "$top/f3"
    chmod 600 "$top/f5"
    mkdir "$top/made"
    echo made >"$top/made/f"
done
"$BALEFS" sync "$mnt" || fail "sync"

# What the journal of the disk has not written is gone
/usr/bin/python3 -c 'import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack("I", 2))' "$disk" || skip "the disk cannot be shut down"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
daemon=
umount "$mnt"
umount "$over"
umount "$disk"
mount -o commit=300 "$device" "$disk" || fail "the journal was not replayed"
overlay_up
fsck_clean "$store"
mount_up "$store" "$mnt"
rm "$source/dir/other" "$mnt/dir/other"
diff -r "$source" "$mnt" >"$work/diff" || fail "after the loss: $(head -n 5 "$work/diff")"
[ "$(stat -c %a "$mnt/f5")" = 600 ] || fail "the mode of f5 was lost"
mount_down "$mnt"
say "synced, and the power lost"
