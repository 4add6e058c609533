# Sourced by the tests of installing and packing. $work is a directory that goes away, mounts included.
# shellcheck shell=bash disable=SC2034 # used by those who source it
# shellcheck source-path=SCRIPTDIR source=../cli/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
unset balefs # each test has its own
cmake=$(sed -n "s/^CMAKE_COMMAND:INTERNAL=//p" "${BALE_BUILD:?the build directory}/CMakeCache.txt")
cpack=${cmake%/*}/cpack
build=$BALE_BUILD

# has_all PREFIX: all that is to be installed is there
has_all() {
    local file page pages
    for file in bin/balefs sbin/mount.balefs sbin/mount.fuse.balefs sbin/umount.fuse.balefs sbin/fsck.balefs sbin/mkfs.balefs share/bash-completion/completions/balefs \
        share/doc/balefs/examples/mnt-scratch.mount share/doc/balefs/examples/fstab \
        share/doc/balefs/README.md share/doc/balefs/format/FORMAT.md share/doc/balefs/kernels/gpulz/spec.md; do
        [ -e "$1/$file" ] || fail "$file is not installed"
    done
    has_library "$1"
    pages=$(sed -nE 's/^ +([a-z.-]+\.[1-8])\)?$/\1/p' "${BALE_SOURCE:?}/tools/man/CMakeLists.txt")
    for page in $pages; do
        [ -e "$1/share/man/man${page##*.}/$page" ] || [ -e "$1/share/man/man${page##*.}/$page.gz" ] || fail "$page is not installed"
    done
}

# has_library PREFIX: the library for compression in memory, and what is needed to build with it
has_library() {
    local lib
    [ -e "$1/include/balefs.h" ] || fail "the header is not installed"
    lib=$(find "$1" -name libbalefs.so -printf '%h')
    [ -e "$lib/libbalefs.so" ] || fail "the shared library is not installed"
    [ -e "$lib/libbalefs.a" ] || fail "the static library is not installed"
    is "$(realpath "$1")" "$(PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --variable=prefix balefs | xargs realpath)" "the prefix in balefs.pc"
    knows_no_place "$(realpath "$lib/libbalefs.so")"
}

# knows_no_place FILE: no path of libraries, and of the build tree and the sources none but for debugging
knows_no_place() {
    ! readelf -d "$1" | grep -E 'R(UN)?PATH' || fail "$1 has a path for libraries"
    cp "$1" "$work/stripped"
    strip -g "$work/stripped"
    ! grep -aq "$build" "$work/stripped" || fail "$1 has the build directory in it"
}

# zstd_choice: system or bundled, as the build has it
zstd_choice() { sed -n 's/^BALEFS_ZSTD:STRING=//p' "$build/CMakeCache.txt"; }

# has_zstd PROGRAM: the libzstd that the build chose; one of its own it has for itself, not shared with libarchive
has_zstd() {
    local version
    case $(zstd_choice) in
    system) version=$(pkg-config --modversion libzstd) ;;
    bundled)
        version=$(cat "${BALE_SOURCE:?}/build/deps/libzstd/version")
        is "" "$(nm -D "$1" | grep -E ' (ZSTD|ZDICT|HUF|FSE)_')" "what $1 shows of its libzstd, or takes from another"
        ;;
    *) fail "BALEFS_ZSTD is $(zstd_choice)" ;;
    esac
    out=$("$1" doctor || true)
    prints "^  balefs .*, zstd $version,"
}

# over_usr ROOT SCRIPT ARGUMENT...: runs SCRIPT where ROOT/usr lies over /usr
over_usr() {
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount --propagation private -- bash -c '
        mount -t overlay overlay -o "lowerdir=$1/usr:/usr" /usr || exit 77
        shift
        exec bash -euo pipefail -c "$@"' bash "$@"
}
