#!/usr/bin/env bash
# init, set, get, stat and inspect on a store that is not mounted, in words and in JSON.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
make_store=${1:?the program that fills stores}

store=$work/store
run 0 init --codec zstd:3 --extent 64K --match '*.log zstd:9' --match '* lz4' "$store"
[ -z "$out$err" ] || fail "init prints: $out $err"
is '{"codec": "zstd:3", "extent": 65536, "match": ["*.log zstd:9", "* lz4"]}' \
    "$(/usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(json.dumps({k: d[k] for k in ("codec", "extent", "match")}))' \
        "$store/.balefs/volume.json")" "volume.json"

# An empty store.
run 0 stat "$store"
prints "^ +0 +0 B +0 B +0 B +- +0 B  $store$"
run 0 fsck "$store"
prints "^$store: 0 files, 0 B stored: 0 damaged$"
run 0 stat --json "$store"
is "0 0 0 None {}" "$(json 'd["files"], d["logical"], d["stored"], d["ratio"], d["codecs"]')" "JSON of an empty store"

mkdir "$store/dir" "$store/dir/deep"
yes 'a line that repeats' | head -c 300000 >"$work/text" || true
head -c 100000 /dev/urandom >"$work/random"
head -c 131072 /dev/zero >"$work/zeros"
: >"$work/empty"
"$make_store" "$store" text.log "$work/text" dir/random "$work/random" dir/deep/zeros.bin "$work/zeros" \
    dir/deep/hole hole empty "$work/empty"
ln "$store/text.log" "$store/dir/other-name.log"
ln -s text.log "$store/link.log"
mkfifo "$store/fifo"

