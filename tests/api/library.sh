#!/usr/bin/env bash
# The library as a user has it: installed, found with pkg-config, shared and static, from C and C++; it shows the
# names of its interface and no others; and it and the command understand each other. The static one takes the libzstd
# it is linked with: the system's does where the build has one of its own.
# A GPU's plug-in is found beside the shared one.
# usage: library.sh VERSION PLUGIN SANITIZERS
set -euo pipefail
version=$1
plugin=$2
flags=(-Wall -Wextra -Wpedantic -Werror ${3:+-fsanitize="$3"})
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../support/codecs.sh
. "$here/../support/codecs.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    printf 'library: %s\n' "$*" >&2
    exit 1
}

cmake --install "$BALE_BUILD" --component library --prefix "$work/usr" >"$work/log" || fail "$(cat "$work/log")"
lib=$(dirname "$(find "$work/usr" -name libbalefs.a)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
config() { pkg-config "$@" balefs; }

# The list, the header, both libraries: the same names.
names=$(sort "$BALE_SOURCE/kernels/api/symbols")
header=$(grep -oE 'bale_[a-z_]+\(' "$work/usr/include/balefs.h" | tr -d '(' | sort -u)
shared=$(nm -D --defined-only "$lib/libbalefs.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort)
static=$(nm -g --defined-only "$lib/libbalefs.a" | awk 'NF == 3 { print $3 }' | grep -v '^_*[aotl]san' | sort)
[ "$header" = "$names" ] || fail "the header declares: $header"
[ "$shared" = "$names" ] || fail "the shared library shows: $shared"
[ "$static" = "$names" ] || fail "the static library shows: $static"
[ "$(config --modversion)" = "$version" ] || fail "balefs.pc says version $(config --modversion)"
readelf -d "$lib/libbalefs.so" | grep -q "SONAME.*\[libbalefs.so.${version%%.*}\]" || fail "soname"

read -ra use <<<"$(config --cflags --libs)"
cc -std=c99 "${flags[@]}" "$here/program.c" -o "$work/shared" "${use[@]}"
readelf -d "$work/shared" | grep -q libbalefs.so || fail "the program does not use the shared library"

# link_static NAME: with the libzstd that pkg-config finds
link_static() {
    local use
    read -ra use <<<"$(config --static --cflags --libs)"
    cc -std=c99 "${flags[@]}" "$here/program.c" -o "$work/$1" "${use[@]/#-lbalefs/-l:libbalefs.a}"
    ! readelf -d "$work/$1" | grep -q libbalefs.so || fail "the program uses the shared library"
}
choice=$(sed -n 's/^BALEFS_ZSTD:STRING=//p' "$BALE_BUILD/CMakeCache.txt")
programs=(shared static)
case $choice in
system) link_static static ;;
bundled)
    PKG_CONFIG_PATH=$PKG_CONFIG_PATH:$BALE_SOURCE/build/deps/libzstd/lib/pkgconfig link_static static
    ! readelf -d "$work/static" | grep -q libzstd.so || fail "the program uses the system's libzstd"
    link_static system
    readelf -d "$work/system" | grep -q libzstd.so || fail "the program does not use the system's libzstd"
    programs+=(system)
    ;;
*) fail "BALEFS_ZSTD is $choice" ;;
esac
if command -v c++ >/dev/null; then
    printf '#include <balefs.h>\nint main() { return bale_version() == 0; }\n' >"$work/main.cc"
    c++ "${flags[@]}" "$work/main.cc" -o "$work/cxx" "${use[@]}"
    "$work/cxx" || fail "from C++"
fi

: >"$work/empty"
printf x >"$work/one"
head -c 100000 /dev/urandom >"$work/random"
cat "$BALE_SOURCE"/*/*.[ch] >"$work/sources"
head -c 1000000 /dev/zero >"$work/zeros"
settings=$(default_settings)
for data in empty one random sources zeros; do
    for codec in $settings auto auto:for=speed zstd:3 gpulz:s=2 culzss:v=1 store; do
        for program in "${programs[@]}"; do
            "$work/$program" "$codec" "$work/$data" "$work/$program.bale" "$version" || fail "$program: $data as $codec"
        done
        cmp "$work/shared.bale" "$work/static.bale"
        "$BALEFS" compress --codec "$codec" -c "$work/$data" | cmp - "$work/shared.bale" ||
            fail "the command's stream is another: $data as $codec"
        for program in "${programs[@]}"; do
            "$BALEFS" decompress -c "$work/$program.bale" | cmp - "$work/$data"
        done
    done
done
err=$("$work/shared" store "$work/one" "$work/out" "$version" gpu 2>&1) && fail "a GPU without a plug-in"
grep -q '^program: .*: No GPU can be used: libbalefs_cuda.so: ' <<<"$err" || fail "$err"
mkdir "$lib/balefs"
cp "$plugin" "$lib/balefs/libbalefs_cuda.so"
"$BALEFS" compress --codec culzss -c "$work/sources" >"$work/sources.bale"
for engine in cpu gpu auto; do
    "$work/shared" culzss "$work/sources" "$work/out" "$version" "$engine" || fail "engine $engine"
    cmp "$work/out" "$work/sources.bale"
done
! "$work/shared" gzip "$work/one" "$work/out" "$version" 2>"$work/err" || fail "gzip"
grep -q '^program: invalid argument: There is no codec "gzip". ' "$work/err" || fail "$(cat "$work/err")"
