#!/usr/bin/env bash
# Bad arguments: each command's exit code for wrong usage, and what it says; nothing is made or changed by it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

store=$work/store
run 0 init "$store"

# command:usage code
for pair in init:2 mount:1 umount:1 run:125 sync:2 freeze:2 thaw:2 set:2 get:2 recompress:2 stat:2 inspect:2 fsck:16 bench:2 doctor:2; do
    command=${pair%:*}
    code=${pair#*:}
    fails "$code" "unknown or ambiguous option --no-such: see balefs $command --help" "$command" --no-such "$store"
    fails "$code" "unknown or ambiguous option -Z: see balefs $command --help" "$command" -Z "$store"
    fails "$code" "--help=x: this option takes no value: see balefs $command --help" "$command" --help=x
    [ "$command" = stat ] || [ "$command" = doctor ] || {
        run "$code" "$command"
        [ -z "$out" ] || fail "$command without arguments prints: $out"
        says "(is|are) (missing|needed): see balefs $command --help$"
    }
done

fails 2 "unknown or ambiguous option --no-such: see balefs bench engine --help" bench engine --no-such
fails 2 "--help=x: this option takes no value: see balefs bench engine --help" bench engine --help=x

fails 2 "--codec lacks its value: see balefs init --help" init --codec
fails 2 "-e lacks its value: see balefs init --help" init -e
run 2 init --codec gzip "$work/new"
says '^balefs: --codec gzip: .*: see balefs help codecs$'
run 2 init --codec zstd:99 "$work/new"
says '19'
fails 2 "--extent 100: it is 16K to 64M, in steps of 4K: see balefs init --help" init --extent 100 "$work/new"
fails 2 "--extent 5000000: it is 16K to 64M, in steps of 4K: see balefs init --help" init -e 5000000 "$work/new"
run 2 init --match 'nothing' "$work/new"
says '^balefs: --match: "nothing": A match is a glob'
run 2 init --match '*.log gzip' "$work/new"
says "gzip"

# What changes values is for files alone.
run 2 init --codec cusz "$work/new"
says 'cusz begins with the type of the elements'
fails 1 "$work/new: codec: cusz changes values, so it is for a file, or for a match line of the directory that the file is made in." \
    init --codec cusz:f32,abs=1e-3 "$work/new"
run 1 init --match '*.f32 cusz:f32,abs=1e-3' "$work/new"
says 'cusz changes values'
run 1 set "$store" cusz:f32,abs=1e-3
says 'is a directory: cusz changes values, and is for files: name them with --match GLOB'
run 0 set --match '*.f32' "$store" cusz:f32,abs=1e-3,dims=7x5
run 2 recompress --codec cusz:f32,abs=1e-3 "$store"
says 'give it to the files with balefs set'

# The same codecs and the same sizes everywhere.
mkdir "$work/tree"
echo text >"$work/tree/text"
names=$(codecs 'c["codec"]' 'c["default"]')
for codec in $names auto:for=speed zstd:-7 zstd:19 gpulz:s=2,w=64 gpulz:level=3 culzss:v=1; do
    run 0 init --codec "$codec" --match "*.log $codec" "$work/with"
    run 0 import --codec "$codec" "$work/tree" "$work/with"
    run 1 recompress --codec "$codec" "$work/none"
    run 0 set "$work/with" "$codec"
    run 0 compress --codec "$codec" -o "$work/tree/text.bale" -f "$work/tree/text"
    run 0 bench --codec "$codec" "$work/tree/text"
    rm -r "$work/with"
done

# The goal of auto is the volume's, and new files have it.
run 0 init --codec auto:for=speed --match '*.a auto:for=ratio' "$work/fast"
is auto:for=speed "$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["codec"])' \
    "$work/fast/.balefs/volume.json")" "volume.json"
/usr/bin/python3 -c 'import random, sys; d = random.Random(1); k = [d.randbytes(8) for _ in range(30)]
sys.stdout.buffer.write(b"".join(d.choices(k, k=2000)))' >"$work/tree/keys"
cp "$work/tree/keys" "$work/tree/keys.a"
run 0 import "$work/tree" "$work/fast"
run 0 get "$work/fast" "$work/fast/keys" "$work/fast/keys.a"
is "$work/fast: codec auto:for=speed (default), extent 131072 (default)
$work/fast/keys: codec auto:for=speed (default), extent 131072 (default)
$work/fast/keys.a: codec auto (default), extent 131072 (default)" "$out" "get"
run 0 inspect --json "$work/fast/keys" "$work/fast/keys.a"
is "gpulz lzr" "$(json 'd[0]["extents"][0]["codec"], d[1]["extents"][0]["codec"]')" "what was chosen"
"$balefs" cat "$work/fast/keys" | cmp - "$work/tree/keys"
run 0 set "$work/fast" auto:for=ratio
run 0 get --json "$work/fast"
is auto "$(json 'd["codec"]')" "for the ratio"
rm -r "$work/tree" "$work/fast"
for size in 1M 1m 1MB 1MiB 1024K 1024KB 1024KiB 1048576 1048576B 1.0M; do
    run 0 set --extent 64K "$store"
    run 0 set --extent "$size" "$store"
    run 0 get "$store"
    prints ', extent 1048576$'
done
run 0 set --extent default "$store"
run 0 get --json "$store"
is "131072 False" "$(json 'd["extent"], d["extent_chosen"]')" "--extent default"
fails 2 "--extent 1MBs: it is 16K to 64M, in steps of 4K, or default: see balefs set --help" set --extent 1MBs "$store"
run 0 set "$store" zstd
run 0 get --json "$store"
is "zstd:1" "$(json 'd["codec"]')" "zstd without a level"
run 0 set --unset "$store"

fails 2 "--modes both: it is inode or container: see balefs init --help" init --modes both "$work/new"
fails 2 "one STORE at a time: see balefs init --help" init "$work/new" "$work/other"

fails 1 "-o frob: unknown option: see balefs mount --help" mount -o ro,frob "$store" "$work/mnt"
fails 1 "-o frob=1: unknown option: see balefs mount --help" mount -o frob=1 "$store" "$work/mnt"
for words in ro,rw ro,noatime,rw; do
    fails 1 "-o rw: ro and rw contradict each other: leave one out: see balefs mount --help" mount -o "$words" "$store" "$work/mnt"
done
fails 1 "-o ro: ro and rw contradict each other: leave one out: see balefs mount --help" mount -o rw -o ro "$store" "$work/mnt"
codec="a mount has no codec of its own: balefs init --codec lz4 makes a store with it, balefs set MNT lz4 sets it in a mount"
extent="a mount has no extent size of its own: balefs init --extent 1M makes a store with it, balefs set --extent 1M MNT sets it in a mount"
fails 1 "-o codec=lz4: $codec: see balefs mount --help" mount -o codec=lz4 "$store" "$work/mnt"
fails 125 "-o extent=1M: $extent: see balefs run --help" run -o ro,extent=1M "$store" "$work/mnt" true
fails 125 "--codec lz4: $codec: see balefs run --help" run --codec lz4 "$store" "$work/mnt" true
fails 1 "--extent 1M: $extent: see balefs mount --help" mount --extent=1M "$store" "$work/mnt"
fails 1 "-o memory=1M: give a size of 32M or more: see balefs mount --help" mount -o memory=1M "$store" "$work/mnt"
fails 1 "-o memory=much: give a size of 32M or more: see balefs mount --help" mount -o memory=much "$store" "$work/mnt"
fails 1 "-o memory=: its value is missing: see balefs mount --help" mount -o memory= "$store" "$work/mnt"
fails 1 "-o threads=0: give a whole number from 1 to 4096: see balefs mount --help" mount -o threads=0 "$store" "$work/mnt"
fails 1 "-o threads=-1: give a whole number from 1 to 4096: see balefs mount --help" mount -o threads=-1 "$store" "$work/mnt"
fails 1 "-o age=6: give seconds from 0.1 to 5: see balefs mount --help" mount -o age=6 "$store" "$work/mnt"
fails 1 "-o age=nan: give seconds from 0.1 to 5: see balefs mount --help" mount -o age=nan "$store" "$work/mnt"
fails 1 "-o io=fast: it is cached or direct: see balefs mount --help" mount -o io=fast "$store" "$work/mnt"
fails 1 "-o engine=cuda: it is auto, cpu or gpu: see balefs mount --help" mount -o engine=cuda "$store" "$work/mnt"
fails 1 "-o gpu=first: give the numbers of GPUs, from 0 on: see balefs mount --help" mount -o gpu=first "$store" "$work/mnt"
fails 1 "-o gpu=-1: give the numbers of GPUs, from 0 on: see balefs mount --help" mount -o gpu=-1 "$store" "$work/mnt"
fails 1 "-o gpu=1x: give the numbers of GPUs, from 0 on: see balefs mount --help" mount -o gpu=0,1x "$store" "$work/mnt"
fails 1 "-o gpu=0: this GPU is named twice: see balefs mount --help" mount -o gpu=0,1,0 "$store" "$work/mnt"
fails 1 "-o gpu=16: too many GPUs: see balefs mount --help" mount -o "gpu=$(seq -s , 0 16)" "$store" "$work/mnt"
fails 1 "-o 1: unknown option: see balefs mount --help" mount -o gpu=0,ro,1 "$store" "$work/mnt"
fails 1 "-o gpu-memory=1M: give a size of 256M or more: see balefs mount --help" mount -o gpu-memory=1M "$store" "$work/mnt"
for idle in 0 soon 169h; do
    fails 1 "-o gpu-idle=$idle: give a time from 1s to 168h: see balefs mount --help" mount -o "gpu-idle=$idle" "$store" "$work/mnt"
done
fails 1 "-o verify=yes: it is on or off: see balefs mount --help" mount -o verify=yes "$store" "$work/mnt"
fails 1 "-o log_level=all: it is error, warning, info or debug: see balefs mount --help" mount -o log_level=all "$store" "$work/mnt"
fails 1 "'': cannot be made: No such file or directory" init ""
fails 1 "-o engine=: its value is missing: see balefs mount --help" mount -o engine= "$store" "$work/mnt"
run 1 mount -o fsname=x "$store" "$work/mnt"
says 'fsname=x: balefs sets this itself'
fails 1 "more than STORE and MNT: see balefs mount --help" mount "$store" "$work/mnt" "$work/more"
run 1 mount --log "$work/none/log" "$store" "$work/mnt"
says "^balefs: $work/none/log: the log cannot be opened: No such file or directory"

fails 2 "CODEC is missing: see balefs set --help" set "$store"
fails 2 "CODEC is missing: see balefs set --help" set --match '*.log' "$store"
run 2 set "$store" zstd:99
says '^balefs: zstd:99: .*: see balefs help codecs$'
run 2 import --codec gzip "$work" "$store"
says '^balefs: --codec gzip: .*: see balefs help codecs$'
run 2 set --extent 100 "$store"
says '^balefs: --extent 100: it is 16K to 64M, in steps of 4K, or default: see balefs set --help$'
run 2 set --unset --extent 1M "$store"
says 'contradict'
run 2 set --match '' "$store" lz4
says "^balefs: --match '': "
fails 16 "--jobs 0: give a whole number from 1 to 1024: see balefs fsck --help" fsck -j 0 "$store"
fails 16 "--jobs 1x: give a whole number from 1 to 1024: see balefs fsck --help" fsck --jobs 1x "$store"
fails 16 "one STORE at a time: see balefs fsck --help" fsck "$store" "$store"

# Options are understood after arguments, when shortened, and not after --.
run 0 get "$store" --js
run 1 get -- "$store" --json
says '^balefs: --json: no such file or directory'

is "$store" "$(find "$work" -mindepth 1 -maxdepth 1 -not -name '.*')" "what is in the directory"
