#!/usr/bin/env bash
# A used-up quota is not a full disk: the user's writes fail, the reserve that backs what others were promised stays, and
# they go on. Where the reserve counts in the quota that is used up, it serves. The quota is an interposed fault.
# usage: quota.sh LIBRARY, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

library=${1:?usage: quota.sh LIBRARY}
mount_begin quota
if ldd "$BALEFS" | grep -q 'lib[a-z]*san'; then
    skip "a sanitizer's library must be the first that is loaded"
fi
user=54321
mnt=$work/mnt flag=$work/over
mkdir "$mnt"
chmod 755 "$work"

# as_user COMMAND...
as_user() { setpriv --reuid "$user" --regid "$user" --clear-groups "$@"; }

# with_quota UID FREED STORE: mounts it, with a quota of that user
with_quota() {
    "$BALEFS" init "$3" >/dev/null || fail init
    export OVER_QUOTA_UID=$1 OVER_QUOTA_FREED=$2 OVER_QUOTA_FLAG=$flag LD_PRELOAD=$library
    mount_up "$3" "$mnt" -o age=0.1
    unset LD_PRELOAD
}

reserve() { stat -c %s "$1/.balefs/reserve"; }

store=$work/shared
with_quota "$user" /nonexistent "$store"
chmod 1777 "$mnt"
whole=$(reserve "$store")
[ "$whole" -gt 0 ] || fail "there is no reserve"
as_user dd if=/dev/urandom of="$mnt/mine" bs=1M count=1 conv=fsync status=none || fail "before the quota was used up"
touch "$flag"
as_user dd if=/dev/urandom of="$mnt/mine" bs=1M count=2 conv=fsync status=none 2>"$work/said" && fail "no error"
grep -q 'quota exceeded' "$work/said" || fail "says: $(cat "$work/said")"
dd if=/dev/urandom of="$mnt/others" bs=1M count=20 conv=fsync status=none || fail "another user cannot write"
[ "$(reserve "$store")" = "$whole" ] || fail "the reserve went"
grep -q 'writes fail until' "$work/log" && fail "the mount takes it for a full disk"
# A file that finds no space takes no more: what cannot be stored does not fill the memory that all share.
/usr/bin/python3 - "$mnt/open" "$user" "$flag" <<'PROGRAM' || fail "a file that finds no space"
import errno, os, sys, time

path, user, flag = sys.argv[1], int(sys.argv[2]), sys.argv[3]
fd = os.open(path, os.O_RDWR | os.O_CREAT)
os.fchown(fd, user, user)

def soon(what):
    for _ in range(400):
        if what():
            return
        time.sleep(0.05)
    sys.exit("not within 20 s: " + what.__name__)

def refused():
    try:
        os.write(fd, os.urandom(10000))
    except OSError as error:
        return error.errno == errno.EDQUOT
    return False

def accepted():
    try:
        return os.write(fd, b"more") == 4
    except OSError:
        return False

soon(refused)
os.unlink(flag)
def synced(): # the first may report what failed before
    try:
        os.fsync(fd)
    except OSError:
        return False
    return True

soon(accepted)
soon(synced)
PROGRAM
# It says that the user's file could not be stored.
"$BALEFS" umount "$mnt" 2>"$work/said" || grep -q 'not everything could be stored: quota exceeded' "$work/said" ||
    fail "umount: $(cat "$work/said")"
wait "$daemon" || true
daemon=
fsck_clean "$store"

# The end of a mount names what was lost, and nothing that nobody misses: a file that was removed, or written again.
# lose NAME: the user's file of that name could not be stored
lose() {
    touch "$flag"
    as_user dd if=/dev/urandom of="$mnt/$1" bs=100K count=1 status=none 2>/dev/null && fail "$1: close reported nothing"
    for ((i = 0; i < 400; i++)); do
        ! grep -aqF " error: $1: 102400 bytes could not be stored" "$work/log" || return 0
        sleep 0.05
    done
    fail "$1: the log says nothing"
}

store=$work/lost
with_quota "$user" /nonexistent "$store"
chmod 1777 "$mnt"
lose gone
rm "$mnt/gone"
lose again
lose replaced
rm "$flag"
head -c 100000 /dev/urandom | as_user tee "$mnt/again" "$mnt/new" >/dev/null || fail "the quota is free again"
mv "$mnt/new" "$mnt/replaced"
mount_down "$mnt"
with_quota "$user" /nonexistent "$work/kept"
chmod 1777 "$mnt"
lose "$(printf 'k\377pt')"
lose other
"$BALEFS" umount "$mnt" 2>"$work/said" && fail "umount passed over what was lost"
grep -Eq 'could be stored: quota exceeded: (k.pt|other) and 1 more: see the log$' "$work/said" || fail "umount: $(cat "$work/said")"
wait "$daemon" || true
daemon=
rm "$flag"

