//! What stands for a value where exporters wrote something else: JSON text, also twice, Python's way to write a value,
//! envelopes around arguments and results.

mod literal;

use super::messages::content::{are_said, parts_text};
use crate::{
    call::{REDACTED, Reader},
    json,
    text::Text,
    value::{Member, Object, Value},
};

/// How deep a value may nest that is written as a text inside another one. What nests deeper stays a text.
const MOST_LEVELS: usize = 128;
/// How many envelopes may be around a result.
const MOST_ENVELOPES: usize = 8;

/// JSON text of an object or a list is what it says; so is JSON text of such a text. All else stays as it is.
pub fn decoded<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Text(text) => json_in(reader, text.utf8_in(reader.bump)).unwrap_or(value),
        other => other,
    }
}

/// The object or list that JSON text says, or JSON text of it. (Each time that a text is written as JSON text, it gets
/// longer, so this ends.)
fn json_in<'a>(reader: Reader<'a>, bytes: &'a [u8]) -> Option<Value<'a>> {
    if !matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[' | b'"')) {
        return None;
    }
    match json::parse(bytes, MOST_LEVELS, reader.bump).ok()? {
        Value::Text(inner) => json_in(reader, inner.utf8_in(reader.bump)),
        inner @ (Value::Object(_) | Value::Array(_)) => Some(inner),
        _ => None,
    }
}

/// What is written in Python's way: a dict, list, tuple, text, number, boolean or None. No object of a class, set or
/// bytes is one, nor what holds them.
pub fn python_literal<'a>(reader: Reader<'a>, bytes: &'a [u8]) -> Option<Value<'a>> {
    literal::parse(bytes, MOST_LEVELS, reader.bump)
}

/// The arguments of a call out of what stands in their place: an object; null if they were not recorded; else what it
/// was.
pub fn arguments<'a>(reader: Reader<'a>, written: Value<'a>) -> Value<'a> {
    match plain_arguments(reader, written) {
        Value::Object(members) => opened(reader, members, None),
        other => other,
    }
}

/// The same where a JSON schema of the tool's input is known, which names what was given by position.
pub fn arguments_with_schema<'a>(reader: Reader<'a>, written: Value<'a>, schema: Value<'a>) -> Value<'a> {
    match plain_arguments(reader, written) {
        Value::Object(members) => opened(reader, members, properties(reader, schema)),
        other => other,
    }
}

/// What stands under a lone `input`, where arguments are kept so.
pub fn inner_input<'a>(reader: Reader<'a>, written: Value<'a>) -> Value<'a> {
    match plain_arguments(reader, written) {
        Value::Object([Member { key, value: inner @ (Value::Object(_) | Value::Text(_)) }]) if key.is("input") => {
            match plain_arguments(reader, *inner) {
                Value::Object(inner) => Value::Object(inner),
                _ => plain_arguments(reader, written),
            }
        }
        other => other,
    }
}

/// Without envelopes.
fn plain_arguments<'a>(reader: Reader<'a>, written: Value<'a>) -> Value<'a> {
    match written {
        Value::Float(float) if float.is_nan() => Value::Null,
        Value::Text(text) => match of_text(reader, text.utf8_in(reader.bump)) {
            InText::Object(members) => Value::Object(members),
            InText::NotRecorded => Value::Null,
            InText::Other => written,
        },
        other => other,
    }
}

enum InText<'a> {
    Object(Object<'a>),
    NotRecorded,
    Other,
}

fn of_text<'a>(reader: Reader<'a>, bytes: &'a [u8]) -> InText<'a> {
    // Providers send this for a tool without parameters.
    if bytes.is_empty() {
        return InText::Object(&[]);
    }
    let trimmed = bytes.trim_ascii();
    if is_left_out(trimmed) {
        return InText::NotRecorded;
    }
    match trimmed.first() {
        Some(b'{') => match structured(reader, trimmed) {
            Some(Value::Object(members)) => InText::Object(members),
            _ if is_cut(trimmed) => InText::NotRecorded,
            _ => InText::Other,
        },
        Some(b'"') => match json::parse(trimmed, MOST_LEVELS, reader.bump) {
            // An empty one in quotes is a text that somebody gave.
            Ok(Value::Text(inner)) if !inner.is_empty() => of_text(reader, inner.utf8_in(reader.bump)),
            Err(_) if is_cut(trimmed) => InText::NotRecorded,
            _ => InText::Other,
        },
        Some(b'[') if is_cut(trimmed) && structured(reader, trimmed).is_none() => InText::NotRecorded,
        _ => InText::Other,
    }
}

