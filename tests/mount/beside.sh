#!/usr/bin/env bash
# A reader beside a writer, where the reader's machine has old pages of the container: what it shows is a whole commit,
# and it calls nothing damaged before it has read the newer root.
# usage: beside.sh PASSTHROUGH, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

passthrough=${1:?usage: beside.sh PASSTHROUGH}
mount_begin beside
store=$work/low/store mnt=$work/mnt other=$work/other
mkdir "$work/low" "$mnt" "$other"
"$BALEFS" init "$store" >/dev/null || fail init

# The other machine's view: its kernel keeps pages as long as it likes.
"$passthrough" "$work/low" "$other" || fail "passthrough"
mount_up "$store" "$mnt"

# forget FILE FROM LENGTH: the other machine drops its pages of that range of the container; length 0: up to the end
forget() {
    /usr/bin/python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, int(sys.argv[2]), int(sys.argv[3]), os.POSIX_FADV_DONTNEED)' "$other/store/$1" "$2" "$3"
}

# rewrite FILE SIZE: a commit of its own, durable, in the space of the one before the last
rewrite() {
    head -c "$2" /dev/urandom >"$work/new-$1"
    dd if="$work/new-$1" of="$mnt/$1" bs="$2" conv=notrunc,fsync status=none
}

for i in 1 2 3 4 5; do
    rewrite file 200000
    rewrite small 20000
done
for i in $(seq 20); do
    "$BALEFS" cat "$other/store/file" >"$work/seen" 2>"$work/said" || fail "round $i: $(cat "$work/said")"
    cmp -s "$work/seen" "$work/new-file" || fail "round $i: other bytes"
    rewrite file 200000
    rewrite file 200000
    rewrite file 200000
    # The first page, with the roots, stays old.
    forget file 4096 0
    "$BALEFS" cat "$other/store/file" >"$work/seen" 2>"$work/said" || fail "round $i, old roots: $(cat "$work/said")"
    cmp -s "$work/seen" "$work/new-file" || fail "round $i, old roots: other bytes"
    rewrite small 20000
    forget small 0 4096
    # Now all but the first page.
    "$BALEFS" cat "$other/store/small" >"$work/seen" 2>"$work/said" || fail "round $i, old frames: $(cat "$work/said")"
    cmp -s "$work/seen" "$work/new-small" || fail "round $i, old frames: other bytes"
    rewrite file 200000
done

# What is damaged is still called so.
mount_down "$mnt"
umount "$other"
/usr/bin/python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
size = os.fstat(fd).st_size
for at in range(600, size, 1000):
    os.pwrite(fd, b"damage", at)' "$store/file"
! "$BALEFS" cat "$store/file" >"$work/seen" 2>"$work/said" || fail "damage is not reported"
grep -q "damaged" "$work/said" || fail "says: $(cat "$work/said")"
say "20 rounds"
