#!/usr/bin/env bash
# balefs bench: every codec has a line, an object and a point; usage and failures. No times are judged.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work"
install_alone

seq 1 100000 >data # 588895 bytes
head -c 50000 /dev/zero >zeros
few=(--runs 1 --threads 2)

run 0 bench "${few[@]}" data zeros
is "" "$err" "what bench says on the way"
prints '^623\.9 KiB, extents of 128 KiB, chunks of 64 KiB, median of 1 run; MB/s$'
prints '^ +one core +2 cores$'
prints '^codec +ratio +compress +decompress +compress +decompress +frames$'
is "store $(default_settings | sed 's/^zstd:1$/zstd:-5 zstd:1 zstd:3 zstd:6 zstd:9 zstd:15/; s/^lzr:1$/lzr:1 lzr:2/' | paste -sd' ') auto auto:for=speed" \
    "$(awk '/^codec/ { on = 1; next } on { printf "%s%s", sep, $1; sep = " " }' .out)" "codecs"
prints '^store +1\.08( +[0-9]+){4} +store:5 zero:1$'

run 0 bench "${few[@]}" --json --codec zstd:3 --codec store --svg picture.svg -e 16K --chunk 4K -l 100000 data
is "98304 588895 1 16384 4096 1 2" "$(json 'd["bytes"], d["of"], d["files"], d["extent"], d["chunk"], d["runs"], d["threads"]')" "how"
is "zstd:3 store" "$(json 'd["codecs"][0]["codec"], d["codecs"][1]["codec"]')" "codecs"
is "None False" "$(json 'd["gpu"], any("gpu" in e for e in d["codecs"])')" "no GPU"
! grep -q GPU picture.svg || fail "a GPU that is none in the picture"
is "6" "$(json 'd["codecs"][0]["frames"]["zstd"]')" "frames"
is "$((98304 + 6 * 52 + 24 * 12)) 0.994" "$(json 'd["codecs"][1]["stored"], d["codecs"][1]["ratio"]')" store
is "True" "$(json 'all(e[w][k] > 0 for e in d["codecs"] for w in ("one", "all") for k in ("compress", "decompress"))')" \
    "speeds"
/usr/bin/python3 - <<'END' || fail "the picture"
import xml.etree.ElementTree as tree
texts = [e.text for e in tree.parse("picture.svg").iter("{http://www.w3.org/2000/svg}text")]
assert texts.count("zstd:3") == 2 and texts.count("store") == 2, texts
assert {"data", "compress", "decompress", "one core", "2 cores"} <= set(texts), texts
END

# Samples come from everywhere: an eighth of the file does not compress, its beginning. So it is with a tree; holes,
# second names and pipes in it do not count, and small files are extents of their own.
head -c 1048576 /dev/urandom >mixed
yes 'a line of text that repeats' | head -c 7340032 >>mixed || true
run 0 bench "${few[@]}" --json --codec lz4 --limit 1M mixed
is "1048576 8388608 1 7" "$(json 'd["bytes"], d["of"], d["codecs"][0]["frames"]["store"], d["codecs"][0]["frames"]["lz4"]')" "a sample of a file"
mkdir -p "tree/deep/with a
newline"
head -c 1048576 mixed >tree/a
tail -c 7340032 mixed >"tree/deep/with a
newline/b"
ln tree/a tree/deep/second
ln -s ../data tree/link
mkfifo tree/fifo
: >tree/empty
truncate -s 1G tree/hole
printf x >tree/small
run 0 bench "${few[@]}" --json --codec lz4 --limit 1M --svg tree.svg tree
is "8388609 5" "$(json 'd["of"], d["files"]')" "a tree"
is "True 1 7" "$(json '917505 <= d["bytes"] <= 1048577, d["codecs"][0]["frames"]["store"], d["codecs"][0]["frames"]["lz4"]')" "a sample of a tree"
run 0 bench "${few[@]}" --codec lz4 tree data
prints '^8\.6 MiB, extents of 128 KiB, '
run 0 bench "${few[@]}" --codec lz4 --limit 1M tree
prints '^(1\.0 MiB|896\.0 KiB) of 8\.0 MiB, extents of 128 KiB, '
run 0 bench "${few[@]}" --codec lz4 --json --limit 1K data
is 1024 "$(json 'd["bytes"]')" "less than an extent"
run 0 bench "${few[@]}" --codec lz4 --json --limit 64K /dev/zero data
is "65536 1 0" "$(json 'd["bytes"], d["codecs"][0]["frames"]["zero"], d["codecs"][0]["frames"].get("lz4", 0)')" "a device"

