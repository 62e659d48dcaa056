// SPDX-License-Identifier: Apache-2.0
//! A program with generics, closures and the standard library inlined into it: words SECONDS
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

struct Random(u64);

impl Iterator for Random {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Some(self.0)
    }
}

fn word(seed: u64) -> String {
    Random(seed | 1)
        .take(3 + (seed % 6) as usize)
        .map(|number| (b'a' + (number % 26) as u8) as char)
        .collect()
}

#[inline(never)]
fn count(words: &[String]) -> HashMap<&str, usize> {
    words.iter().fold(HashMap::new(), |mut counts, word| {
        *counts.entry(word.as_str()).or_default() += 1;
        counts
    })
}

#[inline(never)]
fn by_length(words: &[String]) -> BTreeMap<usize, Vec<String>> {
    let mut lengths: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for word in words {
        lengths.entry(word.len()).or_default().push(word.to_uppercase());
    }
    for group in lengths.values_mut() {
        group.sort_by(|a, b| b.cmp(a).then_with(|| a.len().cmp(&b.len())));
        group.dedup();
    }
    lengths
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut total = 0;
    for round in 0.. {
        if Instant::now() >= end {
            break;
        }
        let words: Vec<String> = Random(round + 42).take(2000).map(word).collect();
        total += count(&words).len();
        total += by_length(&words).values().map(|group| format!("{:?}", group).len()).sum::<usize>();
    }
    println!("{}", total);
}
