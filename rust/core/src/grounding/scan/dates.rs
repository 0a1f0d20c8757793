//! Dates and times of day.

use super::{
    Date, Time, TokenKind,
    characters::{at, before, digit, is_blank, is_dash, is_hyphen, skip_blanks},
    lexicon::{self, Role},
    tokens::Tokens,
};

/// A date or a time that was found, from the first to behind the last of its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Found<T> {
    pub value: T,
    pub start: usize,
    pub end: usize,
}

const NO_DATE: Date = Date { year: None, month: None, day: None, weekday: None, ambiguous: false };

/// A number of at most nine digits: value, digits, end.
fn small(text: &str, start: usize) -> Option<(u32, u32, usize)> {
    let (mut value, mut digits, mut end) = (0u32, 0, start);
    while let Some((c, next)) = at(text, end).and_then(|c| Some((c, digit(c)?))) {
        digits += 1;
        if digits > 9 {
            return None;
        }
        value = value * 10 + u32::from(next);
        end += c.len_utf8();
    }
    if digits == 0 { None } else { Some((value, digits, end)) }
}

fn year(value: u32, digits: u32) -> Option<i16> {
    match digits {
        4 if (1000..=2999).contains(&value) => i16::try_from(value).ok(),
        // As spreadsheets have it.
        2 => i16::try_from(if value < 70 { 2000 + value } else { 1900 + value }).ok(),
        _ => None,
    }
}

fn month(value: u32) -> Option<i8> {
    if (1..=12).contains(&value) { i8::try_from(value).ok() } else { None }
}

fn day(value: u32) -> Option<i8> {
    if (1..=31).contains(&value) { i8::try_from(value).ok() } else { None }
}

/// No digit, letter or point that goes on stands at a place.
fn ends(text: &str, place: usize) -> bool {
    match at(text, place) {
        Some('.' | ',' | '-' | '/' | ':') => at(text, place + 1).is_none_or(|c| digit(c).is_none()),
        Some(c) => !c.is_alphanumeric() || is_cjk(c),
        None => true,
    }
}

