#!/usr/bin/env bash
# A store that was written with one engine is read with another one, on this machine or on another.
# usage: carry.sh both PLUGIN              written with the GPU and read with the CPU, and the other way round
#        carry.sh write DIR ENGINE [PLUGIN]   DIR/store.tar.xz, and DIR/manifest of what is in it
#        carry.sh check DIR ENGINE [PLUGIN]
# ENGINE is gpu or cpu; PLUGIN the GPU's, in place of the one that BALEFS has. BALEFS and BALE_SOURCE are in the
# environment.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

usage="usage: carry.sh both PLUGIN | write DIR ENGINE [PLUGIN] | check DIR ENGINE [PLUGIN]"
order=${1:?$usage}
case $order in
both) plugin=${2:?$usage} strength=-0 ;;
write | check)
    dir=$(realpath -m "${2:?$usage}") engine=${3:?$usage} plugin=${4:-} strength=-9
    ;;
*) fail "$usage" ;;
esac
mount_begin carry
store=$work/store mnt=$work/mnt
mkdir "$mnt"
if [ -n "$plugin" ]; then
    mkdir -p "$work/usr/bin" "$work/usr/lib/balefs"
    cp "$BALEFS" "$work/usr/bin/balefs"
    cp "$plugin" "$work/usr/lib/balefs/libbalefs_cuda.so"
    BALEFS=$work/usr/bin/balefs
fi

# up ENGINE [OPTIONS]
up() {
    local begin
    begin=$(wc -l <"$work/log")
    mount_up "$store" "$mnt" -o "engine=$1,memory=256M${2:+,$2}"
    if [ "$1" = gpu ]; then
        gpu_decided "$begin"
        [ "$(gpu_figure "$mnt" used)" = True ] || skip "no GPU: $(grep ' GPU: ' "$work/log" | tail -n 1)"
    fi
}

# nothing_dirty: all that was written is stored
nothing_dirty() {
    local i
    for ((i = 0; i < 4000; i++)); do
        [ "$("$BALEFS" stat --json "$mnt" | /usr/bin/python3 -S -c 'import json, sys
print(json.load(sys.stdin)["mount"]["dirty"])')" != 0 ] || return 0
        sleep 0.1
    done
    fail "it is not stored by itself"
}

# in_manifest DIR: checksum and name of all files below it
in_manifest() { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 -r sha256sum); }

# write ENGINE DIR
write() {
    local line word
    rm -rf "$store"
    mkdir -p "$2"
    "$BALEFS" init "$store" || fail "init"
    up "$1" age=0.1
    coproc WRITER { exec /usr/bin/python3 "$BALE_SOURCE/tests/mount/carry.py" "$mnt"; }
    local writer=$WRITER_PID
    for word in written changed; do
        IFS= read -r line <&"${WRITER[0]}" || fail "carry.py ended"
        [ "$line" = "$word" ] || fail "carry.py: $line"
        nothing_dirty
        echo >&"${WRITER[1]}"
    done
    wait "$writer" || fail "carry.py: exit status $?"
    [ "$1" = cpu ] || [ "$(gpu_figure "$mnt" encoded)" -gt 0 ] || fail "the GPU has encoded nothing"
    in_manifest "$mnt" >"$2/manifest"
    mount_down "$mnt"
    tar -C "$work" --xattrs --xattrs-include='*' -cS store | xz "$strength" >"$2/store.tar.xz"
    [ "$strength" != -9 ] || [ "$(stat -c %s "$2/store.tar.xz")" -lt $((3 << 20)) ] ||
        fail "too large to be carried: $(ls -l "$2")"
    say "written with $1: $(wc -l <"$2/manifest") files, $(stat -c %s "$2/store.tar.xz") bytes"
}

# check ENGINE DIR
check() {
    rm -rf "$store"
    tar -C "$work" --xattrs --xattrs-include='*' -xJf "$2/store.tar.xz"
    fsck_clean "$store"
    reader_clean "$store"
    up "$1" ro
    drop_caches "$mnt"
    in_manifest "$mnt" >"$work/found"
    cmp "$work/found" "$2/manifest" || fail "read with $1: $(diff "$work/found" "$2/manifest" | head -n 5)"
    [ "$1" = cpu ] || [ "$(gpu_figure "$mnt" decoded)" -gt 0 ] || fail "the GPU has decoded nothing"
    mount_down "$mnt"
    say "read with $1: all is as it was written"
}

case $order in
both)
    write gpu "$work/by_gpu"
    check cpu "$work/by_gpu"
    write cpu "$work/by_cpu"
    check gpu "$work/by_cpu"
    cmp "$work/by_gpu/manifest" "$work/by_cpu/manifest" || fail "not the same files"
    ;;
*) "$order" "$engine" "$dir" ;;
esac