# What was acknowledged stays until it fits or the last descriptor is closed, and until then every fsync fails.
store=$work/stays
with_quota "$user" /nonexistent "$store"
chmod 1777 "$mnt"
touch "$flag"
cat >"$work/stays.py" <<'PROGRAM'
import errno, os, sys, time

path, freed = sys.argv[1:]
data = os.urandom(300000)
fd, other = (os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(2))
os.write(fd, data)
for _ in range(3):
    for one in fd, other:
        try:
            os.fsync(one)
            sys.exit("an fsync succeeded")
        except OSError as error:
            assert error.errno == errno.EDQUOT, error
try:
    os.close(other)
except OSError as error:
    assert error.errno == errno.EDQUOT, error
assert os.pread(fd, len(data), 0) == data
print("freed", flush=True)
while not os.path.exists(freed):
    time.sleep(0.05)
try:
    os.fsync(fd) # may report what failed in the background
except OSError:
    os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
assert os.pread(fd, len(data), 0) == data
os.close(fd)
PROGRAM
as_user /usr/bin/python3 "$work/stays.py" "$mnt/stays" "$work/freed" >"$work/said" &
stays=$!
for ((i = 0; i < 800; i++)); do
    if grep -q freed "$work/said" || ! kill -0 "$stays" 2>/dev/null; then break; fi
    sleep 0.05
done
rm "$flag"
touch "$work/freed"
wait "$stays" || fail "data that finds no space for a while"
mount_down "$mnt"
fsck_clean "$store"

# A project's limit, which XFS tells as ENOSPC, is no full disk either.
store=$work/project
export OVER_QUOTA_PROJECT=7
with_quota "$user" /nonexistent "$store"
unset OVER_QUOTA_PROJECT
chmod 1777 "$mnt"
whole=$(reserve "$store")
touch "$flag"
as_user dd if=/dev/urandom of="$mnt/mine" bs=1M count=2 conv=fsync status=none 2>"$work/said" && fail "no error"
grep -q 'No space left' "$work/said" || fail "says: $(cat "$work/said")"
dd if=/dev/urandom of="$mnt/others" bs=1M count=20 conv=fsync status=none || fail "others of no project cannot write"
[ "$(reserve "$store")" = "$whole" ] || fail "the reserve went for a project"
grep -q 'the backing store is full' "$work/log" && fail "the mount takes a project's limit for a full disk"
rm "$flag"
"$BALEFS" umount "$mnt" 2>/dev/null || true # says what could not be stored
wait "$daemon" || true
daemon=
fsck_clean "$store"

# The user's own mount: files and reserve count in one quota.
store=$work/own
with_quota 0 "$store/.balefs/reserve" "$store"
exec 5<>"$mnt/file"
head -c 300000 /dev/urandom >"$work/data"
touch "$flag"
cat "$work/data" >&5 || fail "write"
sync "$mnt/file" || fail "the reserve does not serve"
cmp -s "$work/data" "$mnt/file" || fail "other bytes"
grep -q 'quota of the backing store is used up' "$work/log" || fail "nothing is said"
# Others have their own, although the reserve is gone.
chmod 1777 "$mnt"
as_user dd if=/dev/urandom of="$mnt/others" bs=1M count=8 conv=fsync status=none || fail "another user, beside root's quota"
head -c 10000 /dev/urandom 2>/dev/null >"$mnt/more" && fail "root's next file found space"
rm "$flag"
exec 5>&-
mount_down "$mnt"
fsck_clean "$store"

# Nothing of the user's gets a block more: the store can be mounted, and files can be deleted.
touch "$flag"
export OVER_QUOTA_FREED=/nonexistent LD_PRELOAD=$library
for _ in 1 2; do
    mount_up "$store" "$mnt"
    cmp -s "$work/data" "$mnt/file" || fail "other bytes over quota"
    mount_down "$mnt"
done
mount_up "$store" "$mnt"
unset LD_PRELOAD
rm "$mnt/file" || fail "nothing can be deleted over quota"
mount_down "$mnt"
rm "$flag"
fsck_clean "$store"
say "good"
