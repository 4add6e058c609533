#!/usr/bin/env bash
# balefs compress and decompress: files, pipes, names, what is kept, damage, and what gets in the way.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work"

# alone NAME...: nothing else is in the directory but the test's own hidden files; so no temporary is left.
alone() {
    is "$(printf '%s\n' "$@" | sort)" "$(find . -mindepth 1 -maxdepth 1 -not -name .out -not -name .err -printf '%P\n' |
        sort)" "what is there"
}

# cut_at FILE LENGTH: its first bytes, as ./piece
cut_at() { head -c "$2" "$1" >piece; }

seq 1 200000 >data # 1288895 bytes

# Usage.
for command in compress decompress; do
    fails 2 "unknown or ambiguous option --no-such: see balefs $command --help" $command --no-such
    fails 2 "--help=x: this option takes no value: see balefs $command --help" $command --help=x
    fails 2 "-o lacks its value: see balefs $command --help" $command -o
    fails 2 "--threads 0: give a whole number from 1 to 4096: see balefs $command --help" $command -j 0 data
    fails 2 "--output and --stdout contradict each other: see balefs $command --help" $command -c -o x data
    fails 2 "--output is for one FILE: several go to one place with --stdout: see balefs $command --help" \
        $command -o x data data
done
fails 2 "--extent 5000: it is 16K to 64M, in steps of 4K: see balefs compress --help" compress -e 5000 data
fails 2 "--chunk 5000: it is a power of two from 4K to 64M: see balefs compress --help" compress --chunk 5000 data
fails 2 "--chunk: chunks of lzr are 64K at most: see balefs compress --help" compress --codec lzr --chunk 128K data
run 2 compress --codec gzip data
says '^balefs: --codec gzip: There is no codec "gzip"\. .*: see balefs help codecs$'
fails 2 "--test writes nothing, also not with --output or --stdout: see balefs decompress --help" decompress -t -c data
alone data

# Names; what is kept.
chmod 640 data
touch -d '2001-02-03 04:05:06.789' data
run 0 compress data
is "" "$out$err" "what compress says"
alone data data.bale
is "$(stat -c '%a %y %U %G' data)" "$(stat -c '%a %y %U %G' data.bale)" "mode, time and owner"
[ "$(stat -c %s data.bale)" -lt 700000 ] || fail "not smaller: $(stat -c %s data.bale)"
fails 1 "data.bale: exists: -f replaces it" compress data
fails 1 "data: exists: -f replaces it" decompress data.bale
fails 1 "data.bale: ends in .bale already: -f compresses it anyway" compress data.bale
fails 1 "data: does not end in .bale: give -o or -c" decompress data
mv data original
run 0 decompress -v data.bale
grep -Eqx 'data.bale: 1.2 MiB, compressed [0-9.]+ KiB, ratio [2-9]\.[0-9]{2}' <<<"$err" || fail "-v: $err"
cmp data original
is "$(stat -c '%a %y %U %G' original)" "$(stat -c '%a %y %U %G' data)" "mode, time and owner back"
echo other >data
run 0 decompress -f data.bale
cmp data original
run 0 compress -f data.bale
run 0 decompress -c data.bale.bale
cmp .out data.bale
rm data.bale.bale original
alone data data.bale

# Several, of which some fail.
echo 1 >one
echo 2 >two
run 1 compress one none two data
is "balefs: none: cannot be opened: No such file or directory
balefs: data.bale: exists: -f replaces it" "$err" "two of four"
run 0 decompress -t -v one.bale two.bale
is "one.bale: 2 B, compressed 146 B, ratio 0.01, good
two.bale: 2 B, compressed 146 B, ratio 0.01, good" "$err" "-t -v"
run 0 decompress -c one.bale two.bale
is "1
2" "$out" "-c of two"
rm one two one.bale two.bale

# Where to: -o, -c, a link, places that are no files, the input itself.
mkdir sub
run 0 compress -o sub/x data
cmp sub/x data.bale
ln -s sub/x link
run 1 decompress -o link data.bale
says '^balefs: link: exists: -f replaces it$'
run 0 decompress -f -o link data.bale
[ -L link ] || fail "the link was replaced"
cmp sub/x data
run 0 compress -c data
cmp .out data.bale
run 0 compress -o - data
cmp .out data.bale
run 0 compress -o /dev/null data
[ -c /dev/null ] || fail "/dev/null was replaced"
fails 1 "/dev/full: cannot be written: No space left on device" compress -o /dev/full data
fails 1 "data: input and output are the same file: give another output" compress -f -o data data
fails 1 "sub: a directory: give files, or pipe tar into balefs compress" compress sub
fails 1 "sub: cannot be written: Is a directory" compress -o sub data
fails 1 "none/x: cannot be written: No such file or directory" compress -o none/x data
fails 1 "/dev/null: not a regular file: give -o or -c" compress /dev/null
rm -r sub link
alone data data.bale

