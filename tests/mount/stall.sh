#!/usr/bin/env bash
# Reads of what is cached do not wait for a commit of the same file that is stalled. What is done after its program was
# killed does not stay hidden by what the kernel has cached meanwhile.
# usage: stall.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin stall
command -v fsfreeze >/dev/null || skip "no fsfreeze"
base=$work/base mnt=$work/mnt
mkdir "$mnt"
loop_fs ext4 96 "$base"
"$BALEFS" init "$base/store"
mount_up "$base/store" "$mnt" -o memory=64M
head -c 4194304 /dev/urandom >"$work/plain"
cp "$work/plain" "$mnt/file"
cp "$work/plain" "$mnt/other"
"$BALEFS" sync "$mnt"
# Past the kernel's cache: what is read again comes from the daemon's.
dd if="$mnt/file" of=/dev/null bs=1M iflag=direct status=none
dd if="$mnt/other" of=/dev/null bs=1M iflag=direct status=none

fsfreeze -f "$base"
frozen=$base
head -c 4096 /dev/zero | tr '\0' 'n' >"$work/new"
dd if="$work/new" of="$mnt/file" bs=4096 seek=3 conv=notrunc,fsync status=none &
writer=$!
# prompt WHAT COMMAND...
prompt() {
    local what=$1 status=0
    shift
    timeout 200 "$@" || status=$?
    [ "$status" != 124 ] || fail "$what waits for the stalled commit"
    [ "$status" = 0 ] || fail "$what: exit status $status"
}

# Until the write is there; its fsync follows and does not come back.
for ((i = 0; ; i++)); do
    prompt "a read of what is being written" dd if="$mnt/file" of="$work/read" bs=4096 skip=3 count=1 \
        iflag=direct status=none
    ! cmp -s "$work/read" "$work/new" || break
    [ "$i" -lt 4000 ] || fail "the write is not seen"
    sleep 0.05
done
prompt "a cached read of the same file" dd if="$mnt/file" of="$work/read" bs=4096 skip=500 count=256 \
    iflag=direct status=none
cmp "$work/read" <(dd if="$work/plain" bs=4096 skip=500 count=256 status=none) || fail "wrong bytes"
prompt "a read of what is being committed" dd if="$mnt/file" of="$work/read" bs=4096 skip=3 count=1 \
    iflag=direct status=none
cmp "$work/read" "$work/new" || fail "the bytes being committed are wrong"
prompt "a read of another file" cmp "$mnt/other" "$work/plain"
prompt "stat" stat "$mnt/file" -c ''
prompt "ls" ls -l "$mnt" --time-style=+ -o >/dev/null
kill -0 "$writer" 2>/dev/null || fail "the fsync came back while the store was frozen"

chmod 600 "$mnt/other" &
changer=$!
sleep 0.5 # it is in its call
kill -KILL "$changer"
wait "$changer" || true
prompt "stat of what is not changed yet" stat "$mnt/other"

fsfreeze -u "$base"
frozen=
same_mode() { [ "$(stat -c %a "$mnt/other")" = "$(stat -c %a "$base/store/other")" ]; }
for ((i = 0; i < 100; i++)); do
    [ "$(stat -c %a "$base/store/other")" != 600 ] || break
    sleep 0.05
done
for ((i = 0; i < 200; i++)); do
    if same_mode; then break; fi
    sleep 0.05
done
same_mode || fail "the mount shows another mode than the store"
wait "$writer" || fail "the fsync failed after the thaw"
mount_down "$mnt"
fsck_clean "$base/store"
