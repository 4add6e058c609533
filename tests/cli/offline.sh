#!/usr/bin/env bash
# Into a store and out of it without a mount: import, export to a directory and as tar, cat. Nothing is lost on the way.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# --- a tree with everything in it
tree=$work/tree
mkdir -p "$tree"/dir/{below,empty} "$tree/closed" "$tree/set"
yes 'a line that repeats, and a number: 0123456789' | head -c 3000000 >"$tree/text" || true
head -c 40000000 /dev/urandom >"$tree/dir/big"
: >"$tree/nothing"
printf x >"$tree/dir/below/one"
truncate -s 100M "$tree/hole"
printf 'in the middle' | dd of="$tree/hole" bs=1 seek=50000000 conv=notrunc status=none
truncate -s 1000000 "$tree/only-hole"
head -c 300000 "$tree/text" >"$tree/tail-hole"
truncate -s 5000001 "$tree/tail-hole"
head -c 1000001 /dev/zero >"$tree/zeros"
ln "$tree/text" "$tree/dir/below/text again"
ln "$tree/text" "$tree/another"
ln "$tree/nothing" "$tree/nothing too"
ln -s ../text "$tree/dir/link"
ln -s /nowhere/at/all "$tree/dangling"
mkfifo -m 640 "$tree/fifo"
printf odd >"$tree/"$'odd\n\t\\ name*'
printf odd >"$tree/"$'\xff\xfe no utf-8'
printf odd >"$tree/utf-8 öß"
printf odd >"$tree/-o"
long=$(printf 'n%.0s' {1..255})
printf long >"$tree/$long"
cp "$tree/text" "$tree/readonly"
chmod 444 "$tree/readonly"
cp "$tree/text" "$tree/closed/secret"
chmod 0000 "$tree/closed/secret"
chmod 6751 "$tree/dir/big"
chmod 1777 "$tree/dir/empty"
touch -d '1969-07-20 20:17:40.123456789' "$tree/zeros"
touch -d '2001-02-03 04:05:06.000000001' "$tree/dir/below/one" "$tree/nothing"
touch -h -d '2002-02-03 04:05:06.5' "$tree/dir/link"
attributes=
if setfattr -n user.mine -v $'a\nvalue' "$tree/text" 2>/dev/null; then
    attributes=yes
    setfattr -n user.empty "$tree/nothing"
    setfattr -n user.mine -v here "$tree/dir"
    setfattr -n user.mine -v here "$tree/set"
    setfattr -n user.balefs.codec -v lz4 "$tree/set"
    setfattr -n user.balefs.match -v '*.log zstd:9' "$tree/set"
fi
yes 'some log' | head -c 200000 >"$tree/set/a.log" || true
yes 'no log' | head -c 200000 >"$tree/set/a.txt" || true
if [ "$(id -u)" = 0 ]; then
    chown 12:34 "$tree/readonly" "$tree/dir/below"
    chown -h 12:34 "$tree/dangling"
    setfacl -m u:99:r,g:98:rw "$tree/zeros" 2>/dev/null || true
    setfacl -d -m u:99:rx "$tree/dir" 2>/dev/null || true
    mknod "$tree/device" c 1 3 2>/dev/null || true
    setcap cap_net_raw+ep "$tree/set/a.txt" 2>/dev/null || true
fi
chmod 555 "$tree/closed"
touch -d '2003-02-03 04:05:06.7' "$tree/closed" "$tree/dir/below" "$tree/dir" "$tree/set" "$tree"

# state TREE: all that is visible of it, except what reading changes.
state() {
    (
        cd "$1"
        find . -printf '%p %y %m %U %G %T@ %l %n\n' | sort
        find . -type f -size +0 -readable -printf '%p\n' -exec cksum {} \; | sort
        find . -printf '%y %s %p\n' | grep -v '^d' | sort
        if [ -n "$attributes" ]; then getfattr -R -h -d -m - . 2>/dev/null | grep -v '^user.balefs'; fi
        if command -v getfacl >/dev/null; then getfacl -R -p -n . 2>/dev/null; fi
    )
}

