#!/usr/bin/env bash
# Documents lead somewhere: every relative link in *.md resolves, its #section is a heading there, every path in
# `backticks` that begins with a directory of the repository exists, every `name_with_underscores` in doc/ occurs in the
# sources, and every function of a backtrace, "#N NAME at FILE", in its file. Prints each that does not.
# usage: links.sh [--links] [ROOT]
#   --links   links alone: for a tree of documents without the sources, as one that was installed
# shellcheck disable=SC2016 # backquotes are Markdown's
set -euo pipefail
paths=yes
if [ "${1:-}" = --links ]; then
    paths=no
    shift
fi
cd "${1:-${BALE_SOURCE:?}}"

bad=0

complain() {
    printf '%s: %s\n' "$1" "$2"
    bad=1
}

# prose FILE: the text without code blocks, which may show anything
prose() { sed -E '/^```/,/^```/d; /^    /d' "$1"; }

# anchors FILE: what #SECTION may be in a link to it
anchors() {
    sed -nE 's/^#+ +//p' "$1" | tr '[:upper:]' '[:lower:]' | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

check_link() {
    local file=$1 link=$2 target
    case $link in
    *://* | mailto:*) return ;;
    '#'*) target=$file ;;
    *) target=$(dirname "$file")/${link%%#*} ;;
    esac
    if [ ! -e "$target" ]; then
        complain "$file" "there is no $target for the link $link"
    elif [[ $link == *'#'* ]] && ! anchors "$target" | grep -qxF -- "${link#*#}"; then
        complain "$file" "$target has no heading for the link $link"
    fi
}

# A path may end with a wildcard, with NAME or CODEC in place of a codec, and with the line or function meant.
check_path() {
    local file=$1 path=$2
    path=${path//NAME/*}
    path=${path%%:*}
    compgen -G "$path" >/dev/null || complain "$file" "there is no \`$2\`"
}

# check_frames FILE: its backtraces
check_frames() {
    local name path
    while read -r _ name _ path; do
        grep -qsw -- "$name" "$path" || complain "$1" "there is no $name in $path"
    done < <(grep -E '^ +#[0-9]+ +[a-z0-9_]+ at [^ ]+$' "$1")
}

# names FILE...: the names in backticks that have an underscore
names() { grep -ohE '`[a-z0-9]+(_[a-z0-9]+)+`' "$@" | tr -d '`' | sort -u; }

# check_names: one pass over the sources for all documents
check_names() {
    local known name
    known=$(grep -rhoE --include='*.'{c,h,cu,cuh,sh,py} '[A-Za-z0-9_]+' format kernels fs tools tests | grep -E '[a-z0-9]_[a-z0-9]' | sort -u)
    while read -r name; do
        complain doc "there is no \`$name\` in the sources"
    done < <(names doc/*.md | grep -vxF -f <(printf '%s\n' "$known" "${KERNEL_NAMES[@]}"))
}

# Names of the kernel's functions in doc/debugging.md.
KERNEL_NAMES=(fuse_dev_do_read futex_do_wait)

while read -r file; do
    while read -r link; do
        check_link "$file" "$link"
    done < <(prose "$file" | grep -oE '\]\([^) ]+\)' | sed -E 's/^\]\((.*)\)$/\1/')
    [ "$paths" = yes ] || continue
    check_frames "$file"
    while read -r path; do
        check_path "$file" "$path"
    done < <(prose "$file" | grep -oE '`(format|kernels|fs|tools|tests|cmake|doc)/[A-Za-z0-9_./*:-]*`' | tr -d '`')
done < <(find . \( -path ./build -o -name '.?*' \) -prune -o -name '*.md' -print | sed 's,^\./,,')

[ "$paths" = no ] || [ ! -d format ] || check_names

exit "$bad"
