#!/usr/bin/env bash
# The library as a user has it: installed, found with pkg-config, shared and static, from C and C++; it shows the
# names of its interface and no others; and it and the command understand each other.
# usage: library.sh VERSION SANITIZERS
set -euo pipefail
version=$1
flags=(-Wall -Wextra -Wpedantic -Werror ${2:+-fsanitize="$2"})
here=$(cd "$(dirname "$0")" && pwd)
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
read -ra use_static <<<"$(config --static --cflags --libs)"
cc -std=c99 "${flags[@]}" "$here/program.c" -o "$work/shared" "${use[@]}"
cc -std=c99 "${flags[@]}" "$here/program.c" -o "$work/static" "${use_static[@]/#-lbalefs/-l:libbalefs.a}"
readelf -d "$work/shared" | grep -q libbalefs.so || fail "the program does not use the shared library"
! readelf -d "$work/static" | grep -q libbalefs.so || fail "the program uses the shared library"
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
for data in empty one random sources zeros; do
    for codec in auto lz4 zstd:3 store; do
        for program in shared static; do
            "$work/$program" "$codec" "$work/$data" "$work/$program.bale" "$version" || fail "$program: $data as $codec"
        done
        cmp "$work/shared.bale" "$work/static.bale"
        "$BALEFS" compress --codec "$codec" -c "$work/$data" | cmp - "$work/shared.bale" ||
            fail "the command's stream is another: $data as $codec"
        "$BALEFS" decompress -c "$work/shared.bale" | cmp - "$work/$data"
    done
done
! "$work/shared" gzip "$work/one" "$work/out" "$version" 2>"$work/err" || fail "gzip"
grep -q '^program: invalid argument: There is no codec "gzip". ' "$work/err" || fail "$(cat "$work/err")"