run 0 bench --runs 1 --threads 1 --codec lz4 --svg one.svg data
prints '^lz4 +[0-9.]+( +[0-9]+){2} +lz4:5$'
! grep -q 'one core' one.svg || fail "a key where there is one kind of point"
cp data '<&>'
run 0 bench "${few[@]}" --codec lz4 --svg odd.svg '<&>'
grep -q '>&lt;&amp;>' odd.svg || fail "a name of the picture's"

fails 2 "--svg -: the table is on standard output: name a file: see balefs bench --help" bench --svg - data
fails 1 "'': cannot be written: No such file or directory" bench --svg "" data
cp data keep
fails 1 "keep: exists: -f replaces it" bench "${few[@]}" --codec lz4 --svg keep data
cmp data keep
run 0 bench "${few[@]}" --codec lz4 --force --svg keep data
grep -q '^<svg ' keep || fail "--force does not replace a file"
run 0 bench "${few[@]}" --codec lz4 --svg keep data
fails 1 "data: input and output are the same file: give another output" bench -f --svg data zeros data

fails 2 "PATH is missing: see balefs bench --help" bench --json
fails 2 "--runs 0: give a whole number from 1 to 1000: see balefs bench --help" bench -r 0 data
fails 2 "--threads x: give a whole number from 1 to 4096: see balefs bench --help" bench -j x data
fails 2 "--engine both: it is auto, cpu or gpu: see balefs bench --help" bench --engine both data
run 1 bench "${few[@]}" --engine gpu --codec store data
says '^balefs: --engine gpu: there is no GPU: libbalefs_cuda\.so: '
is "" "$out" "what is measured without the GPU that has to be there"
fails 2 "--extent 1: it is 16K to 64M, in steps of 4K: see balefs bench --help" bench -e 1 data
fails 2 "--chunk 1: it is a power of two from 4K to 64M: see balefs bench --help" bench --chunk 1 data
fails 2 "--chunk: chunks of lzr are 64K at most: see balefs bench --help" bench --codec lzr:2 --chunk 128K data
fails 2 "--limit 0: give a size, like 64M: see balefs bench --help" bench -l 0 data
run 2 bench --codec zstd:0 data
says '^balefs: --codec zstd:0: .*: see balefs help codecs$'
fails 1 "none: cannot be opened: No such file or directory" bench none
mkdir void
fails 1 "void: nothing to compress: give files with something in them" bench void
fails 1 "/dev/null: nothing to compress: give files with something in them" bench /dev/null
run 1 bench "${few[@]}" --codec store --svg none/x.svg data
says '^balefs: none/x.svg: cannot be written: No such file or directory$'
is "" "$out" "what is measured for a picture that cannot be drawn"
run 1 bench "${few[@]}" --codec store --svg /dev/full data
says '^balefs: /dev/full: cannot be written: No space left on device$'
prints '^store '

# With a bound the elements are rounded first, or cusz would leave them to other codecs.
/usr/bin/python3 -c 'import array, math
array.array("f", (math.sin(i * 0.01) for i in range(200000))).tofile(open("waves", "wb"))'
run 0 bench "${few[@]}" --json --codec cusz:f32,abs=1e-3 waves
is "{'cusz': 7}" "$(json 'd["codecs"][0]["frames"]')" "rounded elements"

# Chunks that a codec makes larger than asked for, in each run.
run 0 bench --runs 2 --threads 2 --json --codec float:f32,dims=100x100x100 --extent 1M mixed
is "8" "$(json 'sum(d["codecs"][0]["frames"].values())')" "frames of an array with large planes"
run 0 bench engine --sizes 1M --seconds 0.02 --threads 2 --codec float:f32,dims=100x100x100 mixed
