//! Any request gets an answer that makes sense, or an error; never a panic, and never an answer that takes long.

#![no_main]

use bumpalo::Bump;
use callmatch_core::{
    grounding::{
        check,
        report::{self, Relation, Report},
        request::{REQUEST_DEPTH, Request},
        settings::Settings,
    },
    json, show,
    text::Text,
    value::{Member, Value},
};
use libfuzzer_sys::fuzz_target;

// A request as JSON text; or, since most bytes are none, the text, the query, a payload and a status with zero bytes between
// them.
fuzz_target!(|bytes: &[u8]| {
    let bump = Bump::new();
    let settings_bump = Bump::new();
    let settings = json::parse(br#"{"explain": true}"#, 9, &settings_bump).map(Settings::read);
    let Ok(Ok(settings)) = settings else { panic!("settings") };
    let value = match json::parse(bytes, REQUEST_DEPTH, &bump) {
        Ok(value @ Value::Object(_)) if std::str::from_utf8(bytes).is_ok() => value,
        _ => in_parts(bytes, &bump),
    };
    let Ok(request) = Request::read(value, &bump) else { return };
    let report = check(&request, &settings, &bump);
    sound(&report, request.text);
    // Nothing of an answer is by chance.
    let again = Bump::new();
    assert_eq!(written(&report), written(&check(&request, &settings, &again)));
});

fn in_parts<'a>(bytes: &'a [u8], bump: &'a Bump) -> Value<'a> {
    let mut parts = bytes.split(|&byte| byte == 0).map(|part| {
        let text = String::from_utf8_lossy(part);
        Value::Text(Text::from(&*bump.alloc_str(&text)))
    });
    let mut next = || parts.next().unwrap_or_default();
    let text = |word: &'static str| Value::Text(Text::from(word));
    let object = |members: &[(&'static str, Value<'a>)]| {
        let members = members.iter().map(|&(key, value)| Member { key: Text::from(key), value });
        Value::Object(bump.alloc_slice_fill_iter(members))
    };
    let (said, query, payload, status) = (next(), next(), next(), next());
    let call = object(&[
        ("tool_name", text("get_order_status")),
        ("request_payload", object(&[("query", query)])),
        ("response_payload", payload),
        ("status", status),
    ]);
    let query = if let Value::Text(_) = query { query } else { text("") };
    let said = if let Value::Text(_) = said { said } else { text("") };
    object(&[
        ("user_query", query),
        ("generated_text", said),
        ("tool_trace", Value::Array(bump.alloc_slice_copy(&[call]))),
    ])
}

fn sound(report: &Report, text: &str) {
    for (decision, told) in report.decisions.iter().zip(&report.told) {
        assert!((0.0..=1.0).contains(&told.probability));
        assert_eq!(decision.rules.first(), Some(&decision.rule));
        assert_eq!(decision.evidence.len(), told.places.len());
        for (evidence, place) in decision.evidence.iter().zip(&told.places) {
            let flag = matches!(evidence.relation, Relation::Unsupported | Relation::Contradicted);
            assert!(!flag || decision.check == report::Check::ResultFidelity);
            assert_eq!(evidence.span.is_some(), place.is_some(), "{evidence:?}");
            if let Some(place) = place {
                assert!(place.start < place.end, "{evidence:?}");
                let sliced = text.chars().skip(place.start).take(place.end - place.start);
                assert!(sliced.eq(place.text.chars()));
            }
            if let Some(source) = &evidence.source {
                assert!(source.starts_with('/'), "{source}");
            }
        }
        assert!(!told.explanation.is_empty());
    }
    let all = report.probabilities();
    let lowest = report::score(&all).map(|(score, _)| score);
    assert!(lowest.is_none_or(|lowest| report::score_floor(&all) <= lowest));
}

/// The answer as JSON text, which others can read.
fn written(report: &Report) -> String {
    let bump = Bump::new();
    let mut json = String::new();
    show::write_json(report.value(&bump), &mut json);
    let read: Result<serde_json::Value, _> = serde_json::from_str(&json);
    assert!(read.is_ok(), "{json}");
    json
}
