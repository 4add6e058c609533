#!/usr/bin/env bash
# balefs run --join: tasks share one mount; the first mounts, the last unmounts, killed ones do not count.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse

export XDG_RUNTIME_DIR=$work
make_store_and_mnt

# wait_free: until nothing has the store
wait_free() {
    soon unlocked "$store" || fail "$1: still locked"
    ! is_mounted "$mnt" || fail "$1: still mounted"
}

# --- many at once, of different lengths; several rounds
for round in 1 2 3; do
    tasks=()
    for i in {1..6}; do
        "$balefs" run --join --log "$work/log.$round" "$store" "$mnt" -- \
            sh -c "echo $round.$i >'$mnt/$i'; sleep 0.$((RANDOM % 7)); grep -qx $round.$i '$mnt/$i' && exit $i" 2>"$work/err.$i" &
        tasks+=($!)
    done
    for i in {1..6}; do
        got=0
        wait "${tasks[i - 1]}" || got=$?
        is "$i" "$got" "round $round: status of task $i: $(cat "$work/err.$i")"
    done
    wait_free "round $round"
    begun=$(grep -c ' on .*max_write' "$work/log.$round")
    ended=$(grep -c 'unmounted: all is stored' "$work/log.$round")
    is "$begun" "$ended" "round $round: mounts and their ends"
    said=$(cat "$work"/err.* | grep -c ' stored as ' || true) # one that says the same as that before it is left out
    [ "$said" -ge 1 ] || [ "$round" -gt 1 ] || fail "round $round: no summary"
    [ "$said" -le "$begun" ] || fail "round $round: $said summaries of $begun mounts"
done
run 0 fsck --data "$store"

# task NAME: writes NAME, and ends when NAME.go is there
task() {
    "$balefs" run --join --log "$work/log" "$store" "$mnt" -- \
        sh -c "echo $1 >'$mnt/$1'; : >'$work/$1.ready'; while [ ! -e '$work/$1.go' ]; do sleep 0.05; done" 2>"$work/$1.err" &
    pid=$!
    soon test -e "$work/$1.ready" || fail "no $1.ready appears: $(cat "$work/$1.err")"
}

# --- each task begins in the mount if its working directory lies below MNT; redirections into the mount are fine
(
    cd "$mnt"
    for i in 1 2; do
        "$balefs" run --join "$store" . -- sh -c "echo $i >joined.$i; until [ -e joined.1 ] && [ -e joined.2 ]; do sleep 0.02; done" 2>>"$work/err" &
    done
    wait
)
is "" "$(ls "$mnt")" "beneath the mount"
wait_free "begun below MNT"
is "joined.1 joined.2" "$(cd "$store" && echo joined.*)" "in the store"

# --- short tasks, each with a mount of its own: what they have to say comes once, if it is the same
run 0 run --join "$store" "$mnt" -- true
is "balefs: $store: nothing read or written" "$err" "the first short task"
run 0 run --join "$store" "$mnt" -- true
is "" "$err" "another short task"
run 0 run --join "$store" "$mnt" -- cat "$mnt/1"
is "balefs: $store: 4 B read, nothing written" "$err" "a task that reads"
run 0 run --join "$store" "$mnt" -- true
is "balefs: $store: nothing read or written" "$err" "a short task after it"

# --- the first is killed: the others go on; a task's end is durable before the mount's
task one
one=$pid
task two
two=$pid
task three
three=$pid
kill -KILL "$one"
wait "$one" 2>/dev/null || true
: >"$work/two.go"
wait "$two" || fail "the second: $(cat "$work/two.err")"
is "" "$(cat "$work/two.err")" "what the second, not the last, says"
is_mounted "$mnt" || fail "unmounted before the last"
is 6 "$(stat -c %s "$mnt/three")" "a file in a shared mount"
: >"$work/three.go"
wait "$three" || fail "the third: $(cat "$work/three.err")"
grep -q ' stored as ' "$work/three.err" || fail "no summary of the last"
wait_free "three tasks, one killed"
is 1 "$(grep -c 'unmounted: all is stored' "$work/log")" "mounts of three tasks"

# --- all are killed: the mount goes by itself, and the next makes one
task four
four=$pid
task five
five=$pid
kill -KILL "$four" "$five"
wait "$four" "$five" 2>/dev/null || true
run 0 run --join --log "$work/log" "$store" "$mnt" -- sh -c "cat '$mnt/four' '$mnt/five'"
is "four
five" "$out" "what killed tasks had closed"
wait_free "after killed tasks"

# --- the daemon is killed: its tasks fail, the next one starts a new daemon
task six
six=$pid
kill -KILL "$(process "$mnt")"
soon unlocked "$store" || fail "locked after a kill"
run 0 run --join "$store" "$mnt" -- cat "$mnt/six"
is six "$out" "what was closed before the daemon was killed"
: >"$work/six.go"
got=0
wait "$six" || got=$?
is 125 "$got" "status of a task whose daemon was killed"
wait_free "after a killed daemon"

# --- a directory that is not ours alone is not trusted
mkdir -p "$work/open/balefs-$(id -u)"
chmod 777 "$work/open/balefs-$(id -u)"
XDG_RUNTIME_DIR=$work/open run 125 run --join "$store" "$mnt" -- true
says "because others may write to it"

# --- nor is a directory of another user, which sudo -E leaves in XDG_RUNTIME_DIR: nothing is made there, or read
if [ "$(id -u)" = 0 ]; then
    mkdir "$work/theirs"
    mkdir -m 700 "$work/theirs/balefs-0"
    chown 65534 "$work/theirs"
    # /tmp serves instead: what is left there must be this test's alone, and go with it.
    fallback=/tmp/balefs-0 made=
    ! mkdir -m 700 "$fallback" 2>/dev/null || made=yes
    mount -t tmpfs -o mode=700 tmpfs "$fallback"
    XDG_RUNTIME_DIR=$work/theirs run 0 run --join "$store" "$mnt" -- true
    is "" "$(ls -A "$work/theirs/balefs-0")" "files of a task of root in another user's directory"
    is 4 "$(find "$fallback" -type f -o -type p | wc -l)" "files of the task in /tmp"
    umount "$fallback"
    [ -z "$made" ] || rmdir "$fallback"
fi

# --- a link or a file of another's in place of one of ours is not used
mkdir -p "$work/links/balefs-$(id -u)"
XDG_RUNTIME_DIR=$work/links run 0 run --join "$store" "$mnt" -- true
echo kept >"$work/target"
for file in "$work/links/balefs-$(id -u)"/*.gate; do
    rm "$file"
    ln "$work/target" "$file"
done
XDG_RUNTIME_DIR=$work/links run 125 run --join "$store" "$mnt" -- true
says "cannot be used: Operation not permitted"
is kept "$(cat "$work/target")" "a file with a second name"
for file in "$work/links/balefs-$(id -u)"/*.gate; do
    ln -sf "$work/target" "$file"
done
XDG_RUNTIME_DIR=$work/links run 125 run --join "$store" "$mnt" -- true
says "cannot be used: Too many levels of symbolic links"
is kept "$(cat "$work/target")" "a file behind a link"
if [ "$(id -u)" = 0 ]; then
    for file in "$work/links/balefs-0"/*.gate; do
        rm "$file"
        echo theirs >"$file"
        chown 65534 "$file"
    done
    XDG_RUNTIME_DIR=$work/links run 125 run --join "$store" "$mnt" -- true
    says "cannot be used: Operation not permitted"
fi
