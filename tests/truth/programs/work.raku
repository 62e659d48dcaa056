# SPDX-License-Identifier: Apache-2.0
# work: calls, hashes, text and a grammar in Raku, for two seconds
sub fib(int $n) { $n < 2 ?? $n !! fib($n - 1) + fib($n - 2) }
my $end = now + 2;
my %counts;
while now < $end {
    %counts{$_ % 97} += fib(8) + "x$_".comb.elems for ^300;
    %counts.keys.sort.join(',') ~~ /(\d+)','/;
}
