#!/usr/bin/env bash
# The kernel is given the data of small files as they are opened: programs read what was written last, while others open, read,
# truncate and overwrite the files and the caches are dropped; and they see the access time of their own reads.
# usage: given.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin given
store=$work/store mnt=$work/mnt
mkdir "$mnt"
"$BALEFS" init "$store" || fail "init"

given() { /usr/bin/python3 "$(dirname "$0")/given.py" "$@" || fail "given.py $1"; }

mount_up "$store" "$mnt"
given fill "$mnt"
mount_down "$mnt"
mount_up "$store" "$mnt"
given opened "$mnt"
given read "$mnt" "$store"
drop_caches "$mnt"
given change "$mnt"
drop_caches "$mnt"
given check "$mnt"
mount_down "$mnt"
fsck_clean "$store"
