#!/usr/bin/env bash
# Random operations in a mount and in a plain directory: they stay alike, through remounts and without caches, and the
# store is sound after each round.
# usage: model.sh MODEL [--seconds N] [--seed N] [--operations N], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

model=${1:?usage: model.sh MODEL [--seconds N] [--seed N] [--operations N]}
shift
seconds=0
seed=$((RANDOM * 32768 + RANDOM))
operations=700
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --seed) seed=$2 ;;
    --operations) operations=$2 ;;
    *) fail "unknown argument $1" ;;
    esac
    shift 2
done

mount_begin model
options=("" "memory=40M,age=0.1" "io=direct" "age=0.1" "memory=40M,io=direct")
store=$work/store mnt=$work/mnt plain=$work/plain
mkdir "$mnt" "$plain"
"$BALEFS" init "$store" || fail "init"

# mount_round ROUND: the options of that round
mount_round() {
    local option=${options[$(($1 % ${#options[@]}))]}
    # Open in two rounds of three: then changes of modes scrub containers.
    chmod $(($1 % 3 ? 711 : 700)) "$store"
    mount_up "$store" "$mnt" ${option:+-o "$option"}
}

# What a remount must not change.
attributes() {
    find "$1" -printf '%P %y %s %m %n %U:%G %l ' \( -type d -printf '\n' -o -printf '%T@\n' \) | sort
}

round=0
mount_round 0
mkdir "$mnt"/t{0..3} "$plain"/t{0..3}
setfattr -n user.balefs.extent -v 16K "$mnt/t0"
setfattr -n user.balefs.codec -v fsst "$mnt/t0"
setfattr -n user.balefs.codec -v lz4 "$mnt/t1"
setfattr -n user.balefs.codec -v auto "$mnt/t2"
setfattr -n user.balefs.extent -v 1M "$mnt/t2"
setfattr -n user.balefs.codec -v auto:for=speed "$mnt/t3"
SECONDS=0
while [ "$round" -lt 6 ] || [ "$SECONDS" -lt "$seconds" ]; do
    now=$((seed + round))
    count=$((round % 3 == 2 ? 4 * operations : operations))
    say "round $round, seed $now, options '${options[$((round % ${#options[@]}))]}'"
    "$model" round --seed "$now" --operations "$count" "$mnt" "$plain" ||
        fail "round $round: model round --seed $now --operations $count"
    if [ $((round % 2)) = 1 ]; then
        drop_caches "$mnt"
        "$model" compare "$mnt" "$plain" || fail "round $round, seed $now: without caches"
    fi
    attributes "$mnt" >"$work/before"
    mount_down "$mnt"
    fsck_clean "$store"
    reader_clean "$store" --compare "$plain"
    round=$((round + 1))
    mount_round "$round"
    attributes "$mnt" >"$work/after"
    diff "$work/before" "$work/after" >&2 || fail "round $round: the remount changed attributes"
    "$model" compare "$mnt" "$plain" || fail "round $round, seed $now: after the remount"
done
mount_down "$mnt"
say "$round rounds, seed $seed"