# Pipes; threads and input make no difference; every codec, odd sizes and extents.
# shellcheck disable=SC2002 # a pipe is what is tested
cat data | "$balefs" compress -j 5 | cmp - data.bale
"$balefs" compress -j 1 <data | cmp - data.bale
"$balefs" decompress -j 5 <data.bale | cmp - data
names=$(codecs 'c["codec"]' 'c["default"]')
mkdir odd
for length in 0 1 16385 400001; do head -c $length data >odd/$length; done
cat odd/0 odd/1 odd/16385 odd/400001 >odd/all
for codec in $names auto:for=speed zstd:-3 zstd:9 gpulz:s=1,w=32,c=65536 culzss:v=1 lzr:2; do
    chunk=1M
    case $codec in lzr* | float*) chunk=16K ;; esac
    "$balefs" compress -c --codec "$codec" -e 16K --chunk 16K odd/0 odd/1 odd/16385 >odd/made
    "$balefs" compress --codec "$codec" -e 1M --chunk $chunk <odd/400001 >>odd/made
    "$balefs" decompress <odd/made | cmp - odd/all || fail "$codec"
done
rm -r odd

# Holes stay holes, and zeros become some.
truncate -s 5G sparse
printf middle | dd of=sparse bs=1 seek=3000000000 conv=notrunc status=none
if [ "$(stat -c %b sparse)" -lt 1000 ]; then
    run 0 compress sparse
    [ "$(stat -c %s sparse.bale)" -lt 1000 ] || fail "sparse.bale: $(stat -c %s sparse.bale) bytes"
    run 0 decompress -o back sparse.bale
    is "$(stat -c %s sparse)" "$(stat -c %s back)" "size of a sparse file"
    [ "$(stat -c %b back)" -lt 1000 ] || fail "the file's hole is lost"
    is middle "$(dd if=back bs=1 skip=3000000000 count=6 status=none)" "in a sparse file"
    rm back sparse.bale
fi
rm sparse
{ cat data; head -c 3000000 /dev/zero; cat data; head -c 100000 /dev/zero; } >zeros
"$balefs" compress <zeros >zeros.bale
run 0 decompress -o back zeros.bale
cmp zeros back
[ "$(stat -c %b back)" -lt "$(stat -c %b zeros)" ] || fail "zeros take $(stat -c %b back) blocks"
"$balefs" decompress -c zeros.bale >>back # behind what is there, and without holes
cmp back <(cat zeros zeros)
rm back zeros zeros.bale

# One behind the other.
cat data.bale data.bale | "$balefs" decompress | cmp - <(cat data data)
echo small | "$balefs" compress -e 16K >small.bale
"$balefs" compress -e 4M <data >large.bale
cat small.bale large.bale small.bale | "$balefs" decompress | cmp - <(echo small; cat data; echo small)

# Cut short, damaged, followed by something else, something else altogether. -c gives what comes before.
size=$(stat -c %s data.bale)
rescue="balefs decompress -c writes what comes before"
for length in 1 31 32 33 100 5000 $((size / 2)) $((size - 48)) $((size - 1)); do
    cut_at data.bale "$length"
    why="the stream is cut short: $rescue"
    [ "$length" -ge 32 ] || why="no balefs stream: give a file that balefs compress made"
    [ "$length" -ge 32 ] && at=$length || at=0
    fails 1 "piece: byte $at: $why" decompress -t piece
    fails 1 "piece: byte $at: $why" decompress -o back piece
    run 1 decompress -c piece
    cmp -n "$(stat -c %s .out)" .out data
done
[ "$(stat -c %s .out)" = "$(stat -c %s data)" ] || fail "all was there, but not the end record"
: >piece
fails 1 "piece: byte 0: empty, no balefs stream: give a file that balefs compress made" decompress -c piece
fails 1 "data: byte 0: no balefs stream: give a file that balefs compress made" decompress -c data
fails 1 "standard input: byte 0: empty, no balefs stream: give a file that balefs compress made" decompress

