#!/usr/bin/env bash
# A read-only mount on node B beside a writer on node A, which rewrites, replaces and appends to files all the time: each
# page that B shows is of a commit, and when the writer ends, everything shows its last one. Not part of CI: see README.md.
# usage: beside.sh gluster|moose|juice|ceph [READS], with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/rig.sh"

what=${1:?usage: beside.sh gluster|moose|juice|ceph [READS]}
reads=${2:-10000}
follow=$(realpath "$(dirname "$0")/../../mount/follow.py")
shared=$ram/shared
: "${BALEFS:?}"

say() { printf 'beside %s: %s\n' "$what" "$*"; }

fail() {
    say "FAILED: $*" >&2
    tail -n 30 "$rig/log/writer" "$rig/log/reader" >&2
    exit 1
}

rig_begin
trap rig_end EXIT
trap 'exit 143' INT TERM HUP
fs_up "$what"
say "$("$BALEFS" --version)"
on A "$BALEFS" init "$rig/A/fs/store" >/dev/null || fail init
on A "$BALEFS" mount --log "$rig/log/writer" -o io=direct "$rig/A/fs/store" "$rig/A/mnt" || fail "mount on A"
on B "$BALEFS" mount --log "$rig/log/reader" -o ro "$rig/B/fs/store" "$rig/B/mnt" || fail "mount on B"
on B "$BALEFS" stat "$rig/B/mnt" | grep "^writer   process .* on host bn-A " || fail "stat does not name the writer"
head -c 64 /dev/zero >"$shared"
nsenter -t "$(cat "$rig/A.pid")" -n -u -m -- /usr/bin/python3 "$follow" write "$rig/A/mnt" "$shared" >/dev/null &
writer=$!
on B /usr/bin/python3 "$follow" read "$rig/B/mnt" "$shared" "$reads" again || fail "see above"
wait "$writer" || fail "the writer"
on B "$BALEFS" umount "$rig/B/mnt" || fail "umount on B"
on A "$BALEFS" umount "$rig/A/mnt" || fail "umount on A"
! grep -E "damaged|cannot be" "$rig/log/reader" || fail "the reader calls something damaged"
on A "$BALEFS" fsck --data "$rig/A/fs/store" >/dev/null || fail "fsck"
say "done"
