#!/usr/bin/env bash
# What is known of how elements of a file were rounded: the greatest bound ever, until the file is empty.
# usage: bounds.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin bounds
mnt=$work/mnt store=$work/store
mkdir "$mnt"

# said FILE: whether elements were rounded, and the bound
said() {
    getfattr --only-values -n user.balefs.stat "$mnt/$1" 2>/dev/null |
        /usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["lossy"], d["bound"])'
}

# totals PATH: how many of its files have such elements, and the greatest bound
totals() {
    "$BALEFS" stat --json "$1" |
        /usr/bin/python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["lossy"], d["bound"])'
}

# codecs FILE: of its frames
codecs() {
    "$BALEFS" inspect --json "$store/$1" |
        /usr/bin/python3 -c 'import json, sys; print(*sorted({s["codec"] for s in json.load(sys.stdin)["extents"]}))'
}

is() { [ "$1" = "$2" ] || fail "$3: $2, not $1"; }

# make FILE [BOUND]: a new file of an array, rounded within the bound if there is one
make() {
    : >"$mnt/$1"
    [ $# = 1 ] || "$BALEFS" set "$mnt/$1" "cusz:f32,abs=$2"
    cat "$work/field" >"$mnt/$1"
}

again() {
    mount_down "$mnt"
    mount_up "$store" "$mnt"
}

# copy FROM TO: by copy_file_range alone, or else by reading and writing, as the kernel does it
copy() {
    /usr/bin/python3 - "$mnt/$1" "$mnt/$2" <<'END_OF_COPY'
import os
import sys
source, target = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
while os.copy_file_range(source, target, 1 << 24):
    pass
END_OF_COPY
    cmp "$mnt/$1" "$mnt/$2" || fail "$2 differs from $1"
}

/usr/bin/python3 - "$work/field" <<'END_OF_FIELD'
import array
import math
import sys
with open(sys.argv[1], "wb") as file:
    array.array("f", (9 * math.sin(i / 99) for i in range(50000))).tofile(file)
END_OF_FIELD

"$BALEFS" init "$store"
mount_up "$store" "$mnt"

# A lesser bound, another codec, a write and a truncation leave what was rounded before.
make exact
make array 0.5
is "False None" "$(said exact)" "exact"
is "True 0.5" "$(said array)" "array, at once"
"$BALEFS" set "$mnt/array" cusz:f32,abs=1e-6
is "True 0.5" "$(said array)" "array with a lesser bound"
dd if="$work/field" of="$mnt/array" bs=8192 count=1 conv=notrunc status=none
is "True 0.5" "$(said array)" "array, a part of which was written again"
again
is "True 0.5" "$(said array)" "array with a lesser bound after a mount"
"$BALEFS" set "$mnt/array" zstd:3
is "True 0.5" "$(said array)" "array with zstd"
again
is "True 0.5" "$(said array)" "array with zstd after a mount"
"$BALEFS" recompress "$mnt/array" >"$work/said"
truncate -s 4 "$mnt/array"
is "True 0.5" "$(said array)" "array of one element"
again
is "True 0.5" "$(said array)" "array of one element after a mount"

# A greater bound counts from when it is used.
make grown 1e-3
"$BALEFS" set "$mnt/grown" cusz:f32,abs=0.25
is "True 0.001" "$(said grown)" "grown, nothing of which has the greater bound"
"$BALEFS" recompress --round "$mnt/grown" >"$work/said"
is "True 0.25" "$(said grown)" "grown, rounded again"
"$BALEFS" set "$mnt/grown" float:f32

# What turns out to be of another format was rounded up to then.
make late 0.125
printf '\211HDF\r\n\032\n' | dd of="$mnt/late" bs=8192 seek=1 conv=notrunc status=none
dd if="$work/field" of="$mnt/late" bs=8192 seek=2 count=1 conv=notrunc status=none
is "True 0.125" "$(said late)" "late"

# A copy of what is stored has it, from a source with the same setting, and so has one that is read and written.
make source 0.375
copy source other
is "True 0.375" "$(said other)" "copy of an array to one without a bound"
"$BALEFS" set "$mnt/source" auto
copy source same
is "True 0.375" "$(said same)" "copy of an array that has no bound any more"
copy exact exact2
is "False None" "$(said exact2)" "copy of exact"
is "6 0.5" "$(totals "$mnt")" "files of the mount"
"$BALEFS" stat "$mnt" | grep -q '^lossy    6 files, .* by 0.5 at most$' || fail "what stat says of lossy files"
again
for file in other:0.375 same:0.375 late:0.125 grown:0.25; do
    is "True ${file#*:}" "$(said "${file%:*}")" "${file%:*} after a mount"
done
mount_down "$mnt"
is "6 0.5" "$(totals "$store")" "files of the store"
is "1 0.25" "$(totals "$store/grown")" "grown in the store"
is cusz "$(codecs same)" "codec of what was copied as it was stored"
[ "$(codecs other)" != cusz ] || fail "other was not written"
fsck_clean "$store"
reader_clean "$store"

# HDF5 behind a user block is exact from its signature on, however it comes.
mount_up "$store" "$mnt"
{ head -c 8192 "$work/field"; printf '\211HDF\r\n\032\n'; cat "$work/field"; } >"$work/block.h5"
: >"$mnt/whole.h5"
"$BALEFS" set "$mnt/whole.h5" cusz:f32,abs=0.5
dd if="$work/block.h5" of="$mnt/whole.h5" bs=1M conv=notrunc status=none
: >"$mnt/behind.h5"
"$BALEFS" set "$mnt/behind.h5" cusz:f32,abs=0.5
dd if="$work/block.h5" of="$mnt/behind.h5" bs=8192 skip=1 seek=1 conv=notrunc status=none
dd if="$work/block.h5" of="$mnt/behind.h5" bs=8192 count=1 conv=notrunc status=none
for file in whole.h5 behind.h5; do
    cmp "$work/block.h5" "$mnt/$file" || fail "$file is not exact"
    is "False None" "$(said "$file")" "$file"
done

# Its signature may come in parts, of which none is rounded, and what comes behind the last one is exact.
parts() { # FILE SETTING PLACE...: writes block.h5 from 4096 on in parts that begin at these places, in this order
    : >"$mnt/$1"
    "$BALEFS" set "$mnt/$1" "$2"
    /usr/bin/python3 - "$work/block.h5" "$mnt/$1" "${@:3}" <<'END_OF_PARTS'
import os
import sys
content, target = open(sys.argv[1], "rb").read(), os.open(sys.argv[2], os.O_WRONLY)
os.pwrite(target, content[:4096], 0)
places = [int(place) for place in sys.argv[3:]]
for place in places:
    os.pwrite(target, content[place : min((p for p in places if p > place), default=len(content))], place)
    os.fsync(target)
END_OF_PARTS
}
for setting in f32 f64 f32,offset=3 f64,offset=4; do
    for places in "4096 8196 8200" "8196 4096 9999" "4096 8192 8193 8194 8195 8196 8197 8198 8199" "8195 8199 4096 8300" \
        "4096 8199 8201"; do
        # shellcheck disable=SC2086
        parts parts.h5 "cusz:$setting,abs=0.5" $places
        cmp -i 8192 -n 8 "$work/block.h5" "$mnt/parts.h5" || fail "$setting, parts from $places on: the signature differs"
        cmp -i "${places##* }" "$work/block.h5" "$mnt/parts.h5" || fail "$setting, parts from $places on: not exact"
    done
done

# So is what is written when it was there before the setting, also in what the mount has not read.
for read in yes no; do
    cat "$work/block.h5" "$work/field" >"$mnt/before-$read.h5"
    [ $read = yes ] || again
    "$BALEFS" set "$mnt/before-$read.h5" cusz:f32,abs=0.5
    dd if="$work/field" of="$mnt/before-$read.h5" bs=65536 seek=1 count=1 conv=notrunc status=none
    cmp -n 65536 -i 0:65536 "$work/field" "$mnt/before-$read.h5" || fail "before-$read.h5 is not exact"
    is "False None" "$(said "before-$read.h5")" "before-$read.h5"
done

# What is read and written has the record of its origin, at another place too.
make origin 0.25
echo 'a header of more' >"$mnt/header"
/usr/bin/python3 - "$mnt/origin" "$mnt/header" <<'END_OF_APPEND'
import os
import sys
source, target = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY)
os.lseek(target, 0, os.SEEK_END)
while os.copy_file_range(source, target, 1 << 24):
    pass
END_OF_APPEND
is "True 0.25" "$(said header)" "a header with an array behind it"
mount_down "$mnt"
is "1 0.25" "$(totals "$store/header")" "a header with an array behind it in the store"

# An empty file has no elements.
mount_up "$store" "$mnt"
for file in array late same; do
    : >"$mnt/$file"
    is "False None" "$(said "$file")" "empty $file"
done
again
for file in array late same; do is "False None" "$(said "$file")" "empty $file after a mount"; done
cat "$work/field" >"$mnt/array"
cat "$work/field" >"$mnt/late"
is "False None" "$(said array)" "array, written with zstd"
cmp "$work/field" "$mnt/array" || fail "array is not exact"
"$BALEFS" set "$mnt/late" cusz:f32,abs=1e-3
: >"$mnt/late"
cat "$work/field" >"$mnt/late"
is "True 0.001" "$(said late)" "late, written again"
mount_down "$mnt"
fsck_clean "$store"
reader_clean "$store"