same() {
    diff -u <(state "$tree") <(state "$1") >&2 || fail "$2 is not as it was"
}

# --- in, and out
store=$work/store
run 0 import --create "$tree" "$store"
prints "^$store: [0-9]+ files, [0-9.]+ MiB imported$"
[ -z "$err" ] || fail "import said: $err"
run 0 fsck --data "$store"
run 0 export "$store" "$work/out"
prints "^$work/out: [0-9]+ files, .* exported$"
same "$work/out" "what was exported"
[ "$(stat -c %b "$work/out/hole")" -lt 2048 ] || fail "the hole was filled on the way out"
[ "$(stat -c %b "$work/out/only-hole")" -lt 64 ] || fail "a hole alone was filled on the way out"
run 0 stat --json "$store/hole"
[ "$(json 'd["data"]')" -lt 1000000 ] || fail "the hole was filled on the way in: $out"
is "$(stat -c %i "$work/out/text")" "$(stat -c %i "$work/out/dir/below/text again")" "hard links outside"
is "$(stat -c %i "$store/text")" "$(stat -c %i "$store/another")" "hard links in the store"

# --- again: all is there, and what changed is made good
run 0 export "$store" "$work/out"
prints "files, 0 B exported, [0-9]+ were there$"
chmod u+w "$work/out/readonly"
printf changed >"$work/out/readonly"
rm "$work/out/dir/below/one"
ln -sf /etc/passwd "$work/out/zeros"
run 0 export "$store" "$work/out"
same "$work/out" "what was exported again"
run 0 import "$tree" "$store"
prints "files, 0 B imported, [0-9]+ were there$"
printf 'is new' >"$tree/nothing"
rm "$tree/zeros"
run 0 import "$tree" "$store"
run 0 cat "$store/nothing"
is "is new" "$out" "a file that was imported again"
[ -e "$store/zeros" ] || fail "import removed a file"
head -c 1000001 /dev/zero >"$tree/zeros"
rm -rf "$work/out"

# --- settings: as the store says, as the tree's attributes say, as the option says
if [ -n "$attributes" ]; then
    run 0 get "$store/set/a.log" "$store/set/a.txt"
    is "$store/set/a.log: codec zstd:9, extent 131072 (default)
$store/set/a.txt: codec lz4, extent 131072 (default)" "$out" "settings of imported files"
    run 0 export "$store/set" "$work/out"
    getfattr -d -m user.balefs "$work/out" "$work/out/a.log" 2>/dev/null | grep -q balefs && fail "settings were exported unasked"
    rm -rf "$work/out"
    run 0 export --settings "$store/set" "$work/out"
    is zstd:9 "$(getfattr --absolute-names --only-values -n user.balefs.codec "$work/out/a.log")" "an exported file's setting"
    rm -rf "$work/out"
fi
mkdir "$work/few"
cp "$tree/text" "$work/few"
: >"$work/few/empty"
run 0 init --codec store "$work/other"
run 0 import --codec zstd:7 "$work/few" "$work/other"
run 0 get "$work/other/text" "$work/other/empty"
is "$work/other/text: codec zstd:7, extent 131072 (default)
$work/other/empty: codec zstd:7, extent 131072 (default)" "$out" "import --codec"

# --match chooses for names, before --codec. With an error bound copies are rounded, of each file's own range if it is
# not said; what is no array, or has no range, stays exact.
mkdir "$work/arrays"
make_arrays "$work/arrays" .f32
cp "$work/arrays/far.f32" "$work/arrays/other"
match=(--match '*.f32 cusz:f32,rel=0.125' --match '*.f32 lz4')
run 0 import --create "${match[@]}" --codec zstd:7 "$work/arrays" "$work/rounded"
is "balefs: $work/arrays/rest.f32: stored without loss: a relative bound needs a range, and its finite values are all 7
balefs: $work/arrays/words.f32: stored without loss: it is text" "$(sort <<<"$err")" "what import --match says"
run 0 get "$work/rounded/far.f32" "$work/rounded/near.f32" "$work/rounded/other" "$work/rounded/words.f32"
is "$work/rounded/far.f32: codec cusz:f32,abs=1.25e2, extent 1048576 (default)
$work/rounded/near.f32: codec cusz:f32,abs=1.25e1, extent 1048576 (default)
$work/rounded/other: codec zstd:7, extent 131072 (default)
$work/rounded/words.f32: codec auto, extent 131072 (default)" "$out" "settings of files that import --match chose"
run 0 export "$work/rounded" "$work/arrays.back"
for file in other rest.f32 words.f32; do
    cmp "$work/arrays/$file" "$work/arrays.back/$file" || fail "$file differs"
