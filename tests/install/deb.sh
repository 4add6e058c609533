#!/usr/bin/env bash
# The Debian package: what it says, how it is made, that it works when it lies over /usr, and leaves nothing behind.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
grep -q '"DEB"' "$build/CPackConfig.cmake" || skip "this build makes no Debian package"
for tool in dpkg-deb dpkg-shlibdeps file; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
done

(cd "$work" && "$cpack" --config "$build/CPackConfig.cmake" -B "$work/packages") >"$work/log" 2>&1 || fail "cpack: $(cat "$work/log")"
deb=$(ls "$work"/packages/*.deb)
is "balefs_$(dpkg-deb -f "$deb" Version)_$(dpkg --print-architecture).deb" "${deb##*/}" "the package's name"
depends=$(dpkg-deb -f "$deb" Depends)
needs=(fuse3 libc6 liblz4-1 libjansson4)
case $(zstd_choice) in
system) needs+=(libzstd1) ;;
bundled) ! grep -q libzstd <<<"$depends" || fail "has a libzstd and depends on another: $depends" ;;
*) fail "BALEFS_ZSTD is $(zstd_choice)" ;;
esac
for need in "${needs[@]}"; do
    grep -Eq "(^|, )$need( |,|$)" <<<"$depends" || fail "does not depend on $need: $depends"
done
is "transparent compressed file system" "$(dpkg-deb -f "$deb" Description | head -n 1)" "the description's first line"

root=$work/root
dpkg-deb -x "$deb" "$root"
dpkg-deb -e "$deb" "$work/control"
has_all "$root/usr"
knows_no_place "$root/usr/bin/balefs"
is "" "$(nm "$root/usr/bin/balefs" 2>/dev/null)" "symbols: it is not stripped"
is "" "$(find "$root" -name '*.so.*' ! -type l -exec nm {} + 2>/dev/null)" "symbols of the library: it is not stripped"
is "" "$(objdump -h "$(find "$root" -name libbalefs.a)" | grep debug)" "what is for debugging, in the static library"
is "libbalefs 0 balefs (= $(dpkg-deb -f "$deb" Version))" "$(cat "$work/control/shlibs")" "what programs with the library depend on"
is usr "$(ls -A "$root")" "what is beside /usr"
is "" "$(dpkg-deb -c "$deb" | grep -v ' root/root ')" "files that are not root's"
is "" "$(find "$root" ! -type l \( -perm /7022 -o ! -perm -444 \))" "odd permissions"
is "" "$(find "$root" -type f -perm /111 ! -path '*/bin/*' ! -path '*/lib/balefs/bale_gpu_filler')" "programs that are none"
for file in copyright changelog.gz; do
    [ -s "$root/usr/share/doc/balefs/$file" ] || fail "no $file"
done
is "" "$(find "$root/usr/share/man" -type f ! -name '*.gz')" "manual pages that are not compressed"
(cd "$root" && md5sum --quiet -c "$work/control/md5sums") || fail "checksums"

needs_root
needs_fuse
# shellcheck disable=SC2016 # for the inner shell
over_usr "$root" '
    balefs init "$1/store"
    mkdir "$1/mnt"
    mount -t balefs "$1/store" "$1/mnt"
    echo kept >"$1/mnt/kept"
    umount "$1/mnt"
    balefs fsck --data "$1/store" >/dev/null
    ! command -v man >/dev/null || man -w balefs-mount mount.balefs >/dev/null
' bash "$work" || { [ $? != 77 ] || skip "there is no overlay file system"; fail "does not work over /usr"; }

# Installed and removed for true, in a database of its own: what it depends on is not asked. ldconfig would be the
# machine's, so another stands in for it.
mkdir "$work/bin"
printf '#!/bin/sh\necho called >>"%s"\n' "$work/ldconfig" >"$work/bin/ldconfig"
chmod 755 "$work/bin/ldconfig"
PATH=$work/bin:$PATH
mkdir -p "$work/system/var/lib/dpkg"/{info,updates} "$work/system/usr"
: >"$work/system/var/lib/dpkg/status"
: >"$work/system/var/lib/dpkg/available"
dpkg --root="$work/system" --force-depends --force-script-chrootless --log=/dev/null -i "$deb" >"$work/log" 2>&1 || fail "dpkg -i: $(cat "$work/log")"
has_all "$work/system/usr"
is called "$(cat "$work/ldconfig")" "ldconfig when installed"

# Installed again, as by an upgrade, and removed while a mount is alive: the daemon goes on, and what is written is kept.
cp "$root/usr/bin/balefs" "$work/balefs"
balefs=$work/system/usr/bin/balefs
run 0 init "$work/live"
mkdir "$work/live_mnt"
run 0 mount --log "$work/daemon" "$work/live" "$work/live_mnt"
daemon=$(process "$work/live_mnt")
echo before >"$work/live_mnt/before"
dpkg --root="$work/system" --force-depends --force-script-chrootless --log=/dev/null -i "$deb" >"$work/log" 2>&1 || fail "dpkg -i again: $(cat "$work/log")"
lives "$daemon" || fail "the upgrade ended the daemon"
echo upgraded >"$work/live_mnt/upgraded"
run 0 sync "$work/live_mnt"
dpkg --root="$work/system" --force-script-chrootless --log=/dev/null -P balefs >"$work/log" 2>&1 || fail "dpkg -P: $(cat "$work/log")"
is "" "$(find "$work/system/usr" -mindepth 1)" "left behind"
lives "$daemon" || fail "the removal ended the daemon"
echo removed >"$work/live_mnt/removed"
is "before upgraded removed" "$(cat "$work/live_mnt/before" "$work/live_mnt/upgraded" "$work/live_mnt/removed" | paste -sd' ')" "a mount whose package is gone"
umount "$work/live_mnt"
soon unlocked "$work/live" || fail "the daemon does not end"
balefs=$work/balefs
run 0 fsck --data "$work/live"
run 0 cat "$work/live/removed"
is removed "$out" "what was written after the removal"
