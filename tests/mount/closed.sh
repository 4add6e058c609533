#!/usr/bin/env bash
# A store of root's is root's alone, and its mount is for everybody: what two ordinary users can do in both.
# usage: closed.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin closed
store=$work/store mnt=$work/mnt old=$work/old
mkdir "$mnt"
chmod 755 "$work"
cp "$BALEFS" "$work/balefs" # the build directory may be closed to users
BALEFS=$work/balefs
alice=54321 bob=54322 team=54400

as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --groups "$team" "$@"
}

refused() { ! "$@" 2>>"$work/err" || fail "not refused: $*"; }

is() { [ "$1" = "$2" ] || fail "$3: '$2', not '$1'"; }

# shows WHAT DIRECTORY: owner and mode, with its ACLs
shows() { stat -c '%u:%g %a' "$1" && getfacl -cp "$1" 2>/dev/null; }

"$BALEFS" init "$store"
is "0:0 700" "$(stat -c '%u:%g %a' "$store")" "the store's directory"
is 711 "$(stat -c %a "$store/.balefs")" ".balefs"
is 600 "$(stat -c %a "$store/.balefs/lock")" "the lock"
mount_up "$store" "$mnt"
is 600 "$(stat -c %a "$store/.balefs/reserve")" "the reserve"
is 755 "$(stat -c %a "$mnt")" "the mount's root"

# chmod 1777 opens the mount and not the store.
refused as "$alice" touch "$mnt/early"
chmod 1777 "$mnt"
is "1777 700" "$(stat -c %a "$mnt" "$store" | paste -sd' ')" "root of the mount, and of the store"
as "$alice" sh -c "echo mine >'$mnt/alice'; mkdir '$mnt/dir'; chmod 600 '$mnt/alice'"
as "$bob" sh -c "echo theirs >'$mnt/bob'"
is "$alice 600" "$(stat -c '%u %a' "$mnt/alice")" "a user's file"
refused as "$bob" rm -f "$mnt/alice"
refused as "$bob" cat "$mnt/alice"
is theirs "$(as "$alice" cat "$mnt/bob")" "another user's file"
sync -f "$mnt"
"$BALEFS" sync "$mnt"

# Nobody gets at the containers, the lock or the reserve beside the mount: not their owners either.
refused as "$alice" cat "$store/alice"
refused as "$alice" sh -c "echo over >'$store/alice'"
refused as "$bob" ls "$store"
refused as "$bob" ls "$store/.balefs"
refused as "$bob" flock -n "$store/.balefs/lock" true
refused as "$bob" "$BALEFS" export "$store" "$work/taken"
tail -n 1 "$work/err" | grep -q "$store: cannot be read: permission denied: let its owner or root do it" ||
    fail "export does not say who may: $(tail -n 1 "$work/err")"

# What new names inherit: group with set-group-ID, and the default ACL.
chgrp "$team" "$mnt"
chmod 2775 "$mnt"
is "0:$team 2700" "$(stat -c '%u:%g %a' "$store")" "the store's directory with set-group-ID"
as "$alice" sh -c "umask 077; echo x >'$mnt/grouped'; mkdir '$mnt/sub'"
is "$team" "$(stat -c %g "$mnt/grouped")" "the group of a new file"
is "$team 2700" "$(stat -c '%g %a' "$mnt/sub")" "a new directory"
if command -v setfacl >/dev/null && setfacl -m "u:$bob:rwx" "$mnt" 2>>"$work/err"; then
    as "$bob" touch "$mnt/by_acl"
    setfacl -d -m "u:$bob:rw" "$mnt"
    as "$alice" sh -c "umask 077; echo x >'$mnt/inherits'"
    is x "$(as "$bob" cat "$mnt/inherits")" "a file with an inherited ACL"
    getfattr -m - "$mnt" 2>/dev/null | grep -c posix_acl >"$work/acls"
    is 2 "$(cat "$work/acls")" "names of ACLs in the list of the root's attributes"
    setfacl -k "$mnt"
    as "$alice" sh -c "umask 077; echo x >'$mnt/later'"
    refused as "$bob" cat "$mnt/later"
else
    say "no ACLs here"
fi
chmod g-s "$mnt"
is 700 "$(stat -c %a "$store")" "the store's directory without set-group-ID"
chown "$alice" "$mnt"
as "$alice" chmod 750 "$mnt"
shows "$mnt" >"$work/before"
refused as "$bob" chmod 777 "$mnt"

# It stays, on a network's way too: a copy by cp -a shows the same.
mount_down "$mnt"
is "0 700" "$(stat -c '%u %a' "$store")" "the store's directory after unmounting"
cp -a "$store" "$work/copy"
for top in "$store" "$work/copy"; do
    mount_up "$top" "$mnt"
    shows "$mnt" >"$work/after"
    cmp "$work/before" "$work/after" || fail "$top shows other permissions: $(cat "$work/after")"
    mount_down "$mnt"
done
fsck_clean "$store"

