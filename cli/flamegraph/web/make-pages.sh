#!/bin/bash
# make-pages.sh FOLDER - puts the pages of `stackreel flamegraph` together: flame.html and diff.html in FOLDER.
#
# A line `@include FILE` of a page becomes that file, `@text FILE` the same as text of HTML, `@pack FILE...` all of them as gzip in base64 (\ at a line's end: it goes on). Fonts go into the style sheets.
# @SCRIPTS@ becomes the hashes of the page's scripts, packed ones included, for its Content-Security-Policy: a script that a hostile name
# might get into the page is not run.
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")"

fail() {
    echo "make-pages.sh: $*" >&2
    exit 1
}

# Within a script or style element nothing may look like its end, or like the start of a comment.
check_embeddable() {
    ! grep -qiE '</(script|style)|<!--' "$1" || fail "$1 can't be part of a page as it is"
}

style() {
    local font
    font=$(sed -nE 's|.*url\("\./([^"]+\.woff2)"\).*|\1|p' "$1")
    if [ -z "$font" ]; then
        cat "$1"
    else
        sed -E "s|url\(\"[^\"]+\"\)|url(\"data:font/woff2;base64,@FONT@\")|; /sourceMappingURL/d" "$1" | while IFS= read -r line; do
            if [[ $line == *@FONT@* ]]; then
                printf '%s' "${line%%@FONT@*}"
                base64 -w0 "${1%/*}/$font"
                printf '%s\n' "${line#*@FONT@}"
            else
                printf '%s\n' "$line"
            fi
        done
    fi
}

expand() {
    local line more file name
    while IFS= read -r line; do
        while [[ $line == @pack*\\ ]] && IFS= read -r more; do line=${line%\\}$more; done
        case $line in
        '@include '* | '@text '* | '@pack '*)
            file=()
            for name in ${line#* }; do
                # One file, whose name may have a hash in it; without a match it stays as it is.
                [ -f "$name" ] || fail "there is not one ${name}"
                file+=("$name")
            done
            [[ $line == @pack* || ${#file[@]} = 1 ]] || fail "more than one file: $line"
            case $line in
            @pack*) grep -hv '^//# sourceMappingURL' "${file[@]}" | gzip -9n | base64 -w0 && echo ;;
            @text*) sed 's/&/\&amp;/g; s/</\&lt;/g' "${file[0]}" ;;
            *.css) check_embeddable "${file[0]}" && style "${file[0]}" ;;
            *node_modules*) check_embeddable "${file[0]}" && grep -v '^//# sourceMappingURL' "${file[0]}" ;;
            *) check_embeddable "${file[0]}" && expand "${file[0]}" ;;
            esac
            ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$1"
}

# Each script of a page as a file in $work, with the text that the browser takes the hash of: a tag stands alone on its line.
take_apart() {
    rm -f "$work"/*
    awk -v work="$work/" '
        $0 == "</script>" { file = "" }
        file { printf "%s\n", $0 > file }
        $0 == "<script>" { file = work (++n) ".script"; printf "\n" > file }
        /^<script type="text\/plain" id="(speedscope|d3)">$/ { file = work (++n) ".pack" }' "$1"
    ! grep -q $'\r' "$1" || fail "$1 has a carriage return, which browsers take for a line's end"
}

# Of standard input, as a source of a policy.
hash() {
    # shellcheck disable=SC2059
    printf "'sha256-%s'" "$(printf "$(sha256sum | sed -E 's/ .*//; s/../\\x&/g')" | base64)"
}

# seal PAGE
seal() {
    local file scripts=
    take_apart "$1"
    for file in "$work"/*; do
        case $file in
        *.pack) scripts+=" $(base64 -d "$file" | gunzip | hash)" ;;
        *) scripts+=" $(hash <"$file")" ;;
        esac
    done
    sed -i "s|@SCRIPTS@|${scripts# }|" "$1"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for page in flame.html diff.html; do
    expand $page >"$out/$page.new"
    [ "$(grep -c '@CAPTURE@' "$out/$page.new")" = 1 ] || fail "$page has not one place for the data"
    seal "$out/$page.new"
    mv "$out/$page.new" "$out/$page"
done
