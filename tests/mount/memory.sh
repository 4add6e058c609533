#!/usr/bin/env bash
# The memory cap holds while gigabytes, eight times the cap, are written and read.
# usage: memory.sh FILL [GIB], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

fill=${1:?usage: memory.sh FILL [GIB]}
gib=${2:-2}
mount_begin memory
store=$work/store mnt=$work/mnt
mkdir "$mnt"
[ "$(df --output=avail -B1G "$work" | tail -n 1)" -ge $((gib / 2 + 2)) ] || skip "too little space in $work"

# field NAME: in KiB, of the daemon
field() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$daemon/status"; }

# check_peak WHEN: the peak less what are shared mappings of files
check_peak() {
    local peak=$(($(field VmHWM) - $(field RssFile)))
    say "$1: peak $((peak / 1024)) MiB (VmHWM $(field VmHWM) KiB, RssFile $(field RssFile) KiB)"
    [ "$peak" -le $(((256 + 64) * 1024)) ] || fail "$1: the daemon took $((peak / 1024)) MiB of 256"
}

"$BALEFS" init "$store"
mount_up "$store" "$mnt" -o memory=256M
"$fill" write --writers 4 --files 1 --size $((gib * 268435456)) --text "$work/list" "$mnt" || fail "writing"
check_peak "after writing $gib GiB"
"$fill" read --readers 4 "$work/list" "$mnt" || fail "reading"
check_peak "after reading"
rm "$mnt"/w*
: >"$work/list"
"$fill" write --writers 8 --files 1500 --size 20000 "$work/list" "$mnt" || fail "writing small files"
"$fill" read --readers 8 "$work/list" "$mnt" || fail "reading small files"
check_peak "after 12,000 small files"
mount_down "$mnt"
