#!/usr/bin/env bash
# A store on a file system without a free block and a free inode can be read, and mounted to delete files.
# usage: full.sh [TYPE...], with BALEFS in the environment; TYPE: ext4, btrfs, tmpfs, xfs
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

types=("$@")
[ $# -gt 0 ] || types=(ext4 btrfs tmpfs xfs)
mount_begin full
mnt=$work/mnt
user=54321
mkdir "$mnt" "$work/tree"
chmod 755 "$work"

# fill_up DIR: first its inodes, then its blocks, in pieces as small as one byte
fill_up() {
    /usr/bin/python3 - "$1" <<'PROGRAM'
import errno, os, sys

top = os.path.join(sys.argv[1], "ballast")
os.mkdir(top)

def until_full(step):
    done = 0
    try:
        while True:
            step(done)
            done += 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    return done

def more(size):
    with open(os.path.join(top, "0"), "ab", buffering=0) as file:
        piece = os.urandom(size)
        until_full(lambda n: file.write(piece) == size or os.fsync(file.fileno()))
        try:
            os.fsync(file.fileno())
        except OSError:
            pass

def empty(n):
    if n == 30000: # there is no limit
        raise OSError(errno.ENOSPC, "enough")
    open(os.path.join(top, str(n)), "x").close()

until_full(empty)
for size in 1 << 20, 1 << 12, 1, 1 << 12, 1:
    more(size)
PROGRAM
}

readable() { cmp "$work/data" "$mnt/two" || fail "$1: not what was written"; }

one_type() {
    local type=$1 base=$work/$1 size=96
    case $type in btrfs) size=256 ;; xfs) size=320 ;; esac
    loop_fs "$type" "$size" "$base"
    "$BALEFS" init "$base/store" || fail "$type: init"
    head -c 8000000 /dev/urandom >"$work/data"
    mount_up "$base/store" "$mnt"
    cp "$work/data" "$mnt/one"
    cp "$work/data" "$mnt/two"
    mount_down "$mnt"
    mkdir "$base/theirs"
    chown "$user:$user" "$base/theirs"
    as_user "$BALEFS" init "$base/theirs/store"
    as_user "$BALEFS" import "$work/tree" "$base/theirs/store" || fail "$type: import by a user"

    fill_up "$base"
    ! (echo x >"$base/probe") 2>/dev/null || fail "$type: it is not full"
    mount_up "$base/store" "$mnt" -o ro
    readable "$type, read-only"
    mount_down "$mnt"
    for _ in 1 2 3; do
        mount_up "$base/store" "$mnt"
        readable "$type"
        mount_down "$mnt"
    done
    as_user "$BALEFS" import "$work/tree" "$base/theirs/store" || fail "$type: import by a user, full"
    mount_up "$base/store" "$mnt"
    rm "$mnt/one" || fail "$type: nothing can be deleted"
    "$BALEFS" sync "$mnt" || fail "$type: sync after deleting"
    # What root of the file system keeps for itself (ext4: 5 %) is not for the mount, so this takes a large file.
    until head -c 100000 /dev/urandom 2>/dev/null >"$mnt/three"; do
        kill -0 "$daemon" || fail "$type: the daemon has ended"
        sleep 0.2
    done
    mount_down "$mnt"
    fsck_clean "$base/store"
    say "$type: good"
    umount "$base"
}

# as_user COMMAND...
as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }

for type in "${types[@]}"; do
    one_type "$type"
done
