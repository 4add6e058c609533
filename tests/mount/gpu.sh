#!/usr/bin/env bash
# A GPU engine that does all kinds of things wrong (tests/support/fake_gpu.c), while random operations run in a mount
# and in a plain directory: they stay alike, the log has one line about it, and without the GPU all is there.
# usage: gpu.sh MODEL PLUGIN OLD-PLUGIN, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

model=${1:?usage: gpu.sh MODEL PLUGIN OLD-PLUGIN}
plugin=${2:?} old=${3:?}
seed=$((RANDOM * 32768 + RANDOM))
mount_begin gpu
store=$work/store mnt=$work/mnt plain=$work/plain beside=$work/usr/lib/balefs/libbalefs_cuda.so
mkdir -p "$mnt" "$plain" "$work/usr/bin" "$work/usr/lib/balefs" "$work/elsewhere"
# As installed: the program looks for its plug-in beside itself.
cp "$BALEFS" "$work/usr/bin/balefs"
BALEFS=$work/usr/bin/balefs
"$BALEFS" init "$store" || fail "init"

# lines PATTERN: how many the log has since the mount began
lines() { tail -n "+$begin" "$work/log" | grep -cE "$1" || true; }

# up FAULTS OPTIONS...: mounted, and the GPU engine open or given up
up() {
    begin=$(($(wc -l <"$work/log") + 1))
    export BALE_FAKE_GPU=$1
    shift
    mount_up "$store" "$mnt" "$@"
    gpu_decided $((begin - 1))
}

# gpu FIGURE: of the mount
gpu() { gpu_figure "$mnt" "$1"; }

# work_on WHAT: random operations and a large file, compared also without caches
work_on() {
    local large=t$((seed % 4))/large
    seed=$((seed + 1))
    say "$1: seed $seed"
    cp "$work/data" "$mnt/$large" || fail "$1: cp to $large"
    cp "$work/data" "$plain/$large"
    "$model" round --seed "$seed" --operations 400 "$mnt" "$plain" || fail "$1: model round --seed $seed"
    "$BALEFS" sync "$mnt"
    drop_caches "$mnt"
    "$model" compare "$mnt" "$plain" || fail "$1: seed $seed: without caches"
}

# without_it WHAT: what was stored is read by the CPU alone
without_it() {
    mount_down "$mnt"
    fsck_clean "$store"
    mount_up "$store" "$mnt" -o engine=cpu,ro
    "$model" compare "$mnt" "$plain" || fail "$1: without the GPU"
    mount_down "$mnt"
}

(cat "$model" "$plugin" && head -c 2097152 "$BALEFS" && seq "$seed" "$((seed + 250000))") >"$work/data"
mount_up "$store" "$mnt" -o engine=cpu
mkdir "$mnt"/t{0..3} "$plain"/t{0..3}
setfattr -n user.balefs.codec -v lz4 "$mnt/t1"
setfattr -n user.balefs.codec -v auto "$mnt/t2"
setfattr -n user.balefs.extent -v 1M "$mnt/t2"
setfattr -n user.balefs.codec -v auto:for=speed "$mnt/t3"
mount_down "$mnt"

all_codecs=$(codecs 'c["codec"]' 'c["codec"] != "auto" and c["gpu"]' | paste -sd, | sed 's/,/, /g')

