#!/usr/bin/env bash
# The life of a store on a distributed file system: init, mount, programs at work, the client of that file system killed
# under them again and again, its network cut, imports, a reader on another node, fsck. What fsync, `balefs sync` and
# `balefs import` acknowledged is there each time. Not part of CI: see README.md.
# usage: life.sh gluster|moose|juice|ceph [--kills N] [--cuts N] [--imports N] [--reads N] [--seed N], with BALEFS and
#        BALE_BUILD in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/rig.sh"

usage='usage: life.sh gluster|moose|juice|ceph [--kills N] [--cuts N] [--imports N] [--reads N] [--seed N]'
what=${1:?$usage}
shift
kills=100 cuts=1 imports=10 reads=400
seed=$((RANDOM * 32768 + RANDOM))
while [ $# -gt 1 ]; do
    case $1 in
    --kills) kills=$2 ;;
    --cuts) cuts=$2 ;;
    --imports) imports=$2 ;;
    --reads) reads=$2 ;;
    --seed) seed=$2 ;;
    *) rig_fail "$usage" ;;
    esac
    shift 2
done
: "${BALEFS:?}" "${BALE_BUILD:?}"
export BALEFS POWER_PLAIN=yes # not all of them have O_TMPFILE and RENAME_EXCHANGE
power=$BALE_BUILD/tests/mount/bale_power
store=$rig/A/fs/store
mnt=$rig/A/mnt
daemon=
phase=init
slowest=0 # mount, in ms

say() { printf 'life %s: %s\n' "$what" "$*"; }

fail() {
    say "FAILED: seed $seed, $phase: $*" >&2
    tail -n 30 "$rig/log/daemon" >&2
    exit 1
}

now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }

# Mounted, or there is nothing to wait for.
mounted() { on A mountpoint -q "$mnt" || ! kill -0 "$daemon"; }

# mount_up [ARGUMENT...]
mount_up() {
    local began took
    began=$(now_ms)
    nsenter -t "$(cat "$rig/A.pid")" -n -u -m -- "$BALEFS" mount -f --log "$rig/log/daemon" "$@" "$store" "$mnt" \
        </dev/null 2>"$rig/log/err" &
    daemon=$!
    until_true 400 mounted || fail "not mounted: $(cat "$rig/log/err")"
    on A mountpoint -q "$mnt" || fail "not mounted: $(cat "$rig/log/err")"
    took=$(($(now_ms) - began))
    [ "$took" -le "$slowest" ] || slowest=$took
}

mount_down() {
    on A "$BALEFS" umount "$mnt" || fail umount
    wait "$daemon" || fail "the daemon ended with $?"
    daemon=
}

