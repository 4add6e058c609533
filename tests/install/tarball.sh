#!/usr/bin/env bash
# The archive for users without root: needs nothing but the C library, and works where it is unpacked.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
[ -e "${BALE_SOURCE:?}/build/deps/libfuse/lib/libfuse3.a" ] || skip "there is no bundled libfuse: tools/setup --bundled-fuse"

# Only linking and packing differ from the build that is tested. Where that one has the same libraries, its objects are
# taken. Otherwise nothing is optimized, which takes most of the time. The plug-in, where there is nvcc, is packed and not
# run, so that PTX is enough.
options=(-G Ninja -DCMAKE_BUILD_TYPE=None -DBUILD_TESTING=OFF -DBALEFS_FUSE=bundled -DBALEFS_STATIC=ON
    -DCMAKE_CUDA_ARCHITECTURES=90-virtual "-DCMAKE_CUDA_FLAGS=-Xcicc -O0")
if [ "$(grep -cxE 'BALEFS_(FUSE|ZSTD):STRING=bundled|BALEFS_SANITIZE:STRING=' "$build/CMakeCache.txt")" = 3 ]; then
    export BALE_OBJECTS=$build
    options+=("-DCMAKE_C_COMPILER_LAUNCHER=$PWD/take_object" "-DCMAKE_CUDA_COMPILER_LAUNCHER=$PWD/take_object")
fi
"$cmake" -S "$BALE_SOURCE" -B "$work/build" "${options[@]}" >"$work/log" 2>&1 || fail "cmake: $(cat "$work/log")"
"$cmake" --build "$work/build" >"$work/log" 2>&1 || fail "building: $(tail -n 20 "$work/log")"
build=$work/build
"$cmake" --build "$build" >"$work/log" 2>&1 || fail "building: $(tail -n 20 "$work/log")"
(cd "$build" && "$cpack") >"$work/log" 2>&1 || fail "cpack: $(cat "$work/log")"
mkdir "$work/my programs"
tar -xzf "$build"/packages/balefs-*.tar.gz -C "$work/my programs"
top=$(echo "$work/my programs"/balefs-*)
has_all "$top"
knows_no_place "$top/bin/balefs"
has_zstd "$top/bin/balefs"
if [ -e "$BALE_SOURCE/build/deps/libzstd/version" ]; then
    is bundled "$(zstd_choice)" "the libzstd that is taken"
fi
[ -s "$top/share/doc/balefs/LICENSE" ] || fail "no licence"
linked=$(sed -nE 's/^pkgcfg_lib_[A-Z0-9]+_([a-z0-9]+):FILEPATH=.*[.]a$/\1/p' "$build/CMakeCache.txt" | grep -vE '^(pthread|rt|dl)$')
[ -n "$linked" ] || fail "nothing is linked statically"
for name in $linked; do
    name=${name/fuse3/fuse}
    grep -Eq "^(lib)?$name " "$top/share/doc/balefs/LIBRARIES" || fail "LIBRARIES lacks $name"
done

for file in bin/balefs "$(cd "$top" && find . -name libbalefs.so)"; do
    needed=$(readelf -d "$top/$file" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
    is "" "$(grep -vE '^(libc|libm|ld-linux[a-z0-9-]*)\.so' <<<"$needed" || true)" "libraries that $file needs"
    # Where the C library is no newer than Debian 12's, what is made with it runs with RHEL 9's too.
    version=$(getconf GNU_LIBC_VERSION | cut -d ' ' -f 2)
    if [ "$(printf '%s\n' "$version" 2.36 | sort -V | tail -n 1)" = 2.36 ]; then
        used=$(objdump -T "$top/$file" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
        is 2.34 "$(printf '%s\n' "${used#GLIBC_}" 2.34 | sort -V | tail -n 1)" "the C library that $file needs"
    fi
done

# As an ordinary user, without /dev/fuse.
balefs=$top/bin/balefs
mkdir -m 777 "$work/home"
as_user "$balefs" init "$work/home/store"
as_user sh -c "mkdir '$work/home/plain'; echo kept >'$work/home/plain/kept'"
as_user "$balefs" import "$work/home/plain" "$work/home/store" >/dev/null
is kept "$(as_user "$balefs" cat "$work/home/store/kept")" "what was imported"
as_user "$balefs" export --tar "$work/home/store" | tar -xO --wildcards '*kept' >"$work/kept" || fail "export --tar"
is kept "$(cat "$work/kept")" "what was exported"

needs_root
needs_fuse
mkdir "$work/mnt"
run 0 mount "$work/home/store" "$work/mnt"
is kept "$(cat "$work/mnt/kept")" "the same in a mount"
run 0 umount "$work/mnt"
