#!/usr/bin/env bash
# What a sync promises, one operation at a time: on a file system that loses each name, attribute and byte that was not
# synced, and where syncfs(2) does nothing. Each operation has a directory of its own, so that none makes another durable.
# usage: promises.sh LOSSY, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lossy=${1:?usage: promises.sh LOSSY}
mount_begin promises
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$mnt" "$backing" "$work/disk"
lossy_up "$lossy" "$work/disk" "$backing"
"$BALEFS" init "$store"

# lose: both processes die, and what was not synced is gone; then the store is mounted again
lose() {
    mount_kill "$mnt"
    lossy_down "$backing"
    lossy_up "$lossy" "$work/disk" "$backing"
    fsck_clean "$store"
    mount_up "$store" "$mnt"
}

# has TEST...: as test(1) says
has() { test "$@" || fail "after a loss: not $*"; }

is() { [ "$1" = "$2" ] || fail "after a loss: $3: '$2', not '$1'"; }

# fsynced COMMAND...: Python with os, and fsync(path)
fsynced() {
    /usr/bin/python3 - "$mnt" "$1" <<'PYTHON' || fail "$1"
import os, sys

def fsync(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)

def write(path, text):
    with open(path, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())

os.chdir(sys.argv[1])
exec(sys.argv[2])
PYTHON
}

mount_up "$store" "$mnt"
is 0 "$(stat -c %b "$store/.balefs/reserve")" "blocks of the reserve where none can be allocated"
cd "$mnt"
mkdir create mkdir node symlink link unlink rmdir from to over mode owner xattr unxattr times bits \
    f-create f-nest f-rename f-link f-dir f-above
mkdir rmdir/d bits/d
for file in link/f unlink/f from/f over/f over/g mode/f owner/f xattr/f unxattr/f times/f f-rename/f f-link/f; do
    echo "$file" >"$file"
done
setfattr -n user.old -v 1 unxattr/f
"$BALEFS" sync "$mnt"

# --- balefs sync
echo new >create/f
mkdir mkdir/d
mkfifo node/f
ln -s target symlink/f
ln link/f link/g
rm unlink/f
rmdir rmdir/d
mv over/f over/g
chmod 612 mode/f
chmod 701 bits/d
chown 123:456 owner/f
setfattr -n user.new -v 1 xattr/f
setfattr -x user.old unxattr/f
touch -d @1000000 times/f
"$BALEFS" sync "$mnt"
cd /
lose
cd "$mnt"
is new "$(cat create/f)" "a new file"
has -d mkdir/d
has -p node/f
is target "$(readlink symlink/f)" "a new symbolic link"
has link/f -ef link/g
has ! -e unlink/f
has ! -e rmdir/d
is over/f "$(cat over/g)" "a file renamed over another"
is "612 701" "$(stat -c %a mode/f bits/d | paste -sd' ')" "modes"
is 123:456 "$(stat -c %u:%g owner/f)" "an owner"
is 1 "$(getfattr -n user.new --only-values xattr/f)" "an attribute"
has -z "$(getfattr -m user.old unxattr/f)"
is 1000000 "$(stat -c %Y times/f)" "a time"

# A file system may make a rename from one directory to another durable together with all names that were changed before.
mv from/f to/g
"$BALEFS" sync "$mnt"
cd /
lose
cd "$mnt"
has ! -e from/f
is from/f "$(cat to/g)" "a renamed file"

# --- fsync: the file is durable under its name, and so are new directories above it
fsynced 'write("f-create/f", "new")'
fsynced 'os.makedirs("f-nest/a/b"); write("f-nest/a/b/f", "new")'
fsynced 'os.rename("f-rename/f", "f-rename/g"); fsync("f-rename/g")'
fsynced 'os.link("f-link/f", "f-link/g"); fsync("f-link/g")'
fsynced 'os.mkdir("f-dir/d"); fsync("f-dir")'
mkdir -p f-above/a/b
echo old >f-above/a/b/f
cd /
# The same if the mount that made them was killed, and what it made is not durable yet.
mount_kill "$mnt"
mount_up "$store" "$mnt"
fsynced 'write("f-above/a/b/f", "new")'
lose
cd "$mnt"
is new "$(cat f-create/f)" "a new file"
is new "$(cat f-nest/a/b/f)" "a file in new directories"
is f-rename/f "$(cat f-rename/g)" "a renamed file"
has ! -e f-rename/f
has f-link/f -ef f-link/g
has -d f-dir/d
is new "$(cat f-above/a/b/f)" "a file in directories of a mount that was killed"
cd /

# --- import without a mount: files and directories
mount_down "$mnt"
mkdir -p "$work/tree/d"
echo imported >"$work/tree/d/f"
"$BALEFS" import "$work/tree" "$store" >/dev/null
mount_up "$store" "$mnt"
lose
is imported "$(cat "$mnt/d/f")" "an imported file"
mount_down "$mnt"
fsck_clean "$store"
lossy_down "$backing"
say "passed"