# The client is killed, and with it what the daemon can do.
lose_client() {
    client_kill A
    [ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null || true
    [ -z "$daemon" ] || wait "$daemon" 2>/dev/null || true
    daemon=
    on A umount -l "$mnt" 2>/dev/null || true
    client_gone A || true
    client_up A
}

# The lock of a client that was killed may outlive it for a while.
unlocked() {
    local said
    said=$(on "$1" "$BALEFS" fsck "$rig/$1/fs/$2" 2>&1 || true)
    [[ $said != *'is mounted by'* ]]
}

# fsck NODE [STORE]
fsck() {
    until_true 400 unlocked "$1" "${2:-store}" || fail "the lock of the client that was killed is not free"
    on "$1" "$BALEFS" fsck --data "$rig/$1/fs/${2:-store}" >"$rig/log/fsck" 2>&1 ||
        fail "fsck on $1: $(tail -n 5 "$rig/log/fsck")"
}

ended() { ! kill -0 "$1"; }

order() {
    local answer
    printf '%s\n' "$*" >&"${WORKER[1]}"
    IFS= read -r answer <&"${WORKER[0]}" || fail "$1: the worker ended"
    [ "$answer" = "done" ] || fail "$1: $answer"
}

# ---- Phases ----

kill_clients() {
    local i began took pids longest=0
    for ((i = 1; i <= kills; i++)); do
        phase="kill $i"
        began=$(now_ms)
        mount_up
        [ "$i" = 1 ] || order check
        # JuiceFS has two processes; the first would start the second again.
        mapfile -t pids < <(client_pids A)
        order work $((5 + RANDOM % 30)) "${pids[@]}"
        lose_client
        fsck A
        took=$(($(now_ms) - began))
        [ "$took" -le "$longest" ] || longest=$took
        [ $((i % 10)) != 0 ] || say "$i kills, the slowest mount $slowest ms, the longest round $longest ms"
    done
    mount_up
    [ "$kills" = 0 ] || order check
    mount_down
    say "$kills kills of the client: nothing lost that was acknowledged"
}

# `balefs sync` does not succeed while the network is cut: it fails, or it waits.
cut_network() {
    local digest syncing
    mount_up
    on A sh -c "head -c 3000000 /dev/urandom >'$mnt/cut'; cat '$mnt/cut' >'$ram/cut'"
    net_cut A
    on A "$BALEFS" sync "$mnt" 2>"$rig/log/err" &
    syncing=$!
    until_true 20 ended "$syncing" && wait "$syncing" && fail "balefs sync succeeded without a network"
    net_heal A
    until_true 300 ended "$syncing" || say "balefs sync does not end although the network is back"
    until_true 300 on A timeout 100 "$BALEFS" sync "$mnt" || {
        say "no sync succeeds after the cut: the mount must be made again: $(tail -n 1 "$rig/log/err")"
        lose_client
        fsck A
        return
    }
    lose_client
    fsck A
    digest=$(on A "$BALEFS" cat "$store/cut" | md5sum)
    [ "$digest" = "$(md5sum <"$ram/cut")" ] || fail "what was synced after the cut is not there"
}

make_tree() {
    local i
    rm -rf "$ram/tree"
    mkdir -p "$ram/tree/deep/er"
    for i in 1 2 3 4 5 6 7 8; do
        head -c $((RANDOM * 20)) /dev/urandom >"$ram/tree/deep/random-$i"
        seq "$RANDOM" >"$ram/tree/deep/er/text-$i"
    done
    ln "$ram/tree/deep/random-1" "$ram/tree/linked"
    ln -s deep/er "$ram/tree/symbolic"
    : >"$ram/tree/empty"
}

# What `balefs import` stored when it ended survives the client. Other files take the same names each time.
import_and_kill() {
    local i
    for ((i = 1; i <= imports; i++)); do
        phase="import $i"
        make_tree
        on A "$BALEFS" import --create "$ram/tree" "$rig/A/fs/imported" >/dev/null 2>"$rig/log/err" ||
            fail "$(tail -n 1 "$rig/log/err")"
        sleep 0.003
        lose_client
        fsck A imported
        rm -rf "$ram/exported"
        on A "$BALEFS" export "$rig/A/fs/imported" "$ram/exported" >/dev/null 2>"$rig/log/err" ||
            fail "$(tail -n 1 "$rig/log/err")"
        diff -r --no-dereference "$ram/tree" "$ram/exported" || fail "what was imported is not there"
    done
    say "$imports imports and kills: nothing lost"
}

# Each version is one commit: io=direct hands a write over as it is, and it lies in one extent (whole extents of a stream
# are committed early while the reserve is small).
write_versions() {
    while [ ! -e "$ram/enough" ]; do
        head -c 100000 /dev/urandom >"$ram/version"
        md5sum <"$ram/version" >>"$ram/versions"
        on A dd if="$ram/version" of="$mnt/versions" bs=100000 conv=notrunc,fsync status=none
    done
}

# A reader on the other node sees whole versions, and calls nothing damaged.
read_beside() {
    local i whole=0 writer digest
    mount_up -o io=direct
    rm -f "$ram/enough" "$ram/versions"
    write_versions &
    writer=$!
    until_true 60 on B "$BALEFS" cat "$rig/B/fs/store/versions" || fail "B sees nothing"
    for ((i = 1; i <= reads; i++)); do
        phase="read $i"
        if on B "$BALEFS" cat "$rig/B/fs/store/versions" >"$ram/seen" 2>"$rig/log/seen"; then
            whole=$((whole + 1))
            digest=$(md5sum <"$ram/seen")
            grep -qxF "$digest" "$ram/versions" || fail "$(wc -c <"$ram/seen") bytes of no version"
        else
            cat "$rig/log/seen" >>"$ram/refusals"
        fi
    done
    : >"$ram/enough"
    wait "$writer" || fail "the writer failed"
    mount_down
    say "$reads reads beside $(wc -l <"$ram/versions") writes: $whole whole; refusals:"
    [ ! -s "$ram/refusals" ] || sed 's/^.*versions: //' "$ram/refusals" | sort | uniq -c
    ! grep -qs damaged "$ram/refusals" || fail "a reader beside a writer says damaged"
}

rig_begin
trap rig_end EXIT
trap 'exit 143' INT TERM HUP
fs_up "$what"
say "seed $seed, $("$BALEFS" --version)"
on A "$BALEFS" init "$store" || fail init
coproc WORKER { exec nsenter -t "$(cat "$rig/A.pid")" -n -u -m -- "$power" "$mnt" "$store" "$seed"; }
RANDOM=$seed
kill_clients
for ((cut = 1; cut <= cuts; cut++)); do
    phase="cut $cut"
    cut_network
done
say "the network was cut $cuts times: nothing was acknowledged that was lost"
import_and_kill
read_beside
phase="end"
fsck A
fsck B
say "done, seed $seed, the slowest mount $slowest ms"
