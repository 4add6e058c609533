# Sourced by the tests of the command. $BALEFS is the program; $work a directory that goes away, mounts included.
# shellcheck shell=bash source-path=SCRIPTDIR source=../support/namespace.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/namespace.sh"
# shellcheck source=../support/codecs.sh
. "$(dirname "${BASH_SOURCE[0]}")/../support/codecs.sh"
set -euo pipefail
export LC_ALL=C

balefs=${BALEFS:?the program to test}
work=$(mktemp -d)
work=$(cd "$work" && pwd -P)
chmod 755 "$work"
test_name=$(basename "$0" .sh)

clean_up() {
    local status=$? mount
    trap - EXIT
    set +e
    cd /
    while read -r mount; do
        umount -l "$mount" 2>/dev/null || fusermount3 -uz "$mount" 2>/dev/null
    done < <(awk -v top="$work/" 'index($2, top) == 1 { print $2 }' /proc/self/mounts)
    for _ in {1..50}; do # a daemon may be at its end
        rm -rf --one-file-system "$work" 2>/dev/null && break
        sleep 0.1
    done
    exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
    printf '%s: %s\n' "$test_name" "$*" >&2
    exit 1
}

skip() {
    printf 'skipped: %s\n' "$*"
    exit 77
}

# install_alone: $balefs is a copy from here on, as installed: it looks for its plug-in in $work/usr/lib/balefs, and
# there is none yet
install_alone() {
    mkdir -p "$work/usr/bin" "$work/usr/lib/balefs"
    cp "$balefs" "$work/usr/bin/balefs"
    balefs=$work/usr/bin/balefs
    unset BALE_FAKE_GPU LD_LIBRARY_PATH
}

# run STATUS ARGUMENT...: runs balefs, which must end with STATUS; $out and $err are what it printed.
run() {
    local wanted=$1 got=0
    shift
    "$balefs" "$@" >"$work/.out" 2>"$work/.err" </dev/null || got=$?
    { out=$(<"$work/.out") err=$(<"$work/.err"); } 2>/dev/null # zero bytes are left out, which bash says
    [ "$got" = "$wanted" ] || fail "balefs $*: exit status $got, not $wanted: $out $err"
}

# fails STATUS MESSAGE ARGUMENT...: nothing on stdout, and on stderr exactly "balefs: MESSAGE".
fails() {
    local status=$1 message=$2
    shift 2
    run "$status" "$@"
    [ -z "$out" ] || fail "balefs $*: failed, but printed: $out"
    [ "$err" = "balefs: $message" ] || fail "balefs $*: said '$err', not 'balefs: $message'"
}

# says PATTERN: the last run's stderr has a line that matches; every line begins with "balefs: ".
says() {
    local line
    grep -Eq -- "$1" <<<"$err" || fail "no '$1' in: $err"
    while read -r line; do
        [[ $line == "balefs: "* ]] || fail "a line without 'balefs: ' in: $err"
    done <<<"$err"
}

# prints PATTERN: the last run's stdout has a line that matches.
prints() {
    grep -Eq -- "$1" <<<"$out" || fail "no '$1' in: $out"
}

# is EXPECTED FOUND WHAT
is() {
    [ "$1" = "$2" ] || fail "$3: '$2', not '$1'"
}

# json EXPRESSION: evaluates it with the last run's stdout as d; a tuple's members come with blanks between. Without
# the packages of a site, Python starts in half the time.
json() {
    /usr/bin/python3 -S -c 'import json, sys
d = json.load(sys.stdin)
value = '"$1"'
print(*value if isinstance(value, tuple) else (value,))' <<<"$out" ||
        fail "no such JSON: $1 in: $out"
}

# as_user COMMAND...: as an ordinary user.
as_user() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

# copy_for_users: $work/balefs, the program where ordinary users may run it; the build directory may be closed to them.
copy_for_users() {
    cp "$balefs" "$work/balefs"
    chmod 755 "$work/balefs"
}

