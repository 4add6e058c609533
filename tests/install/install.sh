#!/usr/bin/env bash
# cmake --install: to a prefix that is then moved, and below DESTDIR; mount(8) and umount(8) with what is installed.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

"$cmake" --install "$build" --prefix "$work/first" >"$work/log" || fail "cmake --install: $(cat "$work/log")"
mv "$work/first" "$work/moved"
has_all "$work/moved"
"${BALE_SOURCE:?}/tests/layout/links.sh" --links "$work/moved/share/doc/balefs" >"$work/log" || fail "$(cat "$work/log")"
knows_no_place "$work/moved/bin/balefs"
has_zstd "$work/moved/bin/balefs"
is "balefs" "$("$work/moved/bin/balefs" --version | cut -d ' ' -f 1)" "--version of what was moved"
is "usage: mount.balefs STORE MNT [-sfnv] [-o OPTIONS]" "$("$work/moved/sbin/mount.balefs" --help | head -n 1)" \
    "mount.balefs --help"
is "usage: umount.fuse.balefs MNT [-flnrv]" "$("$work/moved/sbin/umount.fuse.balefs" --help | head -n 1)" \
    "umount.fuse.balefs --help"

DESTDIR=$work/root "$cmake" --install "$build" --prefix /usr >"$work/log" || fail "with DESTDIR: $(cat "$work/log")"
has_all "$work/root/usr"
is usr "$(ls -A "$work/root")" "what is below DESTDIR"
is "/usr/bin/balefs" "$(realpath -m "/usr/sbin/$(readlink "$work/root/usr/sbin/mount.balefs")")" "where mount.balefs leads"
! find "$work/moved" "$work/root" ! -type l -perm /022 | grep . || fail "writable for others"

# --- the two components: together everything, and nothing twice
for component in program library; do
    "$cmake" --install "$build" --prefix "$work/$component" --component "$component" >"$work/log" ||
        fail "--component $component: $(cat "$work/log")"
done
content() { find "$@" ! -type d -printf '%P\n' | sort; }
is "$(content "$work/moved")" "$(content "$work/program" "$work/library")" "what the components have together"
has_library "$work/library"
is "" "$(find "$work/program" -name '*lib*.so*' ! -path '*/lib/balefs/libbalefs_cuda.so' -o -name '*.a' -o -name '*.h' -o -name '*.pc')" "parts of the library in the program"

# --- usage of the helper, without a mount
balefs=$work/moved/sbin/mount.balefs
run 1 "$work/store"
is "balefs: STORE and MNT are needed: see balefs mount --help" "$err" "one word"
run 1 "$work/store" "$work/mnt" -o nofail,frob
is "balefs: -o frob: unknown option: see balefs mount --help" "$err" "an unknown option"
run 0 "$work/store" "$work/mnt" -sf -o nofail,frob,memory=64M
is "" "$out$err" "an unknown option with -s"
run 1 "$work/store" "$work/mnt" -f -o memory=1M
run 0 "$work/store" "$work/mnt" -f -o ro,rw # as for mount(8)
mkdir "$work/mnt"
run 32 "$work/store" "$work/mnt" -o _netdev
says "^balefs: $work/store: "

# --- the real thing
needs_root
needs_fuse
fuse_for_all
# shellcheck disable=SC2016 # for the inner shell
over_usr "$work/root" '
    store=$1/store mnt=$1/mnt
    balefs init "$store"
    mount -t balefs -o noatime,memory=64M,_netdev,nofail,x-systemd.automount,comment=mine,user "$store" "$mnt"
    grep -q " $mnt fuse.balefs .*nosuid,nodev,noexec,noatime" /proc/self/mounts
    echo kept >"$mnt/kept"
    pid=$(balefs stat --json "$mnt" | sed -nE "s/.*\"pid\": ([0-9]+).*/\1/p")
    [ -d "/proc/$pid" ]
    umount "$mnt"
    flock -n "$store/.balefs/lock" true # umount(8) waits for the daemon
    ! grep -q "^State:.[^ZX]" "/proc/$pid/status" 2>/dev/null

    echo "$store $mnt balefs ro 0 0" >"$1/fstab"
    mount --fstab "$1/fstab" "$mnt"
    [ "$(cat "$mnt/kept")" = kept ]
    ! echo x 2>/dev/null >"$mnt/new"
    mount -t balefs "$store" "$mnt" 2>"$1/err" && exit 1 # there is one
    grep -q "is mounted here: balefs umount" "$1/err"
    umount "$mnt"
    mount --fstab "$1/fstab" "$mnt"
    mount --fstab "$1/fstab" --all # it is there already
    umount "$mnt"
    mount -t fuse.balefs -o x-mine "$store" "$mnt"
    umount "$mnt"
    mount -t balefs -s -o frob "$store" "$mnt"
    umount -l "$mnt"
    ! mount -t balefs -o frob "$store" "$mnt" 2>"$1/err"
    grep -q "^balefs: -o frob: unknown option" "$1/err"
' bash "$work" || { [ $? != 77 ] || skip "there is no overlay file system"; fail "mount -t balefs: $(cat "$work/err" 2>/dev/null)"; }

# --- a line with "user": the daemon is that user's, with what fusermount3 allows, and no option gives more
# shellcheck disable=SC2016 # for the inner shell
over_usr "$work/root" '
    as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    theirs=$1/theirs
    mkdir "$theirs" "$1/closed_mnt"
    chown 65534:65534 "$theirs"
    as_user balefs init "$theirs/store"
    as_user mkdir "$theirs/mnt" "$theirs/other"
    balefs init "$1/closed"
    as_user ln -s "$1/closed" "$theirs/link"
    printf "%s balefs noauto,user 0 0\n" "$theirs/store $theirs/mnt" "$1/closed $1/closed_mnt" "$theirs/link $theirs/other" >"$1/fstab"
    mount --bind "$1/fstab" /etc/fstab
    as_user mount "$theirs/mnt"
    grep -q "$theirs/mnt fuse.balefs rw,nosuid,nodev,noexec,.*user_id=65534" /proc/self/mounts
    as_user sh -c "echo mine >$theirs/mnt/file"
    [ "$(stat -c %u "/proc/$(as_user balefs stat --json "$theirs/mnt" | sed -nE "s/.*\"pid\": ([0-9]+).*/\1/p")")" = 65534 ]
    ! setpriv --reuid=65533 --regid=65533 --clear-groups umount "$theirs/mnt" 2>"$1/err"
    as_user umount "$theirs/mnt"
    for options in suid dev allow_other; do
        ! as_user mount -o "$options" "$theirs/mnt" 2>"$1/err" || as_user umount "$theirs/mnt"
        ! grep "$theirs" /proc/self/mounts
    done
    for mnt in "$1/closed_mnt" "$theirs/other"; do # root keeps its store
        ! as_user mount "$mnt" 2>"$1/err"
        grep -q "closed: is closed to user 65534" "$1/err"
    done
' bash "$work" || { [ $? != 77 ] || skip "there is no overlay file system"; fail "a line with user: $(cat "$work/err" 2>/dev/null)"; }
