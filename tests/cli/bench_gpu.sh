#!/usr/bin/env bash
# balefs bench with a GPU that is none (tests/support/fake_gpu.c), whose figures are known: half the bytes, as many GB/s as
# the codec's id is, and back four times that.
# usage: bench_gpu.sh PLUGIN
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

plugin=${1:?usage: bench_gpu.sh PLUGIN}
cd "$work"
install_alone
cp "$plugin" usr/lib/balefs/libbalefs_cuda.so
few=(bench --runs 1 --threads 2)
seq 1 100000 >data # 588895 bytes, 5 extents of 9 chunks
cpu='( +[0-9]+){4}'

# --- the table
run 0 "${few[@]}" data
is "" "$err" "what bench says on the way"
prints '^ +one core +2 cores +GPU kernels$'
prints '^codec +ratio( +compress +decompress){3} +frames$'
prints "^store +1\.00$cpu +- +- +store:5\$"
prints "^lz4 +[0-9.]+$cpu +2000 +8000 +lz4:5\$"
for level in -5 1 3; do
    prints "^zstd:$level +[0-9.]+$cpu +3000 +12000 +zstd:5\$"
done
for level in 6 9 15; do
    prints "^zstd:$level +[0-9.]+$cpu +- +- +zstd:5\$"
done
prints "^culzss:2 +[0-9.]+$cpu +16000 +6400[0-9] +culzss:5\$"
prints "^gpulz +[0-9.]+$cpu +17000 +6800[0-9] +gpulz:5\$"
prints "^auto +[0-9.]+$cpu +- +- "
prints '^GPU kernels: Fake GPU, 575\.1 KiB in its memory, no copies; zstd and lz4: nvCOMP.s, of ratios of their own$'
run 0 "${few[@]}" -j 1 --codec culzss:v=1 data
prints '^ +one core +GPU kernels$'
prints '^culzss:1 +[0-9.]+( +[0-9]+){2} +16000 +6400[0-9] +culzss:5$'
prints '^GPU kernels: Fake GPU, 575\.1 KiB in its memory, no copies$'
BALE_FAKE_GPU=cells=3 run 0 "${few[@]}" --codec gpulz data
prints '^GPU kernels: Fake GPU, the first 192\.0 KiB in its memory, no copies$'
run 0 "${few[@]}" --codec gpulz --chunk 128K data # larger than any that it takes
! grep -q 'GPU' .out || fail "columns without figures"
run 0 "${few[@]}" --codec gpulz --chunk 128K --extent 64K data
prints "^gpulz +[0-9.]+$cpu +17000 "
run 0 "${few[@]}" --engine cpu --codec lz4 data
! grep -q 'GPU' .out || fail "a GPU that is not wanted"

# --- as JSON and as a picture
run 0 "${few[@]}" --engine gpu --json --svg picture.svg data
is "Fake GPU" "$(json 'd["gpu"]')" "the GPU"
mapfile -t on_gpu < <(gpu_settings | sed 's/^zstd:1$/zstd:-5\nzstd:1\nzstd:3/; s/^lzr:1$/lzr:1\nlzr:2/')
is "${on_gpu[*]}" "$(json '" ".join(e["codec"] for e in d["codecs"] if "gpu" in e)')" "codecs of the GPU"
# The chunks' bytes, five heads and nine lines of their tables.
is "{'compress': 2000, 'decompress': 8000, 'bytes': 588895, 'ratio': 1.998}" \
    "$(json '{k: round(v, 3 if k == "ratio" else None) for k, v in d["codecs"][1]["gpu"].items()}')" "lz4"
/usr/bin/python3 - "${on_gpu[@]}" <<'END' || fail "the picture"
import sys
import xml.etree.ElementTree as tree
space = "{http://www.w3.org/2000/svg}"
picture = tree.parse("picture.svg")
texts = [e.text for e in picture.iter(space + "text")]
points = [e for e in picture.iter(space + "path") if e.get("class") == "gpu"]
assert len(points) == 2 * (len(sys.argv) - 1) + 1, len(points) # and the legend's
for codec in sys.argv[1:]:
    assert codec.startswith("zstd") or texts.count(codec) == 4, (codec, texts)
assert texts.count("zstd") == 2 and texts.count("zstd:1") == 2, texts # one point, whatever the level
assert any(t.startswith("GPU kernels: Fake GPU, ") and "zstd and lz4: nvCOMP's" in t for t in texts), texts
END
run 0 "${few[@]}" -j 1 --codec gpulz --svg one.svg data
grep -q '>GPU kernels: ' one.svg || fail "no legend of the GPU where there is one core"

# --- it lacks something, or fails
export BALE_FAKE_GPU=lacks
run 0 "${few[@]}" --codec lz4 --codec gpulz data
prints "^lz4 +[0-9.]+$cpu +- +- +lz4:5\$"
prints "^gpulz +[0-9.]+$cpu +17000 "
prints '^GPU kernels: .*, no copies$'
for fault in find exclusive; do
    BALE_FAKE_GPU=$fault
    run 0 "${few[@]}" --json --codec lz4 data
    is "" "$err" "what it says of a GPU that cannot be had"
    is "None False" "$(json 'd["gpu"], "gpu" in d["codecs"][0]')" "a GPU that cannot be had"
done
run 0 "${few[@]}" --json --engine gpu --codec lz4 data # but may be insisted on
is "Fake GPU True" "$(json 'd["gpu"], "gpu" in d["codecs"][0]')" "a GPU that is insisted on"
BALE_FAKE_GPU="find"
fails 1 "--engine gpu: there is no GPU: no driver: BALE_FAKE_GPU says so" "${few[@]}" --engine gpu data
BALE_FAKE_GPU=measure
run 0 "${few[@]}" --json --codec lz4 data
is "balefs: GPU: no memory: BALE_FAKE_GPU says so: it is not measured" "$err" "a GPU without memory"
is None "$(json 'd["gpu"]')" "a GPU without memory"
fails 1 "GPU: no memory: BALE_FAKE_GPU says so: it is not measured" "${few[@]}" --engine gpu data
BALE_FAKE_GPU=spoils
fails 1 "lz4 on the GPU: the decompressed bytes differ from the input: check this machine's memory, and report it: --engine cpu leaves it out" \
    "${few[@]}" data
