#!/usr/bin/env bash
# Read-only mounts beside a writer: they follow what it commits, for open files too, and neither hinder it nor change
# the store.
# usage: follow.sh [READS], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

reads=${1:-1500}
follow=$(dirname "$0")/follow.py
mount_begin follow
store=$work/store mnt=$work/mnt ro=$work/ro direct=$work/direct
mkdir "$mnt" "$ro" "$direct" "$work/ro2"
"$BALEFS" init "$store" >/dev/null || fail init

# beside MNT [OPTION...]: a read-only mount; it must not wait for the writer
beside() {
    local at=$1
    shift
    timeout 60 "$BALEFS" mount --log "$work/log" -o "ro$*" "$store" "$at" || fail "mount -o ro$*"
}

# soon COMMAND...: waits until it succeeds
soon() {
    local i
    for ((i = 0; i < 600; i++)); do
        "$@" >"$work/out" 2>&1 && return
        sleep 0.1
    done
    fail "not in a minute: $*: $(cat "$work/out")"
}

shows() { [ "$(cat "$1")" = "$2" ]; }
is_gone() { ! stat "$1"; }
writer_of() {
    "$BALEFS" stat --json "$ro" | /usr/bin/python3 -c 'import json, sys
print(json.load(sys.stdin)["mount"]["writer"])'
}
names_writer() { [[ "$(writer_of)" == "process $daemon on host "* ]]; }
names_none() { [ "$(writer_of)" = None ]; }
state_of_store() { find "$store" -printf '%P %i %s %m %T@ %C@\n' | sort; }

# --- a writer starts, rewrites, is killed; another one takes over
beside "$ro"
mount_up "$store" "$mnt" -o io=direct
beside "$direct" ,io=direct
soon names_writer
"$BALEFS" stat "$ro" | grep -q "^writer   process $daemon on host .*: its commits show here$" || fail "stat"
head -c 64 /dev/zero >"$work/shared"
for at in "$direct" "$ro"; do
    options=(exact)
    [ "$at" = "$ro" ] || options+=(whole)
    dd if=/dev/zero of="$work/shared" bs=8 seek=6 count=2 conv=notrunc status=none
    /usr/bin/python3 "$follow" write "$mnt" "$work/shared" >"$work/versions" 2>"$work/err" &
    writer=$!
    /usr/bin/python3 "$follow" read "$at" "$work/shared" "$reads" "${options[@]}" || fail "read beside a writer"
    wait "$writer" || fail "the writer"
done
md5sum <"$mnt/whole" >"$work/sum"
mount_kill "$mnt"
md5sum --status -c <(sed "s|-|$ro/whole|" "$work/sum") || fail "after the writer was killed"
soon names_none
mount_up "$store" "$mnt"
soon names_writer
md5sum --status -c <(sed "s|-|$ro/whole|" "$work/sum") || fail "after the store was taken over"

# --- names: made, moved, replaced, removed; what is open stays readable
mkdir -p "$mnt/a/b"
echo one >"$mnt/a/b/file"
soon shows "$ro/a/b/file" one
exec 8<"$ro/a/b/file" 9<"$ro/a/b/file"
mv "$mnt/a/b" "$mnt/moved"
soon shows "$ro/moved/file" one
mv "$mnt/a" "$mnt/moved/a"
soon test -d "$ro/moved/a"
echo two >"$mnt/moved/new"
mv "$mnt/moved/new" "$mnt/moved/file"
soon shows "$ro/moved/file" two
shows /dev/fd/8 one || fail "a file that was replaced while it is open"
rm "$mnt/moved/file"
soon is_gone "$ro/moved/file"
[ "$(cat <&9)" = one ] || fail "a file that was removed while it is open"
exec 8<&- 9<&-
chmod 600 "$mnt/whole"
soon bash -c "[ \$(stat -c %a '$ro/whole') = 600 ]"
odd=$'odd \n\xff name'
echo odd >"$mnt/$odd"
soon shows "$ro/$odd" odd

# --- a file that grows, for somebody who never opens it again
: >"$mnt/grows"
soon test -e "$ro/grows"
tail -f "$ro/grows" >"$work/tail" 2>&1 &
tail=$!
exec 8>"$mnt/grows"
for line in one two three; do
    echo "$line" >&8
    sync "$mnt/grows"
    soon grep -qx "$line" "$work/tail"
done
kill "$tail"
exec 8>&-
[ "$(paste -sd' ' "$work/tail")" = "one two three" ] || fail "tail -f: $(cat "$work/tail")"

# --- a command of its own
[ "$("$BALEFS" run -o ro "$store" "$work/ro2" -- cat "$work/ro2/grows" | paste -sd' ')" = "one two three" ] || fail "run -o ro"

# --- nobody writes: nothing changes, and what is damaged is still called so
mount_down "$mnt"
soon names_none
state_of_store >"$work/before"
cat "$ro"/* >/dev/null 2>&1 || true
"$BALEFS" umount "$ro" || fail "umount"
beside "$ro"
cat "$direct/large" "$ro/large" >/dev/null
state_of_store | cmp - "$work/before" || fail "a reader has changed the store"
/usr/bin/python3 -c 'import os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
for at in range(600, os.fstat(fd).st_size, 1000):
    os.pwrite(fd, b"damage", at)' "$store/large"
! cat "$direct/large" >/dev/null 2>"$work/out" || fail "damage is not reported"
grep -q "Input/output error" "$work/out" || fail "damage: $(cat "$work/out")"
"$BALEFS" umount "$ro" "$direct" || fail "umount"
say "$reads reads twice"
