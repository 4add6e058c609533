#!/usr/bin/env bash
# The demo's solver: analytic solutions, restarts to the bit, any number of threads, and what it refuses.
# usage: solver_test.sh BALE_SOLVER
set -euo pipefail

solver=${1:?usage: solver_test.sh BALE_SOLVER}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'solver_test: %s\n' "$*" >&2
    exit 1
}

# same_results DIR DIR: all files but the log, whose times differ, are equal.
same_results() {
    diff -rq --exclude=run.log "$1" "$2" || fail "$1 and $2 differ"
}

# refuses STATUS PATTERN ARGUMENT...
refuses() {
    local status=$1 pattern=$2 got=0
    shift 2
    "$solver" "$@" > "$work/stdout" 2> "$work/stderr" || got=$?
    [ "$got" = "$status" ] || fail "$*: exit status $got, not $status"
    grep -q -- "$pattern" "$work/stderr" || fail "$*: no '$pattern' in: $(cat "$work/stderr")"
}

run=(--size 32 --steps 60 --snapshot-every 10 --checkpoint-every 20 --seed 7)

"$solver" --verify --threads 2 > "$work/verify" || fail "--verify: $(cat "$work/verify")"

"$solver" "${run[@]}" --threads 1 --out "$work/one" 2> "$work/stderr"
[ ! -s "$work/stderr" ] || fail "progress shown without a terminal"
"$solver" "${run[@]}" --threads 3 --out "$work/three"
same_results "$work/one" "$work/three"

for name in field_u_0010.f32 field_u_0060.f32 checkpoint_0020.f64 checkpoint_0060.f64 model_c.f32 run.log energy.csv \
    receivers.csv meta.json; do
    [ -s "$work/one/$name" ] || fail "$name is missing or empty"
done
[ "$(stat -c %s "$work/one/field_u_0060.f32")" = $((4 * 32 ** 3)) ] || fail "size of a field"
[ "$(stat -c %s "$work/one/checkpoint_0060.f64")" = $((512 + 24 * 32 ** 3)) ] || fail "size of a checkpoint"
[ "$(wc -l < "$work/one/receivers.csv")" = 61 ] || fail "rows of receivers.csv"
[ -z "$(find "$work/one" -name '*.part')" ] || fail "a temporary file was left"

# Stopped after step 50 and continued from step 40 in the same directory.
"$solver" "${run[@]}" --steps 50 --out "$work/stopped"
"$solver" "${run[@]}" --restart "$work/stopped/checkpoint_0040.f64" --out "$work/stopped"
same_results "$work/one" "$work/stopped"
[ "$(grep -c 'start: size' "$work/stopped/run.log")" = 2 ] || fail "the log was not appended to"

# Continued in another directory, size and seed from the checkpoint: the later files are the same.
"$solver" --steps 60 --snapshot-every 10 --checkpoint-every 20 --restart "$work/one/checkpoint_0020.f64" \
    --out "$work/other"
for name in field_u_0030.f32 field_u_0060.f32 checkpoint_0040.f64 checkpoint_0060.f64 meta.json; do
    cmp "$work/one/$name" "$work/other/$name" || fail "$name differs after a restart elsewhere"
done

"$solver" --size 16 --steps 100 --total-mib 1 --checkpoint-every 0 --out "$work/total"
[ "$(du -sb --apparent-size "$work/total" | cut -f1)" -ge $((1 << 20)) ] || fail "--total-mib 1 wrote less"
"$solver" --size 16 --steps 4 --seed 8 --out "$work/seed"
cmp -s "$work/total/model_c.f32" "$work/seed/model_c.f32" && fail "the seed changes nothing"

refuses 2 'out is missing'
refuses 2 'from 16 to 1024' --size 15 --out "$work/no"
refuses 2 'whole number' --steps 1e3 --out "$work/no"
refuses 2 'give one of them' --total-mib 1 --snapshot-every 1 --out "$work/no"
refuses 2 'more than a field a step' --size 16 --steps 2 --total-mib 100 --out "$work/no"
refuses 2 'leave those options out' --size 16 --restart "$work/one/checkpoint_0020.f64" --out "$work/no"
refuses 2 'more than that' --steps 20 --restart "$work/one/checkpoint_0020.f64" --out "$work/no"
refuses 1 'not a checkpoint' --restart "$work/one/model_c.f32" --out "$work/no"
head -c 100000 "$work/one/checkpoint_0020.f64" > "$work/short"
refuses 1 'incomplete' --restart "$work/short" --out "$work/no"
cp "$work/one/checkpoint_0020.f64" "$work/flipped"
printf 'x' | dd of="$work/flipped" bs=1 seek=5000 conv=notrunc status=none
refuses 1 'its sum differs' --restart "$work/flipped" --out "$work/no"
refuses 1 'cannot make directory' --out "$work/none/none"
for name in model_c.f32 run.log; do
    mkdir "$work/full_$name"
    ln -s /dev/full "$work/full_$name/$name"
    refuses 1 "cannot write $name: No space left" --size 16 --steps 2 --out "$work/full_$name"
done
[ ! -e "$work/no" ] || fail "a refused run left $work/no"
