//! Where in a record a field lies: a dotted path (`info.task.actions`) or a JSON pointer (`/info/task/actions`).

use crate::{text::Text, value::Value};

/// Keys and indexes, from the record down.
#[derive(Clone, Debug)]
pub struct Field {
    pub written: String,
    steps: Vec<String>,
}

impl Field {
    /// Where a record's id is, unless somebody says otherwise.
    pub const ID: &str = "id";

    /// What starts with a slash, or is empty (the whole record), is a JSON pointer (RFC 6901); all else is a dotted path.
    pub fn parse(written: &str) -> Self {
        let steps = match written.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect(),
            None if written.is_empty() => Vec::new(),
            None => written.split('.').map(str::to_owned).collect(),
        };
        Field { written: written.to_owned(), steps }
    }

    pub fn find<'a>(&self, record: Value<'a>) -> Option<Value<'a>> {
        self.steps.iter().try_fold(record, |value, step| value.get(step))
    }

    pub fn steps(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.steps.iter().map(String::as_str)
    }

    /// Where the field isn't in a record: the keys that are there, at the first step that leads nowhere.
    pub fn keys_instead(&self, record: Value<'_>) -> Option<Vec<String>> {
        let mut value = record;
        for step in &self.steps {
            let Some(inner) = value.get(step) else {
                let Value::Object(members) = value else { return Some(Vec::new()) };
                return Some(members.iter().map(|member| show(member.key)).collect());
            };
            value = inner;
        }
        None
    }
}

fn show(key: Text<'_>) -> String {
    crate::show::in_a_sentence(&crate::show::storable(key))
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use super::*;
    use crate::{compare::equal, json};

    #[test]
    fn paths_and_pointers() {
        let bump = Bump::new();
        let text = br#"{"a": {"b": [10, {"c": 1}], "": 2}, "x.y": 3, "x/y": 4, "~": 5, "0": 6}"#;
        let record = json::parse(text, 9, &bump).unwrap();
        for (written, value) in [
            ("a.b.0", 10),
            ("a.b.1.c", 1),
            ("/a/b/1/c", 1),
            ("/a/", 2),
            ("/x.y", 3),
            ("/x~1y", 4),
            ("/~0", 5),
            ("0", 6),
        ] {
            let found = Field::parse(written).find(record).unwrap();
            assert!(equal(found, Value::Int(value)), "{written}");
        }
        assert!(equal(Field::parse("").find(record).unwrap(), record));
        for written in ["a.c", "a.b.2", "a.b.-1", "a.b.c", "x.y", "a.b.0.0"] {
            assert!(Field::parse(written).find(record).is_none(), "{written}");
        }
    }
}
