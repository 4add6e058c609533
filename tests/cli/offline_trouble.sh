#!/usr/bin/env bash
# import, export and cat in trouble: damage, full disks, interrupts, ordinary users, and stores that are mounted.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

tree=$work/tree
store=$work/store
mkdir -p "$tree/dir"
head -c 20000000 /dev/urandom >"$tree/dir/big"
ln "$tree/dir/big" "$tree/name"
for i in {1..40}; do echo "file $i" >"$tree/dir/file$i"; done
run 0 import --create "$tree" "$store"
cp -a "$store" "$work/whole"

# --- damage in two places: the rest comes out, in its place, under another name
run 0 inspect --json "$store/dir/big"
one=$(json 'd["extents"][1]["position"] + d["extents"][1]["stored"] - 2')
other=$(json 'd["extents"][100]["position"] + d["extents"][100]["stored"] // 2')
flip "$store/dir/big" "$one"
flip "$store/dir/big" "$other"
run 0 inspect --json "$store/dir/file7"
flip "$store/dir/file7" "$(json 'd["extents"][0]["position"] + d["extents"][0]["stored"] - 2')"
run 1 export "$store" "$work/out"
says "^balefs: $store/dir/big: bytes [0-9]+ to 262144 are damaged \(chunk checksum\): they are zeros in big.damaged$"
says "^balefs: $store/dir/big: bytes 131[0-9]{5} to 131[0-9]{5} are damaged \(chunk checksum\): they are zeros in big.damaged$"
says "^balefs: $store/dir/file7: "
prints "^$work/out: 4[0-9] files, .* exported, and not everything could be$"
if [ -e "$work/out/dir/big" ] || [ -e "$work/out/name" ] || [ -e "$work/out/dir/file7" ]; then
    fail "a damaged file came out under its own name"
fi
is "$(stat -c %i "$work/out/dir/big.damaged")" "$(stat -c %i "$work/out/name.damaged")" "links of a damaged file"
/usr/bin/python3 - "$tree/dir/big" "$work/out/dir/big.damaged" "$work/.err" <<'END' || fail "what is left of a damaged file"
import re, sys
good, left = bytearray(open(sys.argv[1], "rb").read()), open(sys.argv[2], "rb").read()
lost = [(int(a), int(b)) for a, b in re.findall(r"dir/big: bytes (\d+) to (\d+) are", open(sys.argv[3]).read())]
assert len(lost) == 2 and sum(b - a for a, b in lost) <= 262144
for a, b in lost:
    good[a:b] = bytes(b - a)
assert good == left
END
for i in {1..40}; do [ "$i" = 7 ] || is "file $i" "$(cat "$work/out/dir/file$i")" "a whole file beside damaged ones"; done
run 1 cat "$store/dir/big"
says "bytes [0-9]+ to 262144 are damaged \(chunk checksum\): printing stops there"
[ -s "$work/.out" ] || fail "cat printed nothing of what comes before the damage"
[ "$(stat -c %s "$work/.out")" -le 262144 ] || fail "cat went on after damage"
cmp -n "$(stat -c %s "$work/.out")" "$work/.out" "$tree/dir/big" || fail "cat printed something wrong"
run 1 export --tar -o "$work/tar" "$store"
says "bytes [0-9]+ to 262144 are damaged"
is "dir/big.damaged name.damaged" "$(tar tf "$work/tar" | grep -E 'big|name' | paste -sd' ')" "damaged files in an archive"
tar xf "$work/tar" -O dir/big.damaged | cmp - "$work/out/dir/big.damaged" || fail "a damaged file in an archive"

# --- a page of the index; a root; no container at all
rm -rf "$store" "$work/out"
cp -a "$work/whole" "$store"
run 0 inspect --json "$store/dir/big"
flip "$store/dir/big" $(($(json '[r["tree_position"] for r in d["roots"] if r.get("chosen")][0]') + 30))
flip "$store/dir/file1" 20
flip "$store/dir/file1" 132
echo 'no container' >"$store/dir/file2"
run 1 export "$store" "$work/out"
says "^balefs: $store/dir/big: (bytes 0 to [0-9]+ are damaged \(index page\)|is damaged)"
says "^balefs: $store/dir/file1: is damaged"
says "^balefs: $store/dir/file2: is damaged"
for file in big file1 file2; do
    [ ! -e "$work/out/dir/$file" ] || fail "$file came out under its own name"
