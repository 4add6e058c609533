#!/usr/bin/env bash
# balefs recompress beside everything else: files that a model changes at random, the daemon killed in the middle of it,
# permissions and capabilities.
# usage: recompress.sh MODEL [--rounds N] [--seed N], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

model=${1:?usage: recompress.sh MODEL [--rounds N] [--seed N]}
shift
rounds=4
seed=$((RANDOM * 32768 + RANDOM))
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=$2 ;;
    --seed) seed=$2 ;;
    *) fail "unknown argument $1" ;;
    esac
    shift 2
done

mount_begin recompress
store=$work/store mnt=$work/mnt plain=$work/plain
mkdir "$mnt" "$plain"
"$BALEFS" init --codec lz4 "$store" || fail "init"
mapfile -t settings < <(default_settings)
settings+=(zstd:5 auto auto:for=speed store)

# again_and_again: over and over, each time with another codec, until $work/enough is there or it fails
again_and_again() {
    local i
    for ((i = 0; ; i++)); do
        [ ! -e "$work/enough" ] || return 0
        "$BALEFS" recompress --codec "${settings[i % ${#settings[@]}]}" --json "$mnt" >>"$work/did" 2>>"$work/said" || true
    done
}

# --- beside random operations
options=("" "memory=40M,age=0.1" "io=direct")
for ((round = 0; round < rounds; round++)); do
    option=${options[round % ${#options[@]}]}
    now=$((seed + round))
    say "round $round, seed $now, options '$option'"
    mount_up "$store" "$mnt" ${option:+-o "$option"}
    mkdir -p "$mnt"/t{0..3} "$plain"/t{0..3}
    rm -f "$work/enough" "$work/did" "$work/said"
    again_and_again &
    worker=$!
    "$model" round --seed "$now" --operations 1500 "$mnt" "$plain" ||
        fail "round $round: model round --seed $now --operations 1500"
    touch "$work/enough"
    wait "$worker" || fail "round $round: recompress"
    grep -Eq '"renewed": [1-9]' "$work/did" || fail "round $round: nothing was recompressed"
    # Files come and go, but nothing may be wrong with one.
    ! grep -E 'damaged|the daemon.s log' "$work/said" || fail "round $round: see above"
    "$model" compare "$mnt" "$plain" || fail "round $round, seed $now"
    mount_down "$mnt"
    fsck_clean "$store"
    reader_clean "$store" --compare "$plain"
done

# --- killed in the middle: all is there, old or new
mount_up "$store" "$mnt"
rm -rf "${mnt:?}"/* "$plain"
mkdir "$plain"
seq 1 3000000 | head -c 20000000 >"$plain/text" || true
head -c 2000000 /dev/urandom >"$plain/random"
cp "$plain/text" "$plain/program"
cp "$plain"/* "$mnt"
chmod 6755 "$mnt/program"
capability=0sAAAAAgAgAAAAAAAAAAAAAAAAAAA=
setfattr -n security.capability -v "$capability" "$mnt/program"
touch -d '2001-02-03 04:05:06.789' "$mnt"/*
"$BALEFS" sync "$mnt"
before=$(stat -c '%n %s %a %u %y' "$mnt"/*)
for ((i = 0; i < 12; i++)); do
    rm -f "$work/did"
    "$BALEFS" recompress --codec "${settings[i % ${#settings[@]}]}" "$mnt" >"$work/did" 2>/dev/null &
    worker=$!
    sleep 0.$((RANDOM % 6))$((RANDOM % 10))
    kill -KILL "$daemon"
    wait "$daemon" 2>/dev/null || true
    daemon=
    wait "$worker" || true
    mount_up "$store" "$mnt"
    for name in text random program; do
        cmp "$plain/$name" "$mnt/$name" || fail "kill $i: $name"
    done
    [ "$before" = "$(stat -c '%n %s %a %u %y' "$mnt"/*)" ] || fail "kill $i: $(stat -c '%n %s %a %u %y' "$mnt"/*)"
done
mount_down "$mnt"
fsck_clean "$store"

# --- permissions, capability and times after a whole one, then and after a remount
mount_up "$store" "$mnt"
setfattr -n security.capability -v "$capability" "$mnt/program" # a kill may have come before it was put back
touch -d '2001-02-03 04:05:06.789' "$mnt/program"
before=$(stat -c '%s %a %u %y %z' "$mnt/program")
exec {reader}<"$mnt/program"
"$BALEFS" recompress --codec zstd:7 "$mnt/program" >"$work/did" || fail "recompress"
grep -q ' [1-9][0-9]* rewritten' "$work/did" || fail "nothing was rewritten"
[ "$before" = "$(stat -c '%s %a %u %y %z' "$mnt/program")" ] || fail "it changed: $(stat -c '%s %a %u %y %z' "$mnt/program")"
exec {reader}<&-
[ "$before" = "$(stat -c '%s %a %u %y %z' "$mnt/program")" ] || fail "it changed when it was closed"
mount_down "$mnt"
mount_up "$store" "$mnt"
[ "${before% * * *}" = "$(stat -c '%s %a %u %y' "$mnt/program")" ] || fail "it changed when it was mounted again: $before"
[ "$(getfattr --only-values -e base64 -n security.capability "$mnt/program" 2>/dev/null | base64)" = "${capability#0s}" ] ||
    fail "its capability is gone"
# A write removes the capability, whether the file is recompressed meanwhile or not.
"$BALEFS" recompress --codec lz4 "$mnt/program" >"$work/did" || fail "recompress"
exec {writer}<>"$mnt/program"
printf x >&"$writer"
"$BALEFS" recompress --codec zstd:2 "$mnt/program" >"$work/did" || fail "recompress"
exec {writer}>&-
"$BALEFS" recompress --codec zstd:3 "$mnt/program" >"$work/did" || fail "recompress"
! getfattr -n security.capability "$mnt/program" >/dev/null 2>&1 || fail "a capability survived a write"
mount_down "$mnt"
fsck_clean "$store"
say "$rounds rounds, seed $seed"
