#!/usr/bin/env bash
# balefs mount STORE /dev/fd/N: who starts it has opened /dev/fuse and mounted.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_root
needs_fuse
make_store_and_mnt

# --- in the background, and without the starter: until it is unmounted
/usr/bin/python3 passed_fd.py "$mnt" "$balefs" mount --log "$work/log" "$store" /dev/fd/@ || fail "exit status $?"
is_mounted "$mnt" || fail "not mounted"
echo kept >"$mnt/kept"
is kept "$(cat "$mnt/kept")" "what was written"
pid=$(process "$mnt")
as_user sh -c "echo x >'$mnt/theirs'" 2>/dev/null && fail "the kernel does not check permissions"
run 0 umount "$mnt"
! is_mounted "$mnt" || fail "still mounted"
! lives "$pid" || fail "the daemon lives on"
unlocked "$store" || fail "still locked"

# --- in the foreground; a descriptor that does not block; ends when the mount does
/usr/bin/python3 passed_fd.py --nonblock "$mnt" "$balefs" mount -f "$store" /dev/fd/@ 2>"$work/err" &
daemon=$!
soon is_mounted "$mnt" || fail "not mounted in the foreground: $(cat "$work/err")"
is kept "$(cat "$mnt/kept")" "the same in the foreground"
echo more >"$mnt/more"
umount "$mnt"
wait "$daemon" || fail "the foreground daemon ended with $?: $(cat "$work/err")"
grep -q 'unmounted: all is stored$' "$work/err" || fail "the log: $(cat "$work/err")"

# --- a signal ends serving, with everything stored; whose mount it is takes it away
/usr/bin/python3 passed_fd.py "$mnt" "$balefs" mount -f "$store" /dev/fd/@ 2>"$work/err" &
daemon=$!
soon is_mounted "$mnt" || fail "not mounted in the foreground: $(cat "$work/err")"
is more "$(cat "$mnt/more")" "what the second mount wrote"
echo last >"$mnt/last"
kill -TERM "$daemon"
wait "$daemon" || fail "ended by a signal with $?: $(cat "$work/err")"
is_mounted "$mnt" || fail "unmounted what was not its own"
is ENOTCONN "$(/usr/bin/python3 -c 'import errno, os, sys
try: os.listdir(sys.argv[1])
except OSError as e: print(errno.errorcode[e.errno])' "$mnt")" "a mount that nobody serves"
umount "$mnt"
run 0 mount "$store" "$mnt"
is last "$(cat "$mnt/last")" "what was written before the signal"
run 0 umount "$mnt"

# --- refused
fails 1 "/dev/fd/77: cannot be served: the descriptor is not open: leave it open for balefs" mount "$store" /dev/fd/77
fails 1 "/dev/fd/0: cannot be served: it is a standard stream: use a descriptor above 2" mount "$store" /dev/fd/0
exec 8</dev/null 9<>/dev/fuse
fails 1 "/dev/fd/8: cannot be served: it is no /dev/fuse open for reading and writing: open that" mount "$store" /dev/fd/8
fails 1 "/dev/fd/9: cannot be served: nothing is mounted with it: call mount(2) with fd= first" mount "$store" /dev/fd/9
fails 1 "-o auto_unmount: is for mounts that balefs makes: leave it out with /dev/fd/9" \
    mount -o auto_unmount "$store" /dev/fd/9
fails 1 "-o idle: is for mounts that balefs makes: leave it out with /dev/fd/9" mount -o idle=1h "$store" /dev/fd/9
run 32 mount "$store" /dev/fd/9x
says '^balefs: /dev/fd/9x: cannot be mounted on: '
unlocked "$store" || fail "locked after a refusal"
run 0 fsck --data "$store"
