#!/usr/bin/env bash
# balefs run: CMD's status, signals, and everything stored at the end, or 125.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse
make_store_and_mnt
yes 'a line of text that repeats' | head -c 3000000 >"$work/text" || true

# free: nothing is mounted, nothing locked
free() {
    ! is_mounted "$mnt" || fail "$1: still mounted"
    unlocked "$store" || fail "$1: still locked"
}

# --- status and summary
run 0 run "$store" "$mnt" -- cp "$work/text" "$mnt/text"
says "^balefs: $store: 2.9 MiB stored as [0-9.]+ [KM]iB, ratio [0-9.]+$"
is "1" "$(wc -l <<<"$err" | tr -d ' ')" "lines of the summary"
free "status 0"
run 0 fsck --data "$store"
run 0 run "$store" "$mnt" cmp "$work/text" "$mnt/text"
is "balefs: $store: 2.9 MiB read, nothing written" "$err" "a reader's summary"
run 7 run "$store" "$mnt" sh -c 'exit 7'
is "balefs: $store: nothing read or written" "$err" "the summary of a command that does nothing"
# shellcheck disable=SC2016
run 137 run "$store" "$mnt" -- sh -c 'kill -KILL $$'
run 127 run "$store" "$mnt" -- "$work/none"
says "^balefs: $work/none: cannot be run: No such file or directory$"
run 126 run "$store" "$mnt" -- "$work/text"
says "^balefs: $work/text: cannot be run: Permission denied$"
free "not run"
run 0 run "$store" "$mnt" -- echo out
is out "$out" "what CMD prints"
cd "$work"
run 0 run store mnt -- sh -c 'echo relative >mnt/relative; cd mnt; pwd'
is "$mnt" "$out" "relative paths"
run 0 run -o create "$work/new" "$mnt" -- touch "$mnt/made"
[ -e "$work/new/made" ] || fail "-o create"
run 0 run -o ro "$store" "$mnt" -- cat "$mnt/relative"
is relative "$out" "a read-only run"
is "balefs: $store: 9 B read, nothing written" "$err" "a read-only run says"

