#!/usr/bin/env bash
# recompress in a mount: what it rewrites and what it leaves, what does not change, and what it refuses.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

store=$work/store
mnt=$work/mnt
mkdir "$mnt"
run 0 init --codec lz4 "$store"
run 1 recompress "$store"
says "^balefs: $store: lies in a store, not in a mount: mount the store, and name it there$"
run 1 recompress "$work/none"
says "^balefs: $work/none: no such file or directory"
fails 2 "--rate fast: give a size, as 20M/s: see balefs recompress --help" recompress --rate fast "$mnt"
fails 2 "--rate 0: give a size, as 20M/s: see balefs recompress --help" recompress --rate 0 "$mnt"
fails 2 "--rate 20: that is 20 B/s: give at least 64K, such as 20M: see balefs recompress --help" recompress --rate 20 "$mnt"
fails 2 "--rate 63K/s: that is 63.0 KiB/s: give at least 64K, such as 20M: see balefs recompress --help" recompress -r 63K/s "$mnt"
run 1 recompress --rate 64K "$work/none"
run 2 recompress --codec gzip "$mnt"
says "^balefs: --codec gzip: .*: see balefs help codecs$"

needs_fuse
run 0 mount "$store" "$mnt"
# 1 MB of text: 8 extents; 3 that cannot be compressed; a hole between data.
seq 1 200000 | head -c 1000000 >"$work/text" || true
head -c 393216 /dev/urandom >"$work/random"
mkdir "$mnt/dir"
cp "$work/text" "$mnt/text"
cp "$work/text" "$mnt/dir/more"
ln "$mnt/dir/more" "$mnt/dir/same"
cp "$work/random" "$mnt/random"
truncate -s 8M "$mnt/hole"
dd if="$work/text" of="$mnt/hole" bs=128k count=1 seek=40 conv=notrunc status=none
run 0 sync "$mnt"

# figures PATH: files, extents, renewed of the last --json run
figures() { json 'd["files"], d["extents"], d["renewed"], d["damaged"]'; }

# --- by default: the codec in force, which all have
run 0 recompress "$mnt"
is "$mnt: 4 files, 20 extents, 0 rewritten" "$out" "recompress of what is as it should be"

