#!/usr/bin/env bash
# The daemon killed at any instant, many times: nothing is lost that was closed, synced or older than the age limit,
# what was renamed over is old or new, and every file is whole.
# usage: kill.sh KILLER [--kills N], with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

killer=${1:?usage: kill.sh KILLER [--kills N]}
kills=36
[ "${2:-}" != --kills ] || kills=$3

mount_begin kill
store=$work/store mnt=$work/mnt logs=$work/logs
mkdir "$mnt" "$logs"
"$BALEFS" init "$store" || fail "init"

# kill_it DELAY [WRITING]: the writers stop after so long
kill_it() {
    local status=0
    if [ -n "${2:-}" ]; then
        sleep "$2"
        kill -STOP "$worker"
    fi
    sleep "$1"
    if ! "$killer" kill "$daemon" "$logs"; then
        wait "$daemon" || status=$?
        fail "the daemon was gone before it was killed: it ended with $status"
    fi
    wait "$daemon" 2>/dev/null || true
    daemon=
}

# check WHEN: what is wrong is shown with the logs
check() { "$killer" check "$mnt" "$logs" 2>>"$work/err" || fail "$1"; }

options=(memory=256M memory=40M io=direct)
worker=
for ((i = 1; i <= kills; i++)); do
    mount_up "$store" "$mnt" -o "${options[i % 3]}" # the dead one lies below
    check "after kill $((i - 1))"
    writing=
    case $((i % 9)) in
    0) # long enough for the age limit, every other time of what is written no more
        delay=6.$(printf '%03d' $((RANDOM % 1000)))
        [ $((i % 2)) = 1 ] || writing=1.$(printf '%03d' $((RANDOM % 1000)))
        ;;
    4) # at its beginning
        delay=0.0$(printf '%02d' $((RANDOM % 100))) ;;
    *) delay=$((RANDOM % 2)).$(printf '%03d' $((RANDOM % 1000))) ;;
    esac
    "$killer" work "$mnt" "$logs" &
    worker=$!
    kill_it "$delay" "$writing"
    [ -z "$writing" ] || kill -CONT "$worker"
    wait "$worker" || fail "the writers ended badly"
    if [ $((i % 6)) = 0 ]; then
        # Killed again, while it takes over or soon after.
        "$BALEFS" mount -f --log "$work/log" "$store" "$mnt" </dev/null 2>>"$work/err" &
        daemon=$!
        sleep 0.0$((RANDOM % 10))
        kill -KILL "$daemon"
        wait "$daemon" 2>/dev/null || true
        daemon=
    fi
    if [ $((i % 18)) = 0 ]; then
        mount_up "$store" "$mnt"
        mount_down "$mnt"
        fsck_clean "$store"
    fi
done
mount_up "$store" "$mnt"
check "after the last kill"
"$killer" work "$mnt" "$logs" &
worker=$!
sleep 2
kill "$worker"
wait "$worker" || fail "the writers ended badly"
mount_down "$mnt"
fsck_clean "$store"
reader_clean "$store"
mount_up "$store" "$mnt"
rm -f "$logs/killed"
check "after a clean end"
mount_down "$mnt"
say "$kills kills"
