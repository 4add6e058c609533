#!/usr/bin/env bash
# Paths that are missing, of the wrong kind, forbidden, relative or oddly named.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

store=$work/store
run 0 init "$store"
mkdir "$work/plain"

for command in get stat inspect sync freeze thaw; do
    fails 1 "$work/none: no such file or directory: check the path" "$command" "$work/none"
    fails 1 "$work/plain: neither in a balefs mount nor in a store: name a path in one" "$command" "$work/plain"
done
fails 1 "$work/none: no such file or directory: check the path" set "$work/none" lz4
fails 1 "$work/plain: neither in a balefs mount nor in a store: name a path in one" set "$work/plain" lz4
for command in sync freeze thaw; do
    fails 1 "$store: lies in a store, not in a mount: name the mount point" "$command" "$store"
done
fails 1 "$work/none: No such file or directory: check the path" umount "$work/none"
fails 32 "$work/plain: is not mounted: name a mount point" umount "$work/plain"
run 1 umount /proc
says '^balefs: /proc: is a mount of type proc: use umount\(8\)$'
run 8 fsck "$work/none"
says "^balefs: $work/none: "
run 8 fsck "$work/plain"
says "^balefs: $work/plain: is not a store"
run 1 init "$store"
says "^balefs: $store: is a store already"
run 1 init "$work"
says "^balefs: $work: "
run 32 mount "$work/plain" "$work/plain"
says "$work/plain"

for command in get stat inspect cat; do
    fails 1 "'': no such file or directory: check the path" "$command" ""
done

# A failure for one path does not keep the others from being listed.
run 1 stat --json "$work/none" "$store"
is 1 "$(json 'len(d)')" "stat of two paths, one missing"

# Relative ones, links to them, and names of all kinds.
cd "$store"
run 0 stat --json
is "." "$(json 'd["path"]')" "path without an argument"
run 0 get --json .
cd "$work"
ln -s store link
run 0 stat --json link
is link "$(json 'd["path"]')" "path of a link"
odd=$'a b\n\x1b[1m\xff'
mkdir "store/$odd"
run 0 get "store/$odd"
! grep -q $'\x1b' <<<"$out" || fail "a control character is printed"
prints 'a b\\x0a\\x1b'
run 0 get --json "store/$odd"
is "store/a b\n\x1b[1m�" "$(json 'repr(d["path"])[1:-1].replace("\\ufffd", "�")')" "path in JSON"
is "$(printf 'store/%s' "$odd" | od -An -tx1 -v | tr -d ' \n')" "$(json 'd["path_hex"]')" "path_hex"
run 1 get "store/none"$'\x1b'"x"
says 'none\\x1bx: no such file'

# Those who may not.
needs_root
chmod 700 "$store"
copy_for_users
balefs_root=$balefs
balefs=$work/as_user
cat >"$balefs" <<END
#!/bin/sh
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$work/balefs" "\$@"
END
chmod 755 "$balefs"
run 1 stat "$store"
says "^balefs: "
fails 1 "$store: cannot be read: permission denied: let its owner or root do it, or name it below a mount" get "$store"
run 8 fsck "$store"
says "^balefs: $store"
run 1 init "$work/mine"
says "^balefs: $work/mine"
chmod 755 "$store"
fails 1 "$store: may not be changed: be its owner or root" set "$store" lz4
run 0 stat "$store"
run 2 init --modes inode "$work/mine"
says 'only for stores made by root'
mkdir -m 777 "$work/theirs"
run 0 init "$work/theirs/store"
balefs=$balefs_root
is container "$(/usr/bin/python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["modes"])' "$work/theirs/store/.balefs/volume.json")" \
    "modes of an ordinary user's store"
is inode "$(/usr/bin/python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["modes"])' "$store/.balefs/volume.json")" \
    "modes of root's store"
