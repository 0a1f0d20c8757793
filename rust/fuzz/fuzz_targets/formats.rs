//! Records in any format of traces are recognised and read, or are an error; never a panic. What is found is written as
//! columns, and each span of a trace is a row of them.

#![no_main]

use bumpalo::Bump;
use callmatch_core::{
    call::Reader,
    trace::{
        columns::{Columns, NAMES, Of},
        decode, formats,
        spans::frames,
        stored::Found,
    },
    value::{MAX_DEPTH, Value},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = frames::recognise(bytes);
    let bump = Bump::new();
    let Ok((value, _)) = Reader::parse(bytes, &bump) else { return };
    if std::str::from_utf8(bytes).is_err() {
        return;
    }
    let reader = Reader::new(&bump, true);
    let arguments = decode::arguments(reader, value);
    assert!(!arguments.deeper_than(MAX_DEPTH) || value.deeper_than(MAX_DEPTH));
    let records: &[Value<'_>] = match value {
        Value::Array(items) => items,
        _ => std::slice::from_ref(&value),
    };
    for by_line in [true, false] {
        let Ok(format) = formats::recognise(reader, records, by_line, None) else { continue };
        let mut found = Found::new(reader);
        match format.unit {
            formats::Unit::Record => {
                for record in records {
                    let before = (found.traces.len(), found.problems.len());
                    let read = format.read(&mut found, &[*record]);
                    if format.glance(*record).is_some() {
                        assert!(read.is_ok() && (found.traces.len(), found.problems.len()) == (before.0 + 1, before.1));
                    }
                }
            }
            formats::Unit::File | formats::Unit::Pieces => drop(format.read(&mut found, records)),
        }
        for trace in &found.traces {
            let copies = Bump::new();
            let copy = trace.copy_to(&copies);
            let mut columns = Columns::new(Of::All);
            let rows = columns.push(&copy);
            assert_eq!(rows.len(), trace.spans().len());
            for column in 0..NAMES.len() {
                let texts = columns.texts(column).expect("there is one for each name");
                let bytes: usize = texts.rows(rows.clone()).flatten().map(str::len).sum();
                assert_eq!(bytes, texts.length(rows.clone()));
            }
        }
    }
});