done
for file in far:125 near:12.5; do
    run 0 quality --type f32 --bound "${file#*:}" --json "$work/arrays/${file%:*}.f32" "$work/arrays.back/${file%:*}.f32"
    is 'True True' "$(json '"%s %s" % (d["kept"], d["different"] > 500)')" "${file%:*} after import --match"
done
run 0 import --create --match '*.f32 cusz:f32,rel=0.125,range=0:1000' "$work/arrays" "$work/said"
run 0 get "$work/said/near.f32"
is "$work/said/near.f32: codec cusz:f32,abs=1.25e2, extent 1048576 (default)" "$out" "import --match with a range"
fails 2 "--match for *.f32: changes values, and --move gives up no original for that: import without --move: see balefs import --help" \
    import --move "${match[@]}" "$work/arrays" "$work/said"
run 2 import --match '*.f32' "$work/arrays" "$work/said"
says "^balefs: --match '\*\.f32': it is a glob for names, a space and a codec"
run 2 import --match '*.f32 cusz:f32' "$work/arrays" "$work/said"
says "^balefs: --match '\*\.f32 cusz:f32': cusz needs a bound"
run 2 import --codec cusz:f32,abs=1 "$work/arrays" "$work/said"
says "name those that are, as with --match '\*\.f32 cusz:f32,abs=1'"

mkdir "$work/other/sub"
run 0 import "$work/few" "$work/other/sub"
run 0 get "$work/other/sub/text"
is "$work/other/sub/text: codec store (default), extent 131072 (default)" "$out" "import into a directory of a store"
run 0 set "$work/other/sub" lz4
run 0 import "$work/few" "$work/other/sub/new/"
run 0 get "$work/other/sub/new/text"
is "$work/other/sub/new/text: codec lz4, extent 131072 (default)" "$out" "import into a directory that is made"
is "$(stat -c '%a %U %Y' "$work/few")" "$(stat -c '%a %U %Y' "$work/other/sub/new")" "a directory that is made"
run 0 import --create "$work/few" "$work/other/more"
run 0 cat "$work/other/more/text"
fails 1 "$work/other/no/new: no such file or directory: check the path" import "$work/few" "$work/other/no/new"
[ ! -e "$work/other/no" ] || fail "import makes more than one directory"

# --- tar
run 0 export --tar -o "$work/tar" "$store"
[ -z "$out$err" ] || fail "export --tar said: $out $err"
fails 1 "$work/tar: exists: -f replaces it" export --tar -o "$work/tar" "$store/set"
"$balefs" export --tar -o - "$store" >"$work/tar2"
is "$(tar tf "$work/tar" 2>/dev/null)" "$(tar tf "$work/tar2" 2>/dev/null)" "an archive on standard output"
cp "$work/tar" "$work/tar2"
run 0 export --tar -f -o "$work/tar2" "$store/set"
[ "$(stat -c %s "$work/tar2")" -lt "$(stat -c %s "$work/tar")" ] || fail "--force does not replace an archive"
mkdir "$work/untar"
tar -C "$work/untar" --xattrs --xattrs-include='user.*' -xpf "$work/tar" 2>"$work/tar.err" || fail "tar: $(cat "$work/tar.err")"
sed -i '/implausibly old/d; /hdrcharset/d' "$work/tar.err" # 1969, and the name that is not UTF-8
[ ! -s "$work/tar.err" ] || fail "tar said: $(cat "$work/tar.err")"
diff -r --no-dereference --exclude=fifo --exclude=device "$tree" "$work/untar" >&2 || fail "the archive is not as the tree"
is "$(cd "$tree" && find . -printf '%p %y %m %U %G %T@ %l %n\n' | sort | grep -v '^./zeros \|^\. ')" \
    "$(cd "$work/untar" && find . -printf '%p %y %m %U %G %T@ %l %n\n' | sort | grep -v '^./zeros \|^\. ')" "what tar unpacks"
