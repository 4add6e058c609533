#!/usr/bin/env bash
# mounts.sh MODE DIRECTORY [--few]: runs the programs in DIRECTORY on a mount; with --few, a shorter stress.
#
# MODE: root, direct: by root, io=cached or direct. user, user_direct: by an ordinary user through fusermount3, who is
# known in this test's mount namespace only. root_held: a user's store, mounted by root.
# shellcheck source-path=SCRIPTDIR source=../support/namespace.sh
. "$(dirname "$0")/../support/namespace.sh"
set -euo pipefail
export LC_ALL=C

mode=$1
programs=$2
few=("${@:3}")
: "${BALEFS:?}"
user=54321

say() { printf 'fuse_%s: %s\n' "$mode" "$*"; }

fail() {
    say "FAILED: $*" >&2
    [ -s "$work/log" ] && tail -n 20 "$work/log" >&2
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

is_mounted() { awk -v at="$work/mnt" '$2 == at { found = 1 } END { exit !found }' /proc/self/mounts; }

clean_up() {
    local status=$?
    trap - EXIT
    set +e
    is_mounted && umount -l "$work/mnt"
    # The daemon writes into the store until it ends.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        rm -rf --one-file-system "$work" 2>/dev/null && break
        sleep 0.5
    done
    exit "$status"
}

[ "$(id -u)" = 0 ] || skip "this test mounts as root"
if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
    skip "no /dev/fuse that may be used"
fi
[ -x "$BALEFS" ] || skip "$BALEFS has not been built"

work=$(mktemp -d "${TMPDIR:-/var/tmp}/bale-fuse.XXXXXX")
trap clean_up EXIT
mkdir "$work/mnt" "$work/top"
chmod 755 "$work"

as_owner=()
case $mode in
user | user_direct | root_held)
    command -v fusermount3 >/dev/null || skip "no fusermount3"
    cp /etc/passwd "$work/passwd"
    echo "bale_test_user:x:$user:$user::/:/bin/sh" >>"$work/passwd"
    mount --bind "$work/passwd" /etc/passwd || skip "cannot bind a file"
    fuse_for_all
    chown "$user" "$work/mnt" "$work/top"
    as_owner=(setpriv --reuid "$user" --regid "$user" --clear-groups)
    # The user must be able to run the programs.
    mkdir "$work/bin"
    cp "$BALEFS" "$programs"/fuse_*_plain_test "$work/bin"
    BALEFS=$work/bin/balefs
    programs=$work/bin
    ;;
esac

# mount_up OWNER...: OWNER is the command that becomes the user who mounts
mount_up() {
    "$@" "$BALEFS" mount --log "$work/log" -o "log_level=info$options" "$work/top/store" "$work/mnt" ||
        fail "cannot mount"
    is_mounted || fail "it is not mounted"
    # The first call on it, by its owner. chmod(1) would call stat before.
    "${runner[@]}" /usr/bin/python3 -c 'import os, sys; os.chmod(sys.argv[1], 0o751)' "$work/mnt" || fail "chmod of the mount"
}

mount_down() {
    "$@" "$BALEFS" umount "$work/mnt" || fail "cannot unmount"
    ! is_mounted || fail "it is still mounted"
    ! grep -q ' error\|: error' "$work/log" || fail "errors in the log"
}

options=
case $mode in
direct | user_direct) options=,io=direct ;;
root_held) options=,set_id ;; # the user's store keeps modes in containers
esac
mounter=(${as_owner[@]+"${as_owner[@]}"} env)
runner=("${mounter[@]}")
touch "$work/log"
chmod 666 "$work/log"
"${mounter[@]}" "$BALEFS" init "$work/top/store" || fail "cannot make a store"
if [ "$mode" = root_held ]; then
    mounter=(env)
    runner=(env)
fi

mount_up "${mounter[@]}"
top_mode=$("${runner[@]}" stat -c %a "$work/mnt")
for program in data holes names moves attr acl ids locks stress; do
    status=0 arguments=("$work/mnt")
    [ "$program" != stress ] || arguments+=(${few[@]+"${few[@]}"})
    "${runner[@]}" "$programs/fuse_${program}_plain_test" "${arguments[@]}" || status=$?
    case $status in
    0) ;;
    77) say "$program: skipped" ;;
    *) fail "$program" ;;
    esac
done

# After the next mount everything is as it was before, byte for byte.
list() { (cd "$work/mnt" && find . -printf '%P %y %m %u %g %s %T@ %n %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 -r sha256sum); }
"${runner[@]}" bash -c "cd '$work/mnt' && mkdir keep && cd keep && head -c 3000000 '$BALEFS' >big && seq 100000 >text &&
    : >empty && truncate -s 10M hole && echo tail >>hole && ln text link && ln -s text symlink && mkfifo fifo && chmod 0400 text &&
    touch -d '2001-02-03 04:05:06.789' big empty && chmod 0000 hole && chmod 0644 hole && rm -f gone && echo x >gone && rm gone"
"${runner[@]}" bash -c "$(declare -f list); work='$work'; list" >"$work/before"
mount_down "${mounter[@]}"
mount_up "${mounter[@]}"
"${runner[@]}" bash -c "$(declare -f list); work='$work'; list" >"$work/after"
cmp "$work/before" "$work/after" || fail "something changed by unmounting: $(diff "$work/before" "$work/after" | head -n 5)"
[ "$("${runner[@]}" stat -c %a "$work/mnt")" = "$top_mode" ] || fail "the top directory's mode changed"
mount_down "${mounter[@]}"
say "passed"
