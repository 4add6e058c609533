#!/usr/bin/env bash
# A store on a file system that loses everything that was not synced, name, attribute or byte, and where syncfs(2) does
# nothing: that file system is killed, or the daemon is, under programs at work. What fsync and `balefs sync` promised is
# there, and the store is sound each time.
# With --disk, it is a disk: a file in it has the file system TYPE, and the store lies on that.
# usage: lossy.sh POWER LOSSY [--rounds N] [--seed N] [--disk TYPE [--options MOUNT_OPTIONS]], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

power=${1:?usage: lossy.sh POWER LOSSY [--rounds N] [--seed N]}
lossy=${2:?usage: lossy.sh POWER LOSSY [--rounds N] [--seed N]}
shift 2
rounds=30
disk=
disk_options=defaults
seed=$((RANDOM * 32768 + RANDOM))
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seed) seed=$2 ;;
    --disk) disk=$2 ;;
    --options) disk_options=$2 ;;
    *) fail "unknown argument $1" ;;
    esac
    shift 2
done

mount_begin lossy
options=("" "io=direct" "memory=64M")
percents=(0 0 30)
lost= # "kill" if there was no loss in the last round
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$mnt" "$backing" "$work/disk"

below_up() {
    if [ -n "$disk" ]; then
        lossy_disk_up "$lossy" "$disk" "$backing" "$1" "$disk_options"
    else
        lossy_up "$lossy" "$work/disk" "$backing" "$1"
    fi
}

below_down() {
    if [ -n "$disk" ]; then
        lossy_disk_down "$backing"
    else
        lossy_down "$backing"
    fi
}

[ "$disk" != btrfs ] || export POWER_BTRFS=yes
coproc WORKER { exec "$power" "$mnt" "$store" "$seed"; }

# order WORD...: what the worker does
order() {
    local answer
    printf '%s\n' "$*" >&"${WORKER[1]}"
    IFS= read -r answer <&"${WORKER[0]}" || fail "seed $seed, round $round: $1: the worker ended"
    [ "$answer" = "done" ] || fail "seed $seed, round $round: $1: $answer"
}

round=0 losses=0 kills=0
below_up 0
"$BALEFS" init "$store" || fail "init"
say "seed $seed"
RANDOM=$seed
while [ "$round" -lt "$rounds" ]; do
    option=${options[$((round % ${#options[@]}))]}
    mount_up "$store" "$mnt" ${option:+-o "$option"}
    [ "$round" = 0 ] || order check ${lost:+$lost}
    round=$((round + 1))
    if [ $((RANDOM % 4)) = 0 ]; then
        order work $((5 + RANDOM % 40)) "$daemon"
        kills=$((kills + 1))
        lost="kill"
    else
        order work $((5 + RANDOM % 40)) "$lossy_pid"
        losses=$((losses + 1))
        lost=
    fi
    kill -KILL "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    daemon=
    umount -l "$mnt"
    if [ -z "$lost" ]; then
        below_down
        below_up "${percents[$((RANDOM % 3))]}"
    fi
    fsck_clean "$store"
    if [ $((round % 100)) = 0 ]; then
        say "$losses losses, $kills kills"
    fi
done
mount_up "$store" "$mnt"
order check ${lost:+$lost}
"$BALEFS" sync "$mnt" || fail "sync"
mount_down "$mnt"
below_down
below_up 0
fsck_clean "$store"
reader_clean "$store"
mount_up "$store" "$mnt"
order check
mount_down "$mnt"
say "$losses losses, $kills kills, seed $seed"
