#!/usr/bin/env bash
# balefs bench engine: without a GPU, and with one that is none (tests/support/fake_gpu.c). No times are judged.
# usage: bench_engine.sh PLUGIN
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

plugin=${1:?usage: bench_engine.sh PLUGIN}
cd "$work"
install_alone
few=(bench engine --sizes "128K,1M" --seconds 0.02 --threads 2)
seq 1 30000 >data
mapfile -t settings < <(echo store; default_settings)
mapfile -t twice < <(for setting in "${settings[@]}"; do printf '%s\n%s\n' "$setting" "$setting"; done)

# lines: codec and direction of the table, with what stands in the engine's column
lines() { awk '/^codec/ { on = 1; next } on { print /^ / ? "  " $1 : $1 " " $2 " " $3 }' "$work/.out"; }

well_formed() {
    /usr/bin/python3 - "$1" "${settings[*]}" "${@:2}" <<'END' || fail "the picture $1"
import sys, xml.etree.ElementTree as tree
space = "{http://www.w3.org/2000/svg}"
picture = tree.parse(sys.argv[1])
texts = [e.text for e in picture.iter(space + "text")]
lines = [e for e in picture.iter(space + "path") if e.get("class", "").startswith("line")]
points = list(picture.iter(space + "circle"))
engines = sys.argv[3:]
codecs = sys.argv[2].split()
for codec in codecs:
    for engine in engines:
        assert texts.count(codec + " " + engine) == 2, (codec, engine, texts)
assert len(lines) == 2 * len(codecs) * len(engines) and len(points) == 2 * len(lines), (len(lines), len(points))
assert {"encode", "decode", "128 KiB", "1 MiB"} <= set(texts), texts
END
}

# --- without a GPU: the CPU's columns, and why
run 0 "${few[@]}" --svg cpu.svg
is "" "$err" "what it says on the way"
prints '^text, extents of 128 KiB; GB/s of raw data by bytes in flight, 0\.02 s each$'
prints '^CPU: 2 threads$'
prints '^GPU: none: libbalefs_cuda\.so: '
prints '^codec +direction +engine +ratio +128 KiB +1 MiB$'
prints '^store +encode +CPU +1\.00( +[0-9]+\.[0-9]{2}){2}$'
prints '^zstd:1 +decode +CPU( +[0-9]+\.[0-9]{2}){2}$'
is "$(printf '%s encode CPU\n%s decode CPU\n' "${twice[@]}" | paste -sd ';')" \
    "$(lines | paste -sd ';')" "lines"
well_formed cpu.svg CPU
run 0 "${few[@]}" --codec store --json data
is "None data" "$(json 'd["gpu"], d["data"]')" "no GPU"
is True "$(json '"libbalefs_cuda.so" in d["no_gpu"] and all(e["gpu"] is None for e in d["codecs"])')" "why"

# --- with one
cp "$plugin" usr/lib/balefs/libbalefs_cuda.so
run 0 "${few[@]}" --svg both.svg
is "" "$err" "what it says on the way"
prints '^GPU: Fake GPU, .* of its memory, what it encodes is verified$'
prints '^codec +direction +engine +ratio +128 KiB +1 MiB  GPU faster from$'
is "${#twice[@]}" "$(lines | grep -cx '  GPU')" "lines of the GPU"
prints '^ +GPU +1\.00( +[0-9]+\.[0-9]{2}){2}  (never|128 KiB|1 MiB)$'
prints '^ +GPU( +[0-9]+\.[0-9]{2}){2}  (never|128 KiB|1 MiB)$'
well_formed both.svg CPU GPU
run 0 "${few[@]}" --json --gpu 0,1 --gpu-memory 1G --verify off data
is "131072 2 0.02 Fake GPU False data" \
    "$(json 'd["extent"], d["threads"], d["seconds"], d["gpu"]["device"], d["gpu"]["verify"], d["data"]')" "how"
is "$(printf '%s:encode\n%s:decode\n' "${twice[@]}" | paste -sd' ')" \
    "$(json '" ".join(e["codec"] + ":" + e["direction"] for e in d["codecs"])')" "codecs and directions"
is True "$(json 'all([s["in_flight"] for s in e[k]["speeds"]] == [131072, 1048576] and
    all(0 <= s["least"] <= s["rate"] <= s["most"] for s in e[k]["speeds"])
    for e in d["codecs"] for k in ("cpu", "gpu"))')" "speeds"
