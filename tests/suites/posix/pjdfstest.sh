#!/usr/bin/env bash
# pjdfstest on a mount of balefs, as root. See README.md.
# usage: pjdfstest.sh DIR [TEST...], with BALEFS in the environment. DIR: a checkout, which is made and built if it is not
#        there. TEST: as chmod/00.t or chmod; without one, all.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/rig.sh"

dir=${1:?usage: pjdfstest.sh DIR [TEST...]}
shift
fetched "$dir" https://github.com/pjd/pjdfstest.git 85a8aea
dir=$(cd "$dir" && pwd)
[ -x "$dir/pjdfstest" ] || (cd "$dir" && autoreconf -ifs && ./configure && make pjdfstest) >/dev/null ||
    fail "$dir: cannot be built: see README.md for the packages"
rig_begin
mkdir "$work/mnt"
"$BALEFS" init "$work/backing/store" || fail "no store"
mount -t fuse.balefs "$work/backing/store" "$work/mnt" || fail "cannot mount"
cd "$work/mnt"
[ $# -gt 0 ] || set -- .
status=0
prove -Qr "${@/#/$dir/tests/}" >"$work/said" 2>&1 || status=$?
cd /
cat "$work/said"
judged "$(sed -nE "s|^$dir/tests/(./)?([^ ]+\.t) .*Failed: [1-9].*|\2|p" "$work/said" | xargs)" ""
