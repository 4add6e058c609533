#!/usr/bin/env bash
# Without a system log the daemon keeps its log in a file of bounded size: in the store, or elsewhere if that cannot be
# written. The file system that it lies on may stall; the mount goes on.
# usage: log.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin log
command -v fsfreeze >/dev/null || skip "no fsfreeze"
base=$work/base mnt=$work/mnt store=$work/base/store log=$work/base/store/.balefs/log
mkdir "$mnt"
mkdir -p /run/balefs
mount -t tmpfs -o mode=700 tmpfs /run/balefs
if [ -e /dev/log ]; then
    : >"$work/none"
    mount --bind "$work/none" "$(readlink -f /dev/log)" || skip "the system's log cannot be hidden"
fi

# up [OPTIONS]: mounts in the background; $said is what it printed
up() {
    "$BALEFS" mount "$@" "$store" "$mnt" 2>"$work/said" </dev/null || fail "mount $*: $(cat "$work/said")"
    said=$(cat "$work/said")
}

# The files are damaged, so the status of stat is not 0.
log_of() {
    "$BALEFS" stat --json "$mnt" 2>/dev/null >"$work/stat" || true
    /usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["mount"]["log"])' "$work/stat"
}

# soon WHAT COMMAND...: until the command succeeds
soon() {
    local what=$1 i
    shift
    for ((i = 0; i < 2000; i++)); do
        "$@" && return 0
        sleep 0.02
    done
    fail "not soon: $what"
}

# line NAME [FILE]: whether the log has a line about the damaged file
line() { grep -qs "error: $1: cannot be opened" "${2:-$log}"; }

# look NAME...: opens damaged files, each of which gives a line
look() {
    local name
    for name; do
        ! timeout 200 cat "$mnt/$name" >/dev/null 2>&1 || fail "$name can be read"
    done
}

loop_fs ext4 64 "$base"
"$BALEFS" init "$store"
echo precious >"$work/victim"

# --- where it is, and who may read it
up
[ "$said" = "balefs: $mnt: there is no system log here: the daemon's log is $log" ] || fail "mount said: $said"
[ "$(log_of)" = "$log" ] || fail "stat says $(log_of)"
"$BALEFS" stat "$mnt" >"$work/stat" 2>/dev/null || true
grep -q "^log  *$log\$" "$work/stat" || fail "stat does not print it"
[ "$(stat -c '%a %u' "$log")" = "600 0" ] || fail "mode and owner: $(stat -c '%a %u' "$log")"
"$BALEFS" umount "$mnt"
for name in one two three four; do
    head -c 5000 /dev/urandom >"$store/$name"
done
up
look one
soon "a line" line one

# --- a file that was removed is made again; a frozen store gets no line before the thaw
rm "$log"
look two
soon "a line in a new file" line two
"$BALEFS" freeze "$mnt"
look three
sleep 0.3
! line three || fail "the log of a frozen store was written"
"$BALEFS" thaw "$mnt"
soon "the line after the thaw" line three

# --- a store that stalls: the log waits, nothing else does
fsfreeze -f "$base"
frozen=$base
look four
ls "$mnt" >/dev/null
fsfreeze -u "$base"
frozen=
soon "the line after the stall" line four
"$BALEFS" umount "$mnt"
tail -n 1 "$log" | grep -q 'info: .*unmounted: all is stored$' || fail "the last line is missing: $(tail -n 1 "$log")"

# --- its size is bounded; what others put in its place is not written to
head -c 600000 /dev/zero | tr '\0' x >"$log"
up
"$BALEFS" umount "$mnt"
[ "$(stat -c %s "$log.1")" = 600000 ] || fail "the old lines are gone"
[ "$(stat -c %s "$log")" -lt 10000 ] || fail "the log is not a new one"
for kind in symlink link fifo; do
    rm -f "$log"
    case $kind in
    symlink) ln -s "$work/victim" "$log" ;;
    link) cp "$work/victim" "$base/victim" && ln "$base/victim" "$log" ;;
    fifo) mkfifo "$log" ;;
    esac
    up
    [ "$(stat -c '%A %h' "$log")" = '-rw------- 1' ] || fail "$kind: it is still there: $(stat -c '%A %h' "$log")"
    "$BALEFS" umount "$mnt"
    grep -q 'unmounted: all is stored' "$log" || fail "$kind: no log"
done
cmp -s "$work/victim" <(echo precious) || fail "the target of a link was written to"
cmp -s "$work/victim" "$base/victim" || fail "the other name of a file was written to"

# --- a disk that becomes full: the log goes on elsewhere
long=$(printf 'l%.0s' {1..200})
for i in {1..40}; do
    cp "$store/one" "$store/$long$i"
done
up
other=/run/balefs/$(/usr/bin/python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["uuid"])' "$store/.balefs/volume.json").log
dd if=/dev/zero of="$base/ballast" bs=1M status=none 2>/dev/null || true
dd if=/dev/zero of="$base/ballast2" bs=512 status=none 2>/dev/null || true
look "$long"{1..40}
soon "the last line elsewhere" line "${long}40" "$other"
[ "$(log_of)" = "$other" ] || fail "stat says $(log_of), not $other"
cat "$log" "$other" >"$work/both"
for i in {1..40}; do
    line "$long$i" "$work/both" || fail "line $i is in neither"
done
rm "$base/ballast" "$base/ballast2"
"$BALEFS" umount "$mnt"

# --- a mount that is read-only leaves the store alone
rm -f "$other"
before=$(stat -c '%s %y' "$log")
up -o ro
[ "$said" = "balefs: $mnt: there is no system log here: the daemon's log is $other" ] || fail "ro: mount said: $said"
"$BALEFS" umount "$mnt"
[ "$(stat -c '%s %y' "$log")" = "$before" ] || fail "a read-only mount wrote to the store"
[ ! -e "$other" ] || fail "ro: a log without a warning is left: $(cat "$other")"
up -o ro
mkdir "$work/mnt2"
"$BALEFS" mount -o ro "$store" "$work/mnt2" 2>"$work/said" </dev/null || fail "a second mount: $(cat "$work/said")"
"$BALEFS" umount "$work/mnt2"
[ -e "$other" ] || fail "ro: the log of another mount was removed"
look one
"$BALEFS" umount "$mnt"
line one "$other" || fail "ro: no line about a damaged file"
grep -q 'unmounted' "$other" || fail "ro: no end of the log"
umount /run/balefs
