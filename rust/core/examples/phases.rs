use bumpalo::Bump;
use callmatch_core::{call::Reader, field::Field, json, matching::Scratch, options::*, records::Records, score::*};
use std::time::Instant;
fn main() {
    let bytes = std::fs::read("/tmp/pairs2k.jsonl").unwrap();
    let lines: Vec<&[u8]> = bytes.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
    let n = lines.len() as f64;
    let mut bump = Bump::new();
    let only = std::env::args().nth(1);
    let best = |name: &str, f: &mut dyn FnMut()| {
        if only.as_deref().is_some_and(|o| o != name) {
            return;
        }
        let mut t = f64::MAX;
        for _ in 0..40 {
            let s = Instant::now();
            f();
            t = t.min(s.elapsed().as_secs_f64());
        }
        println!("{name:12} {:.2} us", t / n * 1e6);
    };
    best("utf8", &mut || {
        for l in &lines {
            json::check_utf8(l).unwrap();
        }
    });
    best("parse", &mut || {
        for l in &lines {
            bump.reset();
            std::hint::black_box(json::parse(l, 512, &bump).unwrap());
        }
    });
    let options = Options { match_mode: MatchMode::InOrder, arguments: ArgumentMode::Partial };
    let (a, e) = (Field::parse("actual"), Field::parse("expected"));
    let mut scratch = Scratch::default();
    best("utf8+parse+score", &mut || {
        for l in &lines {
            bump.reset();
            json::check_utf8(l).unwrap();
            let (v, r) = Reader::parse(l, &bump).unwrap();
            std::hint::black_box(
                score_values(options, (a.find(v).unwrap(), r), (e.find(v).unwrap(), r), &mut scratch).is_ok(),
            );
        }
    });
    best("split", &mut || {
        let mut r = Records::new(&bytes[..]);
        while let Some(b) = r.next_block().unwrap() {
            std::hint::black_box(b.records.len());
        }
    });
    best("file", &mut || {
        let mut r = Records::new(std::fs::File::open("/tmp/pairs2k.jsonl").unwrap());
        while let Some(b) = r.next_block().unwrap() {
            std::hint::black_box(b.records.len());
        }
    });
}
