#!/usr/bin/env bash
# Dependencies go one way: format <- kernels <- fs <- tools. Prints each include and each file that breaks this.
# usage: layers.sh [ROOT]
set -euo pipefail
cd "${1:-${BALE_SOURCE:?}}"

bad=0

complain() {
    printf '%s: %s\n' "$1" "$2"
    bad=1
}

# sources DIR NAME...: the files below DIR whose names match one of the patterns
sources() {
    local dir=$1 pattern expression=()
    shift
    [ -d "$dir" ] || return 0
    for pattern; do
        expression+=(-o -name "$pattern")
    done
    find "$dir" \( -path ./build -o -name '.?*' \) -prune -o -type f \( "${expression[@]:1}" \) -print
}

# includes FILE: "line:name" for each include, quotes or brackets kept
includes() {
    sed -nE '/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]*[">]).*/{=;s//\1/p}' "$1" | paste -d: - -
}

# check_layer DIR ALLOWED...: quoted includes below DIR begin with one of the directories ALLOWED
check_layer() {
    local dir=$1 file line name
    shift
    while read -r file; do
        while IFS=: read -r line name; do
            case $name in
            '"'*)
                name=${name:1:-1}
                case " $* " in
                *" ${name%%/*} "*) ;;
                *) complain "$file:$line" "$dir may include only from: $*; not \"$name\"" ;;
                esac
                case /$name/ in
                */../* | */./*) complain "$file:$line" "include from the repository's root: \"$name\"" ;;
                esac
                ;;
            '<fuse'*)
                [[ $file == fs/fuse/* || $file == fs/daemon/* ]] || complain "$file:$line" "only fs/fuse and fs/daemon may include $name"
                ;;
            '<cuda'* | '<cub/'* | '<nvcomp'*)
                [[ $file == kernels/*.cu || $file == kernels/*.cuh ]] ||
                    complain "$file:$line" "only CUDA sources in kernels may include $name"
                ;;
            esac
        done < <(includes "$file")
    done < <(sources "$dir" '*.[ch]' '*.cu' '*.cuh')
}

check_layer format format
check_layer kernels format kernels
check_layer fs format kernels fs

while read -r file; do
    complain "$file" "no C++ here"
done < <(sources . '*.cc' '*.cpp' '*.cxx' '*.c++' '*.C' '*.hh' '*.hpp' '*.hxx')

while read -r file; do
    [[ $file == ./kernels/* ]] || complain "$file" "CUDA belongs in kernels"
done < <(sources . '*.cu' '*.cuh')

exit "$bad"
