#!/usr/bin/env bash
# tests/bench/mount, at its smallest: it measures every system that there is here, its JSON and its picture are well
# formed, wrong usage and a failing daemon are reported, and nothing is left behind.
# usage: mount_test.sh, with BALE_SOURCE and BALE_BUILD in the environment
# shellcheck source-path=SCRIPTDIR source=../support/namespace.sh
. "$(dirname "$0")/../support/namespace.sh"
set -euo pipefail

bench=${BALE_SOURCE:?}/tests/bench/mount
build=${BALE_BUILD:?}

fail() {
    printf 'mount_test: %s\n' "$*" >&2
    exit 1
}

if [ "$(id -u)" != 0 ] || [ ! -w /dev/fuse ] || [ -z "${BALE_NAMESPACE:-}" ]; then
    echo "skipped: needs root, /dev/fuse and mount namespaces"
    exit 77
fi
work=$(mktemp -d)
trap 'umount -l "$work/backing"; rm -rf --one-file-system "$work"' EXIT
export TMPDIR=$work/tmp
mkdir "$TMPDIR" "$work/backing"
# A store reserves space for its dirty memory. Here it has little.
mount -t tmpfs -o size=1G tmpfs "$work/backing"
tiny=(--build "$build" --size 1M --operations 16 --files 50 --runs 1 --writers 3 --jobs "1,2" --kinds "text,random"
    --quick)
systems=balefs/zstd:1,balefs/auto,btrfs/zstd:1,memfs,passthrough,plain,balefs/zstd:1/direct

# The kernel's caches are the whole machine's, other tests' too: to drop them is only asked for.
echo >"$work/drop_caches"
mount --bind "$work/drop_caches" /proc/sys/vm/drop_caches

nothing_left() {
    ! grep -F "$TMPDIR/" /proc/self/mounts || fail "$1: a mount is left"
    left=$(find "$TMPDIR" "$work/backing" -mindepth 1)
    [ -z "$left" ] || fail "$1: left: $left"
}

"$bench" "${tiny[@]}" --systems "$systems" --backing "$work/backing" --json "$work/json" --svg "$work/svg" \
    >"$work/out" 2>"$work/err" ||
    fail "failed: $(cat "$work/out" "$work/err")"
nothing_left "after a run"
[ "$(cat "$work/drop_caches")" = 3 ] || fail "the caches were not dropped before cold reads"
python3 - "$work/json" "$work/svg" "$work/out" <<'EOP' || fail "the results are wrong: $(cat "$work/out")"
import json, sys, xml.dom.minidom
found = json.load(open(sys.argv[1], encoding="utf-8"))
rows = {(row["what"], row["detail"]): row for row in found["results"]}
here = found["machine"]["systems"].split(", ")
assert found["machine"]["complete"] is True
assert set(found["machine"]) >= {"machine", "kernel", "load", "date", "versions", "command"}
assert {"balefs/zstd:1", "balefs/auto", "memfs", "passthrough", "plain"} <= set(here), here
plain = [system for system in here if not system.endswith("/direct")]
for what, systems in (("sequential write until synced", plain), ("sequential read, cold", plain),
                      ("random 4 KiB read, cold", plain), ("random 4 KiB read, cached", plain),
                      ("random 4 KiB write until synced", plain)):
    for jobs in ("1 job", "2 jobs"):
        row = rows[what, f"text, {jobs}"]
        assert set(row["systems"]) == set(systems), (what, row)
        assert all(len(values) == 1 and min(values) > 0 for values in row["systems"].values()), (what, row)
for stride in ("1 MiB", "47008 B"):
    for what in ("3 writers on one file", "3 writers on their own files", "3 readers on one file"):
        assert set(rows[what, stride]["systems"]) == set(here), what
assert min(rows["compression ratio", "text"]["systems"]["balefs/zstd:1"]) > 1.5
assert 0.9 < min(rows["compression ratio", "random"]["systems"]["balefs/auto"]) <= 1
assert set(rows["ls -lR, cold", "50 files"]["systems"]) >= {"memfs", "passthrough"}
assert any(what == "tree unpacked and deleted" for what, _ in rows)
for job in ("unpacked until synced", "listed with ls -lR, cold", "read with tar, cold", "removed with rm -r"):
    [small] = [row for (what, _), row in rows.items() if what == f"small files {job}"]
    assert set(small["systems"]) == set(plain), (job, small)
assert all(target["result"] in ("pass", "falls short") for target in found["targets"])
assert len(found["targets"]) >= (18 if "btrfs/zstd:1" in here else 12)
picture = xml.dom.minidom.parse(sys.argv[2])
words = [node.firstChild.data for node in picture.getElementsByTagName("text") if node.firstChild]
assert "sequential read, cold" in words and "memfs" in words
table = open(sys.argv[3], encoding="utf-8").read()
for word in ("machine ", "kernel ", "versions ", "of pass-through", "sequential write until synced: text, 2 jobs",
             "ls -lR, warm: 50 files", found["targets"][0]["result"]):
    assert word in table, word
EOP

# Bursts, and a curve over the numbers of jobs.
"$bench" "${tiny[@]}" --jobs 1,2,3 --kinds text --only write,burst --pause 0.1 --systems balefs/zstd:1,memfs \
    --backing "$work/backing" --json "$work/json" --svg "$work/svg" >"$work/out" 2>"$work/err" ||
    fail "bursts: $(cat "$work/out" "$work/err")"
