//! A stream is split into records without a panic, and into the same ones whatever the size of the blocks read.

#![no_main]

use callmatch_core::records::Records;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

type Found<'a> = Vec<(u64, Result<Vec<u8>, String>)>;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (block, most, bytes) = input;
    let block = usize::from(block) + 1;
    // Whatever is too long depends on the blocks.
    let _ = split(bytes, block, usize::from(most));
    let whole = split(bytes, bytes.len() + 1, usize::MAX);
    if !bytes.contains(&0) && block >= head(bytes) {
        assert_eq!(split(bytes, block, usize::MAX), whole);
    }
    let Some(whole) = whole else { return };
    match bytes.trim_ascii_start().first() {
        Some(b'[') => {
            if let Ok(items) = serde_json::from_slice::<Vec<Value>>(bytes) {
                assert_eq!(values(&whole), Some(items));
            }
        }
        Some(b'{') => {
            let items: Result<Vec<Value>, _> = serde_json::Deserializer::from_slice(bytes).into_iter().collect();
            let line = bytes.trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
            if let Ok(items) = items
                && line.trim_ascii() == b"{"
                && items.iter().all(Value::is_object)
            {
                assert_eq!(values(&whole), Some(items));
            }
        }
        // A byte order mark, perhaps.
        Some(0xef) => {}
        _ => {
            let lines = bytes.split(|&byte| byte == b'\n').map(|line| Ok(line.to_vec()));
            let lines: Found<'_> =
                (1..).zip(lines).filter(|(_, line)| line.as_ref().is_ok_and(|l| !l.trim_ascii().is_empty())).collect();
            assert_eq!(whole, lines);
        }
    }
});

/// None: refused as a whole.
fn split(bytes: &[u8], block: usize, most: usize) -> Option<Found<'_>> {
    let mut records = Records::with_sizes(bytes, block, most);
    let mut found = Vec::new();
    while let Some(block) = records.next_block().ok()? {
        assert!(!block.records.is_empty());
        found.extend(
            block
                .records
                .iter()
                .map(|record| (record.place, record.bytes.clone().map(|range| block.bytes[range].to_vec()))),
        );
        assert!(found.len() <= bytes.len() + 1);
        records.recycle(block);
    }
    Some(found)
}

/// How much must be read at once to tell the layout: the first line, and what the next one starts with.
fn head(bytes: &[u8]) -> usize {
    let place = |from: usize, wanted: &dyn Fn(&u8) -> bool| {
        bytes.iter().skip(from).position(wanted).map_or(bytes.len(), |place| from + place)
    };
    let mark = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let start = place(mark, &|byte| !byte.is_ascii_whitespace());
    let end = place(start, &|&byte| byte == b'\n');
    place(end, &|byte| !byte.is_ascii_whitespace()) + 1
}

fn values(found: &Found<'_>) -> Option<Vec<Value>> {
    found.iter().map(|(_, bytes)| serde_json::from_slice(bytes.as_ref().ok()?).ok()).collect()
}
