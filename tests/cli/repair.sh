#!/usr/bin/env bash
# A store that has lost files of .balefs, and fsck --repair.   repair.sh root|user
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse

own=.balefs/volume.json
copy=.balefs/volume-copy.json
key() { /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$store/$own" "$1"; }

# me COMMAND...: as the user who mounts
me() { "$@"; }

# fill: files in a mount, one with a mode that only its owner may use
fill() {
    seq 20000 >"$work/text"
    run 0 mount "$store" "$mnt"
    me cp "$work/text" "$mnt/text"
    me mkdir "$mnt/dir"
    me cp "$work/text" "$mnt/dir/other"
    me touch "$mnt/empty"
    me chmod 0400 "$mnt/dir/other"
    run 0 umount "$mnt"
}

# whole: everything is there in a mount
whole() {
    run 0 mount "$store" "$mnt"
    me cmp "$work/text" "$mnt/text" || fail "text"
    me cmp "$work/text" "$mnt/dir/other" || fail "dir/other"
    is 400 "$(me stat -c %a "$mnt/dir/other")" "mode"
    run 0 umount "$mnt"
}

# one_lost WHAT COMMAND...: COMMAND spoils volume.json; everything works with its copy, and says so
one_lost() {
    local what=$1 line
    shift
    line="$store/$own: is $what: its copy is used: balefs fsck --repair makes it again"
    me "$@"
    run 0 cat "$store/text"
    is "balefs: $line" "$err" "cat"
    run 0 stat "$store"
    is "balefs: $line" "$err" "stat"
    run 0 export "$store" "$work/tmp/out"
    says "^balefs: $line$"
    me cmp "$work/text" "$work/tmp/out/text" || fail "export"
    rm -rf "$work/tmp/out"
    run 4 fsck "$store"
    prints "^$store/$own: offset 0: is $what: its copy is used: balefs fsck --repair makes it again$"
    prints ": 3 files, .*: 1 damaged$"
    run 4 fsck --json "$store"
    is "$own" "$(json 'd["problems"][0]["path"]')" "problem in JSON"
    run 0 mount -o ro "$store" "$mnt"
    says "^balefs: $line$" # beside where the log is, without a system log
    me cmp "$work/text" "$mnt/text" || fail "mount -o ro"
    run 0 umount "$mnt"
    run 1 init "$store"
    says "^balefs: $store: is a store already"
    run 1 fsck --repair "$store"
    prints "^$store/$own: repaired: was $what: it was made again from its copy$"
    prints ": 3 files, .*: 0 damaged$"
    cmp "$store/$own" "$store/$copy" || fail "the copy differs"
    run 0 fsck --repair "$store"
}

# both_lost CODEC COMMAND...: COMMAND spoils both; all refuse, and --repair makes them again
both_lost() {
    local codec=$1 modes
    shift
    modes=$(key modes)
    me "$@"
    run 32 mount "$store" "$mnt"
    says "fsck --repair"
    run 1 cat "$store/text"
    [ ! -d "$store/.balefs" ] || run 4 fsck "$store"
    run 1 init "$store"
    run 1 fsck --json --repair "$store"
    is "$own" "$(json 'd["repaired"][0]["path"]')" "JSON"
    is "$modes" "$(key modes)" "modes"
    is "$codec" "$(key codec)" "codec"
    is 65536 "$(key extent)" "extent"
    cmp "$store/$own" "$store/$copy" || fail "the copy differs"
    whole
    run 0 fsck "$store"
}

# A store whose copy an older program has never made, and one whose settings it has changed.
older() {
    me rm "$store/$copy"
    whole
    cmp "$store/$own" "$store/$copy" || fail "no copy was made"
    me sed -i 's/"codec": "[a-z0-9:=]*"/"codec": "lz4"/' "$store/$own"
    whole
    grep -q lz4 "$store/$copy" || fail "the copy is older"
    is lz4 "$(key codec)" "codec"
}

if [ "$1" = user ]; then
    fuse_for_all
    needs_fusermount
    be_user "$PATH"
    me() { as_user "$@"; }
    me rm -r "$store"
else
    needs_root
    store=$work/store
    mnt=$work/mnt
    mkdir "$mnt"
fi
mkdir -m 777 "$work/tmp"
run 0 init --codec zstd:3 --extent 64K "$store"
fill
one_lost missing rm "$store/$own"
one_lost damaged truncate -s 20 "$store/$own"
both_lost zstd:3 rm "$store/$own" "$store/$copy"
both_lost zstd:3 truncate -s 0 "$store/$own" "$store/$copy"
both_lost zstd:3 rm -r "$store/.balefs"
older

# A malformed list of sessions.
run 0 fsck "$store"
me truncate -s 3 "$store/.balefs/sessions.json"
run 4 fsck "$store"
says "sessions.json: is damaged: .*: see balefs fsck --repair$"
run 1 fsck --repair "$store"
prints "^$store/.balefs/sessions.json: repaired: was damaged: "
whole

# What most files have decides, whichever is found first.
repaired=$store
for many in x y; do
    store=$work/tmp/most.$many
    run 0 init --codec zstd:5 "$store"
    run 0 mount "$store" "$mnt"
    me mkdir "$mnt/x" "$mnt/y"
    me cp "$work/text" "$mnt/x/1"
    me cp "$work/text" "$mnt/y/1"
    me rm "$mnt/$many/1"
    run 0 umount "$mnt"
    me sed -i 's/"codec": "zstd:5"/"codec": "lz4"/' "$store/$own"
    run 0 mount "$store" "$mnt"
    me cp "$work/text" "$mnt/$many/1"
    me cp "$work/text" "$mnt/$many/2"
    run 0 umount "$mnt"
    me rm "$store/$own" "$store/$copy"
    run 1 fsck --repair "$store"
    is lz4 "$(key codec)" "the codec of most files"
done
if [ "$1" = root ]; then # a user may have put a container with a mode there
    /usr/bin/python3 - "$store/x/1" <<'END'
import struct, sys
import xxhash
with open(sys.argv[1], "r+b") as f:
    for slot in (0, 112):
        f.seek(slot)
        root = bytearray(f.read(104))
        root[6:8] = struct.pack("<H", 0o104755)
        f.seek(slot)
        if any(root[8:]):
            f.write(root + struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(root))))
