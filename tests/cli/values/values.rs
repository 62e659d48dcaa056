// SPDX-License-Identifier: Apache-2.0
// Values of many types, for test-values.py: structures, enumerations with data, texts and slices.
use std::hint::black_box;

#[derive(Clone, Copy, PartialEq)]
enum Color {
    Red,
    Green = 7,
}

#[derive(Clone)]
enum Shape {
    Nothing,
    Circle(f64),
    Rectangle { width: u32, height: u32 },
    Named(String, u8),
}

struct Request<'a> {
    length: i32,
    name: &'a str,
    path: String,
    pair: (i16, u64),
    ratio: f32,
    next: Option<&'a Request<'a>>,
    limit: Option<u32>,
    color: Option<Color>,
    sizes: [u16; 5],
}

trait Sum {
    fn sum(&self, from: u64) -> u64;
}

impl<'a> Sum for Request<'a> {
    #[inline(never)]
    fn sum(&self, from: u64) -> u64 {
        let mut total = from;
        for i in 0..20000u64 {
            total = total.wrapping_mul(31).wrapping_add(black_box(i)) ^ self.length as u64;
        }
        total
    }
}

#[inline(never)]
fn area(shape: &Shape, copy: Shape, scale: u64) -> u64 {
    let base = match shape {
        Shape::Nothing => 1,
        Shape::Circle(radius) => *radius as u64,
        Shape::Rectangle { width, height } => (*width * *height) as u64,
        Shape::Named(name, bonus) => name.len() as u64 + *bonus as u64,
    };
    let mut total = 0u64;
    for i in 0..20000u64 {
        total = total.wrapping_add(black_box(i).wrapping_mul(base ^ scale));
    }
    drop(black_box(copy));
    total
}

#[inline(never)]
fn measure(text: &str, bytes: &[u8], letter: char, big: i128, flag: bool, color: Color) -> u64 {
    let mut total = (big as u64).wrapping_add(color as u64 + flag as u64 + letter as u64);
    for i in 0..200 {
        for byte in bytes.iter().chain(text.as_bytes()) {
            total = total.wrapping_mul(33).wrapping_add(*byte as u64 ^ black_box(i));
        }
    }
    total
}

fn visit<F: Fn(u64) -> u64>(depth: u32, request: &Request, boxed: Box<dyn Sum + '_>, then: F) -> u64 {
    if depth > 0 {
        return black_box(visit(black_box(depth - 1), request, boxed, &then as &dyn Fn(u64) -> u64)).wrapping_add(1);
    }
    then(boxed.sum(3)).wrapping_add(request.sum(request.pair.1))
}

#[inline(never)]
fn serve(request: &Request, shapes: &[Shape], depth: u32) -> u64 {
    let mut total = visit(depth, request, Box::new(Request { path: String::new(), ..*request }), |x| {
        x ^ measure(request.name, &request.path.as_bytes()[1..], 'ß', -5, depth > 1, Color::Green)
    });
    for (i, shape) in shapes.iter().enumerate() {
        total = total.wrapping_add(area(shape, shape.clone(), i as u64 + 1));
    }
    total
}

fn main() {
    let shapes = [Shape::Nothing, Shape::Circle(2.5), Shape::Rectangle { width: 3, height: 4 }, Shape::Named("a name".to_string(), 9)];
    let first = Request {
        length: -12, name: "first", path: "/var/lib/first".to_string(), pair: (-3, 1 << 40), ratio: 0.25, next: None, limit: Some(70), color: None,
        sizes: [1, 2, 3, 4, 5],
    };
    let mut round = 0;
    loop {
        let second = Request {
            length: 1234567, name: "the second", path: format!("/tmp/{}", round), pair: (4, round), ratio: 1.5, next: Some(&first), limit: None,
            color: Some(if round % 2 == 0 { Color::Green } else { Color::Red }), sizes: [9; 5],
        };
        round = round.wrapping_add(serve(black_box(&second), &shapes, 3) & 1) + 1;
        black_box((second.next.is_some(), second.limit, second.color.is_some(), second.ratio, second.sizes[0]));
    }
}