is True "$(json 'all(e["gpu_faster_from"] in (None, 131072, 1048576) for e in d["codecs"])')" "crossovers"
is True "$(json 'd["codecs"][4]["cpu"]["ratio"] == d["codecs"][4]["gpu"]["ratio"] > 2')" "ratios"

# --- what is all zero, which a GPU leaves to the CPU
{ head -c 131072 /dev/zero; cat data; } >part-zero
for file in part-zero /dev/zero; do
    run 0 "${few[@]}" --codec store --codec gpulz --json $file
    is "store gpulz" "$(json '" ".join(e["codec"] for e in d["codecs"] if e["direction"] == "decode" and e["cpu"]["speeds"])')" "decodes of $file"
done

# --- codecs that are asked for
run 0 "${few[@]}" --codec gpulz:s=4,w=32 --codec culzss:1 --svg some.svg
prints '^gpulz:s=4,w=32 encode +CPU +[0-9.]+( +[0-9]+\.[0-9]{2}){2}$'
is "gpulz:s=4,w=32 encode CPU;  GPU;gpulz:s=4,w=32 decode CPU;  GPU;culzss:1 encode CPU;  GPU;culzss:1 decode CPU;  GPU" \
    "$(lines | paste -sd ';')" "lines of codecs that are asked for"
is 2 "$(grep -c '>gpulz:s=4,w=32 GPU<' some.svg)" "labels of a codec that is asked for"
run 0 "${few[@]}" --codec zstd --json data
is "zstd:1 zstd:1" "$(json '" ".join(e["codec"] for e in d["codecs"])')" "a codec that is asked for"
fails 2 "--codec auto: name what it chooses from: see balefs bench engine --help" "${few[@]}" --codec auto
run 2 "${few[@]}" --codec zstd:0
says '^balefs: --codec zstd:0: .*: see balefs help codecs$'

# --- beside a program that fills the GPU
load=$work/usr/lib/balefs/bale_gpu_filler
# fill_with PYTHON: what that program does
fill_with() {
    printf '#!/usr/bin/python3\nimport sys, time\n%s\n' "$1" >"$load"
    chmod +x "$load"
}
fill_with 'begin = time.monotonic_ns()
time.sleep(float(sys.argv[2]))
assert sys.argv[1] in ("compute", "memory") and sys.argv[3] == "3"
print("{\"load\": \"%s\", \"rate\": 12.5, \"unit\": \"GB/s\", \"begin\": %d, \"end\": %d}" % (
    sys.argv[1], begin, time.monotonic_ns()))'
few=(bench engine --sizes 1M --seconds 0.02 --threads 2)
run 0 "${few[@]}" --beside --gpu 3,1
is "" "$err" "what --beside says on the way"
prints '^text, zstd:1, 1\.0 MiB in flight, beside a program that fills the GPU; 0\.02 s each$'
for program in compute memory; do
    for direction in encode decode; do
        prints "^$program +12 +12 +1\\.00 GB/s +$direction( +[0-9]+\\.[0-9]{2}){3} GB/s$"
    done
done
run 0 "${few[@]}" --beside --gpu 3 --json data
is "zstd:1 1048576 Fake GPU data" "$(json 'd["codec"], d["in_flight"], d["gpu"]["device"], d["data"]')" "what works beside"
is "compute:encode compute:decode memory:encode memory:decode" \
    "$(json '" ".join(e["program"] + ":" + e["direction"] for e in d["beside"])')" "pairs"
is True "$(json 'all(e["program_rate"] == {"alone": 12.5, "together": 12.5, "left": 1.0, "unit": "GB/s"} and
    e["engine_rate"]["alone"] >= 0 and e["engine_rate"]["together"] >= 0 for e in d["beside"])')" "rates"
run 0 "${few[@]}" --beside --gpu 3 --codec lz4 --codec culzss --json
is "culzss:2" "$(json 'd["codec"]')" "a codec that is asked for works beside"
fill_with 'sys.exit(3)'
fails 1 "$load: ended with status 3" "${few[@]}" --beside
fill_with 'print("{}")'
fails 1 "$load: does not report its rate: it belongs to another version of balefs" "${few[@]}" --beside
rm "$load"
fails 1 "$load: cannot be run: No such file or directory" "${few[@]}" --beside
export BALE_FAKE_GPU=open
fails 1 "--beside: there is no GPU: no device: BALE_FAKE_GPU says so" "${few[@]}" --beside
fails 2 "--beside and --svg contradict each other: it has no picture: see balefs bench engine --help" "${few[@]}" --beside --svg x.svg

