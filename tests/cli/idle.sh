#!/usr/bin/env bash
# -o idle: a mount that nobody uses ends by itself, with everything stored; one that is in use or frozen stays.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse
make_store_and_mnt

says_log() { grep -qF "$1" "$work/log"; }

# stays WHAT: from here on the daemon has looked, and left the mount there
stays() {
    local before
    before=$(grep -cF "is in use, and stays" "$work/log") || true
    looked_again() { [ "$(grep -cF "is in use, and stays" "$work/log")" -gt "$before" ]; }
    soon looked_again || fail "$1: the daemon does not look"
    is_mounted "$mnt" || fail "$1: unmounted"
}

# ends WHAT
ends() {
    soon unmounted "$mnt" || fail "$1: still mounted"
    soon unlocked "$store" || fail "$1: the store is locked"
    soon says_log "unmounted: all is stored" || fail "$1: the log: $(cat "$work/log")"
    says_log "$mnt: nobody has used it for 1 s: unmounting" || fail "$1: the log: $(cat "$work/log")"
}

# lives_idle AS...: the whole, where what uses the mount runs with AS
lives_idle() {
    : >"$work/log"
    chmod 666 "$work/log"
    run 0 mount --log "$work/log" -o idle=1s,log_level=debug "$store" "$mnt"
    # shellcheck disable=SC2016 # the other shell expands it
    exec 8> >("$@" bash -c 'exec 7>"$1" && echo open >&7 && cat' - "$mnt/file")
    written() { [ "$("$@" cat "$mnt/file" 2>/dev/null)" = open ]; }
    soon written "$@" || fail "no file"
    stays "an open file"
    exec 8>&-
    ends "a file that was closed"
    run 0 fsck --data "$store"
    run 0 mount "$store" "$mnt"
    is open "$("$@" cat "$mnt/file")" "the file, mounted again"
    run 0 umount "$mnt"
}

lives_idle env

# A working directory is a use.
: >"$work/log"
run 0 mount --log "$work/log" -o idle=1s,log_level=debug "$store" "$mnt"
exec 8> >(cd "$mnt" && exec cat >/dev/null)
stays "a working directory"
exec 8>&-
ends "nobody is left"

# Somebody copies a frozen store: it stays until the thaw.
: >"$work/log"
run 0 mount --log "$work/log" -o idle=1s "$store" "$mnt"
run 0 freeze --for=1h "$mnt"
run 0 thaw "$mnt"
ends "thawed"

fails 1 "-o idle=0: give a time, as 90, 30s, 10m or 2h: see balefs mount --help" mount -o idle=0 "$store" "$mnt"
fails 1 "-o idle=soon: give a time, as 90, 30s, 10m or 2h: see balefs mount --help" mount -o idle=soon "$store" "$mnt"
fails 125 "-o idle: the mount ends with CMD: leave it out: see balefs run --help" run -o idle=5 "$store" "$mnt" -- true

# --- an ordinary user's mount ends through fusermount3
if [ "$(id -u)" = 0 ] && [ -u "$(command -v fusermount3)" ]; then
    fuse_for_all
    be_user "$PATH"
    lives_idle as_user
fi