nothing_left "after bursts"
python3 - "$work/json" "$work/svg" <<'EOP' || fail "the bursts are wrong: $(cat "$work/out")"
import json, sys, xml.dom.minidom
rows = {(row["what"], row["detail"]): row for row in json.load(open(sys.argv[1], encoding="utf-8"))["results"]}
for when in ("first after the mount", "0.1 s after the mount", "warm", "after 0.1 s without work"):
    row = rows[f"burst of writes until synced, {when}", "text, 3 jobs"]
    assert set(row["systems"]) == {"balefs/zstd:1", "memfs"}, row
    assert all(min(values) > 0 for values in row["systems"].values()), row
    assert when == "warm" or (f"burst {when}, against warm", "text, 3 jobs") in rows
picture = xml.dom.minidom.parse(sys.argv[2])
curves = [path for path in picture.getElementsByTagName("path") if path.getAttribute("class") == "curve"]
assert len(curves) >= 2 and all(path.getAttribute("d").count("L") == 2 for path in curves), len(curves)
EOP

# Fields, and a codec with a bound.
"$bench" "${tiny[@]}" --kinds turbulence --only write,read,burst --pause 0.1 --backing "$work/backing" \
    --systems balefs/cusz:f32,abs=2e-3,balefs/float:f32,dims=64x64x64,memfs --json "$work/json" \
    >"$work/out" 2>"$work/err" || fail "fields: $(cat "$work/out" "$work/err")"
nothing_left "after fields"
python3 - "$work/json" <<'EOP' || fail "the fields are wrong: $(cat "$work/out")"
import json, sys
found = json.load(open(sys.argv[1], encoding="utf-8"))["results"]
rows = {(row["what"], row["detail"]): row["systems"] for row in found}
rounded, exact = "balefs/cusz:f32,abs=2e-3", "balefs/float:f32,dims=64x64x64"
for what in ("sequential write until synced", "sequential read, cold", "burst of writes until synced, warm"):
    assert set(rows[what, "turbulence, 2 jobs"]) == {rounded, exact, "memfs"}, what
ratios = rows["compression ratio", "turbulence"]
assert ratios[exact][0] > 1.5 and ratios[rounded][0] > 2 * ratios[exact][0], ratios
EOP

# On a new file system below each of the three that have a directory.
if command -v mkfs.ext4 >/dev/null && [ -e /dev/loop-control ]; then
    mkdir "$work/bin"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "$2" >>"%s"\nexec "%s" "$@"\n' "$work/made" "$(command -v mkfs.ext4)" >"$work/bin/mkfs.ext4"
    chmod 755 "$work/bin/mkfs.ext4"
    PATH=$work/bin:$PATH "$bench" "${tiny[@]}" --only files --below ext4 --backing "$work/backing" \
        --systems balefs/auto,passthrough,plain,memfs,btrfs/zstd:1 --json "$work/json" >"$work/out" 2>"$work/err" ||
        fail "on ext4: $(cat "$work/out" "$work/err")"
    nothing_left "after a run on ext4"
    [ "$(sed 's|.*/||' "$work/made" | sort | tr '\n' ' ')" = "balefs-auto.image passthrough.image plain.image " ] ||
        fail "on ext4: made $(cat "$work/made")"
    for system in balefs/auto passthrough plain memfs; do
        grep -q "\"$system\": \[" "$work/json" || fail "on ext4: nothing about $system: $(cat "$work/json")"
    done
fi

# refuses STATUS PATTERN ARGUMENT...
refuses() {
    local status=$1 pattern=$2 got=0
    shift 2
    "$bench" "${tiny[@]}" "$@" >"$work/out" 2>&1 || got=$?
    [ "$got" = "$status" ] || fail "$*: exit status $got, not $status: $(cat "$work/out")"
    grep -q -- "$pattern" "$work/out" || fail "$*: no '$pattern' in: $(cat "$work/out")"
    nothing_left "$*"
}
refuses 2 'no sideways' --only sideways
refuses 2 'give 1M or more' --size 5
refuses 2 'invalid choice' --below vfat
refuses 1 'no system zfs' --systems zfs
refuses 1 'codec' --systems balefs/nothing --only write
refuses 1 'abs=E' --systems balefs/cusz:f32,rel=1e-3,range=-1:1 --only write

# Wrong bytes are detected.
worker=$build/tests/bench/mount_worker
mkdir "$work/files"
head -c 1048576 /dev/urandom >"$work/source"
keys=(dir="$work/files" source="$work/source" size=1048576 record=47008 jobs=2)
for operation in "write shared=1" "read shared=1" write read "randwrite count=40" "read rewritten=40" \
    "randread count=40 rewritten=40"; do
    # shellcheck disable=SC2086
    echo | "$worker" $operation "${keys[@]}" >"$work/out" || fail "worker $operation: $(cat "$work/out")"
    [ "$(tail -n 1 "$work/out")" = same ] || fail "worker $operation did not compare"
done
printf 'x' | dd of="$work/files/file1" bs=1 seek=1048575 conv=notrunc status=none
printf 'yz' | dd of="$work/files/file1" bs=1 seek=1048573 conv=notrunc status=none
if echo | "$worker" read rewritten=40 "${keys[@]}" >"$work/out" 2>&1; then
    fail "changed bytes were not seen"
fi
grep -q 'is not what was written' "$work/out" || fail "changed bytes: $(cat "$work/out")"

# Elements may differ by the bound, not by more: 1 and 1.0625.
printf '\0\0\200\077%.0s' {1..1024} >"$work/source"
printf '\0\0\210\077%.0s' {1..1024} >"$work/files/file0"
keys=(dir="$work/files" source="$work/source" size=4096)
echo | "$worker" read within=0.0625 "${keys[@]}" >"$work/out" || fail "within the bound: $(cat "$work/out")"
for bound in 0.0624 0; do
    if echo | "$worker" read within=$bound "${keys[@]}" >"$work/out" 2>&1; then
        fail "a difference of more than $bound was not seen"
    fi
    grep -q 'is not what was written' "$work/out" || fail "more than $bound: $(cat "$work/out")"
done
