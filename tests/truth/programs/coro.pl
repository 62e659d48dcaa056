# SPDX-License-Identifier: Apache-2.0
# coro: four of Coro's threads that sort and join, and let the others run, for two seconds.
use strict;
use Coro;

my $end = time + 2;
my @threads = map {
    async {
        while (time < $end) {
            my $length = 0;
            $length += length join ",", sort map { $_ * 7 % 13 } 1 .. 20 for 1 .. 2000;
            cede;
        }
    }
} 1 .. 4;
$_->join for @threads;
