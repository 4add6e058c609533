#!/usr/bin/env bash
# Output that cannot be written: a full disk is reported, a closed pipe is not.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
make_store=${1:?the program that fills stores}

store=$work/store
run 0 init "$store"
head -c 3000000 /dev/urandom >"$work/random"
"$make_store" "$store" big "$work/random"

for arguments in "--help" "stat --help" "stat" "stat --json" "get" "inspect" "inspect --json" "fsck" "fsck --json"; do
    read -ra words <<<"$arguments"
    case $arguments in
    *help) ;;
    inspect*) words+=("$store/big") ;;
    *) words+=("$store") ;;
    esac
    got=0
    "$balefs" "${words[@]}" >/dev/full 2>"$work/err" || got=$?
    [ "$got" != 0 ] || fail "$arguments: full, but exit status 0"
    [ "$(wc -l <"$work/err")" = 1 ] || fail "$arguments: $(cat "$work/err")"
    grep -Eq '^balefs: standard output: cannot write: (No space left on device|not everything was printed)$' "$work/err" ||
        fail "$arguments: $(cat "$work/err")"

    # Nobody reads: killed by SIGPIPE or, where that is ignored, quiet all the same.
    unread "$balefs" "${words[@]}" 2>"$work/err" || true
    [ ! -s "$work/err" ] || fail "$arguments into a closed pipe: $(cat "$work/err")"
    got=0
    unread_ignoring "$balefs" "${words[@]}" 2>"$work/err" || got=$?
    [ ! -s "$work/err" ] || fail "$arguments into a closed pipe, SIGPIPE ignored: $(cat "$work/err")"
    [ "$got" != 0 ] || fail "$arguments into a closed pipe: exit status 0"
done

# No standard streams at all: what is opened must not take their place.
"$balefs" stat "$store" >&- 2>&- <&- || fail "without standard streams"
"$balefs" fsck --data "$store" >&- 2>&- <&- || fail "fsck without standard streams"
