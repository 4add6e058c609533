# Shared by the mount tests. Sourced; needs BALEFS and BALE_SOURCE in the environment.
#
# mount_begin TEST makes $work, a fresh directory, and has everything below it unmounted and removed at the end.
# shellcheck shell=bash source-path=SCRIPTDIR source=../support/namespace.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/namespace.sh"
# shellcheck source=../support/codecs.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/codecs.sh"
set -euo pipefail
export LC_ALL=C

test_name=mount
work=
daemon=      # the daemon in the foreground that mount_up started
frozen=      # a backing file system to thaw at the end
lossy_pid=   # the file system that lossy_up started
lossy_loop=  # of lossy_disk_up
loops=()     # loop devices to free at the end

say() { printf '%s: %s\n' "$test_name" "$*"; }

# The reason comes last: where only the end of a long output is kept, it is there.
fail() {
    if [ -n "$work" ]; then
        tail -n 30 "$work/log" "$work/err" >&2
    fi
    printf '%s: FAILED: %s\n' "$test_name" "$*" >&2
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

is_mounted() { awk -v at="$1" '$2 == at { found = 1 } END { exit !found }' /proc/self/mounts; }

mounts_below() { awk -v at="$work/" 'index($2, at) == 1 { print $2 }' /proc/self/mounts | tac; }

mount_end() {
    local status=$? at i
    trap '' INT TERM HUP
    trap - EXIT
    set +e
    [ -z "$frozen" ] || fsfreeze -u "$frozen"
    for i in $(jobs -p); do
        [ "$i" = "$daemon" ] || kill "$i" 2>/dev/null
    done
    for i in 1 2 3; do
        for at in $(mounts_below); do
            umount "$at" 2>/dev/null || { [ "$i" = 3 ] && umount -l "$at"; }
        done
        [ -z "$(mounts_below)" ] && break
        sleep 1
    done
    if [ -n "$daemon" ] && kill -0 "$daemon" 2>/dev/null; then
        for ((i = 0; i < 100; i++)); do
            kill -0 "$daemon" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$daemon" 2>/dev/null
    fi
    for i in ${loops[@]+"${loops[@]}"} $lossy_loop; do
        losetup -d "$i" 2>/dev/null
    done
    if [ "${KEEP:-no}" = yes ]; then
        printf '%s: kept: %s\n' "$test_name" "$work"
    elif [ -z "$(mounts_below)" ]; then
        rm -rf --one-file-system "$work"
    fi
    exit "$status"
}

mount_begin() {
    test_name=$1
    [ "$(id -u)" = 0 ] || skip "this test mounts as root"
    if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
        skip "no /dev/fuse that may be used"
    fi
    [ -x "${BALEFS:?}" ] || skip "the command $BALEFS has not been built"
    : "${BALE_SOURCE:?}"
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/bale-$test_name.XXXXXX")
    trap mount_end EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    : >"$work/log"
    : >"$work/err"
}

# mount_up STORE MNT [ARGUMENT...]: a daemon in the foreground, $daemon, logging to $work/log
mount_up() {
    local store=$1 mnt=$2 i
    shift 2
    "$BALEFS" mount -f --log "$work/log" "$@" "$store" "$mnt" </dev/null 2>>"$work/err" &
    daemon=$!
    for ((i = 0; i < 5000; i++)); do
        # Its own word for it: a dead mount may still be there, and answer from the kernel's caches.
        if grep -qF "[$daemon] info: $store on $mnt: " "$work/log" && is_mounted "$mnt"; then
            return 0
        fi
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.05
    done
    fail "balefs mount $* $store $mnt: not mounted"
}

# mount_kill MNT: the daemon is killed, and the dead mount goes
mount_kill() {
    kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null || true
    daemon=
    umount -l "$1"
}

# mount_down MNT: must succeed, and the daemon must be gone then
mount_down() {
    local status=0
    "$BALEFS" umount "$1" || fail "balefs umount $1: exit status $?"
    ! is_mounted "$1" || fail "balefs umount $1: still mounted"
    if [ -n "$daemon" ]; then
        wait "$daemon" || status=$?
        [ "$status" = 0 ] || fail "the daemon ended with $status after balefs umount"
    fi
    daemon=
}

# gpu_decided LINES: waits until the log says after so many lines whether the GPU engine is open
gpu_decided() {
    local i
    for ((i = 0; i < 5000; i++)); do
        if tail -n "+$(($1 + 1))" "$work/log" | grep -q ' GPU: .*: \(open\|the CPU does everything\)'; then
            return 0
        fi
        sleep 0.05
    done
    fail "no word of the GPU"
}

# gpu_figure MNT FIGURE: what balefs stat says of the mount's GPU engine
gpu_figure() {
    "$BALEFS" stat --json "$1" | /usr/bin/python3 -S -c 'import json, sys
print(json.load(sys.stdin)["mount"]["engines"]["gpu"][sys.argv[1]])' "$2"
}

# drop_caches MNT: what the kernel has of it is read again. A sync of everything would wait for other tests' disks.
drop_caches() {
    sync -f "$1"
    echo 3 >/proc/sys/vm/drop_caches
}

fsck_clean() {
    "$BALEFS" fsck --data "$1" >"$work/fsck" 2>&1 || {
        tail -n 20 "$work/fsck" >&2
        fail "balefs fsck --data $1: exit status $?"
    }
}

# reader_clean STORE [--compare DIR]: the independent reader
reader_clean() {
    /usr/bin/python3 "$BALE_SOURCE/tests/reader/read_store.py" "$@" >"$work/reader" 2>&1 || {
        tail -n 20 "$work/reader" >&2
        fail "read_store.py $*"
    }
}

# lossy_up LOSSY DISK DIR [PERCENT]: the file system of lossy.h on DIR, process $lossy_pid
lossy_up() {
    local i
    "$1" "$2" "$3" "${4:-0}" &
    lossy_pid=$!
    for ((i = 0; i < 5000; i++)); do
        is_mounted "$3" && return 0
        kill -0 "$lossy_pid" 2>/dev/null || break
        sleep 0.01
    done
    fail "the file system that loses things is not mounted"
}

# lossy_down DIR: it loses what was not synced
lossy_down() {
    kill -KILL "$lossy_pid" 2>/dev/null || true
    wait "$lossy_pid" 2>/dev/null || true
    umount -l "$1"
}

# lossy_disk_up LOSSY TYPE DIR [PERCENT [MOUNT_OPTIONS]]: on DIR, a file system of that TYPE on a disk that loses what was
# not flushed. The disk lies in $work/disk and $work/below.
lossy_disk_up() {
    local type=$2 dir=$3 image=$work/below/image new=no
    mkdir -p "$work/disk" "$work/below"
    lossy_up "$1" "$work/disk" "$work/below" "${4:-0}"
    if [ ! -e "$image" ]; then
        command -v "mkfs.$type" >/dev/null || skip "no mkfs.$type"
        truncate -s 320M "$image"
        "mkfs.$type" -q "$image" 2>>"$work/err" || fail "mkfs.$type"
        sync "$image" "$work/below"
        new=yes
    fi
    lossy_loop=$(losetup -f --show "$image") || skip "no loop device"
    mount -o "${5:-defaults}" "$lossy_loop" "$dir" || fail "$type cannot be mounted"
    [ $new = no ] || sync -f "$dir"
}

# lossy_disk_down DIR: the disk loses what was not flushed. The file system on it notices that its disk is gone, and lets
# go of it.
lossy_disk_down() {
    local i
    lossy_down "$1"
    losetup -d "$lossy_loop"
    for ((i = 0; i < 3000; i++)); do
        losetup "$lossy_loop" >/dev/null 2>&1 || break
        sleep 0.01
    done
    lossy_loop=
    umount -l "$work/below"
}

# loop_fs TYPE MEGABYTES DIR: a fresh file system of that size, mounted on DIR
loop_fs() {
    local type=$1 size=$2 dir=$3 image device
    mkdir -p "$dir"
    if [ "$type" = tmpfs ]; then
        mount -t tmpfs -o "size=${size}m" tmpfs "$dir"
        return
    fi
    command -v "mkfs.$type" >/dev/null || skip "no mkfs.$type"
    image=$work/$type.img
    truncate -s "${size}M" "$image"
    case $type in
    ext4) mkfs.ext4 -q -F "$image" ;;
    xfs) mkfs.xfs -q -f "$image" ;;
    btrfs) mkfs.btrfs -q -f -m single "$image" 2>/dev/null ;;
    *) fail "no file system $type" ;;
    esac
    device=$(losetup -f --show "$image") || skip "no loop device"
    loops+=("$device")
    mount "$device" "$dir" || skip "no file system $type here"
}