/// What a text says as JSON or in Python's way.
fn structured<'a>(reader: Reader<'a>, bytes: &'a [u8]) -> Option<Value<'a>> {
    json_in(reader, bytes).or_else(|| python_literal(reader, bytes))
}

/// Null, and what is written in the place of what was taken out.
fn is_left_out(text: &[u8]) -> bool {
    let marks = ["null", "None", "N/A"];
    REDACTED.iter().chain(&marks).any(|mark| text == mark.as_bytes())
}

/// Does a text that isn't whole say so? It ends in an ellipsis or in a word on it: `… [truncated 120 characters]`.
fn is_cut(text: &[u8]) -> bool {
    const WORD: &[u8] = b"truncated";
    if text.ends_with(b"...") || text.ends_with("…".as_bytes()) {
        return true;
    }
    let tail = text.get(text.len().saturating_sub(64)..).unwrap_or(text).to_ascii_lowercase();
    let Some(place) = memchr::memmem::rfind(&tail, WORD) else { return false };
    let rest = tail.get(place + WORD.len()..).unwrap_or_default();
    // A quote or brace after it is one of the value.
    rest.iter().all(|byte| !matches!(byte, b'"' | b'\'' | b'{' | b'}'))
}

/// Are these all of the keys?
fn has_only(members: Object<'_>, keys: &[&str]) -> bool {
    members.len() == keys.len() && keys.iter().all(|key| members.iter().any(|member| member.key.is(key)))
}

fn get<'a>(members: Object<'a>, key: &str) -> Value<'a> {
    crate::value::get(members, Text::from(key)).unwrap_or(Value::Null)
}

/// The arguments in the envelopes of those who write down a call as their own functions get it.
fn opened<'a>(reader: Reader<'a>, members: Object<'a>, names: Option<&[Text<'a>]>) -> Value<'a> {
    // LangChain's, as OpenLLMetry writes it.
    if has_only(members, &["input_str", "tags", "metadata", "inputs", "kwargs"]) {
        let inputs = plain_arguments(reader, get(members, "inputs"));
        let written = plain_arguments(reader, get(members, "input_str"));
        return match (inputs, written) {
            (Value::Object(_), _) | (_, Value::Null) => inputs,
            (Value::Null, _) | (_, Value::Object(_)) => written,
            _ => inputs,
        };
    }
    // Those of a Python function; the longer ones are those of smolagents.
    if has_only(members, &["args", "kwargs"]) || has_only(members, &["args", "kwargs", "sanitize_inputs_outputs"]) {
        return named(reader, get(members, "args"), get(members, "kwargs"), names).unwrap_or(Value::Object(members));
    }
    Value::Object(members)
}

