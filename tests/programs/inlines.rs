// SPDX-License-Identifier: Apache-2.0
// Like tests/programs/inlines.cc, in Rust.

use std::collections::HashMap;

mod outer {
    pub mod inner {
        #[inline(always)]
        pub fn fourth(x: i64) -> i64 {
            std::hint::black_box(x).wrapping_mul(7)
        }

        #[inline(always)]
        pub fn third(x: i64) -> i64 {
            fourth(x) ^ fourth(x.wrapping_add(1))
        }
    }

    pub trait Shape {
        fn area(&self) -> i64;
    }

    pub struct Square<T>(pub T);

    impl<T: Copy + Into<i64>> Shape for Square<T> {
        #[inline(never)]
        fn area(&self) -> i64 {
            inner::third(self.0.into())
        }
    }
}

use outer::Shape;

#[inline(never)]
fn apply<F: Fn(i64) -> i64>(f: F, x: i64) -> i64 {
    f(x) + f(x + 1)
}

fn main() {
    let n = std::env::args().count() as i64;
    let mut map: HashMap<String, i64> = HashMap::new();
    for i in 0..n {
        map.insert(format!("{}", i), apply(|v| outer::inner::third(v) + n, i));
    }
    let mut values: Vec<i64> = map.values().copied().collect();
    values.sort_by_key(|v| outer::inner::fourth(*v));
    let squares = outer::Square(3i32).area() + outer::Square(n).area();
    println!("{} {}", squares, values.iter().map(|v| v * 2).sum::<i64>());
}
