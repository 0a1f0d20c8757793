//! What the scanner of Tool Call Check finds in a text, as dicts.

use bumpalo::Bump;
use callmatch_core::{
    grounding::{
        request,
        scan::{self, Block, Date, Hedge, Mention, Modality, Number, Scan, Span, Time, Unit, What},
    },
    text::Text,
};
use pyo3::{
    prelude::*,
    types::{PyBytes, PyDict, PyList, PyString},
};

/// The mentions in a text, in its order. Offsets count code points.
#[pyfunction]
pub fn mentions<'py>(text: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyList>> {
    let py = text.py();
    let bump = Bump::new();
    let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    let text = request::utf8(Text::Utf8(bytes.cast::<PyBytes>()?.as_bytes()), &bump);
    let scan = scan::scan(text, &bump);
    let list = PyList::empty(py);
    let mut points = Points { text, byte: 0, point: 0 };
    for mention in scan.mentions {
        list.append(dict_of(py, mention, &scan, &mut points)?)?;
    }
    Ok(list)
}

/// Bytes to code points, for places that come in the order of the text.
struct Points<'t> {
    text: &'t str,
    byte: usize,
    point: usize,
}

impl Points<'_> {
    fn at(&mut self, byte: u32) -> usize {
        let byte = byte as usize;
        if byte < self.byte {
            (self.byte, self.point) = (0, 0);
        }
        self.point += self.text.get(self.byte..byte).map_or(0, |part| part.chars().count());
        self.byte = byte;
        self.point
    }
}

fn dict_of<'py>(
    py: Python<'py>,
    mention: &Mention<'_>,
    scan: &Scan<'_>,
    points: &mut Points<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let slice = |span: Span| points.text.get(span.start as usize..span.end as usize).unwrap_or_default();
    dict.set_item("text", slice(mention.span))?;
    dict.set_item("core", slice(mention.core))?;
    dict.set_item("start", points.at(mention.span.start))?;
    dict.set_item("end", points.at(mention.span.end))?;
    match &mention.what {
        What::Number(number) => of_number(&dict, number)?,
        What::Date(date) => of_date(&dict, "date", date)?,
        What::Time(time) => of_time(&dict, "time", time)?,
        What::Moment(date, time) => {
            of_date(&dict, "moment", date)?;
            of_time(&dict, "moment", time)?;
        }
        What::Id(id) => of_text(&dict, "id", id)?,
        What::Email(email) => of_text(&dict, "email", email)?,
        What::Url(url) => of_text(&dict, "url", url)?,
        What::Quote(quote) => of_text(&dict, "quote", quote)?,
    }
    let hedge = match mention.hedge {
        Hedge::None => None,
        Hedge::About => Some("about"),
        Hedge::Over => Some("over"),
        Hedge::Under => Some("under"),
    };
    dict.set_item("hedge", hedge)?;
    dict.set_item("idle", mention.idle)?;
    dict.set_item("sentence", mention.sentence)?;
    let sentence = scan.sentences.get(mention.sentence as usize);
    dict.set_item("block", sentence.map(|sentence| block(sentence.block)))?;
    let clause = scan.clauses.get(mention.clause as usize);
    dict.set_item("modality", clause.map(|clause| modality(clause.modality)))?;
    Ok(dict)
}

fn of_text(dict: &Bound<'_, PyDict>, kind: &str, value: &str) -> PyResult<()> {
    dict.set_item("kind", kind)?;
    dict.set_item("value", value)
}

fn of_number(dict: &Bound<'_, PyDict>, number: &Number<'_>) -> PyResult<()> {
    dict.set_item("kind", "number")?;
    let readings = number.readings.iter().map(|reading| (reading.value.to_string(), reading.step.to_string()));
    dict.set_item("readings", readings.collect::<Vec<_>>())?;
    let unit = number.unit.map(|unit| match unit {
        Unit::Percent => ("percent", "%".to_owned()),
        Unit::Currency { code, symbol: true } => ("currency_symbol", code.to_owned()),
        Unit::Currency { code, symbol: false } => ("currency", code.to_owned()),
        Unit::Measure(name) => ("measure", name.to_owned()),
    });
    dict.set_item("unit", unit)?;
    dict.set_item("signed", number.signed)?;
    dict.set_item("spelled", number.spelled)?;
    dict.set_item("ordinal", number.ordinal)?;
    dict.set_item("range", number.range)
}

fn of_date(dict: &Bound<'_, PyDict>, kind: &str, date: &Date) -> PyResult<()> {
    dict.set_item("kind", kind)?;
    dict.set_item("year", date.year)?;
    dict.set_item("month", date.month)?;
    dict.set_item("day", date.day)?;
    dict.set_item("weekday", date.weekday)?;
    dict.set_item("ambiguous", date.ambiguous)
}

fn of_time(dict: &Bound<'_, PyDict>, kind: &str, time: &Time) -> PyResult<()> {
    dict.set_item("kind", kind)?;
    dict.set_item("hour", time.hour)?;
    dict.set_item("minute", time.minute)?;
    dict.set_item("second", time.second)?;
    dict.set_item("offset", time.offset)?;
    dict.set_item("half_day_open", time.half_day_open)
}

fn block(block: Block) -> &'static str {
    match block {
        Block::Prose => "prose",
        Block::Heading => "heading",
        Block::Item => "item",
        Block::Row => "row",
        Block::Code => "code",
    }
}

fn modality(modality: Modality) -> &'static str {
    match modality {
        Modality::Asserted => "asserted",
        Modality::Hypothetical => "hypothetical",
        Modality::Future => "future",
        Modality::Question => "question",
        Modality::Reported => "reported",
        Modality::Imperative => "imperative",
    }
}