# Without a mount: export gives the root's permissions, import keeps the store closed.
mkdir "$work/out" "$work/tar"
"$BALEFS" export "$store" "$work/out" >/dev/null
shows "$work/out" >"$work/after"
cmp "$work/before" "$work/after" || fail "export makes other permissions: $(cat "$work/after")"
"$BALEFS" export --tar -o "$work/archive" "$store"
tar -xpf "$work/archive" --acls -C "$work/tar"
shows "$work/tar" >"$work/after"
cmp "$work/before" "$work/after" || fail "a tar archive has other permissions: $(cat "$work/after")"
chmod 2771 "$work/out"
"$BALEFS" import "$work/out" "$store" >/dev/null
is 2700 "$(stat -c %a "$store")" "the store's directory after an import"
mount_up "$store" "$mnt"
is 2771 "$(stat -c %a "$mnt")" "the mount's root after an import"
mount_down "$mnt"

# A store as older versions made it is open. It can be mounted, says so, and can be closed.
"$BALEFS" init "$old"
rmdir "$old/.balefs/top"
chmod 1777 "$old"
chmod 755 "$old/.balefs"
chmod 644 "$old/.balefs/lock"
"$BALEFS" doctor "$old" >"$work/doctor" || true
grep -q "reach .*is open: .*balefs set --closed STORE" "$work/doctor" || fail "doctor says nothing: $(cat "$work/doctor")"
"$BALEFS" mount --log "$work/log" "$old" "$mnt" 2>"$work/said" || fail "cannot mount an open store"
grep -qF "balefs: $old: is open: others reach its containers beside the mount: unmounted, balefs set --closed $old closes it" "$work/said" ||
    fail "mount says nothing of an open store: $(cat "$work/said")"
mount_down "$mnt"
chmod 644 "$old/.balefs/lock"
mount_up "$old" "$mnt"
grep -qF "$old: is open: others reach its containers" "$work/log" || fail "the log says nothing of an open store"
is "1777 1777" "$(stat -c %a "$mnt" "$old" | paste -sd' ')" "an open store"
is 600 "$(stat -c %a "$old/.balefs/lock")" "an older lock"
as "$alice" sh -c "echo plain >'$mnt/file'"
chmod 1770 "$mnt"
is 1770 "$(stat -c %a "$old")" "the directory of an open store"
chmod 1777 "$mnt"
if "$BALEFS" set --closed "$old" 2>>"$work/err"; then
    fail "closed while it is mounted"
fi
mount_down "$mnt"
# In an open store users read what they may read, without a mount.
is plain "$(as "$bob" "$BALEFS" cat "$old/file")" "cat by another user"
as "$bob" "$BALEFS" export --tar "$old" 2>>"$work/err" | tar -xO file >"$work/file"
is plain "$(cat "$work/file")" "export by another user"
refused as "$alice" "$BALEFS" set --closed "$old"
"$BALEFS" set --closed "$old"
is "700 1777 711" "$(stat -c %a "$old" "$old/.balefs/top" "$old/.balefs" | paste -sd' ')" "a store that was closed"
"$BALEFS" set --closed "$old"
refused as "$bob" "$BALEFS" cat "$old/file"
mount_up "$old" "$mnt"
is "1777 plain" "$(stat -c %a "$mnt") $(as "$bob" cat "$mnt/file")" "the mount of a store that was closed"
mount_down "$mnt"

# Opened on purpose, with .balefs as init makes it.
chmod 711 "$old"
is plain "$(as "$bob" "$BALEFS" cat "$old/file")" "cat by another user in a store that was opened"

# A user's store can be closed as well. A directory of root's that the user puts in place of .balefs/top gives new files
# no group.
mkdir "$work/home"
chown "$alice" "$work/home"
as "$alice" "$BALEFS" init "$work/home/own"
as "$alice" "$BALEFS" set --closed "$work/home/own"
is "700 755" "$(stat -c %a "$work/home/own" "$work/home/own/.balefs/top" | paste -sd' ')" "a user's store that was closed"
mkdir -m 2775 "$work/home/own/roots"
chgrp "$team" "$work/home/own/roots"
chmod 2775 "$work/home/own/roots"
as "$alice" sh -c "rmdir '$work/home/own/.balefs/top' && mv '$work/home/own/roots' '$work/home/own/.balefs/top'" 2>>"$work/err" || true
if [ "$(stat -c %g "$work/home/own/.balefs/top")" = "$team" ]; then
    mount_up "$work/home/own" "$mnt"
    is "$alice 700" "$(stat -c '%g %a' "$work/home/own")" "group and mode of a user's directory after root's mount"
    mount_down "$mnt"
fi

# .balefs/top was lost: the store stays closed, and is named.
rmdir "$old/.balefs/top"
chmod 700 "$old"
mount_up "$old" "$mnt"
is 700 "$(stat -c %a "$mnt")" "the mount's root without .balefs/top"
grep -qF "$old: has no .balefs/top: " "$work/log" || fail "the log says nothing of a lost .balefs/top"
mount_down "$mnt"
"$BALEFS" fsck "$old" >"$work/fsck" || fail "fsck: a lost .balefs/top is no damage"
grep -q "has no .balefs/top: " "$work/fsck" || fail "fsck says nothing of a lost .balefs/top: $(cat "$work/fsck")"
"$BALEFS" set --closed "$old"

# .balefs/top is a directory, or the store is refused.
rmdir "$old/.balefs/top"
ln -s / "$old/.balefs/top"
refused "$BALEFS" mount "$old" "$mnt"
tail -n 1 "$work/err" | grep -q "top: is a symbolic link" || fail "a link is not named: $(tail -n 1 "$work/err")"
say "passed"