# --- stat
run 0 stat --json "$store"
is "5" "$(json 'd["files"]')" "files, one with two names"
is $((300000 + 100000 + 131072 + 1048576)) "$(json 'd["logical"]')" "logical"
is $((300000 + 100000 + 131072 + 524288)) "$(json 'd["data"]')" "data, without the hole"
is "store zero zstd" "$(json '" ".join(sorted(d["codecs"]))')" "codecs"
is "2 10 5" "$(json 'd["codecs"]["store"]["extents"], d["codecs"]["zero"]["extents"], d["codecs"]["zstd"]["extents"]')" "extents"
is 300000 "$(json 'd["codecs"]["zstd"]["logical"]')" "logical of zstd"
is True "$(json 'd["stored"] == sum(c["stored"] for c in d["codecs"].values())')" "stored is the codecs' sum"
is True "$(json 'abs(d["ratio"] - d["data"] / d["stored"]) < 0.001')" "ratio"
is True "$(json 'd["disk"] >= d["stored"] - 10 * 4096 and d["disk"] % 512 == 0')" "disk"
run 0 stat --json "$store/text.log" "$store/dir" "$store/empty"
is "list 3" "$(json 'type(d).__name__, len(d)')" "several paths"
is "$store/text.log 1 300000" "$(json 'd[0]["path"], d[0]["files"], d[0]["logical"]')" "a file"
is 4 "$(json 'd[1]["files"]')" "files of a directory"
is "1 0 0" "$(json 'd[2]["files"], d[2]["logical"], d[2]["stored"]')" "an empty file"
run 0 stat --by-type --json "$store"
is "['', '.bin', '.log']" "$(json 'sorted(d["types"])')" "types"
is "3 1 1" "$(json 'd["types"][""]["files"], d["types"][".bin"]["files"], d["types"][".log"]["files"]')" "files of types"
run 0 stat --by-type "$store" "$store/dir"
prints '^   files +length +data +stored +data/stored +on disk  path$'
prints "^ +5 +1\.5 MiB +1\.0 MiB +[0-9.]+ KiB +[0-9.]+ +[0-9.]+ KiB  $store$"
prints "^ +4 .*  $store/dir$"
prints '^ +5 +1\.5 MiB +1\.0 MiB +.*  in all$' # each file once, though three of them lie below both paths
prints '^  frames +raw +referenced +stored +raw/stored  codec$'
prints '^ +10 .*  zero$'
prints '^   files +length +data +stored +data/stored +on disk  type$'
prints '^ +1 .*  \.log$'
[ "$(awk '{ if (length > most) most = length } END { print most }' <<<"${out//$store/PATH}")" -lt 80 ] || fail "wide: $out"
run 0 stat "$store" "$store"
prints '^ +5 .*  in all$'
cd "$store/dir"
run 0 stat
prints '^ +4 .*  \.$'
cd "$work"

# --- get and set
run 0 get "$store" "$store/text.log"
is "$store: codec zstd:3 (default), extent 65536 (default)
$store/text.log: codec zstd:3 (default), extent 65536 (default)" "$out" "get"
run 0 set "$store/dir" --match '*.log' zstd:9
run 0 set --match '*.gz' "$store/dir" store
run 0 set --match '*.log' "$store/dir" zstd:7
run 0 set --match 'a b*' "$store/dir" zstd
run 0 set --extent 1M "$store/dir" lz4
run 0 set --extent 256K "$store/dir/deep"
run 0 get "$store/dir" "$store/dir/deep"
is "$store/dir: codec lz4, extent 1048576
  match *.log zstd:7
  match *.gz store
  match a b* zstd:1
$store/dir/deep: codec zstd:3 (default), extent 262144" "$out" "get of directories"
run 0 get --json "$store/dir"
is "$store/dir lz4 True 1048576 True ['*.log zstd:7', '*.gz store', 'a b* zstd:1']" \
    "$(json 'd["path"], d["codec"], d["codec_chosen"], d["extent"], d["extent_chosen"], d["match"]')" "get --json"
run 0 set --unset --match '*.log' "$store/dir"
fails 1 "$store/dir: has no match line for *.none: balefs get $store/dir prints those it has" set --unset --match '*.none' "$store/dir"
run 0 set --unset "$store/dir"
run 0 set --extent default "$store/dir"
run 0 get "$store/dir"
is "$store/dir: codec zstd:3 (default), extent 65536 (default)
  match *.gz store
  match a b* zstd:1" "$out" "get after --unset"
run 0 set --unset --match '*.gz' "$store/dir"
run 0 set --unset --match 'a b*' "$store/dir"
run 0 get --json "$store/dir" "$store/text.log"
is "[] []" "$(json 'd[0]["match"], d[1]["match"]')" "no match lines"
fails 1 "$store/text.log: is a file of a store: mount the store and set it there" set "$store/text.log" lz4
fails 1 "$store/fifo: neither a file nor a directory: it holds nothing to store" get "$store/fifo"
long=$(printf 'x%.0s' {1..200})
for i in {1..19}; do run 0 set --match "$i$long" "$store/dir" lz4; done
run 1 set --match "20$long" "$store/dir" lz4
says "^balefs: $store/dir: its match lines would have more than 4095 bytes"
run 0 get --json "$store/dir"
is 19 "$(json 'len(d["match"])')" "match lines after a refused one"

# --- inspect
run 0 inspect --json "$store/text.log"
is "$store/text.log $store/text.log" "$(json 'd["path"] + " " + d["container"]')" "path of a container"
is 5 "$(json 'len(d["extents"])')" "extents"
is "[0, 65536, 131072, 196608, 262144] [65536, 65536, 65536, 65536, 37856]" \
    "$(json '[e["offset"] for e in d["extents"]], [e["length"] for e in d["extents"]]')" "table of extents"
is 1 "$(json 'sum(r.get("chosen", False) for r in d["roots"])')" "chosen roots"
is "300000 65536 zstd:3 1700000000123456789 1" \
    "$(json '[(r["size"], r["extent"], r["codec"], r["mtime"], r["height"]) for r in d["roots"] if r.get("chosen")][0]')" "chosen root"
is "True" "$(json 'sum(e["stored"] for e in d["extents"]) == [r["stored"] for r in d["roots"] if r.get("chosen")][0]')" "stored in the root"
is "1 1" "$(json 'd["index"]["pages"], d["index"]["height"]')" "index"
is True "$(json 'all(len(e["checksum"]) == 18 for e in d["extents"])')" "checksums"
is "zstd zstd:3" "$(json 'tuple({e["codec"] + " " + e["setting"] for e in d["extents"]})')" "what extents were encoded with"
run 0 inspect "$store/text.log"
prints '^root 0: valid$'
prints '^  generation [1-3] \(chosen\), durable [0-2], session [0-9]+$'
prints '^  size 300000, stored [0-9]+, end [0-9]+, mtime 2023-11-14T22:13:20\.123456789Z$'
prints '^index: 1 pages, [0-9]+ bytes, height 1$'
prints '^ +262144 +37856  zstd:3 '
run 0 inspect "$store/dir/deep/hole" "$store/empty"
prints '^ +524288 +65536  zero '
run 0 inspect --json "$store/text.log" "$store/dir/random"
is 2 "$(json 'len(d)')" "two files"
run 0 inspect "$store/empty"
prints '^no extents: it contains no data$'
! grep -q '^ *offset ' <<<"$out" || fail "a table without rows: $out"
run 1 inspect "$store"
says "is no regular file"
cd "$work"
fails 1 "store: is no regular file, but a directory: name a file in it; balefs stat and balefs export take directories" inspect store
fails 1 "store: is no regular file, but a directory: name a file in it; balefs stat and balefs export take directories" cat store
cd "$OLDPWD"
printf 'not a container at all, but longer than both root slots are: %200s' x >"$store/text.junk"
run 1 inspect --json "$store/text.junk"
is "damaged damaged" "$(json 'd["roots"][0]["state"] + " " + d["roots"][1]["state"]')" "slots of no container"
says "^balefs: $store/text.junk: is damaged"
run 1 stat --json "$store/text.junk" "$store/empty"
says "^balefs: $store/text.junk: is damaged"
