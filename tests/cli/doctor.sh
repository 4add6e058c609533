#!/usr/bin/env bash
# balefs doctor: it reports what works, gives advice for what does not, and leaves nothing in a store.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

store=$work/store
run 0 init "$store"

# code: of what was found; this machine may lack something
check() {
    local got=0
    "$balefs" doctor "$@" >"$work/.out" 2>"$work/.err" </dev/null || got=$?
    out=$(cat "$work/.out")
    is "" "$(cat "$work/.err")" "doctor $* on stderr"
    is "$1 $got" "$1 $(grep -q '^!' <<<"$out" && echo 1 || echo 0)" "status of doctor $*"
}

find "$store" | sort >"$work/before"
check "$store"
find "$store" | sort >"$work/after"
diff -u "$work/before" "$work/after" || fail "doctor changed the store"
for name in balefs kernel /dev/fuse fusermount3 /etc/fuse.conf 'user namespaces' 'open files' memory log GPU 'GPU engine' store 'file system' abilities; do
    grep -Eq "^[ !] $name +[^ ]" <<<"$out" || fail "nothing of $name: $out"
done
prints "^  balefs +[0-9.]+, libfuse 3\.[0-9.]+, zstd [0-9.]+, lz4 [0-9.]+, xxHash [0-9]+, jansson [0-9.]+$"
prints "^  kernel +Linux $(uname -r), "
prints "^  store +$store, modes in [a-z]+, not mounted$"
prints "^  file system +$(findmnt -no FSTYPE -T "$store") at "

status=0
"$balefs" doctor --json "$store" >"$work/.out" || status=$?
out=$(cat "$work/.out")
is "$((1 - status))" "$(json 'int(d["works"])')" "works"
is True "$(json 'all(c["finding"] in ("fine", "note", "bad") and c["name"] and c["found"] for c in d["checks"])')" "findings"
is True "$(json 'all(c["advice"] for c in d["checks"] if c["finding"] == "bad")')" "advice"

# --- where a mount fails that may not open /dev/fuse, it is doctor that knows
if [ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && unshare -m true 2>/dev/null; then
    cp "$balefs" "$work/balefs"
    mkdir "$work/home"
    : >"$work/nodevice"
    chmod 755 "$work/balefs"
    chmod 000 "$work/nodevice"
    chown 65534 "$work/home"
    as_user "$work/balefs" init "$work/home/store"
    as_user mkdir "$work/home/mnt"
    got=0
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount --bind "$1/nodevice" /dev/fuse && exec setpriv --reuid=65534 --regid=65534 --clear-groups \
        "$1/balefs" mount "$1/home/store" "$1/home/mnt"' - "$work" 2>"$work/err" || got=$?
    is 32 "$got" "mount without /dev/fuse: $(cat "$work/err")"
    grep -Eq "^balefs: $work/home/mnt: cannot be mounted on: .*: balefs doctor shows what this machine lacks$" "$work/err" ||
        fail "mount without /dev/fuse said: $(cat "$work/err")"
fi

# --- what does not work
run 1 doctor "$work/none"
prints "^! store +$work/none: No such file or directory: name a directory$"
mkdir "$work/plain"
check "$work/plain"
prints "^  store +$work/plain is not a store yet: balefs init makes one"
mkdir -p "$work/bad/.balefs"
echo '{"format": 99' >"$work/bad/.balefs/volume.json"
run 1 doctor "$work/bad"
prints "^! store +$work/bad"
fails 2 "one STORE at a time: see balefs doctor --help" doctor "$store" "$store"
got=0
PATH=$work "$balefs" doctor >"$work/.out" || got=$?
out=$(cat "$work/.out")
prints '^[ !] fusermount3 +not in PATH'

# --- nobody reads, and a full disk
got=0
"$balefs" doctor >/dev/full 2>"$work/err" || got=$?
is 1 "$got" "status, full"
grep -q '^balefs: standard output: cannot write: ' "$work/err" || fail "full: $(cat "$work/err")"
unread_ignoring "$balefs" doctor "$store" 2>"$work/err" || true
[ ! -s "$work/err" ] || fail "into a closed pipe: $(cat "$work/err")"

# --- what clusters have
needs_root
cluster=${1:?usage: doctor.sh LIBRARY}
mkdir "$work/clean"
if unshare -m true 2>/dev/null && mkdir -p /run/tmpfiles.d; then
    # shellcheck disable=SC2016
    unshare -m bash -c 'mount --make-rprivate / && mount -t tmpfs -o noexec,nodev tmpfs /mnt && mount -t tmpfs tmpfs /run/tmpfiles.d &&
        echo "d $1/clean 1777 root root 10d" >/run/tmpfiles.d/test.conf && "$2" doctor /mnt && exec "$2" doctor "$1/clean"' \
        - "$work" "$balefs" >"$work/.out" 2>"$work/err" || [ ! -s "$work/err" ] || fail "doctor in a namespace: $(cat "$work/err")"
    out=$(cat "$work/.out")
    prints '^  mount options +/mnt: noexec nodev: programs cannot be run from here, nor from a mount'
    prints "^  old files +systemd-tmpfiles removes what is older than 10d from $work/clean: keep results elsewhere; "
    is 1 "$(grep -c 'old files' <<<"$out")" "directories that may be cleaned up"
fi
prints '^  quota +none for this user$'
check "$store"
prints "^  old files +$store may be cleaned up, as scratch space often is: "
if ! ldd "$balefs" | grep -q 'lib[a-z]*san'; then
    # faked STATUS VARIABLE: with the library
    faked() {
        got=0
        env LD_PRELOAD="$cluster" "$2" "$balefs" doctor "$store" >"$work/.out" || got=$?
        out=$(cat "$work/.out")
        is "$1 $1" "$got $(grep -q '^!' <<<"$out" && echo 1 || echo 0)" "status with $2: $out"
    }
    bad=$("$balefs" doctor >/dev/null && echo 0 || echo 1) # this machine may lack something
    faked "$bad" FAKE_QUOTA="500 1000"
    prints '^  quota +user 0: 500.0 KiB of 1000.0 KiB$'
    faked "$bad" FAKE_QUOTA="950 1000"
    prints '^  quota +user 0: 950.0 KiB of 1000.0 KiB: make room, or ask for more, before you write$'
    faked 1 FAKE_QUOTA="1000 1000"
    prints '^! quota +user 0: 1000.0 KiB of 1000.0 KiB: make room'
    faked 1 FAKE_SQUASH=65534
    prints '^! root +what root makes here belongs to user 65534 .root squash.: run balefs as the user who owns the directory'
fi

# --- an ordinary user
copy_for_users
mkdir -m 700 "$work/closed"
got=0
as_user "$work/balefs" doctor "$store" >"$work/.out" || got=$?
out=$(cat "$work/.out")
prints '^  writing +Permission denied: mount it with -o ro'
got=0
as_user "$work/balefs" doctor "$work/closed" >"$work/.out" || got=$?
out=$(cat "$work/.out")
is 1 "$got" "status for a directory that may not be read"
prints "^! (store|abilities) "

if [ -c /dev/fuse ]; then
    mkdir "$work/mnt"
    run 0 mount "$store" "$work/mnt"
    run 1 doctor "$work/mnt"
    prints "^! store +$work/mnt is a mount of $store: name the store$"
    check "$store"
    prints "^  store +$store, modes in inodes, mounted by process [0-9]+ "
    run 0 umount "$work/mnt"
fi
