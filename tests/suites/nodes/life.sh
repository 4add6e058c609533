#!/usr/bin/env bash
# The life of a store on a distributed file system: init, mount, programs at work, the client of that file system killed
# under them again and again, its network cut, fsck, and the other node's view. What fsync and `balefs sync` acknowledged
# is there each time. Not part of CI: see README.md.
# usage: life.sh gluster|moose|juice|ceph [--kills N] [--seed N], with BALEFS and BALE_BUILD in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/rig.sh"

what=${1:?usage: life.sh gluster|moose|juice|ceph [--kills N] [--seed N]}
shift
kills=100
seed=$((RANDOM * 32768 + RANDOM))
while [ $# -gt 0 ]; do
    case $1 in
    --kills) kills=$2 ;;
    --seed) seed=$2 ;;
    *) rig_fail "unknown argument $1" ;;
    esac
    shift 2
done
: "${BALEFS:?}" "${BALE_BUILD:?}"
export BALEFS POWER_PLAIN=yes # not all of them have O_TMPFILE and RENAME_EXCHANGE
power=$BALE_BUILD/tests/mount/bale_power
store=$rig/A/fs/store
mnt=$rig/A/mnt
daemon=

say() { printf 'life %s: %s\n' "$what" "$*"; }

fail() {
    say "FAILED: seed $seed, kill $done_kills: $*" >&2
    tail -n 30 "$rig/log/daemon" >&2
    exit 1
}

# Mounted, or there is nothing to wait for.
mounted() { on A mountpoint -q "$mnt" || ! kill -0 "$daemon"; }

mount_up() {
    nsenter -t "$(cat "$rig/A.pid")" -n -u -m -- "$BALEFS" mount -f --log "$rig/log/daemon" "$store" "$mnt" \
        </dev/null 2>"$rig/log/err" &
    daemon=$!
    until_true 400 mounted || fail "not mounted: $(cat "$rig/log/err")"
    on A mountpoint -q "$mnt" || fail "not mounted: $(cat "$rig/log/err")"
}

# The client is killed, and with it what the daemon can do.
lose_client() {
    client_kill A
    kill -KILL "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    on A umount -l "$mnt" || true
    client_gone A || true
    client_up A
}

# The lock of a client that was killed may outlive it for a while.
unlocked() {
    local said
    said=$(on "$1" "$BALEFS" fsck "$rig/$1/fs/store" 2>&1 || true)
    [[ $said != *'is mounted by'* ]]
}

fsck() {
    until_true 400 unlocked "$1" || fail "the lock of the client that was killed is not free"
    on "$1" "$BALEFS" fsck --data "$rig/$1/fs/store" >"$rig/log/fsck" 2>&1 || fail "fsck on $1: $(tail -n 5 "$rig/log/fsck")"
}

order() {
    local answer
    printf '%s\n' "$*" >&"${WORKER[1]}"
    IFS= read -r answer <&"${WORKER[0]}" || fail "$1: the worker ended"
    [ "$answer" = "done" ] || fail "$1: $answer"
}

# `balefs sync` says nothing that is not true while the network is cut.
cut_network() {
    local digest
    mount_up
    on A sh -c "head -c 3000000 /dev/urandom >'$mnt/cut'; cat '$mnt/cut' >'$ram/cut'"
    net_cut A
    if on A timeout 20 "$BALEFS" sync "$mnt" 2>"$rig/log/err"; then
        fail "balefs sync succeeded without a network"
    fi
    net_heal A
    until_true 300 on A timeout 100 "$BALEFS" sync "$mnt" || {
        say "no sync succeeds after the cut: the mount must be made again: $(tail -n 1 "$rig/log/err")"
        lose_client
        fsck A
        return
    }
    lose_client
    fsck A
    digest=$(on A "$BALEFS" cat "$store/cut" | md5sum)
    [ "$digest" = "$(md5sum <"$ram/cut")" ] || fail "what was synced after the cut is not there"
}

done_kills=0
rig_begin
trap rig_end EXIT
trap 'exit 143' INT TERM HUP
fs_up "$what"
say "seed $seed"
on A "$BALEFS" init "$store" || fail init
exec {keep}>&1
coproc WORKER { exec nsenter -t "$(cat "$rig/A.pid")" -n -u -m -- "$power" "$mnt" "$store" "$seed"; }
RANDOM=$seed
while [ "$done_kills" -lt "$kills" ]; do
    started=${EPOCHREALTIME/./}
    mount_up
    took=$(((${EPOCHREALTIME/./} - started) / 1000))
    [ "$done_kills" = 0 ] || order check
    order work $((5 + RANDOM % 30)) "$(client_pids A | tail -n 1)"
    done_kills=$((done_kills + 1))
    lose_client
    fsck A
    [ $((done_kills % 10)) != 0 ] || say "$done_kills kills, the last mount took $took ms" >&"$keep"
done
mount_up
order check
on A "$BALEFS" umount "$mnt" || fail umount
wait "$daemon" || true
say "$done_kills kills of the client: nothing lost that was acknowledged"
cut_network
say "the network was cut: nothing was acknowledged that was lost"
mount_up
on A "$BALEFS" umount "$mnt" || fail umount
fsck A
fsck B
say "done, seed $seed"
