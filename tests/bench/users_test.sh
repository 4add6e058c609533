#!/usr/bin/env bash
# tests/bench/users, as short as it can be: figures for all nine users, also beside a hostile one, and nothing left behind.
# usage: users_test.sh, with BALE_SOURCE and BALE_BUILD in the environment
# shellcheck source-path=SCRIPTDIR source=../support/namespace.sh
. "$(dirname "$0")/../support/namespace.sh"
set -euo pipefail

bench=${BALE_SOURCE:?}/tests/bench/users
if [ "$(id -u)" != 0 ] || [ ! -w /dev/fuse ]; then
    printf 'skipped: it mounts as root\n'
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/var/tmp}/bale-users-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bench"
export BALEFS=${BALE_BUILD:?}/tools/balefs

fail() {
    printf 'users_test: %s\n' "$*" >&2
    exit 1
}

chmod 755 "$work" "$work/bench"
"$bench" --seconds 1 --writers 8 --ways folders,holes --directory "$work/bench" --json >"$work/json" ||
    fail "exit status $?"
/usr/bin/python3 - "$work/json" <<'PROGRAM' || fail "$(cat "$work/json")"
import json, sys

figures = json.load(open(sys.argv[1], encoding="utf-8"))
assert figures["peak"] > 0 and len(figures["users"]) == 9
for user in figures["users"]:
    for part in user["alone"], user["beside"]:
        assert part["operations"] > 0 and part["worst_ms"] >= part["median_ms"] > 0, user
assert sum(user["beside"]["mb_per_second"] > 0 for user in figures["users"]) >= 6
PROGRAM
[ -z "$(ls -A "$work/bench")" ] || fail "left: $(ls "$work/bench")"
status=0
"$bench" --ways none 2>/dev/null || status=$?
[ "$status" = 2 ] || fail "an unknown way: exit status $status"
