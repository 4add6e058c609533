#!/usr/bin/env bash
# balefs mount: usable when it returns, refused with a reason, and after a kill mounted again.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
needs_fuse
make_store_and_mnt

# --- usable at once, silent, gone and unlocked after umount; many times
for i in {1..10}; do
    run 0 mount --log "$work/log" "$store" "$mnt"
    [ -z "$out$err" ] || fail "mount prints: $out $err"
    echo "round $i" >"$mnt/round"
    is "round $i" "$(cat "$mnt/round")" "what was written"
    pid=$(process "$mnt")
    run 0 umount "$mnt"
    [ -z "$out$err" ] || fail "umount prints: $out $err"
    ! is_mounted "$mnt" || fail "still mounted after umount"
    ! lives "$pid" || fail "the daemon lives on after umount"
    unlocked "$store" || fail "still locked after umount"
    [ ! -e "$mnt/round" ] || fail "the file is below the mount point"
done
grep -Eq '^[0-9-]{10}T[0-9:.]{12}Z balefs\[[0-9]+\] info: ' "$work/log" || fail "the log: $(cat "$work/log")"

# --- the daemon leaves nothing of ours open: no directory, no pipe
cd "$work"
mkfifo pipe
"$balefs" mount store mnt >pipe &
cat pipe >/dev/null # ends when the daemon has let go of it
wait $!
pid=$(process mnt)
is / "$(readlink "/proc/$pid/cwd")" "the daemon's working directory"
is "$(ps -o sid= -p "$pid" | tr -d ' ')" "$pid" "the daemon's session"

# --- a second daemon is refused, on the same and on another mount point
mkdir "$work/other"
run 32 mount "$store" "$work/other"
says "^balefs: $store: .*$pid"
! is_mounted "$work/other" || fail "mounted twice"
run 32 mount -f "$store" "$work/other"
says "^balefs: $store: .*$pid"
run 8 fsck "$store"
says "^balefs: $store: .*$pid"
run 1 set "$store" lz4
says "^balefs: $store: the store is in use by .*$pid.*: set it in the mount$"
run 0 umount "$mnt"

# --- right after umount(8) alone: mount waits for the daemon that still stores what is left
if [ "$(id -u)" = 0 ]; then
    run 0 mount "$store" "$mnt"
    echo kept >"$mnt/left"
    pid=$(process "$mnt")
    kill -STOP "$pid"
    umount -i -c "$mnt"
    "$balefs" mount "$store" "$mnt" 2>"$work/err" &
    mounter=$!
    waits() { readlink "/proc/$mounter/fd/"* 2>/dev/null | grep -qF '[pidfd]'; }
    soon waits || fail "mount does not wait for a daemon that is leaving: $(cat "$work/err")"
    kill -CONT "$pid"
    wait "$mounter" || fail "mount after a daemon that was leaving: $(cat "$work/err")"
    is kept "$(cat "$mnt/left")" "what the daemon that left has stored"
    run 0 umount "$mnt"
fi

# --- remounting, by the helper of mount(8): the kernel's flags change, and what only reads goes on refusing changes
if [ "$(id -u)" = 0 ]; then
    ln -s "$balefs" "$work/mount.fuse.balefs"
    # helper OPTIONS: as mount(8) calls it
    helper() { "$work/mount.fuse.balefs" "$store" "$mnt" -o "$1" 2>"$work/err"; }
    shown() { awk -v at="$mnt" '$2 == at { print "," $4 "," }' /proc/self/mounts; }
    run 0 mount -o nosuid "$store" "$mnt"
    echo before >"$mnt/remounted"
    helper rw,nosuid,relatime,user_id=0,memory=1G,remount,ro || fail "remount,ro: $(cat "$work/err")"
    [[ $(shown) = *,ro,* && $(shown) = *,nosuid,* ]] || fail "remounted as $(shown)"
    (echo late >"$mnt/remounted") 2>/dev/null && fail "written after remount,ro"
    helper remount,rw,noatime || fail "remount,rw: $(cat "$work/err")"
    [[ $(shown) = *,rw,* && $(shown) = *,noatime,* && $(shown) = *,nosuid,* ]] || fail "remounted as $(shown)"
    echo after >"$mnt/remounted"
    exec 8>>"$mnt/open"
    ! helper remount,ro || fail "remount,ro beside a writer"
    grep -qx "balefs: $mnt: cannot be remounted: Device or resource busy: close the files that are open for writing" "$work/err" ||
        fail "it said: $(cat "$work/err")"
    exec 8>&-
    helper remount,ro || fail "remount,ro: $(cat "$work/err")"
    run 0 umount "$mnt"
    run 0 mount -o ro "$store" "$mnt"
    is after "$(cat "$mnt/remounted")" "what was written between two remounts"
    helper remount,rw || fail "remount,rw of what only reads: $(cat "$work/err")"
    for change in "echo x >$mnt/remounted" "rm $mnt/remounted" "mkdir $mnt/new" "mv $mnt/remounted $mnt/new" "chmod 600 $mnt/remounted" \
        "ln -s x $mnt/new" "setfattr -n user.x -v x $mnt/remounted" "truncate -s 1 $mnt/remounted"; do
        (eval "$change") 2>"$work/err" && fail "$change: in a mount that only reads"
        grep -q 'Read-only file system' "$work/err" || fail "$change: $(cat "$work/err")"
    done
    run 0 umount "$mnt"
    [ -z "$err" ] || fail "umount of what only reads says: $err"
