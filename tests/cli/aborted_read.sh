#!/usr/bin/env bash
# A read of /dev/fuse that an unmount cuts off is the end of the mount, and no error.
# usage: aborted_read.sh PRELOADED
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
preloaded=${1:?usage: aborted_read.sh PRELOADED}
needs_fuse
make_store_and_mnt

# up: mounts, with the library in the daemon, whose process is $pid
up() {
    LD_PRELOAD=$preloaded run 0 mount --log "$work/log" "$store" "$mnt"
    pid=$(process "$mnt")
    grep -q "$preloaded" "/proc/$pid/maps" || fail "the library is not in the daemon"
    echo text >"$mnt/file"
}

ended() { ! lives "$pid"; }

# down_well: the daemon ends in order
down_well() {
    soon ended || fail "$1: the daemon does not end"
    ! grep -E ' (warning|error): ' "$work/log" || fail "$1: complaints in the log"
    is 1 "$(grep -c ": unmounted: all is stored$" "$work/log")" "$1: ends in the log"
    rm "$work/log"
}

up
run 0 umount "$mnt"
down_well "balefs umount"
if [ "$(id -u)" = 0 ]; then
    up
    umount "$mnt"
    down_well "umount(8)"
fi
