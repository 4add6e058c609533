#!/usr/bin/env bash
# A file is synced through a descriptor that was opened by another name than the file has now, or by none. The new name is in
# a new directory; both survive the loss of power. btrfs alone would lose them. Each file is alone on a new disk: what else is
# synced could make it durable.
# usage: other_name.sh LOSSY, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lossy=${1:?usage: other_name.sh LOSSY}
mount_begin other_name
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$mnt" "$backing"

# survives CHANGE: Python with os, a descriptor `made` of a new file a/old, and `nameless` of one without a name. It makes
# a/new/f and syncs it; the power is lost at once.
survives() {
    lossy_disk_up "$lossy" btrfs "$backing"
    "$BALEFS" init "$store" || fail "init"
    mount_up "$store" "$mnt"
    mkdir "$mnt/a"
    "$BALEFS" sync "$mnt" || fail "sync"
    /usr/bin/python3 - "$mnt/a" "$lossy_pid" "$1" <<'PYTHON' || fail "$1"
import os, signal, sys

def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)

def give_name(fd, name):
    os.link(f"/proc/self/fd/{fd}", name, src_dir_fd=os.open("/", os.O_RDONLY), follow_symlinks=True)

os.chdir(sys.argv[1])
nameless = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
made = os.open("old", os.O_CREAT | os.O_RDWR, 0o600)
for fd in nameless, made:
    os.write(fd, b"content")
os.mkdir("new")
exec(sys.argv[3])
os.kill(int(sys.argv[2]), signal.SIGKILL)
PYTHON
    mount_kill "$mnt"
    lossy_disk_down "$backing"
    lossy_disk_up "$lossy" btrfs "$backing"
    mount_up "$store" "$mnt"
    [ "$(cat "$mnt/a/new/f")" = content ] || fail "lost after: $1"
    mount_down "$mnt"
    fsck_clean "$store"
    lossy_disk_down "$backing"
    rm -rf "$work/disk"
}

survives 'give_name(nameless, "new/f"); os.fsync(nameless)'
survives 'give_name(nameless, "f"); os.rename("f", "new/f"); fsync("new/f")'
survives 'os.link("old", "new/f"); os.unlink("old"); fsync("new/f")'
say "passed"
