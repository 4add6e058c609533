#!/usr/bin/env bash
# What a mount tells ordinary users of root's affairs: names of trusted attributes, and numbers of the daemon's.
# usage: privacy.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin privacy
store=$work/store mnt=$work/mnt
mkdir "$mnt"
chmod 755 "$work"
alice=54321

as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

"$BALEFS" init "$store"
mount_up "$store" "$mnt"
chmod 1777 "$mnt"
as "$alice" mkdir "$mnt/dir"
as "$alice" sh -c "echo mine >'$mnt/dir/file'"

# Names of trusted attributes are root's alone, of files, directories and the mount's root.
for path in "$mnt" "$mnt/dir" "$mnt/dir/file"; do
    setfattr -n user.known -v 1 "$path"
    if ! setfattr -n trusted.secret -v 1 "$path" 2>>"$work/err"; then
        say "no trusted attributes here"
        continue
    fi
    getfattr -m - "$path" 2>/dev/null | grep -q '^trusted.secret$' || fail "$path: root does not see a trusted attribute"
    as "$alice" getfattr -m - "$path" >"$work/names" 2>/dev/null
    grep -q '^user.known$' "$work/names" || fail "$path: a user does not see a user attribute"
    ! grep -q trusted "$work/names" || fail "$path: a user sees the name of a trusted attribute"
done

# The number of a node, which name_to_handle_at shows, is no address of the daemon's.
as "$alice" /usr/bin/python3 - "$mnt/dir/file" "$mnt/dir" >"$work/numbers" <<'PYTHON'
import ctypes, os, sys

class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_uint32 * 32)]

libc = ctypes.CDLL(None, use_errno=True)
for path in sys.argv[1:]:
    handle, mount = Handle(bytes=128), ctypes.c_int()
    if libc.name_to_handle_at(-100, path.encode(), ctypes.byref(handle), ctypes.byref(mount), 0) != 0:
        sys.exit(f"{path}: {os.strerror(ctypes.get_errno())}")
    print((handle.data[0] << 32) | handle.data[1])
PYTHON
[ "$(wc -l <"$work/numbers")" = 2 ] || fail "no handles"
/usr/bin/python3 - "/proc/$daemon/maps" "$work/numbers" <<'PYTHON' || fail "the daemon gives its addresses away"
import sys
maps = [[int(n, 16) for n in line.split()[0].split("-")] for line in open(sys.argv[1])]
numbers = [int(line) for line in open(sys.argv[2])]
sys.exit(any(first <= number < end for number in numbers for first, end in maps))
PYTHON
mount_down "$mnt"
say "passed"
