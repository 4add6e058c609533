#!/usr/bin/env bash
# The requests of a user's thousand threads do not come before each request of another user.
# usage: crowd.sh CROWD, with BALEFS in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

crowd=${1:?usage: crowd.sh CROWD}
threads=1000
mount_begin crowd
mnt=$work/mnt
mkdir "$mnt"
chmod 755 "$work"
"$BALEFS" init "$work/store" >/dev/null
mount_up "$work/store" "$mnt" -o memory=64M
# What is counted here comes, if users take turns, before the other user's program runs again.
answered=$("$crowd" "$mnt" $threads) || fail "no crowd"
say "$answered requests of $threads threads for one of another user"
[ "$answered" -lt $((threads / 2)) ] || fail "another user waits for a crowd"
mount_down "$mnt"
