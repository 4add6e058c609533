#!/usr/bin/env bash
# Mounts of an ordinary user, through fusermount3.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
fuse_for_all
needs_fuse
needs_fusermount

root_balefs=$balefs
be_user "$PATH"

# The reason of fusermount3 is reported.
mkdir "$work/closed"
run 32 mount "$store" "$work/closed"
says "^balefs: $work/closed: cannot be mounted on: user has no write access to mountpoint $work/closed: see fusermount3\(1\)$"
is 1 "$(wc -l <<<"$err" | tr -d ' ')" "lines of a refusal"

run 0 mount --log "$work/home/log" "$store" "$mnt"
awk -v at="$mnt" '$2 == at { print "," $4 "," }' /proc/self/mounts | grep -q ',nosuid,.*nodev,' || fail "not nosuid,nodev"
as_user sh -c "echo mine >'$mnt/mine'; chmod 000 '$mnt/mine'; echo open >'$mnt/open'"
run 0 freeze --for 2h "$mnt"
as_user timeout 200 sh -c "umask 027; : >'$mnt/made'" || fail "a new file waits for the thaw"
is 640 "$(as_user stat -c %a "$mnt/made")" "mode of a file that was made while frozen"
run 0 thaw "$mnt"
as_user rm "$mnt/made"
run 0 sync "$mnt"
run 1 stat --json "$mnt"
is "1 5" "$(json 'd["files"], d["logical"]')" "stat, with one file that may not be read"
says "^balefs: $mnt/mine: its statistics cannot be read: Permission denied$"
if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=65534 --regid=65534 --clear-groups sh -c "cd '$mnt' && exec sleep 1000" &
    user=$!
    soon has_become "$user" sleep || fail "no sleep in the mount"
    run 32 umount "$mnt"
    says "^balefs: $mnt: is in use by sleep \($user\)"
    kill "$user"
    wait "$user" 2>/dev/null || true
fi
# Users whom the kernel keeps out learn whose mount it is.
if [ "$(id -u)" = 0 ]; then
    name=$(id -nu 65534)
    for words in "sync $mnt" "freeze $mnt" "thaw $mnt" "stat $mnt" "get $mnt/open" "set $mnt/open lz4" "inspect $mnt/open"; do
        got=0
        # shellcheck disable=SC2086
        "$root_balefs" $words 2>"$work/err" || got=$?
        is 1 "$got" "exit status of root's $words"
        grep -Eq "^balefs: $mnt(/open)?: is a mount of user $name, who lets nobody else in, not even root: do it as $name \(runuser -u $name -- balefs \.\.\.\), or mount with -o allow_other$" "$work/err" ||
            fail "root's $words: $(cat "$work/err")"
    done
    got=0
    setpriv --reuid=65533 --regid=65533 --clear-groups "$work/balefs" sync "$mnt" 2>"$work/err" || got=$?
    is "1 balefs: $mnt: is a mount of user $name, who lets nobody else in: let $name do it, or mount with -o allow_other" \
        "$got $(cat "$work/err")" "another user's sync"
    got=0
    setpriv --reuid=65533 --regid=65533 --clear-groups "$work/balefs" umount "$mnt" 2>"$work/err" || got=$?
    is "1 balefs: $mnt: is a mount of user $name: only $name and root may unmount it" "$got $(cat "$work/err")" "another user's umount"
    is_mounted "$mnt" || fail "another user's umount took it away"
fi
run 0 umount "$mnt"
! is_mounted "$mnt" || fail "still mounted"
unlocked "$store" || fail "still locked"

run 0 mount "$store" "$mnt"
is "---------- 5" "$(as_user stat -c '%A %s' "$mnt/mine")" "mode of a file after mounting again"
kill -KILL "$(process "$mnt" 2>/dev/null)"
soon unlocked "$store" || fail "locked after a kill"
run 0 mount "$store" "$mnt"
is open "$(as_user cat "$mnt/open")" "a file after a kill"
if [ "$(id -u)" = 0 ]; then # who may not look into it, but may unmount it
    "$root_balefs" umount "$mnt" || fail "root cannot unmount a user's mount"
    unlocked "$store" || fail "still locked after root's umount"
else
    run 0 umount "$mnt"
fi
run 0 fsck --data "$store"

# Unmounted when it is killed, though libfuse's own way is not to be had everywhere.
run 0 mount -o auto_unmount "$store" "$mnt"
kill -KILL "$(process "$mnt" 2>/dev/null)"
soon unmounted "$mnt" || fail "still mounted after a kill, with auto_unmount"
