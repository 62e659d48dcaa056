// SPDX-License-Identifier: Apache-2.0
// work: maps, sorting, formatting and a thread, for two seconds.
use std::collections::HashMap;
use std::time::{Duration, Instant};

fn work(mut seed: u64) -> usize {
    let end = Instant::now() + Duration::from_secs(2);
    let mut sum = 0;
    while Instant::now() < end {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for _ in 0..3000 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            *counts.entry(format!("{}", (seed >> 33) % 997)).or_default() += 1;
        }
        let mut keys: Vec<_> = counts.into_iter().collect();
        keys.sort();
        sum += keys.len();
    }
    sum
}

fn main() {
    let thread = std::thread::spawn(|| work(1));
    println!("{}", work(2) + thread.join().unwrap());
}