# --- it opens: what it does, does wrong, or leaves, is no difference
cp "$plugin" "$beside"
for faults in "" slow=300000 delay=20000 item=3 item corrupt batch=2 late=4 pin=1; do
    up "$faults" -o engine=gpu,memory=256M,age=0.1,log_level=debug
    [ "$(lines 'info: GPU: Fake GPU: open$')" = 1 ] || fail "'$faults': the log does not say that it is open"
    work_on "$faults"
    [ "$(lines 'debug: GPU: open after [0-9.]+ ms: .*; first range pinned after .*, first batch done after ')" = 1 ] ||
        fail "'$faults': the log does not have the timeline once"
    [ "$(gpu used)" = True ] || fail "'$faults': it is no longer used"
    [ "$(gpu device)" = "Fake GPU" ] || fail "'$faults': its name: $(gpu device)"
    [ "$(gpu batches)" -gt 0 ] || fail "'$faults': it had nothing to do"
    "$BALEFS" stat "$mnt" | grep -A 1 '^gpu      .*, in [0-9]* pieces$' | grep -qE '^ +[0-9]+ batches; ' || fail "'$faults': stat says nothing of it"
    "$BALEFS" stat "$mnt" | grep -qx "         for $all_codecs" || fail "'$faults': stat does not say for what"
    case $faults in
    "" | slow=* | delay=* | pin=*)
        [ "$(gpu encoded)" -gt 0 ] || fail "'$faults': it has encoded nothing"
        [ "$(gpu decoded)" -gt 0 ] || fail "'$faults': it has decoded nothing"
        [ "$(gpu pinned)" -ge 33554432 ] || fail "'$faults': $(gpu pinned) bytes are pinned"
        ;;
    late=*)
        [ "$(lines ' info: GPU: Fake GPU: given up: a batch to encode$')" -gt 0 ] || fail "'$faults': nothing was given up as it was encoded"
        [ "$(lines ' info: GPU: Fake GPU: given up: a batch to decode$')" -gt 0 ] || fail "'$faults': nothing was given up as it was decoded"
        ;;
    corrupt) [ "$(gpu decoded)" = 0 ] || fail "'$faults': it has decoded" ;;
    *) [ "$(gpu redone)" -gt 0 ] || fail "'$faults': nothing was done again" ;;
    esac
    [ "$(lines ' (warning|error): ')" = 0 ] || fail "'$faults': complaints in the log"
    without_it "$faults"
done

# --- a signal gives it back, and the next batch takes it again
up "" -o engine=gpu,memory=256M,age=0.1,gpu-idle=1h
[ "$(gpu open)" = True ] || fail "it is not open"
kill -USR1 "$daemon"
until [ "$(gpu open)" = False ]; do sleep 0.1; done
[ "$(lines ' info: .*: received SIGUSR1: the GPU is given back once it is idle$')" = 1 ] || fail "the log does not have SIGUSR1"
"$BALEFS" stat "$mnt" | grep -q '^         Fake GPU, closed while it is idle,$' || fail "stat does not say that it is closed"
work_on "after SIGUSR1"
[ "$(gpu open)" = True ] || fail "no batch has opened it again"
[ "$(gpu kept)" = False ] || fail "a context alone is shown"
without_it "after SIGUSR1"

# --- its memory is full as the mount begins: it is tried again as work comes
up full=2 -o engine=gpu,memory=256M,age=0.1
[ "$(lines ' warning: GPU: its memory is full: the CPU does everything: later work tries it again$')" = 1 ] ||
    fail "full: the log does not say so"
[ "$(gpu used)" = False ] || fail "full: it is used"
until [ "$(gpu used)" = True ]; do
    cp "$work/data" "$mnt/t0/again" || fail "full: cp"
    sleep 0.1
done
rm "$mnt/t0/again"
work_on "full=2"
[ "$(gpu encoded)" -gt 0 ] || fail "full: it has encoded nothing"
[ "$(lines ' (warning|error): ')" = 1 ] || fail "full: more complaints in the log"
without_it "full=2"

# --- it fails for good: one line, and the CPU goes on
for faults in batch hang=200000 lost=2; do
    up "$faults" -o engine=gpu,memory=256M,age=0.1
    work_on "$faults"
    [ "$(gpu used)" = False ] || fail "$faults: it is still used"
    [ "$(lines ' error: GPU: .*: the CPU does everything until the next mount: ')" = 1 ] || fail "$faults: the log does not say so once"
    [ "$(lines ' (warning|error): ')" = 1 ] || fail "$faults: more complaints in the log"
    without_it "$faults"
done

