#!/usr/bin/env bash
# Calls of every kind wait in a mount whose store stalls, and their programs are killed: all leave, what is cached is
# served meanwhile, and the store is sound when it goes on. The store lies on a frozen ext4, on a FUSE file system whose
# daemon is stopped, and on an ext4 of a loop device that answers nothing, as its file lies on such a FUSE file system.
# usage: stall_matrix.sh PASSTHROUGH, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

passthrough=${1:?usage: stall_matrix.sh PASSTHROUGH}
mount_begin stall_matrix
command -v fsfreeze >/dev/null || skip "no fsfreeze"
chmod 755 "$work"
stopped=''

matrix_end() {
    local result=$?
    set +e
    [ -z "$stopped" ] || kill -CONT "$stopped"
    (exit "$result")
    mount_end
}
trap matrix_end EXIT

# status MNT: two lines of what the daemon does
status() {
    local lines
    lines=$(set +o pipefail; timeout 30 "$BALEFS" stat --watch "$1" | head -n 2 | wc -l)
    [ "$lines" = 2 ]
}

# prompt WHAT COMMAND...: is answered although the store stalls
prompt() {
    local what=$1 result=0
    shift
    if [ "$1" != status ]; then set -- timeout 30 "$@"; fi
    "$@" >/dev/null || result=$?
    [ "$result" = 0 ] || fail "$what: exit status $result"
}

# await NAME WORD: of the calls
await() {
    local i
    for ((i = 0; i < 1800; i++)); do
        if grep -qs "$2" "$work/calls.$1"; then return; fi
        sleep 0.05
    done
    fail "$1: not $2"
}

names() { (cd "$1" && find . -path ./.balefs -prune -o -print | sort); }

# row NAME BASE: with $stall and $go_on
row() {
    local name=$1 base=$2 mnt=$work/mnt.$1 runner freezer holder i
    mkdir -p "$mnt"
    "$BALEFS" init "$base/store" >/dev/null || fail "$name: init"
    mount_up "$base/store" "$mnt" -o memory=64M
    python3 "$(dirname "$0")/stall_calls.py" prepare "$mnt" || fail "$name: prepare"
    head -c 300000 /dev/urandom >"$work/plain"
    cp "$work/plain" "$mnt/cached"
    # Nothing is in a cache but one file.
    mount_down "$mnt"
    python3 "$(dirname "$0")/stall_calls.py" forget "$base/store" || fail "$name: forget"
    mount_up "$base/store" "$mnt" -o memory=64M
    exec 8<"$mnt/cached"
    # Mapped, so that nobody on this machine drops the kernel's copy.
    python3 -c 'import mmap, signal, sys
with open(sys.argv[1], "rb") as file:
    held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print(len(bytes(held)), "held", flush=True)
signal.pause()' "$mnt/cached" >"$work/calls.held" &
    holder=$!
    await held held
    # The kernel asks for the ACLs of both, and then drops them: it asks again when another user comes.
    setpriv --reuid 1234 --clear-groups cat "$mnt/cached" >/dev/null
    stat --cached=never "$mnt" "$mnt/cached" >/dev/null
    mkfifo "$work/kill.$name"
    python3 "$(dirname "$0")/stall_calls.py" run "$mnt" <"$work/kill.$name" >"$work/calls.$name" &
    runner=$!
    exec 9>"$work/kill.$name"
    await "$name" opened
    "stall_$name"
    echo call >&9
    await "$name" started
    # Each is in its call, as far as it comes.
    sleep 0.5
    prompt "$name: stat of what is cached" stat "$mnt/cached"
    prompt "$name: a read of what is cached" cmp "$mnt/cached" "$work/plain"
    prompt "$name: balefs stat --watch" status "$mnt"
    prompt "$name: a read of another user" setpriv --reuid 1234 --clear-groups cat "$mnt/cached"
    echo kill >&9
    exec 9>&-
    await "$name" '^gone\|^stays'
    prompt "$name: a read after the kills" cmp "$mnt/cached" "$work/plain"
    exec 8<&-
    kill "$holder"
    wait "$holder" || true
    # A freeze that cannot be reached can be killed, and then does not stay.
    "$BALEFS" freeze "$mnt" &
    freezer=$!
    sleep 0.5
    kill -KILL "$freezer"
    for ((i = 0; i < 600; i++)); do
        grep -qs '^State:.[^Z]' "/proc/$freezer/status" || break
        sleep 0.05
    done
    [ "$i" -lt 600 ] || fail "$name: balefs freeze stays although it was killed"
    wait "$freezer" && fail "$name: frozen although the store stalls"
    "go_on_$name"
    wait "$runner" || fail "$name: the calls" # it closes files with data
    if ! grep -q gone "$work/calls.$name"; then
        fail "$name: programs that were killed stay: $(cat "$work/calls.$name")"
    fi
    for ((i = 0; i < 600; i++)); do
        if diff <(names "$mnt") <(names "$base/store") >"$work/names"; then break; fi
        sleep 0.05
    done
    [ "$i" -lt 600 ] || fail "$name: the mount shows other names than the store: $(cat "$work/names")"
    if [ "$name" = frozen ] && grep -E '_written.*(moved|other)' <(names "$mnt"); then
        fail "$name: done although its program was gone"
    fi
    # Every file is as it was, or as its one call made it.
    timeout 60 sh -c "echo more >'$mnt/cached' && rm '$mnt/cached'" || fail "$name: still frozen"
    mount_down "$mnt"
    mount_up "$base/store" "$mnt" -o memory=64M
    python3 "$(dirname "$0")/stall_calls.py" check "$mnt" <"$work/calls.$name" || fail "$name: done late"
    mount_down "$mnt"
    fsck_clean "$base/store"
    say "$name: $(grep -c . "$work/calls.$name") lines, all gone"
}

mkdir "$work/frozen"
loop_fs ext4 96 "$work/frozen"
stall_frozen() { fsfreeze -f "$work/frozen" && frozen=$work/frozen; }
go_on_frozen() { fsfreeze -u "$work/frozen" && frozen=; }
row frozen "$work/frozen"

mkdir -p "$work/below" "$work/stopped"
"$passthrough" "$work/below" "$work/stopped" -f &
server=$!
for ((i = 0; i < 600; i++)); do
    if is_mounted "$work/stopped"; then break; fi
    sleep 0.05
done
stall_stopped() { kill -STOP "$server" && stopped=$server; }
go_on_stopped() { kill -CONT "$server" && stopped=; }
row stopped "$work/stopped"

truncate -s 96M "$work/below/disk"
mkfs.ext4 -q -F "$work/below/disk"
loop=$(losetup -f --show "$work/stopped/disk") || skip "no loop device"
loops+=("$loop")
mkdir "$work/suspended"
mount "$loop" "$work/suspended"
stall_suspended() { stall_stopped; }
go_on_suspended() { go_on_stopped; }
row suspended "$work/suspended"
umount "$work/suspended"
losetup -d "$loop"
umount "$work/stopped"
