#!/usr/bin/env bash
# Power lost under programs at work, many times: what a sync promised is there, with its name, its mode, its owner and
# its attributes, and the rest is as it was at some time since. The store is sound each time.
# usage: power.sh POWER [--seconds N] [--seed N], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

power=${1:?usage: power.sh POWER [--seconds N] [--seed N]}
shift
seconds=50
seed=$((RANDOM * 32768 + RANDOM))
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --seed) seed=$2 ;;
    *) fail "unknown argument $1" ;;
    esac
    shift 2
done

mount_begin power
options=("" "io=direct" "memory=64M")
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$mnt"
loop_fs ext4 512 "$backing"
device=${loops[0]}
# The journal is written only when a sync asks for it.
mount -o remount,commit=300 "$backing"
"$BALEFS" init "$store" || fail "init"

coproc WORKER { exec "$power" "$mnt" "$store" "$seed"; }

# order WORD...: what the worker does
order() {
    local answer
    printf '%s\n' "$*" >&"${WORKER[1]}"
    IFS= read -r answer <&"${WORKER[0]}" || fail "seed $seed, round $round: $1: the worker ended"
    [ "$answer" = "done" ] || fail "seed $seed, round $round: $1: $answer"
}

# after_loss: ends the daemon, and mounts the file system again as after a new start of the machine
after_loss() {
    kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null || true
    daemon=
    umount "$mnt"
    umount "$backing"
    mount -o commit=300 "$device" "$backing" || fail "seed $seed, round $round: the journal was not replayed"
}

round=0
say "seed $seed"
SECONDS=0
while [ "$round" -lt 6 ] || [ "$SECONDS" -lt "$seconds" ]; do
    option=${options[$((round % ${#options[@]}))]}
    say "round $((round + 1)), options '$option'"
    mount_up "$store" "$mnt" ${option:+-o "$option"}
    [ "$round" = 0 ] || order check
    round=$((round + 1))
    order work $((5 + RANDOM % 60))
    after_loss
    fsck_clean "$store"
done
mount_up "$store" "$mnt"
order check
mount_down "$mnt"
fsck_clean "$store"
reader_clean "$store"
say "$round times, seed $seed"