# --- its driver hangs, or it never comes back from writing: the mount ends all the same, with one line, and everything is
# stored
for faults in pin-hangs end-hangs open-hangs late=3,late-hangs,end-hangs; do
    if [ "$faults" = open-hangs ]; then
        begin=$(($(wc -l <"$work/log") + 1))
        BALE_FAKE_GPU=$faults mount_up "$store" "$mnt" -o engine=gpu,memory=256M,age=0.1
    else
        up "$faults" -o engine=gpu,memory=256M,age=0.1
    fi
    work_on "$faults"
    without_it "$faults"
    [ "$(lines ' warning: GPU: the driver does not answer: it is left to itself as the mount ends: ')" = 1 ] ||
        fail "$faults: the log does not say so once"
    [ "$(lines ' (warning|error): ')" = 1 ] || fail "$faults: more complaints in the log"
done

# --- the daemon is killed with batches under way
up delay=300000 -o engine=gpu,memory=256M,age=0.1
cp "$work/data" "$mnt/t0/under_way"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null || true
daemon=
umount "$mnt"
mount_up "$store" "$mnt" -o engine=cpu
rm -f "$mnt/t0/under_way"
"$model" compare "$mnt" "$plain" || fail "after the kill"
mount_down "$mnt"

# --- mount ends when it is open, and also when it never opens
for faults in slow=200000 open-hangs; do
    BALE_FAKE_GPU=$faults "$BALEFS" mount -o memory=256M "$store" "$mnt" 2>>"$work/err" || fail "$faults: mount"
    used=$(gpu used)
    "$BALEFS" umount "$mnt" || fail "$faults: umount"
    case $faults in
    slow=*) [ "$used" = True ] || fail "$faults: mount has not waited" ;;
    *) [ "$used" = False ] || fail "$faults: it is open" ;;
    esac
done

# --- it cannot be opened: the mount works, and the log says why
# refused FAULTS OPTIONS REASON
refused() {
    local advice=
    [ "$2" = engine=auto ] || advice=': balefs doctor shows what this machine lacks'
    up "$1" -o "$2"
    cp "$work/data" "$mnt/t0/large" || fail "$3: cp"
    cmp "$work/data" "$mnt/t0/large" || fail "$3: cmp"
    [ "$(lines "$3: the CPU does everything$advice$")" = 1 ] || fail "$3: not in the log"
    [ "$(gpu used)" = False ] || fail "$3: it is used"
    mount_down "$mnt"
}
refused open engine=gpu ' warning: GPU: no device: BALE_FAKE_GPU says so'
refused open engine=auto ' info: GPU: no device: BALE_FAKE_GPU says so'
refused environment engine=gpu ' warning: GPU: cache disabled 1, priority 1, queues 4'
CUDA_CACHE_DISABLE=0 CUDA_MPS_CLIENT_PRIORITY=0 CUDA_DEVICE_MAX_CONNECTIONS=2 refused environment engine=gpu \
    ' warning: GPU: cache disabled 0, priority 0, queues 2'
cp "$old" "$beside"
refused "" engine=gpu ' warning: GPU: libbalefs_cuda.so: is of another version of balefs: its interface is 0, not [0-9]*'
echo "no library" >"$beside"
refused "" engine=gpu " warning: GPU: $beside: .*"
rm "$beside"

# --- never from the working directory
cp "$plugin" "$work/elsewhere/libbalefs_cuda.so"
cd "$work/elsewhere"
refused "" engine=gpu ' warning: GPU: libbalefs_cuda.so: .*'
export LD_LIBRARY_PATH=
refused "" engine=gpu ' warning: GPU: libbalefs_cuda.so: .*'
export LD_LIBRARY_PATH=/usr/lib::.
refused "" engine=gpu ' warning: GPU: libbalefs_cuda.so: not looked for: LD_LIBRARY_PATH has a part that is no absolute path'
unset LD_LIBRARY_PATH
cd "$work"
cp "$work/data" "$plain/t0/large"
fsck_clean "$store"
reader_clean "$store" --compare "$plain"
say "seed $seed"
