// SPDX-License-Identifier: Apache-2.0
//! Threads that wait for a Mutex of the standard library for two seconds. What it protects is the
//! holder's tid, 8 bytes after the word that the others wait for: where glibc's mutexes have their
//! owner.
use std::sync::Mutex;
use std::time::{Duration, Instant};

extern "C" {
    fn gettid() -> i32;
}

static LOCK: Mutex<i32> = Mutex::new(0);

fn main() {
    let end = Instant::now() + Duration::from_secs(2);
    let threads: Vec<_> = (0..3)
        .map(|_| {
            std::thread::spawn(move || {
                while Instant::now() < end {
                    {
                        let mut tid = LOCK.lock().unwrap();
                        *tid = unsafe { gettid() };
                        std::thread::sleep(Duration::from_millis(15));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}
