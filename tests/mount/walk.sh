#!/usr/bin/env bash
# `balefs sync` goes through the whole store, because an earlier mount was killed, and meanwhile files and directories move
# from where it has not been to where it has been. What the sync promised is there after a loss.
# usage: walk.sh LOSSY, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

lossy=${1:?usage: walk.sh LOSSY}
mount_begin walk
backing=$work/backing store=$work/backing/store mnt=$work/mnt
mkdir "$backing" "$work/disk" "$mnt"

# is TEXT FILE
is() { [ "$1" = "$(cat "$mnt/$2")" ] || fail "after a loss: $2: '$(cat "$mnt/$2")', not '$1'"; }

# The walk is in `between`, after `done` and before `later`: the file system lists names in the order in which they were made.
LOSSY_HOLD=held lossy_up "$lossy" "$work/disk" "$backing" >"$work/held"
"$BALEFS" init "$store" || fail "init"
mount_up "$store" "$mnt"
mkdir -p "$mnt/done/dir" "$mnt/between" "$mnt"/later/{dir/deep,other}
for file in done/exchanged between/held later/{moved,linked,exchanged,dir/deep/file,other/leaves,other/file}; do
    echo "$file" >"$mnt/$file"
done
mount_kill "$mnt"
mount_up "$store" "$mnt"
"$BALEFS" sync "$mnt" &
sync=$!
for ((i = 0; i < 5000; i++)); do
    ! grep -q held "$work/held" || break
    kill -0 "$sync" 2>/dev/null || fail "the sync did not wait"
    sleep 0.01
done
grep -q held "$work/held" || fail "the sync did not reach the file"
mv "$mnt/later/moved" "$mnt/done/moved"
mv "$mnt/later/dir" "$mnt/done/dir/dir"
ln "$mnt/later/linked" "$mnt/done/linked"
rm "$mnt/later/linked"
/usr/bin/python3 - "$mnt/later/exchanged" "$mnt/done/exchanged" <<'PYTHON' || fail "exchange"
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).renameat2
if call(-100, os.fsencode(sys.argv[1]), -100, os.fsencode(sys.argv[2]), 2) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
PYTHON
# A file leaves a directory that has moved.
mv "$mnt/later/other" "$mnt/done/other"
mv "$mnt/done/other/leaves" "$mnt/done/left"
touch "$backing/release"
wait "$sync" || fail "sync"

mount_kill "$mnt"
lossy_down "$backing"
lossy_up "$lossy" "$work/disk" "$backing"
fsck_clean "$store"
mount_up "$store" "$mnt"
is between/held between/held
is later/moved done/moved
is later/dir/deep/file done/dir/dir/deep/file
is later/linked done/linked
is later/exchanged done/exchanged
is done/exchanged later/exchanged
is later/other/file done/other/file
is later/other/leaves done/left
mount_down "$mnt"
fsck_clean "$store"
lossy_down "$backing"