# be_user PATH: from here on $balefs runs as an ordinary user, with that PATH. $store is a store of that user's and $mnt
# a directory to mount it on, both in $work/home.
# shellcheck disable=SC2034 # for those who source this
be_user() {
    copy_for_users
    balefs=$work/user
    cat >"$balefs" <<END
#!/bin/bash
[ "\$(id -u)" != 0 ] || exec setpriv --reuid=65534 --regid=65534 --clear-groups "\$0" "\$@"
PATH="$1" XDG_RUNTIME_DIR="$work/home/run" exec "$work/balefs" "\$@"
END
    chmod 755 "$balefs"
    mkdir -m 777 "$work/home"
    store=$work/home/store
    mnt=$work/home/mnt
    as_user mkdir "$mnt"
    as_user mkdir -m 700 "$work/home/run"
    run 0 init "$store"
}

# needs_fusermount: skips the test where ordinary users cannot mount with fusermount3
needs_fusermount() {
    command -v fusermount3 >/dev/null || skip "there is no fusermount3"
    [ -u "$(command -v fusermount3)" ] || skip "fusermount3 is not for ordinary users"
}

needs_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

needs_fuse() {
    [ -c /dev/fuse ] || skip "there is no /dev/fuse"
    if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then skip "may not use /dev/fuse"; fi
}

# make_store_and_mnt: $store, an empty store, and $mnt, a directory to mount it on
# shellcheck disable=SC2034 # for those who source this
make_store_and_mnt() {
    store=$work/store
    mnt=$work/mnt
    mkdir "$mnt"
    run 0 init "$store"
}

is_mounted() { awk -v at="$1" '$2 == at { found = 1 } END { exit !found }' /proc/self/mounts; }
unmounted() { ! is_mounted "$1"; }

# unlocked STORE: nobody has it
unlocked() { flock -n "$1/.balefs/lock" true; }

# process MNT: of its daemon
process() {
    "$balefs" stat --json "$1" | /usr/bin/python3 -S -c 'import json, sys; print(json.load(sys.stdin)["mount"]["pid"])'
}

# lives PID: at least one of its threads is no zombie. The first thread may be one while others still end.
lives() { [ -n "$(sed 's/.*) //; s/ .*//; /^[ZX]/d' "/proc/$1/task/"*/stat 2>/dev/null)" ]; }

# has_become PID NAME: the program that it was to run
has_become() { [ "$(cat "/proc/$1/comm")" = "$2" ]; }

# soon COMMAND...: waits until COMMAND succeeds, for as long as a loaded machine may need
soon() {
    local end=$((SECONDS + 240))
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.02
    done
}

# unread PROGRAM...: runs it with a standard output that nobody reads
unread() {
    mkfifo "$work/.unread"
    (
        # shellcheck disable=SC2094 # a writer finds its pipe open for reading, and then it is not
        exec 8<>"$work/.unread" 9>"$work/.unread" 8<&-
        rm "$work/.unread"
        exec "$@" >&9 9>&-
    )
}

# unread_ignoring PROGRAM...: the same, where SIGPIPE is ignored
unread_ignoring() { (
    trap '' PIPE
    unread "$@"
); }

# flip FILE POSITION: changes a byte
flip() {
    /usr/bin/python3 -S - "$1" "$2" <<'END'
import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2]))
    byte = f.read(1)[0]
    f.seek(int(sys.argv[2]))
    f.write(bytes([byte ^ 1]))
END
}

# make_arrays DIRECTORY [SUFFIX]: files of f32 with two ranges (far: 0 to 1000, near: 0 to 100), of one value (rest), and
# one that is no array (words)
make_arrays() {
    /usr/bin/python3 -S - "$@" <<'END'
import array, os, sys
os.chdir(sys.argv[1])
suffix = "".join(sys.argv[2:])
array.array("f", (x % 1001 for x in range(300000))).tofile(open("far" + suffix, "wb"))
array.array("f", (x % 101 for x in range(5000))).tofile(open("near" + suffix, "wb"))
array.array("f", [7] * 5000).tofile(open("rest" + suffix, "wb"))
open("words" + suffix, "w").write("no array\n" * 1000)
END
}
