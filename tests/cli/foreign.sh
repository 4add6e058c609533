#!/usr/bin/env bash
# A user mounts the store of somebody else read-only, beside its writer: the lock is its owner's, and no reader needs it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root
fuse_for_all
needs_fuse
command -v fusermount3 >/dev/null || skip "there is no fusermount3"
[ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not for ordinary users"

root_balefs=$balefs
be_user "$PATH"
user_balefs=$balefs
theirs=$work/theirs
above=$work/above
log=$work/home/log
mkdir "$above"

# Who runs balefs from here on.
root() { balefs=$root_balefs; }
user() { balefs=$user_balefs; }

root
run 0 init "$theirs"
chmod 755 "$theirs" "$work"
run 0 mount "$theirs" "$above"
chmod 755 "$above"
seq 100000 >"$above/file"
mkdir "$above/dir"
echo closed >"$above/closed"
chmod 600 "$above/closed"

pid=$(process "$above")
user
run 0 mount --log "$log" -o ro "$theirs" "$mnt"
run 1 stat "$mnt" # one file is closed to the user
prints "^writer   process $pid on this host: its commits show here$"
root
run 0 umount "$above"
user
seq 100000 >"$work/expected"
as_user cmp "$work/expected" "$mnt/file" || fail "the file is not whole"
! as_user cat "$mnt/closed" 2>/dev/null || fail "a closed file is shown"
! as_user touch "$mnt/new" 2>/dev/null || fail "written to"
as_user test ! -e "$mnt/later" || fail "what is not there is shown"

# It keeps nobody out, and shows what is written afterwards.
root
run 0 mount "$theirs" "$above"
seq 200000 >"$above/file"
echo later >"$above/later"
rmdir "$above/dir"
run 0 sync "$above"
seq 200000 >"$work/expected"
shows() { as_user cmp -s "$work/expected" "$mnt/file" && as_user test -e "$mnt/later" && as_user test ! -e "$mnt/dir"; }
soon shows || fail "it does not show what was written"
run 0 umount "$above"
user
run 0 umount "$mnt"
run 1 mount --log "$log" "$theirs" "$mnt"
says "^balefs: $theirs/.balefs/lock: cannot be opened: Permission denied for user 65534$"
