#!/usr/bin/env bash
# tools/demo, at its smallest: it succeeds, shows what it should, finds a changed byte, and leaves nothing behind.
# usage: demo_test.sh BALE_SOLVER, with BALE_SOURCE and BALEFS in the environment
# shellcheck source-path=SCRIPTDIR source=../support/namespace.sh
. "$(dirname "$0")/../support/namespace.sh"
set -euo pipefail

export BALE_SOLVER=${1:?usage: demo_test.sh BALE_SOLVER}
source=${BALE_SOURCE:?}
: "${BALEFS:?}"

if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
    echo "demo_test: skipped: no /dev/fuse that I may use"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

fail() {
    printf 'demo_test: %s\n' "$*" >&2
    exit 1
}

nothing_left() {
    ! grep -F "$work/" /proc/self/mounts || fail "$1: a mount is left"
    [ -z "$(ls -A "$work/base")" ] || fail "$1: files are left: $(ls "$work/base")"
}

mkdir "$work/base"
"$source/tools/demo" --quick --dir "$work/base" --picture "$work/energy.svg" >"$work/out" 2>&1 || fail "failed: $(cat "$work/out")"
nothing_left "after a run"
for pattern in 'fields (.f32) *21 ' 'checkpoints (.f64) *2 ' 'files and directories, .* equal' 'write, results' \
    'read, results' 'within 1e-06 of' 'After 3 restarts'; do
    grep -q "$pattern" "$work/out" || fail "no '$pattern' in: $(cat "$work/out")"
done

[ "$(grep -c '<polyline points="[0-9]' "$work/energy.svg")" = 3 ] || fail "no curves in $(cat "$work/energy.svg")"

# Interrupted at several moments.
for delay in 0.2 0.6 1.2; do
    "$source/tools/demo" --quick --dir "$work/base" >/dev/null 2>&1 &
    pid=$!
    sleep "$delay"
    kill -TERM "$pid" 2>/dev/null || true
    wait "$pid" || true
    nothing_left "after SIGTERM at $delay s"
done

"$source/tools/demo" --quick --dir "$work/base" --keep >/dev/null 2>&1 || fail "--keep failed"
[ -n "$(find "$work/base" -mindepth 2 -maxdepth 2 -name store)" ] || fail "--keep kept no store"

# The comparison sees what it should.
report=(python3 "$source/tools/demo_report.py" compare)
differs() {
    local pattern=$1
    "${report[@]}" "$work/a" "$work/b" >"$work/out" && fail "not seen: $pattern"
    grep -q "$pattern" "$work/out" || fail "no '$pattern' in: $(cat "$work/out")"
    rm -rf "$work/b"
    cp -a "$work/a" "$work/b"
}
mkdir "$work/a"
head -c 3000000 /dev/urandom >"$work/a/data"
ln -s nowhere "$work/a/link"
cp -a "$work/a" "$work/b"
"${report[@]}" "$work/a" "$work/b" >/dev/null || fail "equal trees differ"
printf 'x' | dd of="$work/b/data" bs=1 seek=2500000 conv=notrunc status=none
printf 'y' | dd of="$work/b/data" bs=1 seek=2500001 conv=notrunc status=none
touch -r "$work/a/data" "$work/b/data"
differs 'bytes differ between 2097152'
chmod 600 "$work/b/data"
differs 'mode is'
touch -d 2001-01-01 "$work/b/data"
differs 'mtime is'
ln -sfn somehow "$work/b/link"
touch -h -r "$work/a/link" "$work/b/link"
touch -r "$work/a" "$work/b"
differs 'should be somehow'
rm "$work/b/link"
differs 'on one side only'
