#!/usr/bin/env bash
# A backing store that becomes full: writers get errors, what was acknowledged stays, deleting makes room again.
# usage: enospc.sh FILL [TYPE...], with BALEFS and BALE_SOURCE in the environment; TYPE: ext4, btrfs, tmpfs
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

fill=${1:?usage: enospc.sh FILL [TYPE...]}
shift
types=("$@")
[ $# -gt 0 ] || types=(ext4 btrfs tmpfs)
mount_begin enospc
mnt=$work/mnt
mkdir "$mnt"

# count WHAT: a number from the line that fill printed
count() { sed -nE "s/.* $1 ([0-9]+).*/\1/p" "$work/fill" | head -n 1; }

# filled TYPE: the result of a fill that had to meet the end of the store
filled() {
    say "$1: $(tail -n 1 "$work/fill")"
    [ $(($(count open) + $(count write) + $(count fsync) + $(count close))) -gt 0 ] ||
        fail "$1: no error, and the store was to become full"
}

# checked TYPE WHEN
checked() {
    "$fill" check "$work/list" "$mnt" >"$work/checked" || fail "$1: lost $2: $(cat "$work/checked")"
}

remount() {
    mount_down "$mnt"
    mount_up "$1/store" "$mnt" -o memory=64M
}

# remount_reporting TYPE BASE: as remount; what a close could not store is reported again at the end
remount_reporting() {
    local reported
    reported=$(count close)
    "$BALEFS" umount "$mnt" 2>"$work/umount" ||
        { [ "$reported" -gt 0 ] && grep -q 'not everything could be stored' "$work/umount"; } ||
        fail "$1: $(cat "$work/umount"), with $reported errors of close"
    wait "$daemon" || true
    daemon=
    mount_up "$2/store" "$mnt" -o memory=64M
}

# drop_half: deletes every other file that was acknowledged
drop_half() {
    awk 'NR % 2 { print $1 }' "$work/list" | (cd "$mnt" && xargs rm --)
    awk 'NR % 2 == 0' "$work/list" >"$work/list.new"
    mv "$work/list.new" "$work/list"
}

# until_writable TYPE: the space comes back by itself
until_writable() {
    local i
    for ((i = 0; i < 1000; i++)); do
        if head -c 100000 /dev/urandom >"$mnt/probe" 2>/dev/null; then
            rm "$mnt/probe"
            return
        fi
        sleep 0.25
    done
    fail "$1: not writable again after deleting files"
}

# figures TYPE: what df shows fits, then nothing, and what a removed file gives back is there for the next write
figures() {
    local base=$work/$1.figures failures
    loop_fs "$1" 40 "$base"
    "$BALEFS" init "$base/store" || fail "$1: init"
    mount_up "$base/store" "$mnt"
    /usr/bin/python3 - "$mnt" "$base" <<'PROGRAM' || fail "$1: the figures of a full disk"
import errno, os, sys, threading, time

mnt, base = sys.argv[1:]
PIECE = 1 << 20

def room():
    st = os.statvfs(mnt)
    assert st.f_bavail <= st.f_bfree, "more for users than for all"
    return st.f_bavail * st.f_frsize

def write(name, length):
    """how much of it was taken, and is durable"""
    fd = os.open(mnt + "/" + name, os.O_WRONLY | os.O_CREAT)
    done = 0
    try:
        while done < length:
            done += os.write(fd, os.urandom(min(PIECE, length - done)))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    os.fsync(fd)
    os.close(fd)
    return done

promised = room()
if write("promised", promised) != promised:
    sys.exit("df promised %d bytes, and less was taken" % promised)
write("rest", promised) # to the last byte
large = "promised"
if room() != 0:
    sys.exit("df shows %d bytes, and none is taken" % room())
for i in range(3):
    if write("one", 1) != 0:
        sys.exit("a byte is taken where df shows none")
    os.unlink(mnt + "/one")
    before = os.statvfs(base).f_bavail
    os.unlink(mnt + "/" + large)
    while (os.statvfs(base).f_bavail - before) * os.statvfs(base).f_frsize < 10 * PIECE:
        time.sleep(0.001) # the daemon lets go of it when the kernel has forgotten it
    if write("again%d" % i, 3 * PIECE) != 3 * PIECE:
        sys.exit("the first write after a file was removed fails, time %d" % i)
    large = "large%d" % i
    write(large, promised)

# Somebody goes on removing files that give back nothing: a write fails all the same.
begun, end = threading.Event(), threading.Event()
def churn():
    while not end.wait(0.05):
        os.mknod(mnt + "/empty")
        os.unlink(mnt + "/empty")
        begun.set()
churning = threading.Thread(target=churn)
churning.start()
begun.wait()
try:
    taken = write("never", 1)
finally:
    end.set()
    churning.join()
if taken != 0:
    sys.exit("a byte is taken on a full disk while others remove files")
PROGRAM
    failures=$("$BALEFS" stat --json "$mnt" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["mount"]["errors"])')
    [ "$failures" -ge 5 ] || fail "$1: $failures failures counted"
    mount_down "$mnt"
    fsck_clean "$base/store"
    umount "$base"
}

# nearly_full TYPE: a mount that finds less space than its least reserve takes nothing that it could not store
nearly_full() {
    local base=$work/$1.nearly
    loop_fs "$1" 40 "$base"
    "$BALEFS" init --codec store "$base/store" || fail "$1: init"
    head -c $(($(stat -f -c '%a * %S' "$base") - 700000)) /dev/urandom >"$base/ballast"
    mount_up "$base/store" "$mnt"
    : >"$work/list"
    "$fill" write --writers 3 --size 400000 "$work/list" "$mnt" >"$work/fill" || fail "$1: $(cat "$work/fill")"
    say "$1, nearly full: $(cat "$work/fill")"
    [ $(($(count fsync) + $(count close))) = 0 ] || fail "$1, nearly full: an error came late"
    [ "$(count write)" -gt 0 ] || fail "$1, nearly full: no write was refused"
    rm "$base/ballast"
    until_writable "$1"
    mount_down "$mnt"
    umount "$base"
}

# pieces TYPE: blocks of many extents are written on a disk that is nearly full. There is space for them, and not for whole
# extents, which a flush in the background would rather store.
pieces() {
    local base=$work/$1.pieces i
    loop_fs "$1" 40 "$base"
    "$BALEFS" init --codec store "$base/store" || fail "$1: init"
    mount_up "$base/store" "$mnt"
    coproc PIECES { exec /usr/bin/python3 -c "$pieces" "$mnt" "$work/expected"; }
    read -r _ <&"${PIECES[0]}" || fail "$1, pieces: nothing was written"
    for ((i = 0; i < 1000; i++)); do
        if [ "$(dirty)" = 0 ] || grep -q 'writing its container failed' "$work/log"; then
            break
        fi
        sleep 0.05
    done
    echo close >&"${PIECES[1]}"
    wait "$PIECES_PID" || fail "$1, pieces: what was taken could not be stored"
    mount_kill "$mnt"
    mount_up "$base/store" "$mnt"
    cmp "$work/expected" "$mnt/file" || fail "$1, pieces: not what was written"
    mount_down "$mnt"
    fsck_clean "$base/store"
    umount "$base"
}

dirty() { "$BALEFS" stat --json "$mnt" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["mount"]["dirty"])'; }

pieces='
import os, sys

mnt, expected = sys.argv[1:]
st = os.statvfs(mnt)
content = bytearray(os.urandom(st.f_bavail * st.f_frsize - 300000))
fd = os.open(mnt + "/file", os.O_RDWR | os.O_CREAT)
for at in range(0, len(content), 1 << 17):
    os.write(fd, content[at:at + (1 << 17)])
os.fsync(fd)
for extent in range(25):
    for at in range(extent << 17, extent + 1 << 17, 1 << 14):
        content[at:at + 4096] = os.urandom(4096)
        os.pwrite(fd, content[at:at + 4096], at)
with open(expected, "wb") as file:
    file.write(content)
print("written", flush=True)
sys.stdin.readline()
os.close(fd)
'

one_type() {
    local type=$1 base=$work/$1 size=96
    [ "$type" != btrfs ] || size=256
    loop_fs "$type" "$size" "$base"
    "$BALEFS" init "$base/store" || fail "$type: init"
    mount_up "$base/store" "$mnt" -o memory=64M
    : >"$work/list"

    "$fill" write --writers 4 --sync "$work/list" "$mnt" >"$work/fill" || fail "$type: other errors: $(cat "$work/fill")"
    filled "$type"
    [ "$(count write)" -gt 0 ] || fail "$type: no write was refused"
    ls -l "$mnt" >/dev/null || fail "$type: the mount does not answer"
    checked "$type" "when it is full"
    remount "$base"
    checked "$type" "by a remount"

    drop_half
    until_writable "$type"
    "$fill" write --writers 2 --files 20 --size 100000 --first 1000000 "$work/list" "$mnt" >"$work/fill" ||
        fail "$type: $(cat "$work/fill")"
    say "$type: after deleting: $(cat "$work/fill")"
    [ $(($(count open) + $(count write) + $(count fsync) + $(count close))) = 0 ] ||
        fail "$type: errors although half was deleted"
    checked "$type" "after deleting"
    remount "$base"
    checked "$type" "by the second remount"

    # Somebody else fills it meanwhile: errors may come late, but they come.
    drop_half
    until_writable "$type"
    "$fill" write --writers 4 --sync --files 400 --size 60000 --first 2000000 "$work/list" "$mnt" >"$work/fill" &
    sleep 0.5
    dd if=/dev/zero of="$base/ballast" bs=1M status=none 2>/dev/null || true
    dd if=/dev/zero of="$base/ballast2" bs=4k status=none 2>/dev/null || true
    wait $! || fail "$type: other errors: $(cat "$work/fill")"
    filled "$type, filled by another"
    checked "$type" "when another had filled it"
    rm "$base/ballast" "$base/ballast2"
    drop_half
    until_writable "$type"
    remount_reporting "$type" "$base"
    checked "$type" "by the last remount"
    mount_down "$mnt"
    fsck_clean "$base/store"
    reader_clean "$base/store"
    umount "$base"
}

for type in "${types[@]}"; do
    [ "$type" = btrfs ] || figures "$type" # what btrfs says is free is a guess
    [ "$type" != ext4 ] || nearly_full "$type"
    [ "$type" != ext4 ] || pieces "$type"
    one_type "$type"
done