done
is "file 3" "$(cat "$work/out/dir/file3")" "a whole file beside damaged ones"
rm -rf "$store" "$work/out"
cp -a "$work/whole" "$store"

# --- links out of the store, put there by somebody else
echo secret >"$work/secret"
ln -s "$work/secret" "$store/dir/evil"
ln -s "$work" "$store/up"
run 0 export "$store" "$work/out"
is "$work/secret $work" "$(readlink "$work/out/dir/evil" "$work/out/up" | paste -sd' ')" "links are links"
run 1 cat "$store/dir/evil"
is "" "$out" "cat of a link out of the store"
rm "$store/dir/evil" "$store/up"
rm -rf "$work/out"

# --- interrupted, or killed: the store is good, and the next run completes it
for i in {1..300}; do head -c 200000 /dev/urandom >"$tree/more$i"; done
for signal in INT TERM KILL; do
    got=0
    for ((try = 0; try < 10 && got == 0; try++)); do # it may be faster than we are
        rm -rf "$store"
        run 0 init "$store"
        # A shell's background job would ignore SIGINT.
        setsid /usr/bin/env --default-signal=INT "$balefs" import -j 1 "$tree" "$store" >"$work/.out" 2>"$work/.err" &
        pid=$!
        until [ -e "$store/more10" ] || ! lives "$pid"; do sleep 0.01; done
        kill "-$signal" "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || got=$?
    done
    [ "$got" != 0 ] || fail "import ended before it was interrupted"
    if [ "$signal" != KILL ]; then
        is 1 "$got" "exit status of an import interrupted by $signal"
        err=$(cat "$work/.err")
        says "^balefs: $store: interrupted: the store is good; run it again to complete it$"
    fi
    run 0 fsck --data "$store"
    for file in "$store"/more*; do
        "$balefs" cat "$file" | cmp - "$tree/${file##*/}" || fail "half a file after $signal"
    done
    run 0 import "$tree" "$store"
    prints ", [0-9]+ were there$"
    run 0 export "$store" "$work/out"
    diff -r "$tree" "$work/out" >&2 || fail "not complete after $signal"
    rm -rf "$work/out"
done
setsid /usr/bin/env --default-signal=INT "$balefs" export -j 1 "$store" "$work/out" >"$work/.out" 2>"$work/.err" &
pid=$!
until [ -e "$work/out/more1" ] || ! lives "$pid"; do sleep 0.001; done
kill -INT "$pid" 2>/dev/null || true
wait "$pid" 2>/dev/null || true
for file in "$work/out"/more*; do cmp "$file" "$tree/${file##*/}" || fail "half a file after an interrupted export"; done
run 0 export "$store" "$work/out"
diff -r "$tree" "$work/out" >&2 || fail "an export that was run again is not complete"
rm -rf "$work/out" "$tree"/more*

# --- an ordinary user, with files closed to itself
mkdir -m 777 "$work/home"
copy_for_users
# shellcheck disable=SC2016
as_user sh -c 'cd "$1" && umask 022 && mkdir tree && echo r >tree/r && echo none >tree/none && : >tree/empty &&
    chmod 444 tree/r && chmod 4755 tree/empty && mkdir tree/ro && echo x >tree/ro/x && chmod 555 tree/ro' sh "$work/home"
as_user "$work/balefs" import --create "$work/home/tree" "$work/home/store" >"$work/.out"
as_user chmod 000 "$work/home/tree/none"
got=0
as_user "$work/balefs" import "$work/home/tree" "$work/home/store" >"$work/.out" 2>"$work/.err" || got=$?
is 1 "$got" "import of a file that may not be read"
is "balefs: $work/home/tree/none: cannot be read: Permission denied" "$(cat "$work/.err")" "import of a file that may not be read"
if [ "$(id -u)" = 0 ]; then # root can read it, and leaves a store that is still the user's
    run 0 import "$work/home/tree" "$work/home/store"
    is "0 600" "$(stat -c '%a' "$work/home/tree/none") $(stat -c %a "$work/home/store/none")" "container of a closed file"
    as_user "$work/balefs" export "$work/home/store" "$work/home/out" >"$work/.out"
    is "$(cd "$work/home/tree" && find . -printf '%p %m %s %T@ %U\n' | sort)" \
        "$(cd "$work/home/out" && find . -printf '%p %m %s %T@ %U\n' | sort)" "an ordinary user's files, one closed to itself"
    is "none" "$(as_user "$work/balefs" cat "$work/home/store/none")" "cat of a file closed to its owner"
    as_user chmod -R u+rwX "$work/home/out" && as_user rm -r "$work/home/out"
