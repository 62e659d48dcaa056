#!/bin/bash
# make-page.sh HTML MAIN OUT - puts a page of `stackreel view` together: HTML with page.css and the style sheet of MAIN's name, if there is one; and
# the module MAIN with those that it imports, as one script.
#
# No packages are needed: a module becomes a function that returns what it exports, in the order of imports, which may not form a circle. Each
# import is a line `import { a, b } from "./file.js";`, and exports are declarations: `export function`, `export const`, `export class`.
# @SCRIPT@ and @STYLE@ of the policy become hashes: what a hostile name might get into the page has no effect.
set -eu
html=$1 main=$2 out=$(realpath "$3")
cd "$(dirname "$0")"

fail() {
    echo "make-page.sh: $*" >&2
    exit 1
}

# Modules in the order of their imports.
declare -A state=()
order=()
visit() {
    local file=$1 import
    [ -f "$file" ] || fail "$file is missing"
    [ "${state[$file]:-}" != visiting ] || fail "$file imports itself, through others"
    [ -z "${state[$file]:-}" ] || return 0
    state[$file]=visiting
    while read -r import; do
        visit "$import"
    done < <(sed -nE 's|^import .* from "\./([^"]+)";$|\1|p' "$file")
    state[$file]=visited
    order+=("$file")
}

# "tree.js" -> "$tree"
variable() {
    local name=${1%.js}
    printf '$%s' "${name//-/_}"
}

# Lines that are comments would be a fifth of the page.
without_comments() {
    sed -E '/^\t*\/\/ /d; /^\t*\/\*\*.*\*\/$/d; /^\t*\/\*\*$/,/^\t* \*\/$/d' "$1"
}

module() {
    local file=$1 exports import
    ! grep -nE '^(import|export) ' "$file" | grep -vE ':(import \{ [a-zA-Z, ]* \} from "\./[a-z_]+\.js";|export (async )?(function\*? |const |class )[A-Za-z_$]+.*)$' ||
        fail "$file: an import or export of another form"
    exports=$(sed -nE 's/^export (async )?(function\*? |const |class )([A-Za-z0-9_$]+).*/\3/p' "$file" | paste -sd, | sed 's/,/, /g')
    printf 'const %s = (() => {\n' "$(variable "$file")"
    while IFS= read -r line; do
        case $line in
        'import {'*)
            import=${line##*\"./}
            names=${line#import }
            printf 'const %s = %s;\n' "${names%% from *}" "$(variable "${import%\";}")"
            ;;
        'export '*) printf '%s\n' "${line#export }" ;;
        *) printf '%s\n' "$line" ;;
        esac
    done < <(without_comments "$file")
    printf 'return { %s };\n})();\n\n' "$exports"
}

visit "$main"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    printf '\n"use strict";\n\n'
    for file in "${order[@]}"; do module "$file"; done
} >"$work/script"
{ echo && cat page.css; } >"$work/style"
[ ! -f "${main%.js}.css" ] || cat "${main%.js}.css" >>"$work/style"
! grep -qiE '</(script|style)|<!--' "$work/script" "$work/style" || fail "a script or style sheet can't be part of a page as it is"
! grep -q $'\r' "$work/script" || fail "a carriage return, which browsers take for a line's end"

# hash FILE: as policies name it
hash() {
    # shellcheck disable=SC2059
    printf "'sha256-%s'" "$(printf "$(sha256sum <"$1" | sed -E 's/ .*//; s/../\\x&/g')" | base64)"
}

script=$(hash "$work/script") style=$(hash "$work/style")
while IFS= read -r line; do
    case $line in
    '<style>@STYLE@</style>') printf '<style>' && cat "$work/style" && printf '</style>\n' ;;
    '<script>@PROGRAM@</script>') printf '<script>' && cat "$work/script" && printf '</script>\n' ;;
    *) line=${line//@SCRIPT@/$script} && printf '%s\n' "${line//@STYLE@/$style}" ;;
    esac
done <"$html" >"$work/page.html"
[ "$(grep -c '@CONTENT@' "$work/page.html")" = 1 ] || fail "$html has not one place for the content"
mv "$work/page.html" "$out"
