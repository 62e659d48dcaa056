#!/bin/bash
# The parts that tests/run.sh asks for (SHARE, AFFECTED): count.sh and counting.py select the same cases, all shares together are everything,
# and an invalid share is an error instead of a test that checks nothing.
. "$(dirname "$0")/../count.sh"
unset SHARE AFFECTED

# picked [VARIABLE=VALUE...]: of ten cases with sources a0.c to a9.c, those selected
picked() {
    # shellcheck disable=SC2016 # for the other shell
    env "$@" bash -c '. tests/count.sh && for i in {0..9}; do selected $i tests/unit/a$i.c && printf "$i "; done' 2>&1
}
# python [VARIABLE=VALUE...]: the indexes of the share, and the sources affected
python() {
    env "$@" PYTHONPATH=tests PYTHONDONTWRITEBYTECODE=1 python3 -c '
from counting import affected, in_share
print(*(i for i in range(10) if in_share(i)), *(i for i in range(10) if affected("tests/unit/a%d.c" % i)))' 2>&1
}
# is NAME WANTED ACTUAL
is() {
    [ "$2" = "$3" ]
    count $? "$1: $3 instead of $2"
}

printf 'tests/unit/a%d.c\n' 3 77 >"$work/affected"
printf 'tests/unit/a3.c\nbase/text.c\n' >"$work/source"
is "everything" "0 1 2 3 4 5 6 7 8 9 " "$(picked)"
is "a share" "1 5 9 " "$(picked SHARE=1/4)"
is "the shares together" "0 1 2 3 4 5 6 7 8 9" "$(for k in 00 1 2 3; do picked SHARE=$k/4; done | tr ' ' '\n' | grep . | sort | xargs)"
is "what is affected" "3 " "$(picked AFFECTED="$work/affected")"
is "both" "1 3 5 9 " "$(picked SHARE=1/4 AFFECTED="$work/affected")"
is "in Python" "1 5 9 3" "$(python SHARE=1/4 AFFECTED="$work/affected")"
for share in 4/4 "" x 1; do
    is "share '$share'" "invalid SHARE '$share'" "$(picked SHARE="$share")"
    is "share '$share' in Python" "invalid SHARE '$share'" "$(python SHARE="$share")"
done
is "no file of what is affected" "cannot read AFFECTED '$work/none'" "$(picked AFFECTED="$work/none")"
# shellcheck disable=SC2016 # for the other shell
whole='. tests/count.sh && selected 1 && echo selected'
is "a case of all sources, if one is affected" selected "$(AFFECTED=$work/source bash -c "$whole")"
is "... but not by a change in tests alone" "" "$(AFFECTED=$work/affected bash -c "$whole")"
finish
