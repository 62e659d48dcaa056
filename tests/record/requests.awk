# Prints what is wrong in `stackreel folded --by trace,span` of tests/programs/requests.c: each function must have its own request's ids, or
# none (the recorder did not know of the variable yet), but at least `share` % (1) must have theirs.
BEGIN { if (!share) share = 1 }
match($0, /;(work|wait)_[12]_[12][; ]/) {
    all += $NF
    ids = sprintf("0%s0%s", substr($0, RSTART + 6, 1), substr($0, RSTART + 8, 1))
    if ($0 ~ "(^|;)trace=a0a1a2a3a4a5a6a7a8a9aaabacad" ids ";span=fe0000000000" ids ";")
        right += $NF
    else if ($0 !~ /(^|;)\[no trace\];\[no span\];/)
        print "wrong: " $0
    next
}
/;(idle|wait_idle|bad_[a-z]*)[; ]/ {
    others += $NF
    if ($0 !~ /(^|;)\[no trace\];\[no span\];/)
        print "wrong: " $0
}
END {
    if (all < 10 || !others || right < all * share / 100)
        printf "%d samples for requests, %d with ids, %d for none\n", all, right, others
}