{ cat data.bale; printf 'more'; } >piece
fails 1 "piece: byte $size: what follows the stream is none: truncate -s $size removes it" decompress -o back piece
run 1 decompress -c piece
cmp .out data
truncate -s "$size" piece
run 0 decompress -t piece

cp data.bale piece
flip piece 10
fails 1 "piece: byte 0: the head of the stream is damaged: give a file that balefs compress made" decompress -t piece
cp data.bale piece
flip piece 100
fails 1 "piece: byte 32: the head of the frame is damaged: $rescue" decompress -t piece
cp data.bale piece
flip piece 1000
fails 1 "piece: byte 32: the frame is damaged: $rescue" decompress -t piece
cp data.bale piece
flip piece $((size - 20))
fails 1 "piece: byte $((size - 48)): the end record is damaged or a frame is missing: $rescue" decompress -t piece
cp data.bale piece
flip piece $((size / 2))
run 1 decompress -o back piece
says "^balefs: piece: byte [0-9]+: the frame is damaged: $rescue$"
run 1 decompress -c piece
[ -s .out ] || fail "nothing came before the damage"
cmp -n "$(stat -c %s .out)" .out data
rm piece
alone data data.bale small.bale large.bale

# Nobody reads: quiet, and no success. Nobody may read or write: said.
for arguments in "compress -c data" "decompress -c data.bale"; do
    read -ra words <<<"$arguments"
    unread "$balefs" "${words[@]}" 2>err || true
    [ ! -s err ] || fail "$arguments into a closed pipe: $(cat err)"
    got=0
    unread_ignoring "$balefs" "${words[@]}" 2>err || got=$?
    [ ! -s err ] || fail "$arguments into a closed pipe, SIGPIPE ignored: $(cat err)"
    is 1 "$got" "$arguments into a closed pipe: exit status"
    got=0
    "$balefs" "${words[@]}" >/dev/full 2>err || got=$?
    is "1 balefs: standard output: cannot be written: No space left on device" "$got $(cat err)" "$arguments, full"
done
rm err

if [ "$(id -u)" = 0 ]; then
    mkdir -m 755 closed
    cp data closed/data
    chmod 600 data
    got=0
    as_user "$balefs" compress -c data >/dev/null 2>closed/err || got=$?
    is "1 balefs: data: cannot be opened: Permission denied" "$got $(cat closed/err)" "a file of another's"
    chmod 644 closed/data
    got=0
    as_user "$balefs" compress closed/data 2>closed/err || got=$?
    is "1 balefs: closed/data.bale: cannot be written: Permission denied" "$got $(cat closed/err)" "a closed directory"
    # Another's file can be compressed where one may write; it is then one's own.
    mkdir -m 777 open
    as_user "$balefs" compress -o open/mine closed/data
    is "65534 604" "$(stat -c '%u %a' open/mine)" "owner and mode of what an ordinary user made"
    chown 65534:65534 closed/data
    "$balefs" compress closed/data
    is "65534:65534" "$(stat -c %u:%g closed/data.bale)" "owner of what root made"
    rm -r open closed
    chmod 640 data
fi

# Interrupted: the unfinished file goes, and the signal is seen.
for signal in INT TERM HUP; do
    mkfifo pipe
    env --default-signal=$signal "$balefs" compress -o out -e 16K pipe &
    child=$!
    exec 9>pipe
    head -c 600000 data >&9
    soon compgen -G '.out.*' >/dev/null || fail "no temporary file"
    kill -s $signal $child
    got=0
    wait $child 2>/dev/null || got=$?
    exec 9>&-
    is $((128 + $(kill -l $signal))) "$got" "exit status after SIG$signal"
    rm pipe
    alone data data.bale small.bale large.bale
done

# Terminals.
if command -v script >/dev/null; then
    terminal() { script -qec "$1" /dev/null </dev/null | tr -d '\r'; }
    is "balefs: standard output is a terminal: give -o FILE" \
        "$(terminal "'$balefs' compress -c data")" "compress to a terminal"
    is "balefs: standard input is a terminal: give a file" \
        "$(terminal "'$balefs' decompress")" "decompress from a terminal"
    is "small" "$(terminal "'$balefs' decompress -c small.bale")" "decompress to a terminal"
fi