fi
as_user chmod 644 "$work/home/tree/none"
as_user "$work/balefs" import "$work/home/tree" "$work/home/store" >"$work/.out"
as_user "$work/balefs" export "$work/home/store" "$work/home/out" >"$work/.out"
is "$(cd "$work/home/tree" && find . -printf '%p %m %s %T@ %U\n' | sort)" \
    "$(cd "$work/home/out" && find . -printf '%p %m %s %T@ %U\n' | sort)" "an ordinary user's files"
touch "$work/home/tree/ro/x" # into a directory of mode 555, both ways
as_user "$work/balefs" import "$work/home/tree" "$work/home/store" >"$work/.out"
as_user "$work/balefs" export "$work/home/store" "$work/home/out" >"$work/.out"
is "$(stat -c %Y "$work/home/tree/ro/x") 555" "$(stat -c %Y "$work/home/out/ro/x") $(stat -c %a "$work/home/out/ro")" "a closed directory"

# --- full disks
if [ "$(id -u)" = 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=24m tmpfs "$work/small" 2>"$work/.err"; then
    head -c 60000000 /dev/urandom >"$tree/large"
    run 1 import --create "$tree" "$work/small/store"
    says "cannot be stored in $work/small/store: "
    run 0 fsck --data "$work/small/store"
    rm -rf "$work/small/store"
    run 0 import "$tree" "$store"
    run 1 export "$store" "$work/small/out"
    says "cannot be written below $work/small/out: No space left on device$"
    [ ! -e "$work/small/out/large" ] || fail "half a file on a full disk"
    rm "$tree/large"
fi

# --- with a mount: what was imported is there, and what is mounted can be read
[ -c /dev/fuse ] && [ -r /dev/fuse ] && [ -w /dev/fuse ] || exit 0
rm -rf "$store" "$work/out"
run 0 import --create "$tree" "$store"
mnt=$work/mnt
mkdir "$mnt"
run 0 mount "$store" "$mnt"
diff -r "$tree" "$mnt" >&2 || fail "what was imported is not in the mount"
is "$(cd "$tree" && find . -mindepth 1 -printf '%p %m %T@ %U %n\n' | sort)" \
    "$(cd "$mnt" && find . -mindepth 1 -printf '%p %m %T@ %U %n\n' | sort)" "attributes in a mount"
fails 1 "$mnt: lies in a mount: use cp -a or --move, or unmount it first" import "$tree" "$mnt"
fails 1 "$mnt/name: lies in a mount: use cat" cat "$mnt/name"
run 1 import "$tree" "$store"
says "^balefs: $store: "
echo fresh >"$mnt/dir/fresh"
run 0 sync "$mnt"
run 0 cat "$store/dir/fresh"
is fresh "$out" "cat beside a mount"
# Rewritten again and again: every copy is whole, or it is said that there is none.
(
    for ((i = 0; ; i++)); do
        [ ! -e "$work/enough" ] || exit 0
        yes "round $i" 2>/dev/null | head -c 3000000 >"$mnt/dir/busy.new" || true
        mv "$mnt/dir/busy.new" "$mnt/dir/busy"
        head -c 3000000 /dev/urandom | dd of="$mnt/dir/same" bs=100000 conv=notrunc,fsync iflag=fullblock status=none
    done
) &
writer=$!
until [ -s "$mnt/dir/same" ]; do
    lives "$writer" || fail "the writer ended"
    sleep 0.05
done
for i in {1..15}; do
    got=0
    "$balefs" export "$store" "$work/live" >"$work/.out" 2>"$work/.err" || got=$?
    if grep -v 'is changed all the time' "$work/.err"; then fail "export beside a writer: see above"; fi
    [ "$got" = 0 ] || [ -s "$work/.err" ] || fail "export beside a writer failed without a word"
    if [ -e "$work/live/dir/busy" ]; then
        is "3000000 1" "$(stat -c %s "$work/live/dir/busy") $(head -n -1 "$work/live/dir/busy" | sort -u | wc -l)" \
            "a file exported while it was replaced"
    fi
    cmp "$work/live/dir/big" "$tree/dir/big" || fail "a quiet file exported beside busy ones"
    [ -z "$(find "$work/live" -name '*.damaged')" ] || fail "a busy file was taken for a damaged one"
    rm -rf "$work/live"
done
touch "$work/enough"
wait "$writer"
run 0 umount "$mnt"
run 0 fsck --data "$store"
