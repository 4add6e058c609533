#!/usr/bin/env bash
# inspect --svg: the whole picture of a small file, and what is in that of others.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
make_store=${1:?the program that fills stores}

# texts FILE: the words in a picture, a line each; hints: those of the cells
texts() { /usr/bin/python3 -c 'import sys, xml.etree.ElementTree as e
for text in e.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}text"): print(text.text)' "$1"; }
hints() { /usr/bin/python3 -c 'import sys, xml.etree.ElementTree as e
for text in e.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}title"): print(text.text)' "$1"; }

store=$work/store
run 0 init --codec store "$store"
odd=$'a<b>&"c" \x01\xff.bin'
{
    head -c 100000 /dev/urandom
    head -c 62144 /dev/zero
    head -c 231072 /dev/zero
    head -c 30000 /dev/urandom
} >"$work/bytes"
: >"$work/none"
head -c 100000000 /dev/zero >"$work/long"
"$make_store" "$store" "$odd" "$work/bytes" hole hole none "$work/none" long "$work/long"

cd "$store"
run 0 inspect --svg "$work/map.svg" "$odd"
[ -z "$out$err" ] || fail "--svg prints: $out $err"
diff -u "$OLDPWD/expected/map.svg" "$work/map.svg" || fail "the picture is not as expected/map.svg"
run 0 inspect --svg - "$odd"
is "$(cat "$work/map.svg")" "$out" "the picture on standard output"

run 0 inspect --svg "$work/map.svg" hole
texts "$work/map.svg" | grep -Fx holes >/dev/null || fail "no holes in the legend"
hints "$work/map.svg" | grep -E ' a hole$' >/dev/null || fail "no cell for a hole"

run 0 inspect --svg "$work/map.svg" none
texts "$work/map.svg" | grep -Fx 'There is no data in it.' >/dev/null || fail "an empty file"

# Many extents share cells.
run 0 inspect --svg "$work/map.svg" long
is 763 "$(hints "$work/map.svg" | wc -l)" "cells of 763 extents"
truncate -s 0 "$work/long"
truncate -s 900M "$work/long"
"$make_store" "$store" longer "$work/long"
run 0 inspect --svg "$work/map.svg" longer
is 1800 "$(hints "$work/map.svg" | wc -l)" "cells of 7200 extents"
texts "$work/map.svg" | grep -Fx 'a cell: 4 extents, 512 KiB' >/dev/null || fail "a cell's size is not shown"

# A picture may be replaced, and so may an empty file; anything else only if that is asked for; the input never.
cp "$work/bytes" "$work/keep"
fails 1 "$work/keep: exists: -f replaces it" inspect --svg "$work/keep" hole
cmp "$work/bytes" "$work/keep"
run 0 inspect -f --svg "$work/keep" none
run 0 inspect --svg "$work/empty" none
: >"$work/empty"
run 0 inspect --svg "$work/empty" none
cmp "$work/empty" "$work/keep"
fails 1 "hole: input and output are the same file: give another output" inspect --svg hole hole
ln hole "$work/hole"
fails 1 "$work/hole: input and output are the same file: give another output" inspect --force --svg "$work/hole" hole
rm "$work/hole"

fails 2 "--svg and --json exclude each other: see balefs inspect --help" inspect --svg x --json none
fails 2 "--svg is for one FILE at a time: see balefs inspect --help" inspect --svg x none hole
fails 1 "$work/no/map.svg: cannot be written: No such file or directory" inspect --svg "$work/no/map.svg" hole
run 1 inspect --svg /dev/full hole
says "^balefs: /dev/full: cannot be written: No space left on device$"
run 1 inspect --svg "$work/other.svg" absent
says '^balefs: absent: no such file or directory'
[ ! -e "$work/other.svg" ] || fail "a picture of nothing"
