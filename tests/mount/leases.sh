#!/usr/bin/env bash
# An owner's leases on containers of an open store: nobody waits for them, neither the mount nor fsck.
# usage: leases.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin leases
store=$work/store mnt=$work/mnt
mkdir "$mnt"
chmod 755 "$work"
alice=54321 bob=54322

as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

# Holds write leases on the files until it is killed.
hold_leases='
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
for path in sys.argv[1:]:
    fcntl.fcntl(os.open(path, os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
while True:
    signal.pause()
'

# busy COMMAND...: it says that the file is busy. One that waits gets the file once the kernel has broken the lease.
busy() {
    ! "$@" >"$work/out" 2>"$work/said" || fail "it got a file with a lease: $*"
    grep -q 'Device or resource busy' "$work/said" "$work/out" || fail "$*: $(cat "$work/said" "$work/out")"
}

"$BALEFS" init "$store"
chmod 711 "$store"
mount_up "$store" "$mnt"
chmod 1777 "$mnt"
for name in read written checked; do
    as "$alice" sh -c "echo $name >'$mnt/$name'"
done
as "$bob" sh -c "echo mine >'$mnt/bob'"
mount_down "$mnt"

# Not by as(): kill reaches this process itself.
setpriv --reuid "$alice" --regid "$alice" --clear-groups /usr/bin/python3 -c "$hold_leases" "$store"/{read,written,checked} >"$work/held" &
holder=$!
until [ -s "$work/held" ]; do
    kill -0 "$holder" || skip "no leases on this file system"
    sleep 0.1
done

busy "$BALEFS" fsck --data "$store"
mount_up "$store" "$mnt"
busy cat "$mnt/read"
busy sh -c "echo more >>'$mnt/written'"
[ "$(as "$bob" cat "$mnt/bob")" = mine ] || fail "another's file"
kill "$holder"
wait "$holder" || true
[ "$(cat "$mnt/read")" = read ] || fail "the file without the lease"
mount_down "$mnt"
fsck_clean "$store"
say "passed"
