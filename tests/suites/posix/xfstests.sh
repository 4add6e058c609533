#!/usr/bin/env bash
# xfstests' group generic/quick on mounts of balefs, as root. See README.md.
# usage: xfstests.sh DIR [TEST...], with BALEFS in the environment. DIR: a checkout, which is made and built if it is not
#        there. TEST: as generic/001; without one, all of the group.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/rig.sh"

dir=${1:?usage: xfstests.sh DIR [TEST...]}
shift
fetched "$dir" https://git.kernel.org/pub/scm/fs/xfs/xfstests-dev.git 63a29724
[ -x "$dir/ltp/fsstress" ] || make -s -C "$dir" >/dev/null || fail "$dir: cannot be built: see README.md for the packages"
# It knows mounts of the type "fuse" alone, and unmounts them by their source, which is a directory here.
grep -q 'fuse.balefs' "$dir/common/rc" ||
    sed -i -e 's|s/nfs4/nfs/|s/fuse.balefs/fuse/;&|' -e '/^_scratch_unmount()/,/^}/s/btrfs)/btrfs|fuse)/' \
        -e '/^_test_unmount()/,/^}/s/TEST_DEV/TEST_DIR/' "$dir/common/rc"
rig_begin
mkdir "$work/test" "$work/scratch"
for name in test scratch; do "$BALEFS" init "$work/backing/$name" || fail "no store"; done
cat >"$work/config" <<END
export FSTYP=fuse FUSE_SUBTYP=.balefs
export TEST_DEV=$work/backing/test TEST_DIR=$work/test
export SCRATCH_DEV=$work/backing/scratch SCRATCH_MNT=$work/scratch
export MOUNT_OPTIONS="-o memory=256M" TEST_FS_MOUNT_OPTS="-o memory=256M"
END
mount -t fuse.balefs -o memory=256M "$work/backing/test" "$work/test" || fail "cannot mount"

[ $# -gt 0 ] || set -- -g generic/quick
cd "$dir"
rm -f results/check.log
HOST_OPTIONS=$work/config ./check -fuse "$@" || true
judged "$(sed -n 's/^Failures: *//p' results/check.log)" "$(sed -n 's/^Ran: *//p' results/check.log)"
