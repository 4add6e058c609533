#!/usr/bin/env bash
# Changes of names that stall in the backing file system delay nobody else, and programs that are killed leave at once.
# usage: stall_names.sh, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin stall_names
command -v fsfreeze >/dev/null || skip "no fsfreeze"
base=$work/base mnt=$work/mnt
mkdir "$mnt"
chmod 755 "$work"
loop_fs ext4 96 "$base"
"$BALEFS" init "$base/store"
mount_up "$base/store" "$mnt" -o memory=64M
count=24
for ((i = 0; i < count; i++)); do
    mkdir "$mnt/new$i" "$mnt/old$i"
    echo old >"$mnt/old$i/file"
done
mkdir "$mnt/quiet" "$mnt/again" "$mnt/handled"
echo first >"$mnt/again/file"
head -c 300000 /dev/urandom >"$work/plain"
cp "$work/plain" "$mnt/file"
cp "$work/plain" "$mnt/cold"
for ((i = 0; i < 12; i++)); do
    echo data >"$mnt/data$i"
done
for ((i = 0; i < 4; i++)); do
    : >"$mnt/big$i"
done
# Nothing is in a cache.
mount_down "$mnt"
mount_up "$base/store" "$mnt" -o memory=64M
cat "$mnt/file" >"$work/read"

# soon COMMAND...: waits until it succeeds
soon() {
    local i
    for ((i = 0; i < 4000; i++)); do
        if "$@"; then return; fi
        sleep 0.05
    done
    return 1
}

# prompt WHAT COMMAND...: is answered while others stall
prompt() {
    local what=$1 status=0
    shift
    timeout 100 "$@" >/dev/null || status=$?
    [ "$status" = 0 ] || fail "$what: exit status $status"
}

gone() {
    local process
    for process in "$@"; do
        ! kill -0 "$process" 2>/dev/null || return 1
    done
}

# status: two lines of what the daemon does
status() { "$BALEFS" stat --watch "$mnt" | head -n 2; }

# stat_answers PATH: ends although the creators keep directories locked, with the state of the mount
stat_answers() {
    local result=0
    timeout 100 "$BALEFS" stat "$1" >"$work/stat" 2>"$work/stat.err" || result=$?
    [ "$result" = 1 ] || fail "balefs stat $1: exit status $result"
    grep -q ': not everything is counted: something in it waits for the store, which stalls$' "$work/stat.err" ||
        fail "balefs stat $1: $(cat "$work/stat.err")"
}

export -f status
export mnt

all_served() {
    prompt "a read, $1" dd if="$mnt/file" of="$work/read" bs=1M iflag=direct status=none
    cmp "$work/read" "$work/plain" || fail "wrong bytes, $1"
    prompt "stat, $1" stat "$mnt/file"
    prompt "a name that is absent, $1" test ! -e "$mnt/quiet/absent$RANDOM"
    prompt "ls, $1" ls -l "$mnt/quiet"
    prompt "balefs stat, $1" bash -c status
    prompt "a read of another user, $1" setpriv --reuid 1234 --clear-groups cat "$mnt/file"
}

fsfreeze -f "$base"
frozen=$base
# The first one has a session thread.
rm "$mnt/again/file" &
remover=$!
sleep 0.3
# More than there are session threads, and more than the threads of one lane.
changers=()
for ((i = 0; i < count; i++)); do
    case $((i % 4)) in
    0) touch "$mnt/new$i/file" & ;;
    1) mkdir "$mnt/new$i/dir" & ;;
    2) rm "$mnt/old$i/file" & ;;
    3) mv -T "$mnt/old$i/file" "$mnt/new$i/moved" & ;;
    esac
    changers+=($!)
done
python3 - "$mnt/handled/file" "$work/handled" <<'EOF' &
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: os.mkdir(sys.argv[2]))
open(sys.argv[2] + ".ready", "w").close()
os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
EOF
handler=$!
soon test -e "$work/handled.ready" || fail "no python"
# Commits that stall, more than the threads that make them.
writers=()
for ((i = 0; i < 12; i++)); do
    dd if="$work/plain" of="$mnt/data$i" bs=100000 conv=notrunc,fsync status=none &
    writers+=($!)
done
# Each is in its call: uninterruptible, as after a signal, or sleeping.
sleep 0.3
all_served "while $count changes stall"
# A file that was never opened in this mount, and of which nothing is cached.
prompt "opening a file" cmp "$mnt/cold" "$work/plain"

shows_waiting() {
    stat_answers "$mnt"
    grep -Eq '^waiting  ([6-9]|[1-9][0-9]+) requests for the store, the longest for [1-9][0-9]* s so far$' "$work/stat"
}
soon shows_waiting || fail "what waits: $(cat "$work/stat")"
grep -q '^daemon   ' "$work/stat" || fail "the state of the mount: $(cat "$work/stat")"
stat_answers "$mnt/new0"

# A signal that is handled ends nothing, and the kill that follows does.
kill -USR1 "$handler"
sleep 0.5
kill -0 "$handler" 2>/dev/null || fail "a signal that is handled ended the program"
kill -KILL "${changers[@]}" "$remover" "$handler"
soon gone "${changers[@]}" "$remover" "$handler" || fail "a program that was killed stays"
[ ! -e "$work/handled" ] || fail "the call was interrupted by a signal that is handled"
all_served "after the changers were killed"

# Nor do programs stay that wait for memory, which nothing frees.
for ((round = 0; round < 8; round++)); do
    fillers=()
    for ((i = 0; i < 4; i++)); do
        dd if=/dev/zero of="$mnt/big$i" bs=1M count=100 conv=notrunc status=none &
        fillers+=($!)
    done
    sleep 0.4
    kill -KILL "${fillers[@]}"
    soon gone "${fillers[@]}" || fail "a writer that was killed stays"
done
all_served "after the writers were killed"

# Names that a change which was given up may still meet are not touched before it has ended.
(rm -f "$mnt/again/file" && echo second >"$mnt/again/file") &
maker=$!
sleep 0.3
fsfreeze -u "$base"
frozen=
wait "$maker" || fail "the program that came later failed"
[ "$(cat "$mnt/again/file")" = second ] || fail "a late unlink took a file that was made again"

for process in "${writers[@]}"; do
    wait "$process" || fail "an fsync failed after the thaw"
done
cmp "$mnt/data3" "$work/plain" || fail "what was written while the store stalled"

# What the kernel shows is what is in the store.
for ((i = 0; i < count; i++)); do
    for dir in "new$i" "old$i"; do
        soon diff <(ls "$mnt/$dir") <(ls "$base/store/$dir") >/dev/null || fail "$dir: the mount shows other names than the store"
    done
    for name in "new$i/file" "new$i/dir" "old$i/file" "new$i/moved"; do
        shown=no there=no
        [ ! -e "$mnt/$name" ] || shown=yes
        [ ! -e "$base/store/$name" ] || there=yes
        [ "$shown" = "$there" ] || fail "$name: shown: $shown, in the store: $there"
    done
done
touch "$mnt/quiet/after"
mount_down "$mnt"
fsck_clean "$base/store"
