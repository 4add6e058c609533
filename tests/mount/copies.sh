#!/usr/bin/env bash
# Every way in which a container, a directory or a store is copied, and what can be read then (copies.py).
# usage: copies.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

command -v rsync >/dev/null || skip "no rsync"
mount_begin copies
/usr/bin/python3 "$(dirname "$0")/copies.py" "$BALEFS" "$work" || fail "copies.py"