fi

# --- where a balefs is, no other one is mounted; other file systems may be covered
run 0 mount "$store" "$mnt"
run 0 init "$work/second"
for options in "" "-f" "-o create"; do
    # shellcheck disable=SC2086
    fails 32 "$mnt: the store $store is mounted here: balefs umount $mnt first, or name another directory" mount $options "$work/second" "$mnt"
done
is 1 "$(awk -v at="$mnt" '$2 == at' /proc/self/mounts | wc -l)" "mounts at the mount point"
unlocked "$work/second" || fail "locked after a mount that was refused"
if [ "$(id -u)" = 0 ]; then
    mount -t tmpfs -o mode=755 none "$work/other"
    run 0 mount "$work/second" "$work/other"
    run 0 umount "$work/other"
    is tmpfs "$(awk -v at="$work/other" '$2 == at { print $3 }' /proc/self/mounts)" "what was covered"
    umount "$work/other"
fi

# --- a mount is no store
fails 32 "$mnt: is not a store but a mount of the store $store: for a second mount point use mount --bind; to move it, unmount it and name the store" \
    mount "$mnt" "$work/other"
fails 8 "$mnt: is not a store but a mount of the store $store: unmount it with balefs umount $mnt, then check the store" fsck "$mnt"
fails 1 "$mnt: is a mount of the store $store: name a directory outside" init "$mnt"
run 0 umount "$mnt"

# --- a killed daemon: what it leaves is cleaned up by mount, and by umount
run 0 mount "$store" "$mnt"
echo kept >"$mnt/kept"
kill -KILL "$(process "$mnt")"
soon unlocked "$store" || fail "locked after a kill"
cat "$mnt/kept" 2>/dev/null && fail "a dead mount answers"
run 1 stat "$mnt"
says "^balefs: $mnt: its daemon has ended without unmounting"
# It is replaced only once all is ready: a mount that fails leaves it, so that nobody writes to the directory below.
run 32 mount "$work/none" "$mnt"
says "^balefs: $work/none: "
is_mounted "$mnt" || fail "a mount that failed took a dead one away"
(cd "$work" && run 0 mount store mnt)
is kept "$(cat "$mnt/kept")" "what was closed before the kill"
is 1 "$(awk -v at="$mnt" '$2 == at' /proc/self/mounts | wc -l)" "mounts at the mount point"
kill -KILL "$(process "$mnt")"
soon unlocked "$store" || fail "locked after a kill"
run 0 umount "$mnt"
says "^balefs: $mnt: its daemon had ended before; unmounted$"
! is_mounted "$mnt" || fail "a dead mount stays"
run 0 fsck --data "$store"

