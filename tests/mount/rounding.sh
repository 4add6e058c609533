#!/usr/bin/env bash
# Files with an error bound: which are rounded, every bit of what is stored, and a thousand overwrites at random with
# remounts and kills between them.
# usage: rounding.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

rounding() { /usr/bin/python3 "$BALE_SOURCE/tests/mount/rounding.py" "$@" || fail "rounding.py $1"; }

mount_begin rounding
mnt=$work/mnt store=$work/store
mkdir "$mnt"
"$BALEFS" init "$store"
mount_up "$store" "$mnt" -o memory=64M
mkdir "$mnt/run"
setfattr -n user.balefs.match -v "$(rounding lines "$mnt")" "$mnt/run"
rounding shapes "$mnt"
grep -q 'run/zip.f32: stored without loss: it is zip' "$work/log" || fail "the log does not say why zip.f32 is exact"
# Requests that rounded what was stored have ended: what is handled for longer than a second is counted.
sleep 1.1
handled=$("$BALEFS" stat --json "$mnt" |
    /usr/bin/python3 -S -c 'import json, sys; print(json.load(sys.stdin)["mount"]["waiting"]["store"])')
[ "$handled" = 0 ] || fail "$handled requests have not ended"
mount_down "$mnt"
fsck_clean "$store"
reader_clean "$store"

options=(memory=32M io=direct memory=64M)
for i in 1 2 3 4 5 6; do
    mount_up "$store" "$mnt" -o "${options[i % 3]}"
    rounding overwrite "$mnt" "$work/state" 60
    if [ $((i % 2)) = 0 ]; then
        mount_down "$mnt"
    else
        /usr/bin/python3 "$BALE_SOURCE/tests/mount/rounding.py" endless "$mnt" "$work/state" &
        writer=$!
        sleep "0.$((RANDOM % 5 + 2))"
        kill -KILL "$daemon"
        wait "$daemon" 2>/dev/null || true
        wait "$writer" || fail "the writer ended badly"
        mount_up "$store" "$mnt" # the dead one lies below
        rounding check "$mnt" "$work/state"
        mount_down "$mnt"
    fi
done
fsck_clean "$store"
reader_clean "$store"
