#!/usr/bin/env bash
# fsck --repair restores lost pages of an index from the frames, in the file's own inode, and keeps what it replaces;
# with --salvage it takes the frames that are left.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
make_store=${1:?the program that fills stores}

store=$work/store
run 0 init "$store"
seq 400000 >"$work/text"
"$make_store" "$store" text "$work/text" other "$work/text"
ln "$store/text" "$store/link"
cp -a "$store" "$work/whole"
chmod 640 "$store/text"
inode=$(stat -c '%i %h %a %U' "$store/text")
run 0 inspect --json "$store/text"
tree=$(json '[r["tree_position"] for r in d["roots"] if r.get("chosen")][0]')

damage() { head -c 40 /dev/zero | dd of="$store/text" bs=1 seek=$((tree + 4)) conv=notrunc status=none; }

# asked ANSWER: fsck --repair on a terminal, which answers
asked() {
    /usr/bin/python3 - "$1" "$balefs" fsck --repair "$store" <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while b"[y/N] " not in seen:
    seen += os.read(fd, 4096)
os.write(fd, sys.argv[1].encode() + b"\n")
open(sys.argv[-1] + ".asked", "wb").write(seen)
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}

damage
run 4 fsck "$store"
prints "^$store/.*: offset 0: index page \(position $tree\)$"
run 1 cat "$store/text"
got=0
asked n || got=$?
is 4 "$got" "exit status after no"
grep -q "text: to be repaired: 1 lost page of its index: restored from its frames" "$store.asked" ||
    grep -q "link: to be repaired: 1 lost page of its index: restored from its frames" "$store.asked" ||
    fail "the plan: $(cat "$store.asked")"
run 4 fsck "$store"
got=0
asked y || got=$?
is 1 "$got" "exit status after yes"
run 0 fsck --data "$store"
run 0 cat "$store/text"
cmp "$work/.out" "$work/text" || fail "other contents"
is "$inode" "$(stat -c '%i %h %a %U' "$store/text")" "the inode"
cmp "$store/text" "$work/whole/text" || fail "other bytes than before the damage"
is "${inode%% *}.$tree text" "$(sed 's/ link$/ text/' "$store/.balefs/damaged/list")" "the list of what was replaced"
[ "$(tail -c +5 "$store/.balefs/damaged/${inode%% *}.$tree" | head -c 40 | tr -d '\0' | wc -c)" = 0 ] ||
    fail "what was replaced is not kept"

# With a root slot, and without a terminal.
damage
flip "$store/text" 50
run 4 fsck "$store"
run 1 fsck --repair --json "$store" </dev/null
is "2" "$(json 'len(d["repaired"])')" "repaired in JSON"
run 0 fsck --data "$store"
run 0 cat "$store/text"
cmp "$work/.out" "$work/text" || fail "other contents after a slot and a page"

# What cannot be made again stays lost, and nothing else is touched.
damage
run 0 inspect --json "$store/other"
position=$(json 'd["extents"][0]["position"]')
flip "$store/text" $((position + 20))
cp "$store/text" "$work/spoilt"
run 4 fsck --repair --yes "$store"
prints "^$store/.*: offset 0: index page "
cmp "$store/text" "$work/spoilt" || fail "a repair that failed changed the file"

prints "^$store/.*: offset [1-9][0-9]*: [0-9]+ bytes of generation .*: may be older .*: --salvage takes them$"
run 4 fsck --repair --json "$store"
[ "$(json 'len(d["unplaced"])')" -gt 5 ] || fail "unplaced in JSON: $out"
cmp "$store/text" "$work/spoilt" || fail "a list of what is not placed changed the file"
run 16 fsck --salvage "$store"

# Then what is whole is taken; the first extent has lost its frame.
run 1 fsck --repair --salvage --yes "$store"
prints "^$store/.*: repaired: its index: made again with .* of frames, and .* stay lost$"
run 0 fsck "$store"
run 4 fsck --data "$store"
is "$inode" "$(stat -c '%i %h %a %U' "$store/text")" "the inode after salvage"
cmp -n $(($(stat -c %s "$work/spoilt") - 224)) -i 224 "$store/text" "$work/spoilt" || fail "salvage replaced more than slots"
cmp -n 224 "$store/.balefs/damaged/${inode%% *}.0.2" "$work/spoilt" || fail "the slots were not kept"
run 1 cat "$store/text"
run 1 export "$store" "$work/out"
extent=131072
cmp -i $extent "$work/out/text.damaged" "$work/text" || fail "what salvage took"
cmp -n $extent "$work/out/text.damaged" /dev/zero || fail "what stays lost"
rm -rf "$work/out"

# Both roots: what looks like a container is one again, and nothing else is.
rm -rf "$store"
cp -a "$work/whole" "$store"
head -c 224 /dev/zero | dd of="$store/text" bs=1 conv=notrunc status=none
{ head -c 512 /dev/zero && cat "$work/whole/other"; } >"$store/foreign"
cp "$store/foreign" "$work/foreign"
run 5 fsck --repair --salvage --yes "$store"
prints "^$store/foreign: offset 0: no root is whole$"
cmp "$store/foreign" "$work/foreign" || fail "a foreign file was changed"
rm "$store/foreign"
run 0 fsck --data "$store"
run 0 cat "$store/text"
cmp "$work/.out" "$work/text" || fail "other contents without roots"

# Both roots are zeros, and nothing is known of any session: a file that has frames is no empty one.
rm -rf "$store"
cp -a "$work/whole" "$store"
rm "$store/.balefs/sessions.json"
head -c 224 /dev/zero | dd of="$store/text" bs=1 conv=notrunc status=none
cp "$store/text" "$work/blank"
run 64 fsck --repair --yes "$store"
cmp "$store/text" "$work/blank" || fail "a repair made a file with frames empty"
run 1 fsck --repair --salvage --yes "$store"
run 0 cat "$store/text"
cmp "$work/.out" "$work/text" || fail "other contents without roots and sessions"

# As fsck(8) and mkfs(8) call them.
ln -s "$balefs" "$work/fsck.balefs"
ln -s "$balefs" "$work/mkfs.balefs"
rm -rf "$store"
cp -a "$work/whole" "$store"
# as STATUS COMMAND...: ends with STATUS
as() {
    local wanted=$1 got=0
    shift
    "$@" >"$work/.out" 2>&1 || got=$?
    is "$wanted" "$got" "exit status of $*"
}
as 0 "$work/fsck.balefs" -a -C0 "$store"
damage
as 4 "$work/fsck.balefs" -n "$store"
as 4 "$work/fsck.balefs" "$store"
as 1 "$work/fsck.balefs" -a "$store"
as 0 "$work/fsck.balefs" -y "$store"
as 16 "$work/fsck.balefs" -a
as 8 "$work/fsck.balefs" -a "$work/absent"
as 0 "$work/mkfs.balefs" -V -c zstd:3 "$work/made" 1000
is '"zstd:3"' "$(/usr/bin/python3 -c 'import json, sys; print(json.dumps(json.load(open(sys.argv[1]))["codec"]))' "$work/made/.balefs/volume.json")" "the codec of mkfs"
as 1 "$work/mkfs.balefs" "$work/made"
as 0 "$work/mkfs.balefs" --help
