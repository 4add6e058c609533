#!/usr/bin/env bash
# A user's flood of writes, while nothing of it can be stored: the daemon takes at most the cap and max_write for each
# write that waits, and the writes of other users need not wait.
# usage: flood.sh, with BALEFS and BALE_SOURCE in the environment
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.sh"

mount_begin flood
command -v fsfreeze >/dev/null || skip "no fsfreeze"
base=$work/base mnt=$work/mnt writers=364 cap=64 write=128
mkdir "$mnt"
chmod 755 "$work"
loop_fs ext4 256 "$base"
"$BALEFS" init "$base/store" >/dev/null
mount_up "$base/store" "$mnt" -o memory=${cap}M
mkdir -m 777 "$mnt/hostile" "$mnt/other"
grep -q "max_write $((write * 1024))," "$work/log" || fail "max_write: $(grep -o 'max_write [0-9]*' "$work/log")"

# field NAME: in KiB, of the daemon
field() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$daemon/status"; }
resident() { echo $(($(field VmRSS) - $(field RssFile))); }
# waited: how many writes have had to wait
waited() { { timeout 60 "$BALEFS" stat --watch=0.1 --json "$mnt" || true; } | head -n 1 | sed 's/.*"throttled":\([0-9]*\).*/\1/'; }

# As user UID, COUNT files in TOP, opened before the store is frozen. After the first line of the fifo, threads write
# 1 MiB to each but 64; after the second 4 KiB to these, which takes what room the others left. With one file: 4 KiB.
cat >"$work/write.py" <<'PYTHON'
import os, sys, threading
uid, top, count, go = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
os.setgroups([])
os.setgid(uid)
os.setuid(uid)
data, small = bytes(4096) * 256, 64
files = [os.open(f"{top}/{i}", os.O_CREAT | os.O_WRONLY) for i in range(count)]
go = open(go)
print("ready", flush=True)
go.readline()
if count == 1:
    os.write(files[0], data[:4096])
    print("written", flush=True)
else:
    def write(some, length):
        for fd in some:
            threading.Thread(target=os.write, args=(fd, data[:length]), daemon=True).start()
    write(files[small:], len(data))
    go.readline()
    write(files[:small], 4096)
    go.read()
os._exit(0)
PYTHON
declare -A writer
# begin NAME UID COUNT FD
begin() {
    mkfifo "$work/$1"
    python3 "$work/write.py" "$2" "$mnt/$1" "$3" "$work/$1" >"$work/$1.out" &
    writer[$1]=$!
    eval "exec $4>\"$work/$1\""
    for ((i = 0; i < 2000; i++)); do
        ! grep -q ready "$work/$1.out" || return 0
        sleep 0.05
    done
    fail "$1 did not begin"
}
begin hostile 1001 $writers 7
begin other 1002 1 8
"$BALEFS" sync "$mnt"
idle=$(resident)
fsfreeze -f "$base"
frozen=$base
echo >&7
# The memory takes the first ones; then they wait, and nobody else comes.
for ((i = 0, before = -1; i < 2000; i++)); do
    now=$(waited)
    if [ "$now" = "$before" ] && [ "$now" -ge $((writers / 2)) ]; then break; fi
    before=$now
    sleep 0.5
done
[ "$now" -ge $((writers / 2)) ] || fail "only $now writes wait"
least=$(resident)
say "$now writes wait; $((least / 1024)) MiB resident, $((idle / 1024)) MiB before"
# 32 MiB more for threads and their tables, which the daemon had before, too.
[ "$least" -le $((cap * 1024 + now * write + 32 * 1024)) ] || fail "the daemon has $((least / 1024)) MiB"
echo >&7
for ((i = 0; i < 400; i++)); do
    [ "$(waited)" -le "$now" ] || break
    sleep 0.05
done
full=$(waited)
[ "$full" -gt "$now" ] || fail "there is room for 64 small writes"
echo >&8
for ((i = 0; i < 400; i++)); do
    ! grep -q written "$work/other.out" || break
    sleep 0.05
done
grep -q written "$work/other.out" || fail "another user's 4 KiB wait for the flood"
fsfreeze -u "$base"
frozen=
exec 7>&- 8>&-
wait "${writer[other]}" || fail "another user's write failed"
wait "${writer[hostile]}" || true
[ "$(stat -c %s "$mnt/other/0")" = 4096 ] || fail "the other's file"
mount_down "$mnt"
fsck_clean "$base/store"
