#!/usr/bin/env bash
# Strings in a mount: `set --match GLOB fsst`, the extents and the feature tag that come with it, partial writes, small
# reads, damage, and a codec without an extent part again.
# usage: strings.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin strings
mnt=$work/mnt store=$work/store
mkdir "$mnt"

# tag FILE: the features of the container's newest root, as JSON
tag() {
    "$BALEFS" inspect --json "$store/$1" |
        /usr/bin/python3 -c 'import json, sys
roots = [r for r in json.load(sys.stdin)["roots"] if r["state"] == "valid"]
print(max(roots, key=lambda r: r["generation"])["features"])'
}

# codecs_of FILE: what its frames have
codecs_of() {
    "$BALEFS" inspect --json "$store/$1" |
        /usr/bin/python3 -c 'import json, sys; print(*sorted({s["codec"] for s in json.load(sys.stdin)["extents"]}))'
}

extent_of() {
    "$BALEFS" get --json "$1" | /usr/bin/python3 -c 'import json, sys; print(int(json.load(sys.stdin)["extent"]))'
}

is() { [ "$1" = "$2" ] || fail "$3: $2, not $1"; }

# A table with text, numbers and dates.
awk 'BEGIN { srand(7); split("quickly final deposits sleep above the ironic packages carefully furiously", w, " ")
    for (i = 0; i < 60000; i++) printf "%d|%d|%.2f|1996-%02d-%02d|%s %s %s\n", i, rand() * 30000, rand() * 50000,
        1 + rand() * 12, 1 + rand() * 28, w[1 + int(rand() * 10)], w[1 + int(rand() * 10)], w[1 + int(rand() * 10)] }' \
    >"$work/table"
head -c 1M /dev/urandom >"$work/random"

"$BALEFS" init "$store"
mount_up "$store" "$mnt" -o memory=128M
"$BALEFS" set --match '*.csv' "$mnt" fsst
cp "$work/table" "$mnt/a.csv"
cp "$work/table" "$mnt/a.txt"
cp "$work/random" "$mnt/random.csv"
is 1048576 "$(extent_of "$mnt/a.csv")" "extent of a.csv"
"$BALEFS" sync "$mnt"
is fsst "$(codecs_of a.csv)" "codec of a.csv"
is "['part']" "$(tag a.csv)" "features of a.csv"
is "[]" "$(tag a.txt)" "features of a.txt"
is store "$(codecs_of random.csv)" "codec of random.csv"
is "[]" "$(tag random.csv)" "features of random.csv"

# An extent size that somebody chose stays, though it is the default.
mkdir "$work/chosen.mnt"
"$BALEFS" init --extent 128K --codec fsst "$work/chosen"
mount_up "$work/chosen" "$work/chosen.mnt"
cp "$work/table" "$work/chosen.mnt/a"
mount_down "$work/chosen.mnt"
is 131072 "$(extent_of "$work/chosen/a")" "extent of chosen/a"

# Pieces over each other, synced one by one; small reads of what is in the store.
cp "$work/table" "$work/copy"
for i in 1 2 3 4 5 6 7 8 9; do
    for file in "$mnt/a.csv" "$work/copy"; do
        dd if="$work/table" of="$file" bs=777 skip=$((i * 31)) seek=$((i * 257)) count=$((i * 3)) conv=notrunc,fsync \
            status=none
    done
done
cmp "$work/copy" "$mnt/a.csv" || fail "a.csv differs after writes"

# A head of 512 chunks: the part behind it takes a read of its own.
mkdir "$mnt/large"
"$BALEFS" set --extent 32M "$mnt/large" fsst
for i in 1 2 3 4 5 6 7 8; do cat "$work/table"; done >"$work/tables"
cp "$work/tables" "$mnt/large/file"
mount_down "$mnt"
is 33554432 "$(extent_of "$store/large/file")" "extent of large/file"
fsck_clean "$store"
reader_clean "$store"
"$BALEFS" cat "$store/a.csv" | cmp - "$work/copy" || fail "cat of a.csv differs"
mount_up "$store" "$mnt" -o memory=128M
for at in 0 1 255 256 300 511 700; do
    cmp <(dd if="$work/copy" bs=4096 skip=$at count=1 status=none) <(dd if="$mnt/a.csv" bs=4096 skip=$at count=1 status=none) ||
        fail "a.csv differs at block $at"
done
cmp "$work/copy" "$mnt/a.csv" || fail "a.csv differs in another mount"
for at in 1 1000 4321; do
    cmp <(dd if="$work/tables" bs=4096 skip=$at count=1 status=none) \
        <(dd if="$mnt/large/file" bs=4096 skip=$at count=1 status=none) || fail "large/file differs at block $at"
done

# Another codec: the tag goes with the last data, not before.
"$BALEFS" set "$mnt/a.csv" zstd:1
printf x | dd of="$mnt/a.csv" conv=notrunc,fsync status=none
is "['part']" "$(tag a.csv)" "features of a.csv, changed in part"
cp "$work/table" "$mnt/a.csv"
"$BALEFS" sync "$mnt"
is zstd "$(codecs_of a.csv)" "codec of a.csv, written again"
is "[]" "$(tag a.csv)" "features of a.csv, written again"
cp "$work/table" "$mnt/b.csv"
mount_down "$mnt"
fsck_clean "$store"

# A damaged part is reported with the range that it costs, and the rest of the file is there.
/usr/bin/python3 - "$store/b.csv" "$("$BALEFS" inspect --json "$store/b.csv")" <<'END'
import json
import sys
second = sorted(json.loads(sys.argv[2])["extents"], key=lambda s: s["offset"])[1]
with open(sys.argv[1], "r+b") as file:
    file.seek(second["position"] + 52 + 12 * 17 + 20)
    byte = file.read(1)
    file.seek(-1, 1)
    file.write(bytes([byte[0] ^ 1]))
END
"$BALEFS" fsck --data "$store" >"$work/said" 2>&1 && fail "fsck finds no damage"
grep -q 'extent part checksum' "$work/said" || fail "fsck says: $(cat "$work/said")"
mount_up "$store" "$mnt"
cmp <(head -c 1M "$work/table") <(head -c 1M "$mnt/b.csv") || fail "the first extent is lost"
tail -c +2097153 "$mnt/b.csv" | cmp - <(tail -c +2097153 "$work/table") || fail "the third extent is lost"
! dd if="$mnt/b.csv" bs=4096 skip=300 count=1 status=none >/dev/null 2>&1 || fail "damage was read"
rm "$mnt/b.csv"
mount_down "$mnt"