[ "$(stat -c %s "$work/tar")" -lt 80000000 ] || fail "holes were filled in the archive"
[ -z "$attributes" ] || is $'a\nvalue' "$(getfattr --absolute-names --only-values -n user.mine "$work/untar/text")" "attributes from tar"
is "./ one text again" "$("$balefs" export --tar "$store/dir/below" | tar t | sort | paste -sd' ')" "a part of the store as tar"
for command in "export --tar" cat; do # a reader that leaves
    at=$store
    [ "$command" != cat ] || at=$store/dir/big
    set +o pipefail
    # shellcheck disable=SC2086
    "$balefs" $command "$at" 2>"$work/.err" | head -c 100 >/dev/null
    set -o pipefail
    [ ! -s "$work/.err" ] || fail "$command into a closed pipe said: $(cat "$work/.err")"
    # shellcheck disable=SC2086
    got=0 && "$balefs" $command "$at" 2>"$work/.err" >/dev/full || got=$?
    is 1 "$got" "$command to a full disk"
    grep -q 'cannot.* writ.*: No space left on device' "$work/.err" || fail "$command to a full disk said: $(cat "$work/.err")"
done

# --- cat
run 0 cat "$store/dir/big"
cmp "$work/.out" "$tree/dir/big" || fail "cat of a large file"
run 0 cat "$store/text" "$store/nothing too" "$store/dir/below/one"
cmp "$work/.out" <(cat "$tree/text" "$tree/nothing too" "$tree/dir/below/one") || fail "cat of several files"
run 0 cat "$store/dir/link"
cmp "$work/.out" "$tree/text" || fail "cat of a link inside the store"
"$balefs" cat "$store/hole" | cmp - "$tree/hole" || fail "cat of holes"
run 1 cat "$store/dir" "$store/dir/below/one"
is x "$out" "cat goes on after a failure"
says "^balefs: $store/dir: is no regular file, but a directory: name a file in it; balefs stat and balefs export take directories$"
run 1 cat "$work/few/text"
says "neither in a balefs mount nor in a store"
run 1 cat "$store/.balefs/volume.json"
says "belongs to the store itself"
run 1 cat "$store/dangling"

# --- what is refused
fails 1 "$store/set: it lies inside the store ($store): export to another place" export "$store" "$store/set"
fails 1 "$work: the store lies inside it ($store): import something else" import "$work" "$store"
run 1 import "$store" "$work/other"
says "has .balefs in it"
run 1 import "$work/few" "$work/nowhere"
# No store is made for what is refused.
run 1 import --create "$store" "$work/nowhere"
says "has .balefs in it"
run 1 import --create "$work/no/where" "$work/nowhere"
fails 1 "$work/few: the store lies inside it ($work/few/store): import something else" import --create "$work/few" "$work/few/store"
is "$work/few/empty $work/few/text" "$(find "$work/few" "$work/nowhere" -mindepth 1 2>/dev/null | sort | paste -sd' ')" "what refused imports made"
[ ! -e "$work/nowhere" ] || fail "a refused import made a store"
run 2 export "$store"
run 2 export "$store" "$work/a" "$work/b"
run 2 export -o "$work/a" "$store" "$work/b"
run 2 import "$work/few"
run 2 import --codec nonsense "$work/few" "$store"
got=0
script -qec "'$balefs' export --tar '$store'" /dev/null >"$work/.out" </dev/null || got=$?
is 2 "$got" "tar to a terminal"
exec 9<>"$store/.balefs/lock"
flock -x 9
run 1 import "$work/few" "$store"
run 0 cat "$store/dir/below/one" # what is committed can be read
is x "$out" "cat beside a writer"
run 0 export "$store/dir/below" "$work/out"
exec 9>&-