# --- it fails
export BALE_FAKE_GPU=open
run 0 "${few[@]}" --codec store
prints '^GPU: none: no device: BALE_FAKE_GPU says so$'
is 0 "$(lines | grep -c GPU || true)" "lines of a GPU that is none"
BALE_FAKE_GPU="batch"
fails 1 "store, encode on the GPU: engine failed" "${few[@]}"
BALE_FAKE_GPU=item=3
fails 1 "store, encode on the GPU: device failed" "${few[@]}"
BALE_FAKE_GPU=corrupt
fails 1 "store, decode on the GPU: the decompressed bytes differ from the input: check this machine's memory, and report it" "${few[@]}"
BALE_FAKE_GPU=lost=20 # in the midst of being timed
run 1 "${few[@]}"
says '^balefs: [a-z0-9:]+, (en|de)code on the GPU: '
BALE_FAKE_GPU=pin=1
fails 1 "the memory cannot be pinned for the GPU: out of memory: give smaller --sizes" bench engine --sizes 32M
unset BALE_FAKE_GPU
echo "no library" >usr/lib/balefs/libbalefs_cuda.so
run 0 "${few[@]}" --codec store
prints "^GPU: none: $work/usr/bin/\.\./lib/balefs/libbalefs_cuda\.so: |^GPU: none: $work/usr/lib/balefs/libbalefs_cuda\.so: "
rm usr/lib/balefs/libbalefs_cuda.so

# --- files and usage
fails 1 "none: cannot be opened: No such file or directory" "${few[@]}" none
fails 1 "/dev/null: nothing to compress: give files with something in them" "${few[@]}" /dev/null
cp data keep
fails 1 "keep: exists: -f replaces it" "${few[@]}" --svg keep data
cmp data keep
run 0 "${few[@]}" --codec store --force --svg keep data
grep -q '^<svg ' keep || fail "--force does not replace a file"
fails 1 "data: input and output are the same file: give another output" "${few[@]}" -f --svg data data
fails 2 "--svg -: the table is on standard output: name a file: see balefs bench engine --help" bench engine --svg -
fails 2 "one FILE at a time: see balefs bench engine --help" bench engine data data
for sizes in 1 100K 1M,1M 2M,1M "1M," much 65G; do
    run 2 bench engine --sizes "$sizes"
    says "^balefs: --sizes .*: give sizes in whole 128K, each above the last: see balefs bench engine --help$"
done
fails 2 "--sizes 9M: 8 are enough: see balefs bench engine --help" bench engine --sizes 1M,2M,3M,4M,5M,6M,7M,8M,9M
for seconds in 0 -1 x nan 601 ''; do
    fails 2 "--seconds $seconds: give seconds, above 0 and up to 600: see balefs bench engine --help" \
        bench engine --seconds "$seconds"
done
fails 2 "--threads 0: give a whole number from 1 to 4096: see balefs bench engine --help" bench engine -j 0
fails 2 "--gpu x: give the numbers of GPUs, from 0 on: see balefs bench engine --help" bench engine --gpu 0,x
fails 2 "--gpu 1: this GPU is named twice: see balefs bench engine --help" bench engine -g 1,1
fails 2 "--gpu-memory 1M: give a size of 256M or more: see balefs bench engine --help" bench engine --gpu-memory 1M
fails 2 "--verify yes: it is on or off: see balefs bench engine --help" bench engine --verify yes
run 0 bench --runs 1 --threads 1 --codec store ./data

# Settings that differ in what they say of the array alone.
/usr/bin/python3 -c 'import array, random
random.seed(1)
array.array("h", (i % 20000 + random.randrange(4) for i in range(160000))).tofile(open("ramps", "wb"))'
run 0 bench engine --sizes 128K --seconds 0.02 --threads 2 --json --codec float:i16 --codec float:f64 ramps
is True "$(json 'd["codecs"][0]["cpu"]["ratio"] > 2 * d["codecs"][2]["cpu"]["ratio"]')" "ratios of i16 and of f64"