END
    rm "$store/$own" "$store/$copy"
    run 1 fsck --repair "$store"
    is inode "$(key modes)" "modes of a store of root's with a container that has one"
fi
store=$repaired

# Nothing is made of what was never a store, nor of what a newer program wrote, nor beside a mount.
me mkdir "$work/tmp/plain"
me cp "$work/text" "$work/tmp/plain"
run 8 fsck --repair "$work/tmp/plain"
says "^balefs: $work/tmp/plain: is not a store, and no file in it is a container: see balefs init$"
[ ! -e "$work/tmp/plain/.balefs" ] || fail "a .balefs was made"
run 0 mount "$store" "$mnt"
me rm "$store/$own" "$store/$copy"
run 8 fsck --repair "$store"
says "^balefs: $store: is mounted by process "
run 0 umount "$mnt"
run 0 fsck "$store" # the mount has made them again
/usr/bin/python3 - "$store/text" <<'END'
import struct, sys
import xxhash
with open(sys.argv[1], "r+b") as f:
    for slot in (0, 112):
        f.seek(slot)
        root = bytearray(f.read(104))
        root[:5] = b"BALE\2"
        f.seek(slot)
        f.write(root + struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(root))))
END
me rm "$store/$own" "$store/$copy"
run 8 fsck --repair "$store"
says "^balefs: $store/text: was written by a newer program: use a newer one$"
[ ! -e "$store/$own" ] || fail "made again beside files of a newer program"
