// SPDX-License-Identifier: Apache-2.0
// Functions, a method and closures, whose names have hashes (legacy mangling) or numbers (v0), for tests/cli/test-diff.sh. `extra` adds a
// closure before the others.
use std::hint::black_box;

trait Work {
    fn run(&self, n: u64) -> u64;
}
struct Heavy;

impl Work for Heavy {
    #[inline(never)]
    fn run(&self, n: u64) -> u64 {
        (0..n).fold(n, |x, i| black_box(x.wrapping_mul(5) + i % 3))
    }
}

#[inline(never)]
fn mix(n: u64) -> u64 {
    (0..n).fold(n, |x, _| black_box(x ^ x << 7))
}

#[inline(never)]
fn call<F: Fn(u64) -> u64>(function: F, n: u64) -> u64 {
    black_box(function(n))
}

fn main() {
    let requests: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100);
    let work: Box<dyn Work> = Box::new(Heavy);

    if cfg!(extra) {
        call(|k| k / 7, 3);
    }
    for _ in 0..requests {
        let n = black_box(500_000);

        mix(n);
        work.run(n);
        call(|k| (0..k).fold(k, |x, i| black_box(x.wrapping_add(x >> 3 ^ i))), n);
    }
}
