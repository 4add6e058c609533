#!/usr/bin/env bash
# balefs fsck: finds and locates damage of every kind, changes nothing, and refuses to run beside a mount.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
make_store=${1:?the program that fills stores}

store=$work/store
run 0 init "$store"
mkdir "$store/dir"
yes 'a line that repeats, and a number: 0123456789' | head -c 600000 >"$work/text" || true
words=()
for i in {1..40}; do words+=("dir/file$i" "$work/text"); done
"$make_store" "$store" text "$work/text" "${words[@]}"
cp -a "$store" "$work/whole"

# state FILE: all that is visible of the store. Files are read first, as that changes access times.
state() {
    (
        cd "$store"
        find . -type f -exec md5sum {} + | sort >"$1"
        find . -printf '%p %y %m %U %G %T@ %C@ %A@ %s %b\n' | sort >>"$1"
    )
}

same_state() {
    state "$work/after"
    diff "$work/before" "$work/after" >&2 || fail "$1 changed the store"
}

restore() {
    rm -rf "$store"
    cp -a "$work/whole" "$store"
}

for options in "" "--data" "-j 1" "--data --jobs 8"; do
    state "$work/before"
    # shellcheck disable=SC2086
    run 0 fsck $options "$store"
    prints "^$store: 41 files, [0-9.]+ KiB stored: 0 damaged$"
    same_state "fsck $options"
done
run 0 fsck --json "$store"
is "41 0 [] []" "$(json 'd["files"], d["damaged"], d["problems"], d["notes"]')" "JSON of a clean store"

# A byte of a frame: a chunk of the second extent, reported with its position in the file.
run 0 inspect --json "$store/text"
second=$(json 'd["extents"][1]["position"] + d["extents"][1]["stored"] - 2')
tree=$(json '[r["tree_position"] for r in d["roots"] if r.get("chosen")][0]')
chosen=$(json '[r["slot"] for r in d["roots"] if r.get("chosen")][0]')
flip "$store/text" "$second"
state "$work/before"
run 0 fsck "$store" # reads no data
run 4 fsck --data "$store"
prints "^$store/text: offset [0-9]+: chunk checksum: expected 0x[0-9a-f]{16} found 0x[0-9a-f]{16} \(position [0-9]+\)$"
prints "^$store: 41 files, [0-9.]+ KiB stored: 1 damaged$"
same_state "fsck of damage"
run 4 fsck --data --json "$store"
is "text 1 True" "$(json 'd["problems"][0]["path"], d["damaged"], 131072 <= d["problems"][0]["offset"] < 262144')" "JSON of damage"

# Two damaged files: both are reported, and the others are checked as well.
flip "$store/dir/file7" 300
run 4 fsck --data "$store"
prints "^$store/text: "
prints "^$store/dir/file7: "
prints ": 41 files, .*: 2 damaged$"

# A page of the index.
restore
flip "$store/text" $((tree + 30))
run 4 fsck "$store"
prints "^$store/text: offset 0: index page \(position $tree\)$"

# The head of a small file's only frame.
restore
head -c 5000 "$work/text" >"$work/small"
"$make_store" "$store" small "$work/small"
flip "$store/small" 230
run 4 fsck "$store"
prints "^$store/small: offset 0: frame head \(position 224\)$"

# A root slot: the other one may be older, or say the same.
restore
flip "$store/text" $((chosen * 112 + 20))
run 4 fsck "$store"
prints "^$store/text: offset 0: root slot \(the other one is used\)( \(position 112\))?$"
flip "$store/text" $(((1 - chosen) * 112 + 20))
run 4 fsck "$store"
prints "^$store/text: offset 0: no root is whole$"

# Cut short, and something that never was a container.
restore
truncate -s 1000 "$store/text"
printf '%500s' junk >"$store/junk"
run 4 fsck "$store"
prints "^$store/text: "
prints "^$store/junk: "
prints ": 42 files, .*: 2 damaged$"

# A newer version is not damage: it could not be checked.
restore
/usr/bin/python3 - "$store/text" <<'END'
import struct, sys
import xxhash
with open(sys.argv[1], "r+b") as f:
    for slot in (0, 112):
        f.seek(slot)
        root = bytearray(f.read(104))
        root[4] = 2
        f.seek(slot)
        f.write(root + struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(root))))
END
run 8 fsck "$store"
says "^balefs: $store/text: was written by a newer program: use a newer one$"
prints ": 41 files, .*: 0 damaged, and not everything could be checked$"

# The store's own files.
restore
echo '{' >"$store/.balefs/volume.json"
cp "$store/.balefs/volume.json" "$store/.balefs/volume-copy.json"
run 4 fsck "$store"
says "^balefs: $store/.balefs/volume.json: "
restore
echo 'no JSON' >"$store/.balefs/sessions.json"
run 4 fsck "$store"
says "^balefs: $store/.balefs/sessions.json: "
restore
/usr/bin/python3 - "$store/.balefs/volume.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
d["features"] = ["holograms"]
json.dump(d, open(sys.argv[1], "w"))
END
run 8 fsck "$store"
says "holograms"

# Settings that this program does not know are worth a note.
restore
if setfattr -n user.balefs.codec -v gzip "$store/dir" 2>/dev/null; then
    run 0 fsck "$store"
    prints "^$store/dir: note: user.balefs.codec: .*gzip"
    run 0 fsck --json "$store"
    is "dir" "$(json 'd["notes"][0]["path"]')" "note in JSON"
fi

# A writer holds the lock.
restore
exec 9<>"$store/.balefs/lock"
flock -x 9
run 8 fsck "$store"
says "^balefs: $store: "
exec 9>&-
run 0 fsck "$store"
(
    exec 9<"$store/.balefs/lock"
    flock -s 9
    run 0 fsck "$store" # readers stand beside each other
)

# Cancelled: the exit code says so. It is stopped while it has a file open, and goes on with the signal; where it was
# faster than this script it is tried again.
words=()
for i in {1..400}; do words+=("dir/more$i" "$work/text"); done
"$make_store" "$store" "${words[@]}"
# reads_dir PID: the process has a file of $store/dir open, or has ended
reads_dir() { ! lives "$1" || readlink "/proc/$1/fd/"* 2>/dev/null | grep -qF "$store/dir/"; }
got=0
for ((try = 0; try < 50 && got == 0; try++)); do
    # A shell's background job would ignore SIGINT.
    env --default-signal=INT "$balefs" fsck --data -j 1 "$store" >"$work/.out" 2>&1 &
    pid=$!
    until reads_dir "$pid"; do :; done
    kill -STOP "$pid" 2>/dev/null || true
    kill -INT "$pid" 2>/dev/null || true
    kill -CONT "$pid" 2>/dev/null || true
    wait "$pid" || got=$?
done
is 32 "$got" "exit status when cancelled"