/// What a Python function was given, by name; None if something given by position has none.
fn named<'a>(reader: Reader<'a>, args: Value<'a>, kwargs: Value<'a>, names: Option<&[Text<'a>]>) -> Option<Value<'a>> {
    let args = match args {
        Value::Text(text) => structured(reader, text.utf8_in(reader.bump))?,
        other => other,
    };
    let (args, kwargs) = match (args, plain_arguments(reader, kwargs)) {
        (Value::Null, Value::Null) => return Some(Value::Null),
        (Value::Null, Value::Object(kwargs)) => (&[][..], kwargs),
        (Value::Array(args), Value::Null) => (args, &[][..]),
        (Value::Array(args), Value::Object(kwargs)) => (args, kwargs),
        _ => return None,
    };
    if args.is_empty() {
        return Some(Value::Object(kwargs));
    }
    let names = names?;
    let is_name = |key: Text<'_>| names.contains(&key);
    // smolagents hands over a dict of all arguments.
    if let ([Value::Object(all)], []) = (args, kwargs)
        && all.iter().all(|member| is_name(member.key))
    {
        return Some(Value::Object(all));
    }
    let of_args = names.get(..args.len())?;
    if kwargs.iter().any(|member| of_args.contains(&member.key)) {
        return None;
    }
    let given = of_args.iter().zip(args).map(|(&key, &value)| Member { key, value });
    let all: Vec<_> = given.chain(kwargs.iter().copied()).collect();
    Some(Value::Object(reader.bump.alloc_slice_copy(&all)))
}

/// The names in a JSON schema of a tool's input, in their order, also where its `properties` alone are given. (A tool
/// has few, so they may be searched one by one.)
fn properties<'a>(reader: Reader<'a>, schema: Value<'a>) -> Option<&'a [Text<'a>]> {
    let schema = decoded(reader, schema);
    let Value::Object(members) = schema.get("properties").unwrap_or(schema) else { return None };
    let is_property = |member: &Member<'_>| matches!(member.value, Value::Object(_));
    let names = || members.iter().map(|member| member.key).collect::<Vec<_>>();
    members.iter().all(is_property).then(|| &*reader.bump.alloc_slice_copy(&names()))
}

/// What a tool gave, out of what stands in its place: whether the call failed and which call it was, where the envelope
/// around it says so. JSON text is what it says, but for that inside an envelope, which a tool gave. Null: it was taken
/// out.
pub fn output<'a>(reader: Reader<'a>, written: Value<'a>) -> (Value<'a>, Option<bool>, Option<Text<'a>>) {
    let (mut value, mut failed, mut call_id) = (decoded(reader, written), None, None);
    for _ in 0..MOST_ENVELOPES {
        let Value::Object(members) = decoded(reader, value) else { break };
        let Some(inner) = result_in(reader, members) else { break };
        value = inner.value;
        // What is nearest to the tool knows best that it failed, what is nearest to the model which call it was.
        failed = inner.failed.or(failed);
        call_id = call_id.or(inner.call_id);
    }
    match value {
        Value::Text(text) if REDACTED.iter().any(|mark| text.is(mark)) => (Value::Null, failed, call_id),
        _ => (value, failed, call_id),
    }
}

struct Inner<'a> {
    value: Value<'a>,
    failed: Option<bool>,
    call_id: Option<Text<'a>>,
}

/// What is in the envelope of a result, if it is one.
fn result_in<'a>(reader: Reader<'a>, members: Object<'a>) -> Option<Inner<'a>> {
    let plain = |value| Some(Inner { value, failed: None, call_id: None });
    // A message of LangChain, in each of the ways in which it is written.
    if has_only(members, &["type", "data"]) && is_word(get(members, "type"), &["tool"]) {
        return match get(members, "data") {
            Value::Object(data) => Some(message(reader, data)),
            _ => None,
        };
    }
    if let (Value::Int(1), Value::Array([.., Value::Text(class)])) = (get(members, "lc"), get(members, "id")) {
        return match get(members, "kwargs") {
            Value::Object(kwargs) if class.is("ToolMessage") => Some(message(reader, kwargs)),
            _ => None,
        };
    }
    let has = |key| crate::value::get(members, Text::from(key)).is_some();
    if has("content") && has("tool_call_id") && is_of_a_tool(members) {
        return Some(message(reader, members));
    }
    // How OpenLLMetry writes what LangChain's tools return.
    if has_only(members, &["output", "kwargs"]) {
        return plain(get(members, "output"));
    }
    // MCP's.
    if let (Value::Array(parts), failed @ (Value::True | Value::False)) =
        (get(members, "content"), get(members, "isError"))
    {
        let value = said(reader, Value::Array(parts));
        return Some(Inner { value, failed: Some(matches!(failed, Value::True)), call_id: None });
    }
    // ADK's.
    if has_only(members, &["id", "name", "response"]) && matches!(get(members, "name"), Value::Text(_)) {
        let call_id = id(get(members, "id"));
        return Some(Inner { value: get(members, "response"), failed: None, call_id });
    }
    None
}