# --- a working directory below MNT: CMD begins in the mount; redirections to what is beneath it are refused
mkdir "$mnt/sub"
cd "$mnt"
run 0 run "$store" . -- sh -c 'echo mounted >here && mkdir sub; pwd'
is "$mnt" "$out" "the working directory, at MNT"
[ ! -e here ] || fail "what CMD wrote lies beneath the mount"
cd sub
run 0 run "$store" .. -- cat ../here
is mounted "$out" "what CMD wrote in its working directory"
mkdir "$mnt/none"
cd "$mnt/none"
run 125 run "$store" "$mnt" touch "$work/ran"
says "^balefs: $mnt/none: cannot be entered: No such file or directory: it is the working directory, "
cd "$work"
echo beneath >"$mnt/file"
beneath() {
    local got=0 what=$1
    shift
    "$@" 2>"$work/err" || got=$?
    is 125 "$got" "$what: exit status"
    grep -q "^balefs: $mnt: $what was opened below it before the mount" "$work/err" || fail "$what: $(cat "$work/err")"
}
output() { "$balefs" run "$store" "$mnt" touch "$work/ran" >"$mnt/out"; }
input() { "$balefs" run "$store" "$mnt" touch "$work/ran" <"$mnt/file"; }
ninth() { "$balefs" run "$store" "$mnt" touch "$work/ran" 9<"$mnt/file"; }
beneath "standard output" output
beneath "standard input" input
beneath "descriptor 9" ninth
rm -r "${mnt:?}"/*
free "refused"

# --- wrong usage, and mounts that fail
run 125 run "$store" "$mnt"
says "^balefs: STORE, MNT and CMD are needed: see balefs run --help$"
run 125 run --grace soon "$store" "$mnt" true
says "^balefs: --grace soon: give a time, as 90, 30s or 5m: see"
run 125 run -o frob "$store" "$mnt" true
run 125 run "$work/none" "$mnt" touch "$work/ran"
run 125 run "$work" "$mnt" touch "$work/ran"
says "^balefs: $work: is not a store"
run 0 mount "$store" "$mnt"
run 125 run "$store" "$mnt" touch "$work/ran"
says "^balefs: $mnt: the store $store is mounted here"
run 0 umount "$mnt"
[ ! -e "$work/ran" ] || fail "CMD ran without a mount"

# --- signals go to CMD; what it writes then is stored
cat >"$work/task" <<END
trap 'echo late >"$mnt/\$1"; exit 3' TERM USR1
: >"$work/ready.\$1"
while :; do sleep 0.05; done
END
for signal in TERM USR1; do
    "$balefs" run "$store" "$mnt" -- sh "$work/task" "$signal" 2>"$work/err" &
    task=$!
    soon test -e "$work/ready.$signal" || fail "no ready.$signal appears"
    kill "-$signal" "$task"
    got=0
    wait "$task" || got=$?
    is 3 "$got" "status after $signal"
    free "$signal"
    run 0 run "$store" "$mnt" cat "$mnt/$signal"
    is late "$out" "what was written after $signal"
done
"$balefs" run "$store" "$mnt" -- sleep 1000 2>"$work/err" &
task=$!
soon pgrep -P "$task" -x sleep >/dev/null || fail "no CMD begins"
kill -TERM "$task"
got=0
wait "$task" || got=$?
is 143 "$got" "status of a CMD killed by SIGTERM"
free "a CMD killed"

# daemon: of the store
daemon() { /usr/bin/python3 -c 'import re, sys; print(re.search(r"(?i)(?:process|pid)\D*(\d+)", open(sys.argv[1]).read())[1])' "$store/.balefs/lock"; }

# A batch system sends signals to all: the daemon stays.
"$balefs" run --log "$work/log" "$store" "$mnt" -- sh "$work/task" all 2>"$work/err" &
task=$!
soon test -e "$work/ready.all" || fail "no ready.all appears"
kill -TERM "$(daemon)"
kill -INT "$(daemon)"
sleep 0.3
kill -TERM "$task"
got=0
wait "$task" || got=$?
is 3 "$got" "status after signals to all"
grep -q 'unmounted: all is stored' "$work/log" || fail "the log: $(cat "$work/log")"
grep -Eq ': 5 bytes written; 5 compressed to [0-9]+, ratio [0-9.]+; [0-9.]+ s of processor time; 0 writes had to wait, 0 failures$' \
    "$work/log" || fail "no summary in the log: $(cat "$work/log")"

# --- balefs run killed: CMD gets a signal, the mount goes away
"$balefs" run "$store" "$mnt" -- sh "$work/task" killed 2>"$work/err" &
task=$!
soon test -e "$work/ready.killed" || fail "no ready.killed appears"
kill -KILL "$task"
wait "$task" 2>/dev/null || true
soon unlocked "$store" || fail "a killed run: still locked"
free "a killed run"
run 0 fsck --data "$store"

# --- the daemon killed, stopped; a mount in use: 125
cat >"$work/killer" <<END
pid=\$("$balefs" stat --json "$mnt" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["mount"]["pid"])')
kill "-\$1" "\$pid"
echo "\$pid" >"$work/daemon"
while grep -q '^State:.[^TZX]' "/proc/\$pid/status" 2>/dev/null; do sleep 0.05; done
END
run 125 run "$store" "$mnt" -- sh "$work/killer" KILL
says "^balefs: $mnt: its daemon did not end cleanly: what was written last may be lost: check with balefs fsck $store$"
free "a killed daemon"
"$balefs" run --grace 1s "$store" "$mnt" -- sh -c "sh '$work/killer' STOP; : >'$work/stopped'" 2>"$work/err" &
task=$!
soon test -e "$work/stopped" || fail "no stopped appears"
cmd_ended() { ! pgrep -P "$task" -x sh >/dev/null; }
soon cmd_ended || fail "CMD does not end"
kill -TERM "$task"
got=0
wait "$task" || got=$?
kill -CONT "$(cat "$work/daemon")"
is 125 "$got" "status after the grace"
grep -q 'not all was stored within 1 s after a signal: its daemon continues alone' "$work/err" || fail "$(cat "$work/err")"
soon unlocked "$store" || fail "after the grace: still locked"
free "after the grace"

run 125 run "$store" "$mnt" -- sh -c "sleep 1000 <'$mnt/text' >/dev/null 2>&1 & echo \$! >'$work/user'; echo used >'$mnt/used'"
says "^balefs: $mnt: is in use by sleep \([0-9]+\): it is detached, and its daemon goes on until nothing uses it$"
! grep -Eq -- '--(force|lazy)' <<<"$err" || fail "options that run does not have: $err"
! is_mounted "$mnt" || fail "a mount in use stays"
kill "$(cat "$work/user")"
soon unlocked "$store" || fail "a mount in use: still locked"
run 0 run "$store" "$mnt" -- cat "$mnt/used"
is used "$out" "what was written beside a process that stays"

# --- nobody reads what it says
got=0
unread sh -c 'exec "$@" 2>&1' sh "$balefs" run "$store" "$mnt" -- sh -c 'exit 9' || got=$?
is 9 "$got" "status into a closed pipe"
got=0
"$balefs" run "$store" "$mnt" -- sh -c 'exit 4' >&- 2>&- <&- || got=$?
is 4 "$got" "status without standard streams"

# --- a full disk at the end
needs_root
small=$work/small
mkdir "$small"
mount -t tmpfs -o size=24m none "$small"
run 0 init "$small/store"
# Somebody else takes what was set aside for what is not stored yet.
cat >"$work/filler" <<END
import os
fd = os.open('$mnt/open', os.O_CREAT | os.O_WRONLY)
os.write(fd, os.urandom(100000))
os.truncate('$small/store/.balefs/reserve', 0)
fill = os.open('$small/fill', os.O_CREAT | os.O_WRONLY)
try:
    while True:
        os.write(fill, bytes(4096))
except OSError:
    pass
END
run 125 run "$small/store" "$mnt" -- /usr/bin/python3 "$work/filler"
says "^balefs: $mnt: (unmounted: |unmounted, but its daemon did not end cleanly: |not everything written can be stored: )"
is 0 "$(stat -c %b "$small/store/open")" "blocks of a file that found no room"
! is_mounted "$mnt" || fail "mounted after a full disk"
unlocked "$small/store" || fail "locked after a full disk"
