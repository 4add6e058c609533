#!/usr/bin/env bash
# Several mounts on one GPU that jobs have filled: while there is no share for them they go on without it, and as jobs end
# each gets one. None fails.
# usage: share.sh PLUGIN [FILLER], with BALEFS and BALE_SOURCE in the environment
# FILLER is a job on a GPU (kernels/cuda/filler.cu); without it PLUGIN has the device of tests/cuda/fake_device.c.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

plugin=${1:?usage: share.sh PLUGIN [FILLER]} filler=${2:-}
mounts=3
# MiB that are free beside both jobs, and beside one: a share has 2 GiB at least, or half of what is free.
none=1000 two=5120
mount_begin share
mkdir -p "$work/usr/bin" "$work/usr/lib/balefs"
cp "$BALEFS" "$work/usr/bin/balefs"
cp "$plugin" "$work/usr/lib/balefs/libbalefs_cuda.so"
BALEFS=$work/usr/bin/balefs
daemons=()
jobs=() # those that hold memory of a GPU

# job_begin MIB: a job that leaves so much
job_begin() {
    if [ -z "$filler" ]; then
        echo $(($1 << 20)) >"$BALE_FAKE_ROOM"
        return
    fi
    "$filler" hold "$1" >"$work/job$1" 2>>"$work/err" &
    jobs+=($!)
    until grep -qsx held "$work/job$1"; do
        kill -0 "${jobs[-1]}" 2>/dev/null || skip "no GPU: $(tail -n 1 "$work/err")"
        sleep 0.1
    done
}

# job_end MIB: the last job ends, which gives back so much. A mount may take or give at the same time.
job_end() {
    if [ -z "$filler" ]; then
        flock "$BALE_FAKE_ROOM" /usr/bin/python3 -S -c 'import sys
with open(sys.argv[1], "r+") as room:
    free = int(room.read()) + (int(sys.argv[2]) << 20)
    room.seek(0)
    room.write(f"{free}\n")' "$BALE_FAKE_ROOM" "$1"
        return
    fi
    kill "${jobs[-1]}"
    wait "${jobs[-1]}" || true
    unset 'jobs[-1]'
}

# burst I: a mount gets a file, which is stored and read again
burst() {
    local file=$work/mnt$1/file
    cp "$work/data$1" "$file" || fail "mount $1: cp"
    "$BALEFS" sync "$work/mnt$1" || fail "mount $1: sync"
    drop_caches "$work/mnt$1"
    cmp "$work/data$1" "$file" || fail "mount $1: not what was written"
}

# bursts: in all mounts at once
bursts() {
    local i pids=()
    for ((i = 0; i < mounts; i++)); do
        burst "$i" &
        pids+=($!)
    done
    for i in "${pids[@]}"; do
        wait "$i" || fail "a burst failed"
    done
}

# served: for how many mounts the GPU has encoded some
served() {
    local i count=0
    for ((i = 0; i < mounts; i++)); do
        [ "$(gpu_figure "$work/mnt$i" encoded)" = 0 ] || count=$((count + 1))
    done
    echo "$count"
}

# --- no share for any of them: the log says what is missing, and the CPU does everything
[ -n "$filler" ] || export BALE_FAKE_ROOM=$work/room
job_begin "$two"
job_begin "$none"
for ((i = 0; i < mounts; i++)); do
    mkdir "$work/mnt$i"
    seq "$i" 7 28000000 >"$work/data$i"
    "$BALEFS" init "$work/store$i" || fail "init"
    begin=$(wc -l <"$work/log")
    mount_up "$work/store$i" "$work/mnt$i" -o engine=auto,memory=256M,age=0.1
    daemons+=("$daemon")
    gpu_decided "$begin"
    "$BALEFS" set "$work/mnt$i" gpulz || fail "set"
    grep -qE "\[$daemon\] info: GPU: .*: [0-9]+ MiB of its memory are free, and [0-9]+ would be taken: the CPU does everything: later work tries it again$" "$work/log" ||
        fail "the log does not say what mount $i lacks"
done
bursts
[ "$(served)" = 0 ] || fail "a mount has a share"

# --- a job ends: two shares
job_end $((two - none))
until [ "$(served)" -ge 2 ]; do bursts; done

# --- the other one ends: a share for each
job_end 32768
until [ "$(served)" = "$mounts" ]; do bursts; done
for ((i = 0; i < mounts; i++)); do
    [ "$(gpu_figure "$work/mnt$i" used)" = True ] || fail "mount $i no longer uses it"
    say "mount $i: the GPU has encoded $(gpu_figure "$work/mnt$i" encoded) bytes, and decoded $(gpu_figure "$work/mnt$i" decoded)"
done
# One mount may have taken what another one had given back between two bursts; nvCOMP, or memory for it, may be missing.
if grep -E ' (warning|error): ' "$work/log" | grep -vE ': the CPU does everything until there is more$| stays? with the CPU'; then
    fail "complaints in the log"
fi
for ((i = 0; i < mounts; i++)); do
    daemon=${daemons[i]}
    mount_down "$work/mnt$i"
    fsck_clean "$work/store$i"
done
