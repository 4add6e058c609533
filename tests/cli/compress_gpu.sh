#!/usr/bin/env bash
# balefs compress and decompress with --engine: with a GPU that is none (tests/support/fake_gpu.c), with one that fails,
# and without.
# usage: compress_gpu.sh PLUGIN
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

plugin=${1:?usage: compress_gpu.sh PLUGIN}
cd "$work"
install_alone

: >empty
printf x >one
seq 1 900000 >numbers # 6188895 bytes
{
    head -c 3000000 numbers
    head -c 1000000 /dev/zero
    head -c 3000000 /dev/urandom
} >mixed
truncate -s 40M holes

# both FILE OPTION...: every engine makes the same stream of it, and gets FILE back
both() {
    local file=$1 engine
    shift
    "$balefs" compress -c "$@" "$file" >expected.bale
    for engine in gpu auto; do
        run 0 compress --engine "$engine" -f -o out.bale "$@" "$file"
        is "" "$err" "what compress --engine $engine says"
        cmp out.bale expected.bale || fail "--engine $engine $*: $file: another stream"
        run 0 decompress --engine "$engine" -f -o back out.bale
        is "" "$err" "what decompress --engine $engine says"
        cmp back "$file"
        # shellcheck disable=SC2094 # it is only read
        "$balefs" compress --engine "$engine" "$@" <"$file" | "$balefs" decompress --engine="$engine" | cmp - "$file"
    done
}

# Usage.
for command in compress decompress; do
    fails 2 "--engine fpga: it is auto, cpu or gpu: see balefs $command --help" $command --engine fpga numbers
done

# --- without a GPU
for command in compress decompress; do
    run 1 $command --engine gpu numbers
    says '^balefs: --engine gpu: libbalefs_cuda\.so: .*: balefs doctor shows what this machine lacks$'
done
[ ! -e numbers.bale ] || fail "there is a numbers.bale"
run 0 compress --engine auto numbers
is "" "$err" "what compress --engine auto says"
run 0 decompress --engine cpu -c numbers.bale
cmp .out numbers

# --- with one
cp "$plugin" usr/lib/balefs/libbalefs_cuda.so
names=$(codecs 'c["codec"]' 'c["default"]')
for codec in $names; do
    for file in empty one numbers mixed holes; do
        both "$file" --codec "$codec"
    done
done
both mixed --codec culzss --extent 16K --chunk 4K
both mixed --codec culzss --extent 64M --chunk 1M
run 0 decompress -t --engine gpu out.bale

# --- which fails, in whole or in part, or damages nothing that is not damaged already
for fault in batch batch=2 item=3 again=2 lost=1 corrupt pin=1 lacks; do
    BALE_FAKE_GPU=$fault run 0 compress --engine gpu -f --codec culzss -o out.bale mixed
    BALE_FAKE_GPU=$fault run 0 decompress --engine gpu -f -o back out.bale
    cmp back mixed
done
# Its memory may be written to late: that file is given up, and the next one is the CPU's.
BALE_FAKE_GPU=late=1 run 1 compress --engine gpu -f --codec culzss mixed numbers
says '^balefs: mixed: the GPU does not answer: try --engine cpu$'
run 0 decompress -f -o back numbers.bale
cmp back numbers
BALE_FAKE_GPU=open fails 1 "--engine gpu: no device: BALE_FAKE_GPU says so: balefs doctor shows what this machine lacks" \
    compress --engine gpu -f mixed
BALE_FAKE_GPU=open run 0 compress --engine auto -f mixed
printf '\377' | dd of=mixed.bale bs=1 seek=200000 conv=notrunc status=none
run 1 decompress --engine gpu -t mixed.bale
says '^balefs: mixed\.bale: byte [0-9]+: the frame is damaged: '