/// Does it say that it is the message of a tool? One that says how the call went does, too.
fn is_of_a_tool(members: Object<'_>) -> bool {
    match (get(members, "type"), get(members, "role")) {
        (Value::Null, Value::Null) => is_word(get(members, "status"), &["success", "error"]),
        (kind, role) => is_word(kind, &["tool", "ToolMessage"]) || is_word(role, &["tool"]),
    }
}

fn message<'a>(reader: Reader<'a>, members: Object<'a>) -> Inner<'a> {
    let status = get(members, "status");
    let failed = match status {
        Value::Text(status) if status.is("error") => Some(true),
        Value::Text(status) if status.is("success") => Some(false),
        _ => None,
    };
    Inner { value: said(reader, get(members, "content")), failed, call_id: id(get(members, "tool_call_id")) }
}

/// Texts in blocks are a text, and data stays as it is.
fn said<'a>(reader: Reader<'a>, value: Value<'a>) -> Value<'a> {
    match value {
        Value::Array(parts) if are_said(parts) => parts_text(parts, reader.bump).map_or(Value::Null, Value::Text),
        other => other,
    }
}

fn is_word(value: Value<'_>, words: &[&str]) -> bool {
    matches!(value, Value::Text(text) if words.iter().any(|word| text.is(word)))
}