# --- a daemon that is killed while a command waits for its answer
# asks PID: it waits for the answer to a request
asks() { [[ $(cat "/proc/$1/wchan") = *@(request_wait_answer|fuse)* ]]; }
# killed_under COMMAND...: balefs COMMAND... asks a stopped daemon, which is killed then
killed_under() {
    pid=$(process "$mnt")
    kill -STOP "$pid"
    "$balefs" "$@" 2>"$work/err" &
    local asker=$!
    soon asks "$asker"
    kill -KILL "$pid"
    wait "$asker" || fail "$1 while the daemon was killed: $(cat "$work/err")"
}
if [ -e /proc/self/wchan ]; then
    run 0 mount "$store" "$mnt"
    killed_under mount "$store" "$mnt"
    is kept "$(cat "$mnt/kept")" "what was closed before the kill"
    killed_under umount "$mnt"
    ! is_mounted "$mnt" || fail "a dead mount stays"
fi

# --- reasons
run 32 mount "$work/none" "$mnt"
says "^balefs: $work/none: "
run 32 mount "$work/other" "$mnt"
says "^balefs: $work/other: is not a store"
run 32 mount "$store" "$work/none"
says "^balefs: $work/none: "
: >"$work/file"
run 1 mount "$store" "$work/file"
says "^balefs: $work/file: "
unlocked "$store" || fail "locked after a mount that failed"
! is_mounted "$mnt" || fail "mounted after failures"

# --- options reach the daemon
run 0 mount -o memory=64M,io=direct -o noatime,nosuid,nodev,noexec "$store" "$mnt"
run 0 stat --json "$mnt"
is "$((64 << 20)) direct" "$(json 'd["mount"]["memory_cap"], d["mount"]["io"]')" "memory and io"
for option in noatime nosuid nodev noexec default_permissions; do
    awk -v at="$mnt" '$2 == at { print "," $4 "," }' /proc/self/mounts | grep -q ",$option," || fail "not mounted $option"
done
run 0 umount "$mnt"
# --- extents of half the memory, and of more: a warning, and a line in the log when writing fails
run 0 mount --log "$work/narrow" -o memory=32M "$store" "$mnt"
mkdir "$mnt/wide"
run 0 set --extent 16M "$mnt/wide"
is "" "$err" "set of extents that fit"
{ yes 'half of the memory' 2>/dev/null || true; } | head -c 40000000 >"$work/half"
for i in 1 2 3 4; do
    timeout 100 dd if="$work/half" of="$mnt/wide/half$i" bs=1M status=none || fail "writing extents of half the memory"
    cmp "$work/half" "$mnt/wide/half$i" || fail "extents of half the memory"
done
run 0 set --extent 32M "$mnt/wide"
says "^balefs: $mnt/wide: warning: extents of 32.0 MiB need more memory than this mount's 32.0 MiB: mount with -o memory=64M or more, or writing fails$"
for i in 1 2; do
    ! head -c 30000000 /dev/zero 2>/dev/null | cat >"$mnt/wide/$i" 2>/dev/null || fail "written beyond the memory"
done
is 1 "$(grep -c ': its extents of 32768 KiB do not fit into half of the memory of 32 MiB: writing fails: mount with -o memory=64M$' "$work/narrow")" \
    "lines in the log"
run 0 umount "$mnt"

run 0 mount -o ro "$store" "$mnt"
run 0 stat --json "$mnt"
is True "$(json 'd["mount"]["read_only"]')" "read_only"
run 0 stat "$mnt"
prints '^daemon .*, read-only$'
is kept "$(cat "$mnt/kept")" "a file of a read-only mount"
(echo x >"$mnt/new") 2>/dev/null && fail "written to a read-only mount"
run 0 mount -o ro "$store" "$work/other"
is kept "$(cat "$work/other/kept")" "the same in a second read-only mount"
run 0 umount "$mnt" "$work/other"
run 0 mount -o create "$work/made" "$mnt"
run 0 umount "$mnt"
[ -f "$work/made/.balefs/volume.json" ] || fail "-o create made no store"

# --- in the foreground: ends by a signal, with everything stored
"$balefs" mount -f "$store" "$mnt" 2>"$work/err" &
daemon=$!
soon is_mounted "$mnt" || fail "not mounted in the foreground: $(cat "$work/err")"
echo foreground >"$mnt/foreground"
kill -INT "$daemon"
wait "$daemon" || fail "the foreground daemon ended with $?: $(cat "$work/err")"
! is_mounted "$mnt" || fail "still mounted after the foreground daemon's end"
run 0 mount "$store" "$mnt"
is foreground "$(cat "$mnt/foreground")" "what was written before the signal"
run 0 umount "$mnt"
