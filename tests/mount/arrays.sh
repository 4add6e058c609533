#!/usr/bin/env bash
# Arrays in a mount: settings that say what an array is stay with their file, those with an error bound go neither to
# directories nor to copies, and values change within the bound of their file alone.
# usage: arrays.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin arrays
mnt=$work/mnt store=$work/store
mkdir "$mnt"

# codec_of FILE: the setting that it has
codec_of() {
    "$BALEFS" get --json "$1" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["codec"])'
}

# codecs_of FILE: what its frames have
codecs_of() {
    "$BALEFS" inspect --json "$store/$1" |
        /usr/bin/python3 -c 'import json, sys; print(*sorted({s["codec"] for s in json.load(sys.stdin)["extents"]}))'
}

is() { [ "$1" = "$2" ] || fail "$3: $2, not $1"; }

# refused WHAT COMMAND...: the command fails, and says WHAT
refused() {
    local what=$1
    shift
    "$@" >"$work/said" 2>&1 && fail "$* succeeds"
    grep -q "$what" "$work/said" || fail "$*: $(cat "$work/said")"
}

# A field of 48 cells a side, and the same rounded to multiples of 2^-9.
/usr/bin/python3 - "$work" <<'END_OF_FIELD'
import array
import math
import sys
cells = [math.sin(i % 48 / 9) + math.cos(i // 48 % 48 / 11) + i // 2304 / 50 for i in range(48 ** 3)]
for name, field in (("field", cells), ("steps", [round(x * 512) / 512 for x in cells])):
    with open(f"{sys.argv[1]}/{name}", "wb") as file:
        array.array("f", field).tofile(file)
END_OF_FIELD

"$BALEFS" init "$store"
mount_up "$store" "$mnt" -o memory=128M

# What is said of an array stays with its file, and copying tools see it.
touch "$mnt/field"
"$BALEFS" set "$mnt/field" float:f32,dims=48x48x48
cat "$work/field" >"$mnt/field"
is float:f32,dims=48x48x48 "$(getfattr --only-values -n user.balefs.codec "$mnt/field" 2>/dev/null)" "attribute of field"
getfattr -d "$mnt/field" 2>/dev/null | grep -q balefs.codec || fail "the attribute of field is not listed"

# A bound is for files: by themselves, or by a match line of their directory.
mkdir "$mnt/run"
refused 'is for files' "$BALEFS" set "$mnt/run" cusz:f32,abs=1e-3
refused 'Invalid argument' setfattr -n user.balefs.codec -v cusz:f32,abs=1e-3 "$mnt/run"
for wrong in cusz cusz:f32 cusz:abs=1e-3 cusz:i32,abs=1e-3 cusz:f32,abs=0 cusz:f32,abs=nan cusz:f32,abs=1e-3,dims=0; do
    refused 'Invalid argument' setfattr -n user.balefs.codec -v "$wrong" "$mnt/field"
done
grep -q ' run: user.balefs.codec: cusz changes values' "$work/log" || fail "the log does not say why run's setting was refused"
grep -q ' field: user.balefs.codec: cusz needs a bound above 0' "$work/log" || fail "the log does not say why field's was"
"$BALEFS" set --match '*.bin' "$mnt/run" cusz:f32,abs=0.0009765625
mkdir "$mnt/run/sub"
cp "$work/steps" "$mnt/run/steps.bin"
cp "$work/steps" "$mnt/run/sub/steps.bin"
cp "$work/field" "$mnt/run/field.bin"
is cusz:f32,abs=9.765625e-4 "$(codec_of "$mnt/run/steps.bin")" "setting of steps.bin"
"$BALEFS" get "$mnt/run/steps.bin" | grep -q 'codec cusz:f32,abs=9.765625e-4,' || fail "the setting is said to be a default"
is auto "$(codec_of "$mnt/run/sub/steps.bin")" "setting of sub/steps.bin"
! getfattr -d "$mnt/run/steps.bin" 2>/dev/null | grep -q balefs.codec || fail "a setting with a bound is listed"
# Nor do copying programs take the line to another directory, where files would be rounded that nobody asked for.
cp -a "$mnt/run" "$mnt/copy"
is "" "$(getfattr -d "$mnt/run" "$mnt/copy" 2>/dev/null)" "attributes that copying programs see"
is auto "$(cp "$work/steps" "$mnt/copy/steps2.bin" && codec_of "$mnt/copy/steps2.bin")" "setting of a new file in a copy"
"$BALEFS" get "$mnt/run" | grep -qF '*.bin' || fail "balefs get does not show the line"
rm -r "$mnt/copy"
mount_down "$mnt"

is float "$(codecs_of field)" "codec of field"
is cusz "$(codecs_of run/steps.bin)" "codec of steps.bin"
is cusz "$(codecs_of run/field.bin)" "codec of field.bin"
fsck_clean "$store"
reader_clean "$store"

# Pieces over each other in another mount: the settings count again.
cp "$work/field" "$work/copy"
cp "$work/steps" "$work/copy.bin"
mount_up "$store" "$mnt" -o memory=128M
for i in 1 2 3 4 5 6 7; do
    for file in "$mnt/field" "$work/copy" "$mnt/run/steps.bin" "$work/copy.bin"; do
        dd if="$work/field" of="$file" bs=1001 skip=$((i * 13)) seek=$((i * 97)) count=$((i * 5)) conv=notrunc,fsync \
            status=none
    done
done
for at in 0 1 50 100 107; do
    cmp <(dd if="$work/copy" bs=4096 skip=$at count=1 status=none) \
        <(dd if="$mnt/field" bs=4096 skip=$at count=1 status=none) || fail "field differs at block $at"
done
mount_down "$mnt"
mount_up "$store" "$mnt"
cmp "$work/copy" "$mnt/field" || fail "field differs"
for file in copy.bin:steps.bin field:field.bin; do
    "$BALEFS" quality --type f32 --bound 0.0009765625 "$work/${file%:*}" "$mnt/run/${file#*:}" >"$work/quality" ||
        fail "${file#*:}: $(cat "$work/quality")"
done
cmp -s "$work/field" "$mnt/run/field.bin" && fail "field.bin is exact"
cp -a "$mnt/run/field.bin" "$mnt/exact.bin"
is auto "$(codec_of "$mnt/exact.bin")" "setting of a copy"
rm "$mnt/exact.bin"
stat_of() { getfattr --only-values -n user.balefs.stat "$mnt/$1" 2>/dev/null | /usr/bin/python3 -c 'import json, sys
d = json.load(sys.stdin)
print(d["lossy"], d["bound"])'; }
is "True 0.0009765625" "$(stat_of run/field.bin)" "statistics of field.bin"
is "False None" "$(stat_of field)" "statistics of field"
"$BALEFS" stat --json "$mnt" | tr -d ' \n' | grep -q '"lossy":2,"bound":0.0009765625' || fail "lossy files of the mount"
"$BALEFS" stat "$mnt" | grep -q '^lossy    2 files, .* by 0.0009765625 at most$' || fail "what stat says of lossy files"
is float:f32,dims=48x48x48 "$(codec_of "$mnt/field")" "setting of field after two mounts"

# bounded WHAT ORIGINAL COPY: rounded, and within the bound
bounded() {
    "$BALEFS" quality --type f32 --bound 0.0009765625 "$2" "$3" >"$work/quality" || fail "$1: $(cat "$work/quality")"
    cmp -s "$2" "$3" && fail "$1 is exact"
    return 0
}

# What is there is rounded when a user says so, and only then.
setting=cusz:f32,abs=0.0009765625
head -c 400 "$work/field" >"$work/short"
{ printf '\211HDF\r\n\032\n' && cat "$work/field"; } >"$work/hdf"
for file in field short hdf; do cp "$work/$file" "$mnt/old.$file"; done
"$BALEFS" set "$mnt/old.field" "$setting"
"$BALEFS" recompress "$mnt" >"$work/said"
cmp "$work/field" "$mnt/old.field" || fail "recompress changes values"
refused 'no regular file' "$BALEFS" recompress --round "$mnt"
refused 'says something about an array' "$BALEFS" recompress --set --codec "$setting" "$mnt/run"
refused 'was not rounded' "$BALEFS" recompress --round "$mnt/old.short"
touch -d @1000000000 "$mnt/old.field"
"$BALEFS" recompress --round --json "$mnt/old.field" | grep -q '"rounded": 4' || fail "rounded extents of old.field"
[ "$(stat -c %Y "$mnt/old.field")" -gt 1000000000 ] || fail "the time of old.field"
touch -d @1000000000 "$mnt/old.field"
"$BALEFS" recompress --round --json "$mnt/old.field" | grep -q '"rounded": 0' || fail "old.field is rounded twice"
is 1000000000 "$(stat -c %Y "$mnt/old.field")" "time of what did not change"
"$BALEFS" set "$mnt/old.short" "$setting"
"$BALEFS" recompress --round "$mnt/old.short" >"$work/said"
"$BALEFS" set "$mnt/old.hdf" "$setting"
refused 'was not rounded' "$BALEFS" recompress --round "$mnt/old.hdf"
for file in field short; do bounded "old.$file" "$work/$file" "$mnt/old.$file"; done
cmp "$work/hdf" "$mnt/old.hdf" || fail "old.hdf differs"

# The setting goes when another one comes.
"$BALEFS" set "$mnt/run/steps.bin" zstd:1
cp "$work/steps" "$mnt/run/steps.bin"
mount_down "$mnt"
is zstd "$(codecs_of run/steps.bin)" "codec of steps.bin, written again"
fsck_clean "$store"
reader_clean "$store"

# What is imported is rounded by match lines, and short files and holes at the begin as well, because they are complete.
mkdir "$work/src"
cp "$work/field" "$work/src/field.bin"
cp "$work/short" "$work/src/short.bin"
cp "$work/hdf" "$work/src/hdf.bin"
truncate -s 8192 "$work/src/hole.bin"
cat "$work/field" >>"$work/src/hole.bin"
cp "$work/field" "$work/src/other"
refused 'name those that are, as with --match' "$BALEFS" import --create --codec "$setting" "$work/src" "$work/new"
setfattr -n user.balefs.match -v "*.bin $setting" "$work/src"
"$BALEFS" import --create "$work/src" "$work/new" >"$work/said"
"$BALEFS" export "$work/new" "$work/out" >"$work/said"
for file in field short hole; do bounded "imported $file.bin" "$work/src/$file.bin" "$work/out/$file.bin"; done
for file in hdf.bin other; do cmp "$work/src/$file" "$work/out/$file" || fail "imported $file"; done
"$BALEFS" stat --json "$work/new" | tr -d ' \n' | grep -q '"lossy":3,"bound":0.0009765625' || fail "lossy files of new"
fsck_clean "$work/new"
reader_clean "$work/new"
