#!/usr/bin/env bash
# scrub: reads all of a mounted store, beside a writer, says what is damaged, and goes on after it was ended.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse

store=$work/store
mnt=$work/mnt
mkdir "$mnt"
run 0 init --codec store "$store"
run 0 mount "$store" "$mnt"
mkdir "$mnt/a" "$mnt/a-b"
head -c 300000 /dev/urandom >"$mnt/a/$(printf 'bad \377\n name')"
head -c 1000 /dev/urandom >"$mnt/a-b/small"
head -c 2000000 /dev/urandom >"$mnt/big"
ln "$mnt/big" "$mnt/link"
: >"$mnt/empty"
truncate -s 1T "$mnt/hole"
run 0 sync "$mnt"

run 1 scrub "$store"
says "^balefs: $store: is in no mount: balefs fsck --data checks"
fails 2 "--rate 7: that is 7 B/s: give at least 64K, such as 20M: see balefs scrub --help" scrub --rate 7 "$mnt"
run 2 scrub

run 0 scrub "$mnt"
prints "^$mnt: 5 files, 2.2 MiB read: 0 damaged$"
run 0 scrub --json "$mnt/a"
is "$mnt $store False True 5 0" \
    "$(json 'd["mount"], d["store"], d["continued"], d["finished"], d["files"], d["damaged"]')" "a whole store"
bytes=$(json 'd["bytes"]')

# Ended by a signal, and by SIGKILL after it has written how far it is: the next run reads the rest, and no more.
state() { /usr/bin/python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); sys.exit(not ('"$1"'))' "$store/.balefs/scrub.json" 2>/dev/null; }
for signal in TERM KILL; do
    "$balefs" scrub --rate 64K "$mnt" >"$work/scrub.out" 2>&1 &
    scrub=$!
    soon state 'not d["finished"] and d["bytes"] > 0' || fail "scrub.json says nothing"
    run 1 scrub "$mnt"
    says "^balefs: $mnt: is being scrubbed by another process$"
    kill -$signal $scrub
    got=0
    wait $scrub || got=$?
    is $((128 + $(kill -l $signal))) "$got" "exit status after SIG$signal"
    [ $signal = KILL ] || grep -q "; interrupted: the next run goes on$" "$work/scrub.out" || fail "$(cat "$work/scrub.out")"
    state 'not d["finished"] and 0 < d["bytes"] < '"$bytes" || fail "the state after SIG$signal"
    if [ $signal = TERM ]; then
        run 0 scrub --json "$mnt"
        is "True True 5 $bytes" "$(json 'd["continued"], d["finished"], d["files"], d["bytes"]')" "after SIG$signal"
    fi
done
run 0 scrub --restart --json "$mnt"
is "False $bytes" "$(json 'd["continued"], d["bytes"]')" "begun again"

# Damage: of a frame, of an index page, and of both roots.
cp -r "$store/a-b" "$work/kept"
position() {
    run 0 inspect --json "$1"
    json "$2"
}
flip "$store/big" $(($(position "$store/big" 'd["extents"][3]["position"]') + 1000))
run 1 scrub "$mnt"
prints "^$mnt/big: offset 393216: chunk checksum: expected 0x[0-9a-f]+ found 0x[0-9a-f]+ \(position [0-9]+\)$"
prints "^$mnt: 5 files, .* read: 1 damaged$"
bad=$(cd "$store" && ls -d a/*)
flip "$store/$bad" $(($(position "$store/$bad" '[r["tree_position"] for r in d["roots"] if r.get("chosen")][0]') + 30))
head -c 224 /dev/zero | dd of="$store/a-b/small" bs=1 conv=notrunc status=none
run 1 scrub --json "$mnt"
is "3 ['index page', 'no root is whole', 'chunk checksum']" \
    "$(json 'd["damaged"], [p["what"] for p in d["problems"]]')" "three kinds of damage"
is "62616420ff0a206e616d65" "$(json '[p["path_hex"] for p in d["problems"] if "path_hex" in p][0][4:]')" "an odd name"

# Beside a writer nothing counts as damaged that a commit has replaced.
rm "$mnt/a/"* "$mnt/a-b/small" "$mnt/big" "$mnt/link"
/usr/bin/python3 -c '
import os, sys
for round in range(100000):
    with open(sys.argv[1], "r+b" if round else "wb") as f:
        for i in range(40):
            f.seek(os.urandom(1)[0] * 4000)
            f.write(os.urandom(30000))
        f.flush()
        os.fsync(f.fileno())' "$mnt/busy" &
writer=$!
soon test -s "$mnt/busy"
for _ in 1 2 3 4; do
    got=0
    "$balefs" scrub --json "$mnt" >"$work/.out" 2>"$work/.err" || got=$?
    out=$(<"$work/.out")
    is "0 []" "$(json 'd["damaged"], d["problems"]')" "beside a writer"
done
kill $writer
wait $writer 2>/dev/null || true
run 0 scrub "$mnt"

# Who may not read the store, and a store that cannot be written.
if [ "$(id -u)" = 0 ]; then
    copy_for_users
    chmod 700 "$store"
    got=0
    as_user "$work/balefs" scrub "$mnt" >"$work/.out" 2>"$work/.err" || got=$?
    is 1 "$got" "another user's scrub"
    grep -q "^balefs: $store.*" "$work/.err" || fail "another user is told: $(cat "$work/.err")"
fi
run 0 umount "$mnt"
