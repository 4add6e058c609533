#!/usr/bin/env bash
# tests/bench/paper-culzss, paper-gpulz, paper-fsst or paper-cusz, at its smallest, without a GPU and with a stand-in of one: every table is
# complete, JSON and picture are well formed, wrong usage and other bytes are reported, and nothing is left behind.
# usage: paper_test.sh culzss|gpulz|fsst|cusz, with BALE_SOURCE and BALE_BUILD in the environment
set -euo pipefail

which=$1
bench=${BALE_SOURCE:?}/tests/bench/paper-$which
build=${BALE_BUILD:?}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work/tmp BALEFS=$build/tools/balefs
mkdir "$TMPDIR"
tiny=(--quick --size 128K --threads 2)

fail() {
    printf 'paper_test: %s\n' "$*" >&2
    exit 1
}

nothing_left() {
    [ -z "$(ls -A "$TMPDIR")" ] || fail "$1: left: $(ls "$TMPDIR")"
}

# measure NAME ARGUMENT...: into NAME.json, NAME.svg and NAME.out
measure() {
    local name=$work/$1
    shift
    "$bench" "${tiny[@]}" --json "$name.json" --svg "$name.svg" "$@" >"$name.out" 2>"$name.err" ||
        fail "$*: failed: $(cat "$name.out" "$name.err")"
    nothing_left "$*"
}

# refuses STATUS PATTERN ARGUMENT...
refuses() {
    local status=$1 pattern=$2 got=0
    shift 2
    "$bench" "${tiny[@]}" "$@" >"$work/out" 2>&1 || got=$?
    [ "$got" = "$status" ] || fail "$*: exit status $got, not $status: $(cat "$work/out")"
    grep -q -- "$pattern" "$work/out" || fail "$*: no '$pattern' in: $(cat "$work/out")"
    nothing_left "$*"
}

# Without a GPU, wherever this runs, and with a stand-in.
export CUDA_VISIBLE_DEVICES=
mkdir -p "$work/gpu/tools/examples/solver"
ln -s "$BALE_SOURCE/tests/bench/paper_gpu.py" "$work/gpu/tools/balefs"
ln -s "$build/tools/examples/solver/bale-solver" "$work/gpu/tools/examples/solver/bale-solver"
mkdir -p "$work/gpu/tests/bench" "$work/path"
for sweep in "$build"/tests/bench/{fsst_sweep-,cusz_}*; do ln -s "$sweep" "$work/gpu/tests/bench/"; done
for split in 256 512 1024 2048; do
    cat >"$work/gpu/tests/bench/fsst_stages-$split-1024-512" <<END
#!/bin/sh
need='"threads": 128, "registers": 40, "spilled": 0, "shared": 7, "blocks": 3'
echo '{"split": $split, "raw": '"\$2"', "learn": {"us": 50, '"\$need"'}, "encode": {"us": 50, '"\$need"'},' \
    '"decode": {"us": 20, '"\$need"'}}'
END
    chmod +x "$work/gpu/tests/bench/fsst_stages-$split-1024-512"
done
printf '#!/bin/sh\necho "==ERROR== no counters here"; exit 1\n' >"$work/path/ncu"
chmod +x "$work/path/ncu"
# A compressor that makes nothing smaller.
cat >"$work/path/sz3" <<'END'
#!/bin/sh
[ "$1 $2 $4 $6" = "-f -i -z -o" ] && cp "$3" "$5" && cp "$3" "$7"
END
chmod +x "$work/path/sz3"
export PATH=$work/path:$PATH
measure cpu --build "$build"
# What a GPU adds does not depend on the data: two kinds show it.
case $which in
culzss) kinds="kernel tarball,highly compressible" ;;
gpulz) kinds="float-2d,float-1d" ;;
fsst) kinds="uuids,genome" ;;
cusz) kinds="wavefield,particles" ;;
esac
measure gpu --build "$work/gpu" --kinds "$kinds"
printf 'twenty letters and more, twenty letters and less\n' >"$work/file"
[ "$which" != gpulz ] || measure file --build "$build" --kinds int32 "$work/file"
python3 "$BALE_SOURCE/tests/bench/paper_check.py" "$which" "$work" || fail "the results are wrong: $(cat "$work"/*.out)"

refuses 2 'no sideways' --kinds sideways
refuses 2 'give 64K or more' --size 5
refuses 1 'is not there' --build "$work"
if [ "$which" = gpulz ]; then
    refuses 1 '^paper-gpulz: .*none: No such file' --build "$build" "$work/none"
elif [ "$which" = culzss ]; then
    refuses 1 '^paper-culzss: .*none: No such file' --build "$build" --kinds 'kernel tarball' --kernel "$work/none"
    # Wrong bytes are detected.
    mkdir "$work/bin"
    printf '#!/bin/sh\ncase "$*" in *d*) head -c 131072 /dev/zero ;; *) head -c 99 ;; esac\n' >"$work/bin/bzip2"
    chmod +x "$work/bin/bzip2"
    PATH=$work/bin:$PATH refuses 1 'other bytes came back' --build "$build" --kinds 'highly compressible'
elif [ "$which" = cusz ]; then
    mkdir -p "$work/wrong/tests/bench"
    ln -s "$build/tools" "$work/wrong/tools"
    refuses 1 'build bale_cusz_sweep' --build "$work/wrong" --kinds density
    ln -s "$build/tests/bench/cusz_fields" "$work/wrong/tests/bench/cusz_fields"
    ln -s "$build/tests/bench/cusz_sweep-400-32" "$work/wrong/tests/bench/cusz_sweep-1600-32"
    refuses 1 'has other sizes' --build "$work/wrong" --kinds density
else
    # A program with other sizes than its name says is detected.
    mkdir -p "$work/wrong/tests/bench"
    ln -s "$build/tools" "$work/wrong/tools"
    ln -s "$build/tests/bench/fsst_sweep-256-1024-512" "$work/wrong/tests/bench/fsst_sweep-512-1024-512"
    refuses 1 'has other sizes' --build "$work/wrong" --kinds cities
fi