/// One that is empty or `null` is none.
fn id<'a>(value: Value<'a>) -> Option<Text<'a>> {
    match value {
        Value::Text(text) if !text.is_empty() && !text.is("null") => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::show;

    fn with(text: &str, read: impl for<'a> Fn(Reader<'a>, Value<'a>) -> String) -> String {
        let bump = Bump::new();
        let (value, reader) = Reader::parse(text.as_bytes(), &bump).unwrap();
        read(reader, value)
    }

    fn of_arguments(written: &str) -> String {
        with(written, |reader, value| show::json_text(arguments(reader, value)))
    }

    /// As JSON text, as a text in JSON.
    fn quoted(text: &str) -> String {
        show::json_text(Value::Text(Text::from(text)))
    }

    #[test]
    fn arguments_are_an_object_in_whichever_way_it_is_written() {
        let object = r#"{"a": 1, "b": [true, null]}"#;
        for written in [
            object.to_owned(),
            quoted(object),
            quoted(&format!(" {object}\n")),
            quoted(&quoted(object)),
            quoted(&quoted(&quoted(object))),
            quoted("{'a': 1, 'b': [True, None]}"),
            quoted("{'a': 1, 'b': (True, None)}"),
            quoted(&quoted("{'a': 1, 'b': [True, None]}")),
        ] {
            assert_eq!(of_arguments(&written), object, "{written}");
        }
        for written in ["{}", r#""""#, r#""{}""#, r#""{ }""#, r#""\"{}\"""#] {
            assert_eq!(of_arguments(written), "{}", "{written}");
        }
    }

    #[test]
    fn arguments_that_were_left_out_are_null() {
        let not_recorded = ["null", "None", "N/A", "<REDACTED>", "[REDACTED]", "[TRUNCATED]", "<not serializable>"];
        for text in not_recorded.into_iter().flat_map(|text| [quoted(text), quoted(&quoted(text))]) {
            assert_eq!(of_arguments(&text), "null", "{text}");
        }
        assert_eq!(of_arguments("null"), "null");
        assert_eq!(of_arguments("NaN"), "null");
        for cut in [
            r#"{"a": "long te..."#,
            r#"{"a": "long te…"#,
            r#"{"a": "long te...[truncated]"#,
            r#"{"a": "long te... (truncated)"#,
            r#"{"a": 1, "b"<truncated 120 characters>"#,
            r#"{"a": 1, [TRUNCATED]"#,
            "{'a': 'long te... [truncated, 5 of 99 bytes]",
            r#"["a", "b..."#,
        ] {
            assert_eq!(of_arguments(&quoted(cut)), "null", "{cut}");
        }
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for text in [
            "5",
            "true",
            "[1, 2]",
            "[{\"a\": 1}]",
            "import os",
            "print('{}')",
            "[1, 2]",
            "(1, 2)",
            "Foo(a=1)",
            "{'a': Foo(a=1)}",
            "<Foo at 0x7f>",
            "{'a': b'x'}",
            "{\"a\": 1",
            "{\"a\": \"truncated\"",
            "{'a': {'truncated'}",
            "[...]x",
            " ",
            "nothing...",
            "wait…",
            "was truncated",
            "\"x\"",
            "\"\"",
            "{1: 2}",
        ] {
            assert_eq!(of_arguments(&quoted(text)), quoted(text), "{text}");
        }
        for written in ["5", "true", "[1, 2]", r#"[{"a": 1}]"#, r#"{"a": "[REDACTED]"}"#, r#"{"a": "null"}"#] {
            assert_eq!(of_arguments(written), written);
        }
        assert_eq!(of_arguments(&quoted(r#"{"a": "..."}"#)), r#"{"a": "..."}"#);
    }

    #[test]
    fn what_nests_too_deep_stays_a_text() {
        for (open, close, quote) in [("[", "]", r#""a""#), ("[", "]", "'a'"), (r#"{"a": "#, "}", r#""a""#)] {
            let deep = |depth: usize| format!("{{{quote}: {}1{}}}", open.repeat(depth - 1), close.repeat(depth - 1));
            assert!(of_arguments(&quoted(&deep(128))).starts_with('{'));
            assert_eq!(of_arguments(&quoted(&deep(129))), quoted(&deep(129)));
        }
        let deep = format!("{}{}", "[".repeat(129), "]".repeat(129));
        assert_eq!(with(&quoted(&deep), |reader, value| show::json_text(decoded(reader, value))), quoted(&deep));
        assert_eq!(of_arguments(&quoted(&"[".repeat(50_000))).len(), 50_002);
    }

    #[test]
    fn json_text_is_decoded_and_other_texts_are_not() {
        let read = |text: &str| with(text, |reader, value| show::json_text(decoded(reader, value)));
        for (text, wanted) in [
            (r#""[1]""#, "[1]"),
            (r#"" {\"a\": 1}""#, r#"{"a": 1}"#),
            (r#""\"{\\\"a\\\": 1}\"""#, r#"{"a": 1}"#),
            (r#""5""#, r#""5""#),
            (r#""\"x\"""#, r#""\"x\"""#),
            (r#""null""#, r#""null""#),
            (r#""{'a': 1}""#, r#""{'a': 1}""#),
            (r#"{"a": "[1]"}"#, r#"{"a": "[1]"}"#),
            ("null", "null"),
        ] {
            assert_eq!(read(text), wanted);
        }
    }

    #[test]
    fn envelopes_around_arguments_are_opened() {
        for (written, wanted) in [
            (
                r#"{"input_str": "{'a': 1}", "tags": [], "metadata": {}, "inputs": {"a": 2}, "kwargs": {}}"#,
                r#"{"a": 2}"#,
            ),
            (r#"{"input_str": "{'a': 1}", "tags": [], "metadata": {}, "inputs": null, "kwargs": {}}"#, r#"{"a": 1}"#),
            (r#"{"input_str": "{\"a\": 1}", "tags": [], "metadata": {}, "inputs": "x", "kwargs": {}}"#, r#"{"a": 1}"#),
            (r#"{"input_str": "Graz", "tags": [], "metadata": {}, "inputs": null, "kwargs": {}}"#, r#""Graz""#),
            (r#"{"input_str": null, "tags": [], "metadata": {}, "inputs": null, "kwargs": {}}"#, "null"),
            (r#"{"args": [], "kwargs": {"a": 1}}"#, r#"{"a": 1}"#),
            (r#"{"args": null, "kwargs": {"a": 1}}"#, r#"{"a": 1}"#),
            (r#"{"args": "()", "kwargs": "{'a': 1}"}"#, r#"{"a": 1}"#),
            (r#"{"args": [], "kwargs": {}, "sanitize_inputs_outputs": true}"#, "{}"),
            (r#"{"args": [], "kwargs": null}"#, "{}"),
            (r#"{"args": null, "kwargs": null}"#, "null"),
        ] {
            assert_eq!(of_arguments(written), wanted, "{written}");
            assert_eq!(of_arguments(&quoted(written)), wanted, "{written}");
        }
        // What was given by position, has other keys too, or is no envelope at all.
        for written in [
            r#"{"args": [1], "kwargs": {"a": 1}}"#,
            r#"{"args": [1], "kwargs": {}, "sanitize_inputs_outputs": true}"#,
            r#"{"args": "x", "kwargs": {}}"#,
            r#"{"args": [], "kwargs": [1]}"#,
            r#"{"args": [], "kwargs": {"a": 1}, "b": 2}"#,
            r#"{"kwargs": {"a": 1}}"#,
            r#"{"args": []}"#,
            r#"{"input_str": "{}", "inputs": {"a": 1}}"#,
            r#"{"input": {"a": 1}}"#,
        ] {
            assert_eq!(of_arguments(written), written);
        }
    }

    #[test]
    fn a_schema_names_what_was_given_by_position() {
        let read = |written: &str, schema: &str| {
            with(&format!("[{written}, {schema}]"), |reader, value| {
                let (Some(written), Some(schema)) = (value.get("0"), value.get("1")) else { panic!("both") };
                show::json_text(arguments_with_schema(reader, written, schema))
            })
        };
        let properties = r#"{"city": {"type": "string"}, "days": {"type": "integer"}}"#;
        let schema = format!(r#"{{"type": "object", "properties": {properties}, "required": ["city"]}}"#);
        for schema in [properties, &schema, &quoted(&schema)] {
            for (written, wanted) in [
                (r#"{"args": ["Graz"], "kwargs": {"days": 2}}"#, r#"{"city": "Graz", "days": 2}"#),
                (
                    r#"{"args": ["Graz", 2], "kwargs": {}, "sanitize_inputs_outputs": true}"#,
                    r#"{"city": "Graz", "days": 2}"#,
                ),
                (r#"{"args": [{"days": 2}], "kwargs": {}}"#, r#"{"days": 2}"#),
                (r#"{"args": [{"x": 2}], "kwargs": {}}"#, r#"{"city": {"x": 2}}"#),
                (r#"{"args": [], "kwargs": {"city": "Graz"}}"#, r#"{"city": "Graz"}"#),
                (r#"{"city": "Graz"}"#, r#"{"city": "Graz"}"#),
                ("null", "null"),
            ] {
                assert_eq!(read(written, schema), wanted, "{written}");
            }
            for written in [r#"{"args": [1, 2, 3], "kwargs": {}}"#, r#"{"args": ["Graz"], "kwargs": {"city": "Linz"}}"#]
            {
                assert_eq!(read(written, schema), written);
            }
        }
        let written = r#"{"args": ["Graz"], "kwargs": {}}"#;
        for schema in ["null", "5", r#"{"type": "object"}"#, r#"{"properties": {}}"#] {
            assert_eq!(read(written, schema), written, "{schema}");
        }
    }

    #[test]
    fn a_lone_input_is_opened_where_it_is_asked_for() {
        let read = |text: &str| with(text, |reader, value| show::json_text(inner_input(reader, value)));
        for written in [r#"{"input": {"a": 1}}"#, r#"{"input": "{\"a\": 1}"}"#, r#"{"input": "{'a': 1}"}"#] {
            assert_eq!(read(written), r#"{"a": 1}"#);
            assert_eq!(read(&quoted(written)), r#"{"a": 1}"#);
        }
        for written in [r#"{"input": "x"}"#, r#"{"input": 5}"#, r#"{"input": {}, "b": 1}"#, r#"{"a": {}}"#, "5", "null"]
        {
            assert_eq!(read(written), written);
        }
    }

    fn of_output(written: &str) -> String {
        with(written, |reader, value| {
            let (output, failed, call_id) = output(reader, value);
            let mut line = show::json_text(output);
            if let Some(failed) = failed {
                line += if failed { " failed" } else { " ok" };
            }
            call_id.map_or(line.clone(), |id| format!("{line} #{}", show::plain(id)))
        })
    }

    #[test]
    fn envelopes_around_results_are_opened() {
        for (written, wanted) in [
            (r#"{"type": "tool", "content": "x", "tool_call_id": "1", "status": "success"}"#, r#""x" ok #1"#),
            (r#"{"type": "tool", "content": "x", "tool_call_id": "1", "status": "error"}"#, r#""x" failed #1"#),
            (r#"{"type": "tool", "content": "x", "tool_call_id": "", "name": "f"}"#, r#""x""#),
            (
                r#"{"content": [{"type": "text", "text": "x"}], "tool_call_id": "1", "status": "error"}"#,
                r#""x" failed #1"#,
            ),
            (r#"{"role": "tool", "content": {"a": 1}, "tool_call_id": "null"}"#, r#"{"a": 1}"#),
            (r#"{"type": "tool", "data": {"content": "x", "tool_call_id": "1"}}"#, r#""x" #1"#),
            (
                r#"{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"],
                    "kwargs": {"content": "x", "tool_call_id": "1", "status": "success"}}"#,
                r#""x" ok #1"#,
            ),
            (
                r#"{"output": {"lc": 1, "type": "constructor", "id": ["ToolMessage"], "kwargs": {"content": "x",
                    "tool_call_id": "1"}}, "kwargs": {"color": "green"}}"#,
                r#""x" #1"#,
            ),
            (r#"{"output": "x", "kwargs": {}}"#, r#""x""#),
            (r#"{"content": [{"type": "text", "text": "x"}], "isError": true}"#, r#""x" failed"#),
            (r#"{"content": [], "structuredContent": {"a": 1}, "isError": false}"#, "[] ok"),
            (r#"{"id": "1", "name": "f", "response": {"result": 5}}"#, r#"{"result": 5} #1"#),
            (
                r#"{"id": null, "name": "f",
                    "response": {"content": [{"type": "text", "text": "x"}], "isError": true}}"#,
                r#""x" failed"#,
            ),
        ] {
            assert_eq!(of_output(written), wanted, "{written}");
            assert_eq!(of_output(&quoted(written)), wanted, "{written}");
            assert_eq!(of_output(&format!(r#"{{"output": {}, "kwargs": {{}}}}"#, quoted(written))), wanted);
        }
    }

    #[test]
    fn results_without_an_envelope_stay_as_they_are() {
        for written in [
            "null",
            "5",
            r#""""#,
            r#""x""#,
            r#""{\"a\": 1""#,
            r#""{'a': 1}""#,
            r#"{"result": 5}"#,
            r#"{"output": 5}"#,
            r#"{"content": "x"}"#,
            r#"{"content": "x", "tool_call_id": "1"}"#,
            r#"{"type": "ai", "content": "x", "tool_call_id": "1", "status": "success"}"#,
            r#"{"content": "x", "isError": true}"#,
            r#"{"content": [], "isError": "no"}"#,
            r#"{"id": "1", "name": "f"}"#,
            r#"{"id": "1", "name": "f", "response": 5, "more": 1}"#,
            r#"[{"type": "tool", "content": "x", "tool_call_id": "1"}]"#,
            r#"{"lc": 1, "type": "constructor", "id": ["AIMessage"], "kwargs": {"content": "x"}}"#,
            r#"{"lc": 1, "id": []}"#,
            r#"{"type": "tool", "data": 5}"#,
            r#"{"error": "no"}"#,
        ] {
            assert_eq!(of_output(written), written);
        }
        for (written, wanted) in [(r#""{\"a\": 1}""#, r#"{"a": 1}"#), (r#""[1, 2]""#, "[1, 2]")] {
            assert_eq!(of_output(written), wanted);
        }
        assert_eq!(of_output(r#""<REDACTED>""#), "null");
        assert_eq!(of_output(r#"{"type": "tool", "content": "[REDACTED]", "tool_call_id": "1"}"#), "null #1");
        assert_eq!(of_output(r#""None""#), r#""None""#);
        let message = r#"{"type": "tool", "content": "{\"a\": 1}", "tool_call_id": "1"}"#;
        assert_eq!(of_output(message), r#""{\"a\": 1}" #1"#);
        let nested = |depth| format!("{}5{}", r#"{"output": "#.repeat(depth), r#", "kwargs": {}}"#.repeat(depth));
        assert_eq!(of_output(&nested(8)), "5");
        assert_eq!(of_output(&nested(9)), nested(1));
    }
}