# --- a dry run stores nothing, and shows what a run would do
touch -d '2001-02-03 04:05:06.789' "$mnt/text"
before=$(stat -c '%n %s %a %y %z' "$mnt"/* "$mnt/dir"/*)
run 0 recompress --dry-run --codec zstd:9 --json "$mnt"
is "4 20 17 0" "$(figures)" "a dry run"
would=$(json 'd["before"], d["after"], d["logical"]')
run 0 stat --json "$mnt"
is "lz4 store" "$(json '" ".join(sorted(d["codecs"]))')" "codecs after a dry run"

# --- another codec, once; again, and nothing is left to do
run 0 recompress --codec zstd:9 --json "$mnt"
is "4 20 17 0" "$(figures)" "recompress"
is "$would" "$(json 'd["before"], d["after"], d["logical"]')" "what a dry run foretold"
is True "$(json 'd["after"] < d["before"] and d["logical"] == 2 * 1000000 + 131072')" "sizes"
is "$before" "$(stat -c '%n %s %a %y %z' "$mnt"/* "$mnt/dir"/*)" "names, sizes, modes and times"
run 0 stat --json "$mnt"
is "store zstd" "$(json '" ".join(sorted(d["codecs"]))')" "codecs"
is True "$(json 'd["disk"] <= d["stored"] + 5 * 16384')" "what was stored before takes no space any more"
run 0 recompress --codec zstd:9 "$mnt/text" "$mnt/dir"
is "$mnt/text: 1 files, 8 extents, 0 rewritten
$mnt/dir: 1 files, 8 extents, 0 rewritten" "$out" "recompress again"
run 0 get "$mnt/text"
is "$mnt/text: codec lz4 (default), extent 131072 (default)" "$out" "get without --set"
cmp "$work/text" "$mnt/text"
cmp "$work/text" "$mnt/dir/same"
cmp "$work/random" "$mnt/random"
is "$((40 * 128 * 1024)) $((41 * 128 * 1024))" \
    "$(/usr/bin/python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print(os.lseek(fd, 0, os.SEEK_DATA), os.lseek(fd, 41 * 131072 - 1, os.SEEK_HOLE))' "$mnt/hole")" "the holes"

# --- not smaller, and nobody chose: kept. Chosen: rewritten. --set chooses for the file.
run 0 recompress --json "$mnt/text"
is "1 8 0 0" "$(figures)" "the default codec, which is worse"
run 0 set "$mnt/text" lz4
run 0 recompress --json "$mnt/text"
is "1 8 8 0" "$(figures)" "a codec chosen by set"
run 0 recompress --set --codec zstd:1 --json "$mnt/text"
is "1 8 8 0" "$(figures)" "--set"
run 0 get "$mnt/text"
is "$mnt/text: codec zstd:1, extent 131072 (default)" "$out" "get after --set"

# --- the directory's codec is that of new files: said where nothing changes because of it
mkdir "$mnt/later"
cp "$work/text" "$mnt/later/a.log"
cp "$work/text" "$mnt/later/b"
run 0 sync "$mnt"
run 0 recompress "$mnt/later"
is "" "$err" "recompress where files have the codec of new ones"
run 0 set "$mnt/later" --match '*.log' zstd:9
run 0 recompress "$mnt/later"
is "$mnt/later: 2 files, 16 extents, 0 rewritten" "$out" "recompress after a change of match lines"
is "balefs: $mnt/later/a.log: keeps the codec that is recorded for it, lz4, where a new file gets zstd:9: balefs recompress --set gives each file what a new one gets" \
    "$err" "advice"
run 0 set "$mnt/later" zstd:9
run 0 recompress --dry-run --json "$mnt/later/b"
says "^balefs: $mnt/later/b: keeps the codec that is recorded for it, lz4, where a new file gets zstd:9: "

# What was there before a file got an error bound is rounded only where that is asked for.
head -c 40000 /dev/urandom >"$mnt/array"
run 0 set "$mnt/array" cusz:f32,abs=1e-3
run 0 recompress "$mnt/array"
is "balefs: $mnt/array: elements that were written before it got cusz:f32,abs=1e-3 keep their values: balefs recompress --round $mnt/array rounds them" \
    "$err" "a file that got an error bound"
run 0 recompress --round "$mnt/array"
is "" "$err" "no advice where --round is given"
is "$mnt/array: 1 files, 1 extents, 1 rounded, 0 only rewritten" "$out" "an extent that was rounded"
run 0 recompress --round "$mnt/array"
is "$mnt/array: 1 files, 1 extents, 0 rounded, 0 only rewritten" "$out" "an extent that was rounded before"
rm "$mnt/array"

# With a codec, which is recorded before; a relative bound without a range is of each file's own range.
make_arrays "$mnt"
run 0 recompress --round --codec cusz:f32,rel=0.125 "$mnt/far" "$mnt/near"
is "balefs: $mnt/far: each element is rounded by 125 at most
balefs: $mnt/near: each element is rounded by 12.5 at most" "$err" "bounds of two files"
says_codec() { is "$2" "$(getfattr --absolute-names --only-values -n user.balefs.codec "$mnt/$1")" "the codec of $1"; }
says_codec far cusz:f32,abs=1.25e2
says_codec near cusz:f32,abs=1.25e1
is "$mnt/far: 1 files, 10 extents, 10 rounded, 0 only rewritten
$mnt/near: 1 files, 1 extents, 1 rounded, 0 only rewritten" "$out" "what was rounded"
run 0 recompress --round --codec cusz:f32,rel=0.125,range=0:1000 "$mnt/near"
says_codec near cusz:f32,abs=1.25e2
for file in rest words; do
    cp "$mnt/$file" "$work/$file"
    run 1 recompress --round --codec cusz:f32,rel=1e-2 "$mnt/$file"
    cmp "$work/$file" "$mnt/$file" || fail "$file was rounded"
    [[ $(getfattr --absolute-names --only-values -n user.balefs.codec "$mnt/$file") != cusz* ]] || fail "$file got a bound"
done
says '^balefs: .*/words: was not rounded: it is text$'
run 1 recompress --round --codec cusz:f32,rel=1e-2 "$mnt/rest"
says '/rest: was not rounded: a relative bound needs a range, and its finite values are all 7$'
run 2 recompress --round --codec zstd:3 "$mnt/near"
says 'has no error bound'
run 2 recompress --codec cusz:f32,rel=1e-2 "$mnt/near"
rm "$mnt/far" "$mnt/near" "$mnt/rest" "$mnt/words"

# Files in a directory with a codec of its own get that.
mkdir -p "$mnt/later/apart"
run 0 set "$mnt/later/apart" lz4
run 0 recompress --set --dry-run "$mnt/later"
is "balefs: $mnt/later/apart: files there got what new ones there get, lz4, and not zstd:9: balefs set gives a directory another codec" \
    "$err" "a directory below with another codec"
rmdir "$mnt/later/apart"

# One hint for all, and --set without --codec does what it says, match lines included.
run 0 set "$mnt/later" --match '*.log' zstd:3
run 0 recompress "$mnt/later/a.log" "$mnt/later/b"
is 1 "$(wc -l <<<"$err")" "hints: $err"
says "^balefs: $mnt/later/a.log, and 1 more: keep the codec that is recorded for them, as lz4 where a new file gets zstd:3: "
run 0 recompress --set --dry-run "$mnt/later"
is "$mnt/later: 2 files, 16 extents, 16 to be rewritten" "${out%:*would become*}" "--set in a dry run"
run 0 recompress --set "$mnt/later"
is "$mnt/later: 2 files, 16 extents, 16 rewritten" "${out%:*became*}" "--set"
is "" "$err" "no advice where --set is given"
run 0 get "$mnt/later/a.log" "$mnt/later/b"
is "$mnt/later/a.log: codec zstd:3, extent 131072 (default)
$mnt/later/b: codec zstd:9, extent 131072 (default)" "$out" "get after --set"
run 0 recompress "$mnt/later"
is "" "$err" "no advice after that"

# --codec says which match lines it overrides, and in which files
cp "$work/text" "$mnt/later/c.log"
run 0 sync "$mnt"
run 0 recompress --set --codec zstd:9 "$mnt/later"
is 1 "$(wc -l <<<"$err")" "messages: $err"
says "^balefs: --codec zstd:9 overrides the match line \"\*\.log zstd:3\" for 2 files, as $mnt/later/[ac].log: balefs recompress --set without --codec keeps to it$"
run 0 recompress --set --codec zstd:3 "$mnt/later/a.log"
is "" "$err" "a match line that says the same"
run 0 recompress --set --codec lz4 "$mnt/later/a.log"
says "^balefs: --codec lz4 overrides the match line \"\*\.log zstd:3\" for 1 file, as $mnt/later/a.log: "
run 0 recompress --set --codec zstd:3 "$mnt/later/a.log"

# --- a signal: the summary of what was done, and the rest is left for the next run
/usr/bin/python3 - "$balefs" "$mnt/later" "$store" <<'END' || fail "a recompress that is interrupted"
import json, signal, subprocess, sys, time
balefs, tree, store = sys.argv[1:]
default = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
for words, number in ([], signal.SIGINT), (["--json"], signal.SIGTERM):
    codec = "lzr:1" if words else "lz4"
    run = subprocess.Popen([balefs, "recompress", "--rate=64K", "--codec", codec, *words, tree], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, preexec_fn=default)
    while codec.split(":")[0] not in json.loads(subprocess.check_output([balefs, "stat", "--json", tree]))["codecs"]:
        time.sleep(0.02)
    run.send_signal(number)
    out = run.communicate()[0]
    assert run.returncode == -number, (run.returncode, out)
    if words:
        result = json.loads(out)
        assert result["interrupted"] and 0 < result["renewed"] < 24, result
    else:
        assert out.startswith(tree + ": 1 files, 8 extents, 8 rewritten: "), out
        assert out.endswith("; interrupted: the next run goes on\n"), out
END
run 0 recompress --json --codec lzr:1 "$mnt/later"
is "3 24 False" "$(json 'd["files"], d["extents"], d["interrupted"]')" "the run after that"
run 0 stat --json "$mnt/later"
is lzr "$(json '" ".join(d["codecs"])')" "codecs after that"

# --- on a terminal: how far it is
if command -v script >/dev/null; then
    script -qefc "exec '$balefs' recompress --rate=1M --codec lz4 '$mnt/later'" /dev/null >"$work/tty" </dev/null
    tr '\r' '\n' <"$work/tty" | grep -Eq 'recompressed [0-2] of 3 files, [0-9]+ %, [0-9]+ s left$' || fail "a terminal: $(cat -v "$work/tty")"
fi
rm -r "$mnt/later"

# --- pieces that synchronous writes left are put together
for i in {0..9}; do
    printf 'a piece %s' "$i" | dd of="$mnt/text" bs=10000 seek="$i" conv=notrunc,fsync status=none
done
run 0 inspect --json "$mnt/text"
pieces=$(json 'len(d["extents"])')
[ "$pieces" -gt 8 ] || fail "no pieces: $pieces"
cp "$mnt/text" "$work/text2"
run 0 recompress --json "$mnt/text"
is "1 8 1 0" "$(figures)" "pieces"
run 0 inspect --json "$mnt/text"
is 8 "$(json 'len(d["extents"])')" "frames after that"
cmp "$work/text2" "$mnt/text"

# --- in a frozen mount it waits
run 0 freeze "$mnt"
"$balefs" recompress --codec store "$mnt/text" >"$work/waits" 2>&1 &
waiter=$!
soon test -s "$work/waits" || fail "it says nothing"
kill -0 "$waiter" || fail "recompressed while frozen"
is "balefs: $mnt/text: its mount is frozen: waiting for balefs thaw" "$(cat "$work/waits")" "in a frozen mount"
run 0 thaw "$mnt"
wait "$waiter" || fail "recompress after thaw"
grep -q '8 rewritten' "$work/waits" || fail "after thaw: $(cat "$work/waits")"
run 0 umount "$mnt"
run 0 fsck --data "$store"

# --- others may not, and a read-only mount cannot
run 0 mount -o ro "$store" "$mnt"
run 1 recompress "$mnt/random"
says "^balefs: $mnt/random: cannot be written: mount the store without -o ro$"
fails 1 "$mnt: cannot be written: mount the store without -o ro" recompress "$mnt"
fails 1 "$mnt/random: cannot be changed: it is mounted read-only: mount it without -o ro" set "$mnt/random" lz4
fails 1 "$mnt/dir: cannot be changed: it is mounted read-only: mount it without -o ro" set --match '*.log' "$mnt/dir" lz4
fails 1 "$mnt/dir: cannot be changed: it is mounted read-only: mount it without -o ro" set --extent 1M "$mnt/dir" lz4
run 0 umount "$mnt"
needs_root
copy_for_users
run 0 mount "$store" "$mnt"
got=0
as_user "$work/balefs" recompress "$mnt/random" >/dev/null 2>"$work/err" || got=$?
is "1 balefs: $mnt/random: may not be recompressed: be its owner, the mount's or root" "$got $(cat "$work/err")" "another user"
chown 65534 "$mnt/random"
as_user "$work/balefs" recompress "$mnt/random" >/dev/null || fail "the file's owner"
run 0 umount "$mnt"
