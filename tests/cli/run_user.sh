#!/usr/bin/env bash
# balefs run as an ordinary user without fusermount3: in a user namespace, alone and with --join.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
fuse_for_all
needs_fuse
as_user unshare --user --mount true 2>/dev/null || skip "no user namespaces for ordinary users"

# A path without fusermount3.
mkdir "$work/bin"
for program in sh cat cp cmp sleep head id readlink kill grep ls true; do
    ln -s "$(type -P "$program")" "$work/bin/$program"
done
be_user "$work/bin"

# --- alone: own ids, no privileges, invisible to others
me=$(as_user id -u)
run 0 run --log "$work/home/log" "$store" "$mnt" -- sh -c "echo text >'$mnt/file'; cat '$mnt/file'; id -u; id -g; grep CapEff /proc/self/status"
is "text
$me
$(as_user id -g)
CapEff:	0000000000000000" "$out" "inside"
says "^balefs: $store: 5 B stored as [0-9]+ B, ratio "
! is_mounted "$mnt" || fail "mounted outside the namespace"
grep -q 'unmounted: all is stored' "$work/home/log" || fail "the log: $(cat "$work/home/log")"
is 5 "$(as_user "$work/balefs" stat --json "$store" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["logical"])')" "length in the store"
run 0 run "$store" "$mnt" -- /usr/bin/python3 -c 'import os, sys; os.chmod(sys.argv[1], 0o700)' "$mnt"
run 5 run "$store" "$mnt" -- sh -c 'exit 5'
run 127 run "$store" "$mnt" -- none
cd "$work/home"
run 0 run store mnt -- sh -c 'cat mnt/file'
is text "$out" "relative paths"
cd "$work"

# --- a killed daemon, a mount in use
run 125 run "$store" "$mnt" -- sh -c "'$work/balefs' stat --json '$mnt' >'$work/home/stat'; exec 3<'$work/home/stat'
    while read -r word number <&3; do case \$word in '\"pid\":') kill -KILL \"\${number%,}\"; exit 0;; esac; done"
says "its daemon did not end cleanly"
run 125 run "$store" "$mnt" -- sh -c "sleep 1000 <'$mnt/file' >/dev/null 2>&1 & echo \$! >'$work/home/user'"
says "^balefs: $mnt: is in use by "
kill "$(cat "$work/home/user")"
soon unlocked "$store" || fail "still locked after a mount in use"

# --- shared: every task enters the namespace of the first
tasks=()
for i in {1..5}; do
    "$balefs" run --join "$store" "$mnt" -- \
        sh -c "echo $i >'$mnt/$i'; sleep 0.5; cd '$mnt' && cat file && readlink /proc/self/ns/mnt >'$work/home/ns.$i'" >"$work/out.$i" 2>"$work/err.$i" &
    tasks+=($!)
done
for i in {1..5}; do
    wait "${tasks[i - 1]}" || fail "task $i: $(cat "$work/err.$i")"
    is text "$(cat "$work/out.$i")" "what task $i reads"
done
unlocked "$store" || fail "still locked after the last task"
run 0 fsck --data "$store"
is 6 "$(as_user "$work/balefs" stat --json "$store" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["files"])')" "files"