fn is_cjk(c: char) -> bool {
    matches!(c, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// A date in digits: "2026-03-09", "2026/03/09", "9.3.2026", "03/09/2026", "09-03-2026", "2026-03", "2026年3月9日".
pub fn numeric(text: &str, start: usize) -> Option<Found<Date>> {
    let (a, a_digits, a_end) = small(text, start)?;
    if let Some(found) = cjk(text, start) {
        return Some(found);
    }
    // Where text runs from right to left, a mark of direction stands before the slash.
    let behind_mark = |place| if at(text, place) == Some('\u{200f}') { place + '\u{200f}'.len_utf8() } else { place };
    let a_end = behind_mark(a_end);
    let sign = at(text, a_end).filter(|&c| matches!(c, '/' | '.') || is_hyphen(c) || c == '\u{2212}')?;
    let gap = |place| if sign == '.' { skip_blanks(text, place, 1) } else { place };
    let (b, b_digits, b_end) = small(text, gap(a_end + sign.len_utf8()))?;
    let b_end = behind_mark(b_end);
    let third = if at(text, b_end) == Some(sign) { small(text, gap(b_end + sign.len_utf8())) } else { None };
    let found = |year, month, day, ambiguous, end| {
        Some(Found { value: Date { year, month, day, weekday: None, ambiguous }, start, end })
    };
    if a_digits == 4 {
        let year = year(a, 4)?;
        let month = month(b)?;
        if let Some((c, c_digits, end)) = third
            && c_digits <= 2
            && b_digits <= 2
        {
            let day = day(c)?;
            let behind = at(text, end);
            let ends =
                ends(text, end) || matches!(behind, Some('T' | 't')) || behind == Some('.') && gap(end + 1) > end + 1;
            return if ends {
                found(
                    Some(year),
                    Some(month),
                    Some(day),
                    false,
                    end + usize::from(
                        sign == '.'
                            && behind == Some('.')
                            && at(text, end + 1).is_some_and(|c| digit(c).is_none() && !is_blank(c)),
                    ),
                )
            } else {
                None
            };
        }
        // "2026-03" is a month, "2010-11" rather a season.
        let is_month = third.is_none() && is_hyphen(sign) && b_digits == 2 && b < 10 && ends(text, b_end) && a >= 1900;
        return if is_month { found(Some(year), Some(month), None, false, b_end) } else { None };
    }
    let (c, c_digits, end) = third?;
    if a_digits > 2 || b_digits > 2 || !ends(text, end) {
        return None;
    }
    let spaced = gap(a_end + sign.len_utf8()) > a_end + sign.len_utf8();
    let short_year = c_digits == 2
        && match sign {
            '/' => true,
            // "30-12-5" is a record, "1.2.3" a version.
            '.' => b_digits == 2 && !spaced,
            _ => a_digits == 2 && b_digits == 2 && c >= 10,
        };
    if c_digits != 4 && !short_year {
        return None;
    }
    let year = year(c, c_digits)?;
    if sign == '.' {
        return found(Some(year), Some(month(b)?), Some(day(a)?), false, end);
    }
    match (month(a), month(b)) {
        // The month first, as where most of English is written; the other way round it is as good a date.
        (Some(first), Some(second)) => found(Some(year), Some(first), Some(day(b)?), first != second, end),
        (Some(first), None) => found(Some(year), Some(first), Some(day(b)?), false, end),
        (None, Some(second)) => found(Some(year), Some(second), Some(day(a)?), false, end),
        (None, None) => None,
    }
}

/// "3/9" behind "on", "by", "until" …: a day without its year.
pub fn without_year(text: &str, start: usize) -> Option<Found<Date>> {
    let (a, a_digits, a_end) = small(text, start)?;
    if at(text, a_end) != Some('/') {
        return None;
    }
    let (b, b_digits, end) = small(text, a_end + 1)?;
    if a_digits > 2 || b_digits > 2 || !ends(text, end) || at(text, end) == Some('/') {
        return None;
    }
    let date = match (month(a), month(b)) {
        (Some(first), _) => Date {
            month: Some(first),
            day: Some(day(b)?),
            ambiguous: month(b).is_some_and(|second| second != first),
            ..NO_DATE
        },
        (None, Some(second)) => Date { month: Some(second), day: Some(day(a)?), ..NO_DATE },
        (None, None) => return None,
    };
    Some(Found { value: date, start, end })
}

/// "08/28" behind "expires": the month and the year of a card.
pub fn month_and_year(text: &str, start: usize) -> Option<Found<Date>> {
    let (a, a_digits, a_end) = small(text, start)?;
    let (b, b_digits, end) = small(text, a_end + 1)?;
    if at(text, a_end) != Some('/')
        || a_digits > 2
        || !matches!(b_digits, 2 | 4)
        || !ends(text, end)
        || at(text, end) == Some('/')
    {
        return None;
    }
    Some(Found { value: Date { year: Some(year(b, b_digits)?), month: Some(month(a)?), ..NO_DATE }, start, end })
}

/// Is a time or an offset that ends here written with a colon?
fn with_colon(text: &str, end: usize) -> bool {
    end.checked_sub(3).and_then(|place| at(text, place)) == Some(':')
}

/// The offset of a time zone alone: "-05:00".
pub fn is_offset(text: &str, start: usize) -> bool {
    numeric_offset(text, start).is_some_and(|(_, end)| with_colon(text, end) && ends(text, end))
}

/// "2026年3月9日", "3月9日", "2026년 3월 9일"
fn cjk(text: &str, start: usize) -> Option<Found<Date>> {
    let mut date = NO_DATE;
    let mut place = start;
    let mut end = start;
    while let Some((value, digits, behind)) = small(text, place) {
        let sign = at(text, behind)?;
        match sign {
            '年' | '년' if date.year.is_none() && digits == 4 => date.year = Some(year(value, digits)?),
            '月' | '월' if date.month.is_none() => date.month = Some(month(value)?),
            '日' | '일' if date.day.is_none() && date.month.is_some() => date.day = Some(day(value)?),
            _ => break,
        }
        end = behind + sign.len_utf8();
        if date.day.is_some() {
            break;
        }
        place = skip_blanks(text, end, 1);
    }
    // A year alone is a number.
    if date.month.is_some() { Some(Found { value: date, start, end }) } else { None }
}

/// A date that begins with a word: "March 9, 2026", "Mar 2024", "Monday, March 9", "Monday"; or with a day: "9 March 2026", "9th of March".
pub fn in_words(tokens: &Tokens<'_>, index: usize) -> Option<Found<Date>> {
    let word = tokens.word(index);
    if word.is_any(&[Role::Weekday, Role::WeekdayShort]) {
        return behind_weekday(tokens, index, word.weekday as i8);
    }
    match tokens.kind(index)? {
        TokenKind::Number => day_first(tokens, index).or_else(|| year_first(tokens, index)),
        TokenKind::Word if word.month > 0 => month_first(tokens, index),
        TokenKind::Word => spelled_day(tokens, index),
        _ => None,
    }
}

/// "the fifth of March"
fn spelled_day(tokens: &Tokens<'_>, index: usize) -> Option<Found<Date>> {
    let spelled = super::numbers::spelled(tokens, index).filter(|spelled| spelled.ordinal)?;
    let next = spelled.end + usize::from(tokens.lower(spelled.end) == "of");
    let (month, behind) = month_at(tokens, next, true, false)?;
    let day = day(u32::try_from(spelled.value).ok()?)?;
    let date = Date { month: Some(month), day: Some(day), ..NO_DATE };
    let start = tokens.start(index);
    Some(match year_at(tokens, behind) {
        Some((year, last)) => Found { value: Date { year: Some(year), ..date }, start, end: tokens.end(last) },
        None => Found { value: date, start, end: tokens.end(next) },
    })
}

/// "half past nine", "quarter to 4", "a quarter past ten"
pub fn time_in_words(tokens: &Tokens<'_>, index: usize) -> Option<Found<Time>> {
    let part = index + usize::from(tokens.lower(index) == "a");
    let after = match tokens.lower(part + 1) {
        "past" | "after" => true,
        "to" => false,
        _ => return None,
    };
    let minute = match (tokens.lower(part), after) {
        ("half", true) => 30,
        ("quarter", true) => 15,
        ("quarter", false) => 45,
        _ => return None,
    };
    let word = tokens.word(part + 2);
    let hour =
        if word.is(Role::Cardinal) { u32::from(word.number) } else { small(tokens.text, tokens.start(part + 2))?.0 };
    if !(1..=12).contains(&hour) || tokens.breaks(part + 2) > 0 {
        return None;
    }
    let (start, end) = (tokens.start(index), tokens.end(part + 2));
    let hour = if after { hour } else { (hour + 10) % 12 + 1 };
    let (hour, half_day_open, end) = match half_day(tokens.text, end) {
        Some((afternoon, behind)) => (on_24_hours(hour, afternoon)?, false, behind),
        None => (i8::try_from(hour).ok()?, true, end),
    };
    Some(Found { value: Time { hour, minute: Some(minute), second: None, offset: None, half_day_open }, start, end })
}

fn behind_weekday(tokens: &Tokens<'_>, index: usize, weekday: i8) -> Option<Found<Date>> {
    let word = tokens.word(index);
    let capital = is_capital(tokens, index);
    let start = tokens.start(index);
    let mut next = index + 1;
    // "Mon.", "Monday,", "Monday the 9th of March", "(Monday)"
    while matches!(tokens.written(next), "." | ",") && !tokens.spaced(next)
        || matches!(tokens.lower(next), "the" | "den" | "le" | "el")
    {
        next += 1;
    }
    if tokens.breaks(next) == 0
        && let Some(date) = match tokens.kind(next) {
            Some(TokenKind::Number) => numeric(tokens.text, tokens.start(next)).or_else(|| day_first(tokens, next)),
            Some(TokenKind::Word) if tokens.word(next).month > 0 => month_first(tokens, next),
            _ => None,
        }
        && date.value.day.is_some()
    {
        return Some(Found { value: Date { weekday: Some(weekday), ..date.value }, start, end: date.end });
    }
    // "sat" and "sun" are words; "Mon-Fri" are days of opening.
    let alone = word.is(Role::Weekday) && (capital || !matches!(tokens.lower(index), "domingo" | "lunes" | "jueves"));
    if alone {
        Some(Found { value: Date { weekday: Some(weekday), ..NO_DATE }, start, end: tokens.end(index) })
    } else {
        None
    }
}

fn is_capital(tokens: &Tokens<'_>, index: usize) -> bool {
    tokens.written(index).chars().next().is_some_and(char::is_uppercase)
}

/// A month's name at a token: the month, and the token behind it (and behind its full stop).
fn month_at(tokens: &Tokens<'_>, index: usize, behind_day: bool, behind_de: bool) -> Option<(i8, usize)> {
    let word = tokens.word(index);
    let dot = tokens.is(index + 1, ".")
        && !tokens.spaced(index + 1)
        && word.month > 0
        && tokens.written(index).chars().count() < 6
        && !matches!(tokens.lower(index), "may" | "june" | "july" | "april" | "march");
    // "9 mar 2026" is a date, "set 2024" none.
    let dated = behind_day && word.is(Role::WeakMonth) && year_at(tokens, index + 1).is_some();
    let sure = word.is(Role::Month) && (!word.is(Role::WeakMonth) || is_capital(tokens, index))
        || word.is(Role::WeakMonth) && (behind_de || dot || dated);
    if sure { Some((word.month as i8, index + 1 + usize::from(dot))) } else { None }
}

/// A year at a token, behind a comma or "de", "of": with the token behind it.
fn year_at(tokens: &Tokens<'_>, index: usize) -> Option<(i16, usize)> {
    let mut next = index;
    if tokens.is(next, ",")
        || matches!(tokens.lower(next), "de" | "of" | "del")
        || tokens.is(next, "'")
        || tokens.is(next, "’")
    {
        next += 1;
    }
    if tokens.breaks(next) > 0 || tokens.kind(next) != Some(TokenKind::Number) || !tokens.spaced(next) && next == index
    {
        return None;
    }
    let (value, digits, end) = small(tokens.text, tokens.start(next))?;
    let goes_on = at(tokens.text, end).is_some_and(char::is_alphabetic)
        || matches!(at(tokens.text, end), Some(':' | ',' | '.' | '/'))
            && at(tokens.text, end + 1).and_then(digit).is_some();
    if digits != 4 || goes_on {
        return None;
    }
    Some((year(value, digits)?, next))
}

fn month_first(tokens: &Tokens<'_>, index: usize) -> Option<Found<Date>> {
    let text = tokens.text;
    let (month, next) = month_at(tokens, index, false, false)?;
    let start = tokens.start(index);
    let found = |date, end| Some(Found { value: date, start, end });
    let of_month = Date { month: Some(month), ..NO_DATE };
    let named = tokens.lower(next) == "the";
    let place = next + usize::from(named);
    let joined = tokens.written(place).chars().all(is_hyphen) && !tokens.spaced(place) && !tokens.spaced(place + 1);
    let place = place + usize::from(joined);
    if tokens.breaks(place) == 0 && tokens.kind(place) == Some(TokenKind::Number) {
        let (value, digits, end) = small(text, tokens.start(place))?;
        // "March 9:30" is a time, "March 9.5" no day.
        let is_day = digits <= 2
            && !(matches!(at(text, end), Some(':' | '.' | ',' | '/')) && at(text, end + 1).and_then(digit).is_some());
        let ordinal = ordinal_suffix(text, end);
        let letters = at(text, ordinal).is_some_and(char::is_alphabetic);
        if is_day
            && !letters
            && let Some(day) = day(value)
        {
            let behind = tokens.index_at(place, ordinal);
            let date = Date { day: Some(day), ..of_month };
            return match year_at(tokens, behind) {
                Some((year, last)) => found(Date { year: Some(year), ..date }, tokens.end(last)),
                None => match short_year(tokens, behind, joined) {
                    Some((year, end)) => found(Date { year: Some(year), ..date }, end),
                    None => found(date, ordinal),
                },
            };
        }
    }
    if let Some(value) = tokens.word(place).is(Role::Ordinal).then(|| super::numbers::spelled(tokens, place)).flatten()
        && value.ordinal
        && let Some(day) = day(u32::try_from(value.value).ok()?)
    {
        let date = Date { day: Some(day), ..of_month };
        return match year_at(tokens, value.end) {
            Some((year, last)) => found(Date { year: Some(year), ..date }, tokens.end(last)),
            None => found(date, tokens.end(value.end - 1)),
        };
    }
    if let Some((year, last)) = year_at(tokens, next) {
        return found(Date { year: Some(year), ..of_month }, tokens.end(last));
    }
    // A month alone: "in March", not "march on" nor "Mar".
    let prepared = index > 0
        && matches!(
            tokens.lower(index - 1),
            "in" | "of"
                | "since"
                | "until"
                | "till"
                | "by"
                | "during"
                | "for"
                | "last"
                | "next"
                | "this"
                | "early"
                | "late"
                | "mid"
                | "from"
                | "to"
                | "through"
                | "and"
                | "every"
                | "each"
                | "end"
        );
    let whole = tokens.lower(index).len() > 2 && is_capital(tokens, index) && next == index + 1;
    if prepared && whole { found(of_month, tokens.end(index)) } else { None }
}

/// The second day of "March 9-11, 2026", which begins at a token; `first` is the first.
pub fn day_of_month(tokens: &Tokens<'_>, index: usize, first: Date) -> Option<Found<Date>> {
    let start = tokens.start(index);
    let (value, digits, end) = small(tokens.text, start)?;
    let ordinal = ordinal_suffix(tokens.text, end);
    let goes_on = at(tokens.text, ordinal).is_some_and(|c| c.is_alphanumeric() || matches!(c, '%' | ':' | '/' | '°'));
    let number = matches!(at(tokens.text, end), Some('.' | ',')) && at(tokens.text, end + 1).and_then(digit).is_some();
    if digits > 2 || goes_on || number {
        return None;
    }
    let date = Date { day: Some(day(value)?), ..first };
    // "14 °C", "11 apples"
    let behind = tokens.index_at(index, ordinal);
    let counts = match tokens.kind(behind) {
        Some(TokenKind::Word) => !matches!(
            tokens.lower(behind),
            "and"
                | "or"
                | "at"
                | "in"
                | "for"
                | "from"
                | "with"
                | "but"
                | "are"
                | "is"
                | "was"
                | "were"
                | "on"
                | "to"
                | "inclusive"
                | "as"
                | "of"
        ),
        Some(TokenKind::Symbol) => !matches!(tokens.written(behind), "*" | "|"),
        _ => false,
    };
    if counts && tokens.breaks(behind) == 0 {
        return None;
    }
    Some(match year_at(tokens, behind) {
        Some((year, last)) => Found { value: Date { year: Some(year), ..date }, start, end: tokens.end(last) },
        None => Found { value: date, start, end: ordinal },
    })
}

/// "-26" behind "9-Mar".
fn short_year(tokens: &Tokens<'_>, index: usize, joined: bool) -> Option<(i16, usize)> {
    if !joined || !tokens.written(index).chars().all(is_hyphen) {
        return None;
    }
    let (value, digits, end) = small(tokens.text, tokens.start(index + 1))?;
    Some((year(value, digits)?, end))
}

/// Behind "st", "nd", "rd", "th".
fn ordinal_suffix(text: &str, place: usize) -> usize {
    match text.get(place..place + 2).map(str::to_ascii_lowercase).as_deref() {
        Some("st" | "nd" | "rd" | "th") if !at(text, place + 2).is_some_and(char::is_alphanumeric) => place + 2,
        _ => place,
    }
}

fn day_first(tokens: &Tokens<'_>, index: usize) -> Option<Found<Date>> {
    let text = tokens.text;
    let start = tokens.start(index);
    let (value, digits, end) = small(text, start)?;
    if digits > 2 {
        return None;
    }
    let day = day(value)?;
    let ordinal = ordinal_suffix(text, end);
    let mut next = tokens.index_at(index, ordinal);
    let joined = tokens.written(next).chars().all(is_hyphen)
        && !tokens.spaced(next)
        && !tokens.spaced(next + 1)
        && next < tokens.tokens.len();
    let dotted = tokens.is(next, ".") && !tokens.spaced(next);
    let mut behind_de = false;
    if joined || dotted {
        next += 1;
    }
    if matches!(tokens.lower(next), "of" | "de" | "di" | "º") {
        behind_de = true;
        next += 1;
    }
    if tokens.breaks(next) > 0 || !joined && !tokens.spaced(next) {
        return None;
    }
    // "5 May" is a day, "5 may" seldom.
    let (month, behind) = month_at(tokens, next, true, behind_de)?;
    let date = Date { month: Some(month), day: Some(day), ..NO_DATE };
    if joined {
        return match short_or_long_year(tokens, behind) {
            Some((year, end)) => Some(Found { value: Date { year: Some(year), ..date }, start, end }),
            None => Some(Found { value: date, start, end: tokens.end(behind - 1) }),
        };
    }
    Some(match year_at(tokens, behind) {
        Some((year, last)) => Found { value: Date { year: Some(year), ..date }, start, end: tokens.end(last) },
        None => Found { value: date, start, end: tokens.end(next) },
    })
}

/// "2023, November 14", "2023 November": the year first, as some tables have it.
fn year_first(tokens: &Tokens<'_>, index: usize) -> Option<Found<Date>> {
    let start = tokens.start(index);
    let (value, digits, end) = small(tokens.text, start)?;
    if digits != 4 || tokens.end(index) != end {
        return None;
    }
    let year = year(value, digits)?;
    let comma = tokens.is(index + 1, ",") && !tokens.spaced(index + 1);
    let next = index + 1 + usize::from(comma);
    let word = tokens.word(next);
    if tokens.breaks(next) > 0 || !tokens.spaced(next) || word.month == 0 || !is_capital(tokens, next) {
        return None;
    }
    let (month, behind) = month_at(tokens, next, false, false)?;
    let date = Date { year: Some(year), month: Some(month), ..NO_DATE };
    let month_only = Found { value: date, start, end: tokens.end(behind - 1) };
    if tokens.kind(behind) != Some(TokenKind::Number) || tokens.breaks(behind) > 0 {
        return Some(month_only);
    }
    let (value, digits, end) = small(tokens.text, tokens.start(behind))?;
    // "In 2023, May 5, 2024 was far away", "in 2023, March 2024 …": the month goes with what is behind it.
    if digits > 2 || year_at(tokens, behind + 1).is_some() {
        return None;
    }
    let ordinal = ordinal_suffix(tokens.text, end);
    if !ends(tokens.text, ordinal) {
        return Some(month_only);
    }
    Some(Found { value: Date { day: Some(day(value)?), ..date }, start, end: ordinal })
}

/// "-2026", "-26" behind "9-Mar".
fn short_or_long_year(tokens: &Tokens<'_>, index: usize) -> Option<(i16, usize)> {
    if !tokens.written(index).chars().next().is_some_and(is_hyphen) || tokens.spaced(index) {
        return None;
    }
    let (value, digits, end) = small(tokens.text, tokens.start(index + 1))?;
    Some((year(value, digits)?, end))
}

/// The time behind an ISO date: "T14:05:00Z", " 14:05:00+03:00".
pub fn time_behind_date(text: &str, end: usize) -> Option<Found<Time>> {
    let start = match at(text, end)? {
        'T' | 't' => end + 1,
        c if is_blank(c) && c != '\n' => end + c.len_utf8(),
        _ => return None,
    };
    let found = clock(text, start)?;
    Some(Found { value: Time { half_day_open: false, ..found.value }, ..found })
}

/// "14:05", "2:05 PM", "2 pm", "2.30pm", "14h30", "14:05:30.250Z", "5 o'clock"
pub fn time(text: &str, start: usize) -> Option<Found<Time>> {
    clock(text, start).or_else(|| hour_alone(text, start))
}

/// "8.06", where it is known to be a time.
pub fn time_with_point(text: &str, start: usize) -> Option<Found<Time>> {
    let (hour, _, hour_end) = small(text, start)?;
    let (minute, digits, end) = small(text, hour_end + 1)?;
    if at(text, hour_end) != Some('.') || digits != 2 || minute > 59 || hour > 23 || !ends(text, end) {
        return None;
    }
    let time = Time {
        hour: i8::try_from(hour).ok()?,
        minute: i8::try_from(minute).ok(),
        second: None,
        offset: None,
        half_day_open: (1..=12).contains(&hour),
    };
    Some(Found { value: time, start, end })
}

fn clock(text: &str, start: usize) -> Option<Found<Time>> {
    let (hour, hour_digits, hour_end) = small(text, start)?;
    let sign = at(text, hour_end)?;
    if hour > 24 || hour_digits > 2 {
        return None;
    }
    let minute_start = hour_end + sign.len_utf8();
    let (minute, minute_digits, mut end) = small(text, minute_start)?;
    if minute > 59 || minute_digits != 2 || !matches!(sign, ':' | '.' | 'h' | 'H' | '：' | '\u{2236}') {
        return None;
    }
    let mut second = None;
    if at(text, end) == Some(sign) && sign != 'h' {
        let (value, digits, behind) = small(text, end + sign.len_utf8())?;
        if value > 60 || digits != 2 {
            return None;
        }
        second = Some(value as i8);
        end = behind;
        if matches!(at(text, end), Some('.' | ','))
            && second.is_some()
            && let Some((_, _, behind)) = small(text, end + 1)
        {
            end = behind;
        }
    }
    let half = half_day(text, end);
    // "2.30" is a number unless "pm" stands behind it.
    if matches!(sign, '.') && half.is_none() || hour == 24 && minute > 0 {
        return None;
    }
    if at(text, end).is_some_and(|c| c == ':' || c == '/') && at(text, end + 1).and_then(digit).is_some() {
        return None;
    }
    let (hour, open, end) = match half {
        Some((afternoon, behind)) => (on_24_hours(hour, afternoon)?, false, behind),
        None => {
            (hour as i8, (1..=12).contains(&hour) && hour_digits == 1 || hour == 12 || (10..12).contains(&hour), end)
        }
    };
    let (offset, end) = zone(text, end);
    if at(text, end).is_some_and(|c| c.is_alphanumeric() && !is_cjk(c)) {
        return None;
    }
    let hour = if hour == 24 { 0 } else { hour };
    let open = open && offset.is_none() && second.is_none();
    Some(Found { value: Time { hour, minute: Some(minute as i8), second, offset, half_day_open: open }, start, end })
}

fn hour_alone(text: &str, start: usize) -> Option<Found<Time>> {
    let (hour, digits, end) = small(text, start)?;
    if digits > 2 || hour > 12 || hour == 0 {
        return None;
    }
    let gap = skip_blanks(text, end, 1);
    let o_clock = text.get(gap..).is_some_and(|rest| rest.starts_with("o'clock") || rest.starts_with("o’clock"));
    if o_clock {
        let behind = gap + if text.get(gap..gap + 7) == Some("o'clock") { 7 } else { "o’clock".len() };
        let (hour, open, end) = match half_day(text, behind) {
            Some((afternoon, behind)) => (on_24_hours(hour, afternoon)?, false, behind),
            None => (hour as i8, true, behind),
        };
        return Some(Found {
            value: Time { hour, minute: None, second: None, offset: None, half_day_open: open },
            start,
            end,
        });
    }
    let (afternoon, end) = half_day(text, end)?;
    let (offset, end) = zone(text, end);
    Some(Found {
        value: Time { hour: on_24_hours(hour, afternoon)?, minute: None, second: None, offset, half_day_open: false },
        start,
        end,
    })
}

fn on_24_hours(hour: u32, afternoon: bool) -> Option<i8> {
    let hour = match (hour, afternoon) {
        (12, false) => 0,
        (1..=11, true) => hour + 12,
        (0..=24, _) => hour,
        _ => return None,
    };
    i8::try_from(hour).ok()
}

/// "pm", "p.m.", " PM": is it the afternoon, and where it ends. "5 am" is a time, "5 am I" is not asked for.
fn half_day(text: &str, place: usize) -> Option<(bool, usize)> {
    let start = skip_blanks(text, place, 1);
    let afternoon = match at(text, start)? {
        'a' | 'A' => false,
        'p' | 'P' => true,
        _ => return None,
    };
    let mut end = start + 1;
    let dot = at(text, end) == Some('.');
    end += usize::from(dot);
    if !matches!(at(text, end), Some('m' | 'M')) {
        return None;
    }
    end += 1;
    if dot && at(text, end) == Some('.') {
        end += 1;
    }
    if at(text, end).is_some_and(char::is_alphanumeric) { None } else { Some((afternoon, end)) }
}

/// A zone behind a time: minutes from UTC, and where it ends.
fn zone(text: &str, place: usize) -> (Option<i16>, usize) {
    let none = (None, place);
    if let Some('Z' | 'z') = at(text, place)
        && !at(text, place + 1).is_some_and(char::is_alphanumeric)
    {
        return (Some(0), place + 1);
    }
    if let Some((offset, end)) = numeric_offset(text, place) {
        // "03:00+1" is on the next day; hours of zones have two digits.
        if end > place + 2 {
            return (Some(offset), end);
        }
        return match zone(text, end) {
            (None, _) => (None, end),
            known => known,
        };
    }
    let gap = skip_blanks(text, place, 1);
    let bracket = usize::from(gap > place && at(text, gap) == Some('('));
    let start = gap + bracket;
    let length = text.get(start..).unwrap_or("").bytes().take(5).take_while(u8::is_ascii_uppercase).count();
    let close = |end: usize| {
        if bracket == 1 { if at(text, end) == Some(')') { Some(end + 1) } else { None } } else { Some(end) }
    };
    if length >= 3
        && let Some(name) = text.get(start..start + length)
        && !at(text, start + length).is_some_and(char::is_alphanumeric)
    {
        let word = lexicon::look_up(&name.to_ascii_lowercase());
        if word.is(Role::Zone) {
            let mut end = start + length;
            let mut offset = word.zone;
            if offset == 0
                && let Some((more, behind)) = numeric_offset(text, skip_blanks(text, end, 1))
            {
                (offset, end) = (more, behind);
            }
            return close(end).map_or(none, |end| (Some(offset), end));
        }
    }
    if gap > place
        && bracket == 0
        && let Some((offset, end)) = numeric_offset(text, gap)
        && with_colon(text, end)
    {
        return (Some(offset), end);
    }
    none
}

/// "+03:00", "-0500", "+3"
fn numeric_offset(text: &str, place: usize) -> Option<(i16, usize)> {
    let sign = at(text, place).filter(|&c| matches!(c, '+' | '-' | '−'))?;
    let (value, digits, end) = small(text, place + sign.len_utf8())?;
    let (hours, minutes, end) = match digits {
        4 => (value / 100, value % 100, end),
        1 | 2 if at(text, end) == Some(':') => {
            let (minutes, digits, end) = small(text, end + 1)?;
            if digits != 2 {
                return None;
            }
            (value, minutes, end)
        }
        1 | 2 => (value, 0, end),
        _ => return None,
    };
    // "14:05-15:00" are two times, as "10:00-11" are.
    if hours > 14
        || minutes > 59
        || sign == '-' && before(text, place).is_some_and(|c| digit(c).is_some()) && digits < 2
    {
        return None;
    }
    let minutes = i16::try_from(hours * 60 + minutes).ok()?;
    Some((if sign == '+' { minutes } else { -minutes }, end))
}

/// "noon", "midnight"
pub fn named_time(lower: &str) -> Option<Time> {
    let hour = match lower {
        "noon" | "midday" => 12,
        "midnight" => 0,
        _ => return None,
    };
    Some(Time { hour, minute: Some(0), second: None, offset: None, half_day_open: false })
}

/// Do two days stand with nothing but a dash (or "to", "and") between?
pub fn is_joined(between: &str) -> bool {
    let between = between.trim_matches(is_blank);
    !between.is_empty() && between.chars().all(is_dash)
        || matches!(between, "to" | "through" | "until" | "till" | "and" | "or")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpalo::Bump;

    fn shown(date: Date) -> String {
        let part = |value: Option<i16>, name: &str| value.map_or(String::new(), |value| format!("{name}{value}"));
        let small = |value: Option<i8>| value.map(i16::from);
        format!(
            "{}{}{}{}{}",
            part(date.year, "y"),
            part(small(date.month), "m"),
            part(small(date.day), "d"),
            part(small(date.weekday), "w"),
            if date.ambiguous { "?" } else { "" }
        )
    }

    #[test]
    fn dates_in_digits() {
        for (text, expected) in [
            ("2026-03-09", "y2026m3d9"),
            ("2026/03/09", "y2026m3d9"),
            ("2026.03.09", "y2026m3d9"),
            ("2026‑03‑09", "y2026m3d9"),
            ("9.3.2026", "y2026m3d9"),
            ("09.03.26", "y2026m3d9"),
            ("9. 3. 2026", "y2026m3d9"),
            ("03/09/2026", "y2026m3d9?"),
            ("13/09/2026", "y2026m9d13"),
            ("09/13/2026", "y2026m9d13"),
            ("9/9/2026", "y2026m9d9"),
            ("9\u{200f}/9\u{200f}/2026", "y2026m9d9"),
            ("3/9/26", "y2026m3d9?"),
            ("2026-03", "y2026m3"),
            ("2026年3月9日", "y2026m3d9"),
            ("2026년 3월 9일", "y2026m3d9"),
            ("3月9日", "m3d9"),
        ] {
            let found = numeric(text, 0).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((shown(found.value).as_str(), found.end), (expected, text.len()), "{text}");
        }
        for text in
            ["2012-13", "2010-11", "30-12-5", "1.2.3", "113-107", "1/2", "2026-13-01", "99/99/2026", "12.50", "2026"]
        {
            assert!(numeric(text, 0).is_none(), "{text}");
        }
    }

    #[test]
    fn dates_in_words() {
        let bump = Bump::new();
        for (text, expected) in [
            ("9 March 2026", "y2026m3d9"),
            ("March 9, 2026", "y2026m3d9"),
            ("March 9th, 2026", "y2026m3d9"),
            ("March 9th", "m3d9"),
            ("Mar. 9, 2026", "y2026m3d9"),
            ("the 9th of March 2026", "y2026m3d9"),
            ("9-Mar-2026", "y2026m3d9"),
            ("09-MAR-26", "y2026m3d9"),
            ("Mar 2024", "y2024m3"),
            ("March ninth", "m3d9"),
            ("Monday, March 9", "m3d9w1"),
            ("Monday, 9 March 2026", "y2026m3d9w1"),
            ("Mon Mar 9 2026", "y2026m3d9w1"),
            ("Monday", "w1"),
            ("9. März 2026", "y2026m3d9"),
            ("9 mars 2026", "y2026m3d9"),
            ("9 mar 2026", "y2026m3d9"),
            ("31 декабря 2024", "y2024m12d31"),
            ("13 जुलाई 1999", "y1999m7d13"),
            ("9 de marzo de 2026", "y2026m3d9"),
            ("9 de out. de 2026", "y2026m10d9"),
            ("May 5", "m5d5"),
            ("fifth of March", "m3d5"),
            ("twenty-first of March 2026", "y2026m3d21"),
            ("2013, November 07", "y2013m11d7"),
            ("2015, October", "y2015m10"),
        ] {
            let tokens = Tokens::new(text, &bump);
            let first = usize::from(text.starts_with("the"));
            let found = in_words(&tokens, first).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((shown(found.value).as_str(), found.end), (expected, text.len()), "{text}");
        }
        for text in
            ["5 may", "set 2024", "10 out of 12", "3 set", "march on", "sat down", "sun", "9 apples", "Mar", "march 40"]
        {
            assert!(in_words(&Tokens::new(text, &bump), 0).is_none(), "{text}");
        }
    }

    #[test]
    fn times_of_day() {
        for (text, expected) in [
            ("14:05", (14, Some(5), None, None, false)),
            ("2:05", (2, Some(5), None, None, true)),
            ("02:05", (2, Some(5), None, None, false)),
            ("2:05 PM", (14, Some(5), None, None, false)),
            ("2 pm", (14, None, None, None, false)),
            ("2pm", (14, None, None, None, false)),
            ("12 a.m.", (0, None, None, None, false)),
            ("2.30pm", (14, Some(30), None, None, false)),
            ("14h30", (14, Some(30), None, None, false)),
            ("2:05:30", (2, Some(5), Some(30), None, false)),
            ("14:05 UTC", (14, Some(5), None, Some(0), false)),
            ("14:05Z", (14, Some(5), None, Some(0), false)),
            ("14:05+03:00", (14, Some(5), None, Some(180), false)),
            ("14:05:00.250-0500", (14, Some(5), Some(0), Some(-300), false)),
            ("2:05 PM EST", (14, Some(5), None, Some(-300), false)),
            ("2 PM (GMT+2)", (14, None, None, Some(120), false)),
            ("03:00+1", (3, Some(0), None, None, false)),
            ("03:00+1 EST", (3, Some(0), None, Some(-300), false)),
            ("5 o'clock", (5, None, None, None, true)),
        ] {
            let found = time(text, 0).unwrap_or_else(|| panic!("{text}"));
            let Time { hour, minute, second, offset, half_day_open } = found.value;
            assert_eq!((hour, minute, second, offset, half_day_open), expected, "{text}");
            assert_eq!(found.end, text.len(), "{text}");
        }
        let bump = Bump::new();
        for (text, hour, minute) in [
            ("half past nine", 9, 30),
            ("quarter to 4", 3, 45),
            ("a quarter past ten", 10, 15),
            ("quarter to one", 12, 45),
        ] {
            let found = time_in_words(&Tokens::new(text, &bump), 0).unwrap();
            let expected = Time { hour, minute: Some(minute), second: None, offset: None, half_day_open: true };
            assert_eq!((found.value, found.end), (expected, text.len()), "{text}");
        }
        for text in ["2.30", "16:9", "25:00", "14:60", "2", "14:5", "1:2:3"] {
            assert!(time(text, 0).is_none(), "{text}");
        }
    }
}
