#!/usr/bin/env bash
# balefs doctor and a GPU engine that finds all kinds of things (tests/support/fake_gpu.c).
# usage: doctor_gpu.sh PLUGIN OLD-PLUGIN
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

plugin=${1:?usage: doctor_gpu.sh PLUGIN OLD-PLUGIN} old=${2:?}
beside=$work/usr/lib/balefs/libbalefs_cuda.so
install_alone

# doctor FAULTS: whatever else this machine lacks
doctor() {
    BALE_FAKE_GPU=$1 "$balefs" doctor >"$work/.out" 2>"$work/.err" </dev/null || true
    out=$(cat "$work/.out")
    is "" "$(cat "$work/.err")" "doctor on stderr"
}

doctor ""
prints "^  GPU engine +libbalefs_cuda\.so: "
cp "$old" "$beside"
doctor ""
prints "^  GPU engine +libbalefs_cuda\.so: is of another version of balefs: its interface is 0, not [0-9]+: install the one "

cp "$plugin" "$beside"
doctor ""
prints "^  GPU engine +$beside: engine=auto takes GPU 1, Fake GPU, for what it does faster$"
prints "^  GPU 0 +Fake GPU, 80\.0 GiB of memory, unknown how much free, compute mode prohibited$"
prints "^  GPU 1 +Fake GPU, 80\.0 GiB of memory, 60\.0 GiB free, compute mode default$"
# gpu_codecs CONDITION: those that fulfil it, as doctor lists them
gpu_codecs() {
    codecs 'c["codec"] + (" to level %d" % c["gpu_most"] if c["gpu_most"] else "")' \
        "c['codec'] == 'store' or not c['built_in'] and $1" | paste -sd, | sed 's/,/, /g'
}
prints "^  codecs of GPUs +$(gpu_codecs "c['gpu']")$"
prints "^  nvCOMP +found: "
doctor lacks
prints "^  codecs of GPUs +$(gpu_codecs "c['gpu'] and not c['nvcomp']")$"
prints "^  nvCOMP +libfake.so.1 is not found: zstd and lz4 stay on the CPU: pip install nvidia-libnvcomp-cu13, "
doctor exclusive
prints "^  GPU engine +$beside: engine=auto leaves everything to the CPU: Fake GPU: its compute mode is exclusive: -o engine=gpu "
doctor find
prints "^  GPU engine +$beside: engine=auto leaves everything to the CPU: no driver: BALE_FAKE_GPU says so$"

# opened BALE_FAKE_GPU: what doctor --gpu says of it
opened() { out=$(BALE_FAKE_GPU=$1 "$balefs" doctor --gpu | grep '^  GPU opening ' || true); }
opened slow=20000
prints '^  GPU opening +open after [2-9][0-9.]+|[0-9]{3,}[0-9.]* ms: plug-in [0-9.]+, context ([2-9][0-9]|[0-9]{3,})[0-9.]*; first range pinned after [0-9.]+ ms, first batch taken after [0-9.]+ ms, first batch done after [0-9.]+ ms$'
opened open
prints '^  GPU opening +it does not open: no device: BALE_FAKE_GPU says so$'
opened batch
prints '^  GPU opening +it does not open: engine failed$'
doctor ""
is "" "$(grep 'GPU opening' <<<"$out" || true)" "opening, not asked for"

doctor find-hangs
prints "^  GPU engine +the driver does not answer within 20 s: "
doctor find-dies
prints "^! GPU engine +the process that queried the GPU crashed: mount with -o engine=cpu, "

out=$(BALE_FAKE_GPU=lacks "$balefs" doctor --json || true)
is "GPU engine fine None" "$(json '[(c["name"], c["finding"], c["advice"]) for c in d["checks"] if c["name"] == "GPU engine"][0]')" "engine, --json"
is note "$(json '[c["finding"] for c in d["checks"] if c["name"] == "nvCOMP"][0]')" "nvCOMP, --json"
