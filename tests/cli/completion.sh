#!/usr/bin/env bash
# Completion in bash: what it offers, as bash would ask for it.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# shellcheck source=../../tools/completion/balefs
. "${BALE_SOURCE:?}/tools/completion/balefs"
set +e +u
PATH=$(dirname "$balefs"):$PATH
mkdir -p "$work/there/store" "$work/there/other"
: >"$work/there/file"
cd "$work/there" || exit 1

# offers LINE: what is offered at its end, sorted, in one line
offers() {
    local line=${1//=/ = } sorted
    COMP_LINE=$1
    COMP_POINT=${#1}
    COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
    # As bash does it: it breaks at = and : too.
    read -ra COMP_WORDS <<<"${line//:/ : }"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _balefs
    mapfile -t sorted < <(printf '%s\n' "${COMPREPLY[@]}" | sort)
    echo "${sorted[*]}"
}

# has LINE WORD...: they are offered, among others
has() {
    local line=$1 word offered
    shift
    offered=" $(offers "$line") "
    for word; do
        [[ $offered == *" $word "* ]] || fail "'$line': no $word in:$offered"
    done
}

mapfile -t commands < <("$balefs" --help | sed -nE 's/^  ([a-z]+)  .*/\1/p')
has "balefs " "${commands[@]}" help
for command in "${commands[@]}" help; do
    has "balefs ${command:0:2}" "$command"
done
is "mount" "$(offers "balefs mou")" "a command begun"
is "thaw" "$(offers "balefs help th")" "help of a command begun"

# Every option in the help text of every command; words that were begun.
mapfile -t commands < <("$balefs" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p')
for command in "${commands[@]}"; do
    # shellcheck disable=SC2046,SC2086 # one is two words
    has "balefs $command -" $("$balefs" $command --help | grep -E '^ +-' | grep -oE -- '(^ +|, )--?[a-zA-Z][a-z-]*' | tr -d ' ,')
done
is "--codec" "$(offers "balefs init --c")" "an option begun"
is "--by-type" "$(offers "balefs stat --b")" "an option begun"

# Values.
mapfile -t names < <(codecs 'c["codec"]')
has "balefs init --codec " "${names[@]}" auto:for=speed zstd:3 gpulz:s=4 culzss:v=1
has "balefs init -c " auto zstd:19
is "auto cpu gpu" "$(offers "balefs compress --engine ")" "engines"
is "gpu" "$(offers "balefs decompress --engine=g")" "an engine begun"
is "store" "$(offers "balefs init --codec sto")" "a codec begun"
is "store" "$(offers "balefs init --codec=sto")" "a codec begun, behind ="
is "1 12 15 19 3 6 9" "$(offers "balefs init -c zstd:")" "levels"
is "128K 16K 16M 1M" "$(offers "balefs set --extent 1")" "extents"
is "container inode" "$(offers "balefs init --modes ")" "modes"
has "balefs set store " lz4 zstd:1 store other file
has "balefs mount -o " ro rw create memory= threads= engine= gpu= gpu-memory= gpu-idle= verify= io= age= idle= untrusted trusted set_id takeover= log_level= allow_other auto_unmount noatime
is "memory=" "$(offers "balefs mount -o me")" "a mount option begun"
is "ro,create" "$(offers "balefs mount -o ro,cr")" "a second mount option"
is "cached direct" "$(offers "balefs mount -o ro,io=")" "values of a mount option"
is "auto cpu gpu" "$(offers "balefs mount -o engine=")" "engines"
is "off on" "$(offers "balefs mount -o verify=")" "verify"
is "warning" "$(offers "balefs mount -o log_level=w")" "a value begun"
is "other store" "$(offers "balefs mount -o ro ")" "directories for mount"
is "file other store" "$(offers "balefs cat ")" "files"
has "balefs mount --log " file
has "balefs run -o cr" create
is "ro,create" "$(offers "balefs run -o ro,cr")" "a mount option of run"
is "2m" "$(offers "balefs run --grace=2")" "a time"
is "other store" "$(offers "balefs run --log file -o ro ")" "STORE of run"
is "other store" "$(offers "balefs run --join store ")" "MNT of run"
has "balefs run store other " cat ls
is "mountpoint" "$(offers "balefs run --log file store other -- mountpoi")" "CMD of run"
is "store" "$(offers "balefs run store other -- ls -l s")" "what CMD is given"
is "" "$(offers "balefs run store other -- ls --j")" "an option of CMD"
is "other store" "$(offers "balefs doctor ")" "directories for doctor"
is "64K 64M" "$(offers "balefs bench --chunk 64")" "chunks"
is "256M" "$(offers "balefs bench -l 2")" "a limit"
is "auto cpu gpu" "$(offers "balefs bench --engine ")" "engines of bench"
is "engine" "$(offers "balefs bench en")" "what bench may measure"
is "" "$(offers "balefs bench file en")" "the same behind a file"
has "balefs bench engine --codec " lz4 gpulz:s=4 culzss:v=1
is "off on" "$(offers "balefs bench engine --verify ")" "verify of bench engine"
is "file" "$(offers "balefs bench engine --json fi")" "a file of bench engine"
is "--sizes" "$(offers "balefs bench engine --si")" "an option of bench engine"
is "" "$(offers "balefs mount --nonsense")" "no such option"
