//! Typed mentions, found in one pass from left to right; where several kinds would fit, the most special one is taken: addresses, ids,
//! dates, times, then numbers.

use bumpalo::Bump;
use rust_decimal::Decimal;

use super::{
    Block, Date, Hedge, Mention, Number, Reading, Run, Span, Time, TokenKind, Unit, What,
    characters::{
        at, before, is_apostrophe, is_blank, is_dash, is_invisible, is_minus, is_script_without_spaces, skip_blanks,
    },
    dates, identifiers,
    identifiers::Address,
    lexicon::{self, Phrase, Role},
    numbers::{self, Readings},
    symbols,
    tokens::{Quotation, Tokens},
};
use crate::grounding::units;

/// A quotation of more words than this is no name that could be looked for.
const MOST_WORDS_OF_A_QUOTE: usize = 8;
const MOST_BYTES_OF_A_QUOTE: usize = 100;

/// A mention as it is found: without its place in sentences.
struct Found<'a> {
    start: usize,
    end: usize,
    core: (usize, usize),
    what: What<'a>,
    idle: bool,
    /// "30+", "30 or so"
    hedge: Hedge,
    /// The power of ten of a word or letter behind it.
    power: u32,
    /// Nothing but this many digits; 0 for all else.
    plain_digits: u32,
}

/// What the next number may need to know of the last one.
#[derive(Clone, Copy, Default)]
struct Last {
    power: u32,
    plain_digits: u32,
}

pub struct Finder<'t, 'a> {
    tokens: &'t Tokens<'a>,
    text: &'a str,
    bump: &'a Bump,
    found: Vec<Mention<'a>>,
    last: Last,
    /// The line that the token is on.
    line: usize,
    /// There was a time with a point in it: "7.42 am".
    pointed: bool,
    /// No number may go on beyond: the end of the quotation that it is in.
    limit: usize,
}

/// All mentions of a text; sentences and clauses are not filled in.
pub fn find<'a>(tokens: &Tokens<'a>, bump: &'a Bump) -> Vec<Mention<'a>> {
    let mut finder = Finder {
        tokens,
        text: tokens.text,
        bump,
        found: Vec::new(),
        last: Last::default(),
        line: 0,
        pointed: false,
        limit: tokens.text.len(),
    };
    finder.run();
    finder.found
}

impl<'a> Finder<'_, 'a> {
    fn run(&mut self) {
        let addresses = identifiers::addresses(self.text);
        let mut addresses = addresses.iter().peekable();
        let mut quotations = self.tokens.quotations.iter().peekable();
        // Open quotations, and how many mentions there were before each.
        let mut open: Vec<(Quotation, usize)> = Vec::new();
        let mut index = 0;
        while index < self.tokens.tokens.len() {
            while self.tokens.lines.get(self.line).is_some_and(|line| line.end as usize <= index) {
                self.line += 1;
            }
            while let Some(&&quotation) = quotations.peek()
                && quotation.open as usize <= index
            {
                if quotation.open as usize == index {
                    open.push((quotation, self.found.len()));
                }
                quotations.next();
            }
            while let Some(&(quotation, before)) = open.last()
                && quotation.close as usize <= index
            {
                open.pop();
                if quotation.close as usize == index {
                    self.quote(quotation, before);
                }
            }
            self.limit =
                open.last().map_or(self.text.len(), |(quotation, _)| self.tokens.start(quotation.close as usize));
            let start = self.tokens.start(index);
            while addresses.peek().is_some_and(|address| address.start < start) {
                addresses.next();
            }
            if let Some(&&address) = addresses.peek()
                && address.start == start
            {
                index = self.address(index, address);
                continue;
            }
            match self.mention(index) {
                Some(found) if found.end <= self.limit => index = self.push(index, found),
                _ => index += 1,
            }
        }
        while let Some((quotation, before)) = open.pop() {
            if quotation.close as usize == index {
                self.quote(quotation, before);
            }
        }
    }

    fn address(&mut self, index: usize, address: Address) -> usize {
        let written = self.slice(address.start, address.end);
        let what = if address.is_email {
            What::Email(identifiers::lower_case(written, self.bump))
        } else {
            What::Url(identifiers::plain_url(written, self.bump))
        };
        self.push(index, self.plain(address.start, address.end, what))
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or("")
    }

    /// Of no number.
    fn plain(&self, start: usize, end: usize, what: What<'a>) -> Found<'a> {
        Found { start, end, core: (start, end), what, idle: false, hedge: Hedge::None, power: 0, plain_digits: 0 }
    }

    fn id(&self, start: usize, end: usize) -> Found<'a> {
        self.plain(start, end, identifiers::id(self.slice(start, end), self.bump))
    }

    fn push(&mut self, index: usize, mut found: Found<'a>) -> usize {
        let next = self.tokens.index_at(index + 1, found.end);
        if matches!(found.what, What::Number(_)) {
            self.join(&mut found);
        } else if let What::Date(date) = found.what {
            self.join_dates(date, found.start);
        } else if let What::Time(time) = found.what {
            self.join_times(time, found.start);
            self.pointed |= self.slice(found.start, found.end).starts_with(|c: char| c.is_ascii_digit())
                && time.minute.is_some()
                && !self.slice(found.start, found.end).contains(':');
        }
        let hedge = match found.hedge {
            Hedge::None if matches!(found.what, What::Number(_)) => self.hedge_before(index),
            known => known,
        };
        self.last = Last { power: found.power, plain_digits: found.plain_digits };
        self.found.push(Mention {
            span: Span { start: found.start as u32, end: found.end as u32 },
            core: Span { start: found.core.0 as u32, end: found.core.1 as u32 },
            what: found.what,
            sentence: 0,
            clause: 0,
            tokens: Run { first: index as u32, end: next as u32 },
            hedge,
            idle: found.idle,
        });
        next
    }

    /// What stands in quotation marks is a mention where it is short; but one date, id or number alone in them is what it is.
    fn quote(&mut self, quotation: Quotation, before: usize) {
        let (first, end) = (quotation.open as usize + 1, quotation.close as usize);
        let (start, stop) = (self.tokens.start(first), self.tokens.start(end));
        let written = self.slice(start, stop);
        let inside = written.trim_matches(|c: char| is_blank(c) || matches!(c, '.' | ',' | '!' | '?' | ';'));
        let inner = self.found.get(before..).unwrap_or_default();
        if quotation.code || inside.is_empty() || written.len() > 2 * MOST_BYTES_OF_A_QUOTE {
            return;
        }
        if let [one] = inner
            && one.span.end as usize - one.span.start as usize >= inside.len()
        {
            return;
        }
        let words = (first..end).filter(|&index| self.tokens.kind(index) != Some(TokenKind::Punctuation)).count();
        let short = words <= MOST_WORDS_OF_A_QUOTE && written.len() <= MOST_BYTES_OF_A_QUOTE;
        let has_words = inside.chars().any(char::is_alphabetic);
        if !has_words || !short && !inner.is_empty() || words > 2 * MOST_WORDS_OF_A_QUOTE {
            return;
        }
        self.found.truncate(before);
        self.last = Last::default();
        self.found.push(Mention {
            span: Span { start: start as u32, end: stop as u32 },
            core: Span { start: start as u32, end: stop as u32 },
            what: What::Quote(written),
            sentence: 0,
            clause: 0,
            tokens: Run { first: first as u32, end: end as u32 },
            hedge: Hedge::None,
            idle: false,
        });
    }

    fn mention(&self, index: usize) -> Option<Found<'a>> {
        match self.tokens.kind(index)? {
            TokenKind::Number => self.digits(index),
            TokenKind::Word => self.word(index),
            TokenKind::Punctuation | TokenKind::Symbol => self.sign(index),
        }
    }

    /// "COVID-19", "3D": a word with digits in it that names no one thing.
    fn is_term(&self, start: usize, end: usize) -> bool {
        end - start < 10 && lexicon::look_up(&self.slice(start, end).to_lowercase()).is(Role::Term)
    }

    /// Does a run of letters, digits and hyphens begin here?
    fn begins_piece(&self, start: usize) -> bool {
        !before(self.text, start).is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-')
    }

    fn digits(&self, index: usize) -> Option<Found<'a>> {
        let text = self.text;
        let start = self.tokens.start(index);
        let plain = self.is_plain(index);
        if !plain && self.begins_piece(start) {
            let end = identifiers::grouped(text, start)
                .or_else(|| identifiers::phone(text, start))
                .or_else(|| {
                    identifiers::hyphenated_digits(text, start).filter(|_| dates::numeric(text, start).is_none())
                })
                .or_else(|| identifiers::code(self.tokens, index).filter(|_| !self.is_dated(index)));
            if let Some(end) = end {
                return Some(self.id(start, end));
            }
        }
        let date = if plain { None } else { self.date(index) };
        if let Some(found) = date.or_else(|| self.second_day(index)) {
            return Some(found);
        }
        if let Some(end) = identifiers::dotted(text, start).filter(|_| !plain) {
            return Some(self.id(start, end));
        }
        // "It leaves at 7.42 am and arrives at 8.06": the way of the first tells what the second is.
        let told = self.pointed && index > 0 && matches!(self.tokens.lower(index - 1), "at" | "by" | "until" | "till");
        let with_point = || if told { dates::time_with_point(text, start) } else { None };
        if let Some(time) = dates::time(text, start).or_else(with_point)
            && !self.is_score(index, time.end)
        {
            return Some(self.plain(time.start, time.end, What::Time(time.value)));
        }
        self.amount(index)
    }

    /// "12", "12.5" as most numbers are written, with nothing behind them that could make an id, a phone number or a date of them.
    fn is_plain(&self, index: usize) -> bool {
        let tokens = self.tokens;
        let (start, end) = (tokens.start(index), tokens.end(index));
        let written = self.slice(start, end);
        let (whole, places) = written.split_once('.').unwrap_or((written, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(places) {
            return false;
        }
        let behind = self.text.as_bytes().get(end..).unwrap_or_default();
        let ends = match behind {
            [] | [b'%', ..] => true,
            [b' ', next, ..] | [b'.' | b',', b' ', next, ..] => next.is_ascii_alphabetic() || *next == b'%',
            _ => false,
        };
        let may_be_of_a_date = |at: usize| tokens.word(at).month > 0 || matches!(tokens.lower(at), "of" | "de" | "di");
        ends && !(index + 1..=index + 3).any(may_be_of_a_date)
    }

    fn is_dated(&self, index: usize) -> bool {
        dates::numeric(self.text, self.tokens.start(index)).is_some() || dates::in_words(self.tokens, index).is_some()
    }

    /// A date that begins at a token, with its time where that belongs to it.
    fn date(&self, index: usize) -> Option<Found<'a>> {
        let start = self.tokens.start(index);
        let is_number = self.tokens.kind(index) == Some(TokenKind::Number);
        let numeric = if is_number { dates::numeric(self.text, start) } else { None };
        if let Some(date) = numeric {
            if date.value.day.is_some()
                && let Some(time) = dates::time_behind_date(self.text, date.end)
            {
                return Some(self.plain(start, time.end, What::Moment(date.value, time.value)));
            }
            return Some(self.plain(start, date.end, What::Date(date.value)));
        }
        let date = match dates::in_words(self.tokens, index) {
            Some(date) => date,
            None if is_number && index > 0 => {
                let behind = matches!(
                    self.tokens.lower(index - 1),
                    "on" | "by" | "until" | "till" | "from" | "since" | "dated" | "due"
                );
                let expires = matches!(
                    self.tokens.lower(index - 1),
                    "expires" | "expiry" | "exp" | "expiring" | "expired" | "expire"
                );
                match dates::month_and_year(self.text, start).filter(|_| expires) {
                    Some(found) => found,
                    None => dates::without_year(self.text, start).filter(|_| behind)?,
                }
            }
            None => return None,
        };
        Some(self.plain(date.start, date.end, What::Date(date.value)))
    }

    /// "a 3:10 win", "an aspect ratio of 16:10": there is no telling others from times.
    fn is_score(&self, index: usize, end: usize) -> bool {
        let behind = self.tokens.index_at(index + 1, end);
        let ratio = (behind..behind + 2)
            .chain(index.saturating_sub(3)..index)
            .any(|near| matches!(self.tokens.lower(near), "ratio" | "aspect"));
        ratio || matches!(self.tokens.lower(behind), "win" | "victory" | "loss" | "lead" | "defeat")
    }

    fn sign(&self, index: usize) -> Option<Found<'a>> {
        let text = self.text;
        let start = self.tokens.start(index);
        let c = at(text, start)?;
        match c {
            '*' | '•' | '●' => {
                if before(text, start) == Some(c) {
                    return None;
                }
                let (first, end) = identifiers::masked(text, start)?;
                let mut found = self.id(first, end);
                found.start = start;
                return Some(found);
            }
            '#' => {
                // "#5120" is an id, "#1" rather a rank.
                let numeral = numbers::numeral(text, start + 1)?;
                if !numeral.plain || at(text, numeral.end).is_some_and(char::is_alphanumeric) {
                    return None;
                }
                if numeral.whole_digits >= 4 {
                    let mut found = self.id(start + 1, numeral.end);
                    found.start = start;
                    return Some(found);
                }
                return self.amount(index);
            }
            '(' => {
                if let Some(end) = identifiers::phone(text, start) {
                    return Some(self.id(start, end));
                }
                return self.account(index);
            }
            // "-05:00" is the offset of a zone.
            '+' | '-' | '−' if self.tokens.spaced(index) && dates::is_offset(text, start) => {
                let mut found = self.id(start, start + c.len_utf8() + 5);
                found.idle = true;
                return Some(found);
            }
            '+' => {
                if let Some(end) = identifiers::phone(text, start) {
                    return Some(self.id(start, end));
                }
            }
            _ => {}
        }
        self.amount(index)
    }

    fn word(&self, index: usize) -> Option<Found<'a>> {
        let text = self.text;
        let start = self.tokens.start(index);
        let mark = self.tokens.marks.get(index)?;
        let word = mark.word;
        let end = self.tokens.end(index);
        let next = at(text, end);
        if let Some('.') = next
            && !before(text, start).is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '@'))
            && let Some(end) = identifiers::bare_url(text, start)
        {
            return Some(self.plain(start, end, What::Url(identifiers::plain_url(self.slice(start, end), self.bump))));
        }
        let dated = word.month > 0 || word.weekday > 0;
        let day = word.is(Role::Ordinal) || word.is(Role::Cardinal) && matches!(word.number, 20 | 30);
        if (mark.mixed || matches!(next, Some('-' | '_' | '\u{2010}' | '\u{2011}'))) && !dated {
            if self.begins_piece(start)
                && let Some(end) = identifiers::grouped(text, start).or_else(|| identifiers::code(self.tokens, index))
            {
                let mut found = self.id(start, end);
                found.idle = self.is_term(start, end);
                return Some(found);
            }
            if mark.mixed {
                let mut found = self.id(start, end);
                found.idle = word.is(Role::Term);
                return Some(found);
            }
            if let Some((first, end)) = identifiers::masked(text, start).filter(|_| self.begins_piece(start)) {
                let mut found = self.id(first, end);
                found.start = start;
                return Some(found);
            }
        }
        let counts = word.is_any(&[Role::Cardinal, Role::Hundred, Role::Scale, Role::Collective, Role::Ordinal]);
        if !dated && !counts && !self.may_be_money(index) {
            if word == lexicon::Word::default() {
                return if self.tokens.lower(index) == "ending" { self.ending(index) } else { None };
            }
            // "ALL five": the code of a currency that is a word of English as well.
            self.currency_at(index)?;
        }
        if (dated || day)
            && let Some(found) = self.date(index)
        {
            return Some(found);
        }
        if let Some(time) = dates::time_in_words(self.tokens, index) {
            return Some(self.plain(start, time.end, What::Time(time.value)));
        }
        if let Some(time) = dates::named_time(self.tokens.lower(index)) {
            return Some(self.plain(start, end, What::Time(time)));
        }
        self.amount(index)
    }

    /// Words that are no words of numbers, and may still begin a sum or a number: "EUR 12", "US$5", "minus 3", "noon".
    fn may_be_money(&self, index: usize) -> bool {
        let next = index + 1;
        let money = match self.tokens.kind(next) {
            Some(TokenKind::Number) => true,
            Some(TokenKind::Symbol | TokenKind::Punctuation) => {
                self.tokens.end(index) == self.tokens.start(next)
                    || self.tokens.end(index) + 3 > self.tokens.start(next)
            }
            _ => false,
        };
        money
            || matches!(
                self.tokens.lower(index),
                "noon" | "midday" | "midnight" | "minus" | "negative" | "plus" | "a" | "an" | "half" | "quarter"
            )
    }

    /// "ending in 4743"
    fn ending(&self, index: usize) -> Option<Found<'a>> {
        if !matches!(self.tokens.lower(index + 1), "in" | "with") {
            return None;
        }
        let start = self.tokens.start(index + 2);
        let numeral = numbers::numeral(self.text, start)?;
        if !numeral.plain
            || !(3..=6).contains(&numeral.whole_digits)
            || at(self.text, numeral.end).is_some_and(char::is_alphanumeric)
        {
            return None;
        }
        Some(self.id(start, numeral.end))
    }

    /// "(45.00)", "($45)": an account writes negative values so.
    fn account(&self, index: usize) -> Option<Found<'a>> {
        let found = self.amount(index + 1).filter(|found| found.start == self.tokens.start(index + 1))?;
        let What::Number(number) = found.what else { return None };
        let fits = !number.spelled
            && !number.ordinal
            && !number.signed
            && matches!(number.unit, None | Some(Unit::Percent | Unit::Currency { .. }))
            && at(self.text, found.end) == Some(')');
        let step = number.readings.first()?.step;
        let money = matches!(number.unit, Some(Unit::Currency { .. }));
        let row = self.block() == Block::Row;
        if !fits || !(money || row || step < Decimal::ONE) {
            return None;
        }
        let readings = Readings { first: *number.readings.first()?, second: None };
        let negative = readings.negative().first;
        let mut both = [readings.first, negative];
        if row {
            both.reverse();
        }
        let number = Number { readings: self.bump.alloc_slice_copy(&both), signed: row, ..number };
        let start = self.tokens.start(index);
        Some(Found { start, end: found.end + 1, what: What::Number(number), ..found })
    }

    fn block(&self) -> Block {
        self.tokens.lines.get(self.line).map_or(Block::Prose, |line| line.block)
    }

    /// The sign and currency before a number that may begin at a token.
    fn prefix(&self, index: usize) -> Prefix<'a> {
        let tokens = self.tokens;
        let mut prefix = Prefix { number: index, negative: false, signed: false, unit: None };
        // A sign, a currency of two tokens ("US$"), a sign.
        for _ in 0..4 {
            let place = prefix.number;
            let end = tokens.end(place);
            let Some(c) = at(self.text, tokens.start(place)) else { break };
            let between = self.text.get(end..tokens.start(place + 1)).unwrap_or("");
            let glued = place + 1 < tokens.tokens.len() && between.chars().all(is_invisible);
            let single = tokens.written(place).len() == c.len_utf8();
            if !prefix.signed && single && (is_minus(c) || c == '+') && glued {
                let free = place > index
                    || tokens.spaced(place)
                    || before(self.text, tokens.start(place)).is_none_or(|c| {
                        matches!(
                            c,
                            '(' | '['
                                | '{'
                                | '='
                                | ':'
                                | '/'
                                | '~'
                                | '≈'
                                | '>'
                                | '<'
                                | '|'
                                | '"'
                                | '\''
                                | '“'
                                | '*'
                                | ','
                        )
                    });
                let behind_number = place == index
                    && index > 0
                    && tokens.kind(index - 1) == Some(TokenKind::Number)
                    && !tokens.spaced(index);
                if !free || behind_number {
                    break;
                }
                (prefix.signed, prefix.negative) = (true, c != '+');
                prefix.number += 1;
                continue;
            }
            // "%12", as in Turkish
            if c == '%' && glued && prefix.unit.is_none() && (place > index || tokens.spaced(place)) {
                prefix.unit = Some(Unit::Percent);
                prefix.number += 1;
                continue;
            }
            if !prefix.signed && matches!(tokens.lower(place), "minus" | "negative" | "plus") && place == index {
                (prefix.signed, prefix.negative) = (true, tokens.lower(place) != "plus");
                prefix.number += 1;
                continue;
            }
            if prefix.unit.is_none()
                && let Some((unit, next)) = self.currency_at(place)
                && tokens.start(next) <= skip_blanks(self.text, tokens.end(next - 1), 2)
            {
                prefix.unit = Some(unit);
                prefix.number = next;
                continue;
            }
            break;
        }
        prefix
    }

    /// A currency's sign or code at a token, maybe of two tokens ("US$", "Rs."), and the token behind it.
    fn currency_at(&self, index: usize) -> Option<(Unit<'a>, usize)> {
        let tokens = self.tokens;
        let first = tokens.written(index);
        let word = tokens.kind(index) == Some(TokenKind::Word);
        // Signs and codes are short, and words have a look-up of their own.
        let ascii_sign = first.len() == 1 && !word && first != "$";
        if tokens.kind(index) == Some(TokenKind::Number)
            || ascii_sign
            || word && (first.len() > 5 || first.len() > 3 && first.is_ascii())
        {
            return None;
        }
        // The longest first; no sign is longer than three tokens.
        for length in (1..=3).rev() {
            let last = index + length - 1;
            if last >= tokens.tokens.len() || (index + 1..=last).any(|inner| tokens.spaced(inner)) {
                continue;
            }
            if let Some(unit) = symbols::currency_sign(self.slice(tokens.start(index), tokens.end(last))) {
                return Some((unit, last + 1));
            }
        }
        None
    }

    /// A number with all that belongs to it.
    fn amount(&self, index: usize) -> Option<Found<'a>> {
        let tokens = self.tokens;
        let Prefix { number, negative, signed, unit } = self.prefix(index);
        let hash = tokens.is(number, "#");
        let number = number + usize::from(hash);
        if tokens.breaks(number) > 0 && number > index {
            return None;
        }
        match tokens.kind(number)? {
            TokenKind::Number => {}
            TokenKind::Word if !hash => {
                return self.spelled(index, number).map(|found| if negative { self.negated(found) } else { found });
            }
            _ => return None,
        }
        let text = self.text;
        let start = tokens.start(index);
        let core_start = tokens.start(number);
        let mut place;
        let mut readings;
        let mut plain_digits = 0;
        let mut padded = false;
        let first = at(text, core_start)?;
        if let Some(value) = numbers::vulgar(first) {
            place = core_start + first.len_utf8();
            readings = Readings::one(value, Decimal::new(1, 2));
        } else if let Some((value, end)) = numbers::fraction(text, core_start).filter(|_| unit.is_none()) {
            place = end;
            readings = Readings::one(value, Decimal::new(1, 2));
        } else {
            let numeral = numbers::numeral(text, core_start);
            let Some(numeral) = numeral else {
                // More digits than a number has.
                let end = tokens.end(number);
                return Some(self.id(core_start, end));
            };
            place = numeral.end;
            readings = numeral.readings;
            padded = numeral.padded && numeral.plain;
            if numeral.plain {
                plain_digits = numeral.whole_digits;
            }
            if let Some((value, end)) = self.mixed_fraction(place).filter(|_| numeral.plain) {
                readings = Readings::one(readings.first.value.checked_add(value)?, Decimal::new(1, 2));
                (place, plain_digits) = (end, 0);
            } else if let Some((power, end)) = numbers::exponent(text, place).filter(|&(_, end)| end <= self.limit) {
                readings = numbers::scaled(readings, power)?;
                (place, plain_digits) = (end, 0);
            } else if readings.first.value == Decimal::TEN
                && let Some((power, end)) = numbers::power_of(text, place)
            {
                let value = numbers::scaled(Readings::one(Decimal::ONE, Decimal::ONE), power)?.first.value;
                readings = Readings::one(value, value);
                (place, plain_digits) = (end, 0);
            }
        }
        let seat = plain_digits > 0
            && index > 0
            && matches!(
                tokens.lower(index - 1),
                "seat"
                    | "seats"
                    | "row"
                    | "gate"
                    | "room"
                    | "apt"
                    | "apartment"
                    | "unit"
                    | "platform"
                    | "terminal"
                    | "flat"
                    | "suite"
                    | "block"
            )
            && self.letters(place).is_some_and(|letters| letters.len() == 1);
        let suffix = if seat { None } else { self.suffix(number, place, unit, plain_digits) };
        let long = plain_digits >= 9 || padded && plain_digits >= 3;
        if suffix.is_none_or(|suffix| suffix.unit.is_none()) && unit.is_none() && long && !hash {
            if signed || at(text, place).is_some_and(char::is_alphanumeric) {
                let end = identifiers::run_on(text, core_start, place).unwrap_or(place);
                return Some(self.id(core_start, end));
            }
            return Some(self.id(core_start, place));
        }
        let Some(suffix) = suffix else {
            // Letters that make a name of it.
            let end = identifiers::run_on(text, core_start, place)?;
            let mut found = self.id(core_start, end);
            // "76ers"
            let word = plain_digits < 3 && self.slice(place, end).chars().all(char::is_lowercase) && end > place + 2;
            found.idle = word || self.is_term(core_start, end);
            return Some(found);
        };
        if suffix.power > 0 {
            readings = readings.times_power(suffix.power)?;
        }
        if negative {
            readings = readings.negative();
        }
        let unit = unit.or(suffix.unit);
        let plain_digits = if suffix.power > 0 || suffix.ordinal || unit.is_some() { 0 } else { plain_digits };
        let value = self.number(readings, unit, signed, false, suffix.ordinal);
        Some(Found {
            start,
            end: suffix.end,
            core: (core_start, place),
            what: What::Number(value),
            idle: suffix.idle || self.is_idle(index, number, place, suffix.end),
            hedge: suffix.hedge,
            power: suffix.power,
            plain_digits,
        })
    }

    fn number(
        &self,
        readings: Readings,
        unit: Option<Unit<'a>>,
        signed: bool,
        spelled: bool,
        ordinal: bool,
    ) -> Number<'a> {
        let readings: &[Reading] = match readings.second {
            Some(second) => self.bump.alloc_slice_copy(&[readings.first, second]),
            None => self.bump.alloc_slice_copy(&[readings.first]),
        };
        Number { readings, unit, signed, spelled, ordinal, range: false }
    }

    fn negated(&self, mut found: Found<'a>) -> Found<'a> {
        if let What::Number(number) = &mut found.what {
            let mut readings = number.readings.to_vec();
            readings.iter_mut().for_each(|reading| reading.value = -reading.value);
            number.readings = self.bump.alloc_slice_copy(&readings);
            number.signed = true;
        }
        found
    }

    /// "½" or "1/2" behind a whole number.
    fn mixed_fraction(&self, place: usize) -> Option<(Decimal, usize)> {
        let gap = skip_blanks(self.text, place, 1);
        let c = at(self.text, gap)?;
        if let Some(value) = numbers::vulgar(c) {
            return Some((value, gap + c.len_utf8()));
        }
        if gap == place { None } else { numbers::fraction(self.text, gap) }
    }

    /// What stands behind a number and belongs to it. None where letters go on that are no unit.
    fn suffix(&self, number: usize, place: usize, unit: Option<Unit<'a>>, plain_digits: u32) -> Option<Suffix<'a>> {
        let text = self.text;
        let tokens = self.tokens;
        let mut suffix = Suffix { end: place, ..Suffix::default() };
        let money = matches!(unit, Some(Unit::Currency { .. }));
        if let Some((power, end)) = numbers::scale(tokens, place, number, money).filter(|&(_, end)| end <= self.limit) {
            (suffix.power, suffix.end) = (power, end);
        }
        if suffix.power == 0
            && plain_digits > 0
            && self
                .letters(place)
                .is_some_and(|letters| matches!(letters, "st" | "nd" | "rd" | "th" | "ST" | "ND" | "RD" | "TH"))
        {
            return Some(Suffix { end: place + 2, ordinal: true, ..suffix });
        }
        // "the 1990s", "in the '90s"
        let decade = plain_digits == 4
            || plain_digits == 2
                && number > 0
                && (matches!(tokens.lower(number - 1), "the" | "his" | "her" | "their" | "early" | "mid" | "late")
                    || before(text, tokens.start(number)).is_some_and(is_apostrophe));
        if decade && matches!(self.letters(place), Some("s")) {
            return Some(Suffix { end: place + 1, idle: true, ..suffix });
        }
        let end = suffix.end;
        if let Some((percent, behind)) = self.percent(number, end) {
            suffix.unit = Some(percent);
            suffix.end = behind;
        } else if !money && let Some((currency, behind)) = self.currency_behind(number, end) {
            suffix.unit = Some(currency);
            suffix.end = behind;
        } else if !money && let Some((measure, behind)) = self.measure(number, end) {
            suffix.unit = Some(measure);
            suffix.end = behind;
        } else if matches!(self.letters(end), Some("x" | "X")) || at(text, end) == Some('×') {
            suffix.end = end + at(text, end).map_or(0, char::len_utf8);
        }
        if money && suffix.unit.is_none() {
            // "$5 USD", "US$ 5 dollars"
            if let Some((currency, behind)) = self.currency_behind(number, end) {
                suffix.unit = Some(currency);
                suffix.end = behind;
            }
        }
        // "720x1280"
        let by = matches!(at(text, suffix.end), Some('x' | 'X'))
            && at(text, suffix.end + 1).is_some_and(|c| c.is_ascii_digit())
            && plain_digits > 1;
        if suffix.end == place
            && !by
            && at(text, place).is_some_and(|c| c.is_alphanumeric() && (c.is_ascii() || !is_script_without_spaces(c)))
        {
            return None;
        }
        if at(text, suffix.end) == Some('+') && !at(text, suffix.end + 1).is_some_and(char::is_alphanumeric) {
            suffix.hedge = Hedge::Over;
        } else {
            let next = tokens.index_at(number, suffix.end);
            suffix.hedge = match (tokens.lower(next), tokens.lower(next + 1)) {
                ("or", "so" | "thereabouts") => Hedge::About,
                ("or" | "and", "more" | "above" | "over" | "higher" | "up" | "greater") => Hedge::Over,
                ("or", "less" | "fewer" | "lower" | "under") => Hedge::Under,
                ("at", "most") => Hedge::Under,
                _ if tokens.is(next, "-") && tokens.lower(next + 1) == "ish" => Hedge::About,
                _ => Hedge::None,
            };
        }
        Some(suffix)
    }

    /// The letters right behind a number.
    fn letters(&self, place: usize) -> Option<&'a str> {
        let rest = self.text.get(place..)?;
        let length = rest.bytes().take(12).take_while(u8::is_ascii_alphabetic).count();
        let letters = rest.get(..length)?;
        if length == 0 || at(self.text, place + length).is_some_and(char::is_alphanumeric) {
            None
        } else {
            Some(letters)
        }
    }

    fn percent(&self, number: usize, place: usize) -> Option<(Unit<'a>, usize)> {
        let gap = skip_blanks(self.text, place, 2);
        let c = at(self.text, gap)?;
        if matches!(c, '%' | '％' | '٪' | '﹪') {
            return Some((Unit::Percent, gap + c.len_utf8()));
        }
        let hyphen = usize::from(gap == place && is_dash(c));
        let index = self.tokens.index_at(number, gap) + hyphen;
        if self.tokens.breaks(index) > 0 {
            return None;
        }
        let last = match (self.tokens.lower(index), self.tokens.lower(index + 1)) {
            ("percent" | "percentage" | "pct" | "pp", "point" | "points" | "pts") => index + 1,
            ("percent" | "pct" | "percents" | "prozent" | "pp", _) => index,
            ("per", "cent") => index + 1,
            _ => return None,
        };
        Some((Unit::Percent, self.tokens.end(last)))
    }

    fn currency_behind(&self, number: usize, place: usize) -> Option<(Unit<'a>, usize)> {
        let tokens = self.tokens;
        let gap = skip_blanks(self.text, place, 2);
        let hyphen = usize::from(gap == place && at(self.text, gap) == Some('-'));
        let index = tokens.index_at(number, gap) + hyphen;
        if tokens.breaks(index) > 0 || index >= tokens.tokens.len() {
            return None;
        }
        if let Some((unit, next)) = self.currency_at(index) {
            // "5 $10" is no price of five: the sign belongs to the number behind it.
            let to_next = tokens.kind(next) == Some(TokenKind::Number) && !tokens.spaced(next) && gap > place;
            let cut = at(self.text, tokens.end(next - 1)).is_some_and(char::is_alphanumeric);
            return if to_next || cut { None } else { Some((unit, tokens.end(next - 1))) };
        }
        if let Some(unit) = symbols::currency_words(tokens.lower(index), tokens.lower(index + 1)) {
            return Some((unit, tokens.end(index + 1)));
        }
        let lower = tokens.lower(index);
        // "5 pounds" may be a weight: it is told as money all the same, and who compares knows that.
        symbols::currency_word(lower).map(|unit| (unit, tokens.end(index)))
    }

    /// A unit behind a number: the longest spelling.
    fn measure(&self, number: usize, place: usize) -> Option<(Unit<'a>, usize)> {
        let text = self.text;
        let tokens = self.tokens;
        let gap = skip_blanks(text, place, 2);
        let hyphen = gap == place && at(text, gap) == Some('-');
        let first = tokens.index_at(number, gap) + usize::from(hyphen);
        let start = tokens.start(first);
        if tokens.breaks(first) > 0 || first >= tokens.tokens.len() || start > gap + usize::from(hyphen) {
            return None;
        }
        // 5'11"
        if gap == place
            && at(text, place).is_some_and(is_apostrophe)
            && self.letters_of_height(place + at(text, place).map_or(1, char::len_utf8))
        {
            return units::unit_in_text("foot").map(|unit| (unit, place + at(text, place).map_or(1, char::len_utf8)));
        }
        if at(text, start).is_some_and(|c| c.is_ascii_punctuation() && c != '"') {
            return None;
        }
        let longest = units::longest_behind(tokens.lower(first));
        // A spelling has at most eight tokens.
        for last in (first..(first + 8).min(tokens.tokens.len())).rev() {
            let end = tokens.end(last);
            if end - start > longest || end > self.limit || (first + 1..=last).any(|inner| tokens.breaks(inner) > 0) {
                continue;
            }
            let written = self.slice(start, end);
            let Some(unit) = units::unit_in_text(written) else { continue };
            let cut = before(text, end).is_some_and(char::is_alphanumeric)
                && at(text, end).is_some_and(|c| c.is_alphanumeric() && tokens.start(last + 1) == end);
            let apostrophe =
                at(text, end).is_some_and(is_apostrophe) && tokens.start(last + 1) == end && written.len() < 3;
            if cut || apostrophe || !self.may_be_unit(written, gap > place, last) {
                continue;
            }
            return Some((unit, end));
        }
        // 6.1" is in inches, where the mark closes no quotation.
        if gap == place && at(text, place) == Some('"') && !self.is_closing(first) {
            return units::unit_in_text("inch").map(|unit| (unit, place + 1));
        }
        None
    }

    /// The inches behind the feet of "5'11".
    fn letters_of_height(&self, place: usize) -> bool {
        let digits = self.text.get(place..).unwrap_or("").bytes().take(3).take_while(u8::is_ascii_digit).count();
        (1..3).contains(&digits) && matches!(at(self.text, place + digits), Some('"' | '”' | '″' | '\'' | '’') | None)
    }

    fn is_closing(&self, index: usize) -> bool {
        let index = index as u32;
        let found = self.tokens.quotations.binary_search_by_key(&index, |quotation| quotation.open);
        found.is_ok() || self.limit == self.tokens.start(index as usize)
    }

    /// Spellings that are words of English or single letters, apart from the number: "5 in the morning", "3 a day", "4 C".
    fn may_be_unit(&self, written: &str, spaced: bool, last: usize) -> bool {
        let tokens = self.tokens;
        let next = tokens.kind(last + 1);
        let ends = !matches!(next, Some(TokenKind::Word | TokenKind::Number)) || tokens.breaks(last + 1) > 0;
        match written {
            "in" => !spaced && tokens.is(last, "in") || ends && next != Some(TokenKind::Symbol),
            "A" | "C" | "F" | "K" | "V" | "W" | "J" | "B" | "L" | "t" | "l" | "d" | "p" | "Cal" | "st" | "IN"
            | "In"
                if spaced =>
            {
                ends || matches!(
                    tokens.lower(last + 1),
                    "and" | "with" | "or" | "to" | "in" | "at" | "of" | "for" | "on" | "by" | "is" | "was" | "power"
                )
            }
            "bar" | "cup" | "stone" | "score" if spaced => ends,
            _ => true,
        }
    }

    /// A number in words.
    fn spelled(&self, index: usize, number: usize) -> Option<Found<'a>> {
        let tokens = self.tokens;
        let start = tokens.start(index);
        if let Some((value, end)) = numbers::spelled_half(tokens, number) {
            let readings = Readings::one(value, if value.is_integer() { value } else { Decimal::new(1, 1) });
            let place = tokens.end(end - 1);
            let suffix = self.suffix(number, place, None, 0)?;
            // "half a page" counts nothing that could be looked up.
            if suffix.unit.is_none() && value < Decimal::ONE {
                return None;
            }
            let what = What::Number(self.number(readings, suffix.unit, false, true, false));
            let core = (tokens.start(number), place);
            return Some(Found {
                start,
                end: suffix.end,
                core,
                what,
                idle: false,
                hedge: suffix.hedge,
                power: 0,
                plain_digits: 0,
            });
        }
        let word = tokens.word(number);
        let begins = word.is_any(&[Role::Cardinal, Role::Hundred, Role::Scale, Role::Collective, Role::Ordinal])
            || matches!(tokens.lower(number), "a" | "an");
        if !begins {
            return None;
        }
        let spelled = numbers::spelled(tokens, number)?;
        // "hundred of them", "million reasons": words of scale alone are no numbers, "a hundred" is one.
        if spelled.end == number + 1 && word.is_any(&[Role::Hundred, Role::Scale, Role::Collective])
            || tokens.lower(number) == "score"
        {
            return None;
        }
        let place = tokens.end(spelled.end - 1);
        let core = (tokens.start(number), place);
        if spelled.ordinal {
            if self.is_rhetoric(number, spelled.end) {
                return None;
            }
            let what = What::Number(self.number(Readings::one(spelled.value, Decimal::ONE), None, false, true, true));
            return Some(Found {
                start,
                end: place,
                core,
                what,
                idle: false,
                hedge: Hedge::None,
                power: 0,
                plain_digits: 0,
            });
        }
        if spelled.single && self.is_pronoun(number) {
            return None;
        }
        let suffix = self.suffix(number, place, None, 0).unwrap_or(Suffix { end: place, ..Suffix::default() });
        let readings = Readings::one(spelled.value, spelled.step);
        let what = What::Number(self.number(readings, suffix.unit, false, true, false));
        let idle = self.is_idle(index, number, place, suffix.end);
        Some(Found { start, end: suffix.end, core, what, idle, hedge: suffix.hedge, power: 0, plain_digits: 0 })
    }

    /// "First, …", "at first", "the second" (of time), "third-party": an ordinal that orders what is said.
    fn is_rhetoric(&self, number: usize, end: usize) -> bool {
        let tokens = self.tokens;
        let before = if number > 0 { tokens.lower(number - 1) } else { "" };
        let single = end == number + 1;
        let comma =
            tokens.is(end, ",") || tokens.is(end, ":") || tokens.lower(end) == "of" && tokens.lower(end + 1) == "all";
        let begins = number == 0
            || tokens.breaks(number) > 0
            || matches!(before, "." | ";" | "," | "!" | "?" | "and" | "but" | ":" | "*");
        let time = matches!(tokens.lower(number), "second" | "quarter")
            && matches!(before, "a" | "per" | "one" | "every" | "each" | "split" | "any" | "this");
        let party = tokens.is(end, "-")
            && matches!(tokens.lower(end + 1), "party" | "hand" | "class" | "come" | "aid" | "rate" | "guess");
        let adverb =
            matches!(before, "at" | "you" | "i" | "we" | "to" | "needs" | "must") && tokens.lower(number) == "first";
        let noun =
            matches!(tokens.lower(end), "name" | "aid" | "hand" | "step" | "thing" | "things" | "class" | "party");
        single && (comma && begins || time || party || adverb || noun)
    }

    /// "this one", "one of them", "no one", "the one": no count of anything.
    fn is_pronoun(&self, number: usize) -> bool {
        let tokens = self.tokens;
        let before =
            if number > 0 && tokens.breaks(number) == 0 { tokens.word(number - 1) } else { lexicon::Word::default() };
        let after = tokens.lower(number + 1);
        before.is_any(&[Role::NotOne, Role::Ordinal])
            || matches!(
                after,
                "of" | "by"
                    | "another"
                    | "more"
                    | "moment"
                    | "thing"
                    | "way"
                    | "can"
                    | "could"
                    | "may"
                    | "might"
                    | "should"
                    | "must"
                    | "would"
                    | "will"
                    | "that"
                    | "who"
                    | "which"
                    | "is"
                    | "'s"
                    | "at"
                    | "with"
                    | "for"
                    | "last"
                    | "side"
                    | "hand"
                    | "and"
            )
            || !matches!(tokens.kind(number + 1), Some(TokenKind::Word | TokenKind::Punctuation))
                && number + 1 < tokens.tokens.len()
            || number + 1 >= tokens.tokens.len()
            || matches!(after, "." | "," | "?" | "!" | ";" | ")" | ":" | "—" | "–")
    }

    /// Only looks like a value.
    fn is_idle(&self, index: usize, number: usize, place: usize, end: usize) -> bool {
        let tokens = self.tokens;
        let before = if index > 0 && tokens.breaks(index) == 0 { tokens.lower(index - 1) } else { "" };
        let word = if before.is_empty() { lexicon::Word::default() } else { tokens.word(index - 1) };
        let line = self.tokens.lines.get(self.line);
        // "1." before an item, "2." or "2:" at the beginning of a heading.
        let marker = line.is_some_and(|line| number < (line.first + line.marker) as usize && line.block == Block::Item);
        let heading = line.is_some_and(|line| {
            line.block == Block::Heading
                && (line.first as usize..number)
                    .all(|inner| matches!(tokens.kind(inner), Some(TokenKind::Punctuation | TokenKind::Symbol)))
                && at(self.text, end).is_none_or(|c| matches!(c, '.' | ')' | ':'))
        });
        // "[1]", "[^1]" behind a word.
        let note = at(self.text, end) == Some(']')
            && (before == "[" || before == "^")
            && place == end
            && end - tokens.start(number) <= 2;
        let always =
            is_one_on_one(self.slice(tokens.start(number).saturating_sub(2), place + 2), tokens.start(number) < 2)
                || self.slice(tokens.start(number), place + 2) == "24/7"
                || before == "/" && self.slice(place.saturating_sub(4), place) == "24/7";
        let scale = before == "/"
            && !tokens.spaced(index)
            && matches!(self.slice(tokens.start(number), end), "5" | "10" | "100")
            && index > 1
            && tokens.kind(index - 2) == Some(TokenKind::Number);
        let sure = self.slice(place, end).contains('%')
            && self.slice(tokens.start(number), place) == "100"
            && matches!(
                tokens.lower(tokens.index_at(number, end)),
                "sure"
                    | "certain"
                    | "confident"
                    | "guarantee"
                    | "guaranteed"
                    | "positive"
                    | "correct"
                    | "right"
                    | "safe"
                    | "honest"
            );
        // "Flight 1: …", "**Day 2:** …" at the beginning of a line.
        let numbered = place == end
            && end - tokens.start(number) <= 2
            && index > 0
            && tokens.kind(index - 1) == Some(TokenKind::Word)
            && line.is_some_and(|line| {
                ((line.first + line.marker) as usize..index - 1)
                    .all(|inner| matches!(tokens.kind(inner), Some(TokenKind::Punctuation | TokenKind::Symbol)))
            })
            && self.slice(end, end + 3).trim_start_matches('*').starts_with(':')
            && !at(self.text, end + 1).is_some_and(|c| c.is_ascii_digit());
        let ratio = self.is_ratio(index, number, end);
        let label = word.is(Role::Label) && place == end;
        marker || heading || numbered || ratio || note || always || scale || sure || label
    }

    /// A side of "16:9" where a word tells that it is a ratio.
    fn is_ratio(&self, index: usize, number: usize, end: usize) -> bool {
        let tokens = self.tokens;
        let colon_before = index > 1 && tokens.is(index - 1, ":") && tokens.kind(index - 2) == Some(TokenKind::Number);
        let colon_behind =
            at(self.text, end) == Some(':') && at(self.text, end + 1).is_some_and(|c| c.is_ascii_digit());
        if !colon_before && !colon_behind {
            return false;
        }
        let last = if colon_before { number } else { number + 2 };
        let told = |index: usize| matches!(tokens.lower(index), "ratio" | "aspect" | "ratios");
        (last + 1..last + 4).any(told) || (index.saturating_sub(5)..index).any(told)
    }

    /// How near the number that begins at a token is meant to be, by the words before it.
    fn hedge_before(&self, index: usize) -> Hedge {
        let tokens = self.tokens;
        let mut last = index;
        for _ in 0..3 {
            if last == 0 || tokens.breaks(last) > 0 {
                return Hedge::None;
            }
            if !matches!(tokens.lower(last - 1), "a" | "an" | "the" | "only" | "just" | "*" | "another" | "=" | "-") {
                break;
            }
            last -= 1;
        }
        if last == 0 || tokens.breaks(last) > 0 {
            return Hedge::None;
        }
        let word = tokens.word(last - 1);
        if word.is(Role::HedgePhrase)
            && let Some((phrase, _)) =
                lexicon::hedge_phrase(tokens.lower(last - 1), |back| Some(tokens.lower((last - 1).checked_sub(back)?)))
        {
            return match phrase {
                Phrase::Over => Hedge::Over,
                Phrase::Under => Hedge::Under,
                _ => Hedge::About,
            };
        }
        let of = |role: Role| word.is(role);
        match () {
            () if of(Role::About) => Hedge::About,
            () if of(Role::Over) => Hedge::Over,
            () if of(Role::Under) => Hedge::Under,
            () => Hedge::None,
        }
    }

    /// Make a range of this number and the last where they are the ends of one, and share unit and scale.
    fn join(&mut self, found: &mut Found<'a>) {
        let What::Number(mut number) = found.what else { return };
        let Some(last) = self.found.last() else { return };
        let What::Number(mut earlier) = last.what else { return };
        let between = self.text.get(last.span.end as usize..found.start).unwrap_or("");
        let joiner = between.trim_matches(is_blank);
        if between.len() > 12 || joiner.is_empty() || between.contains('\n') {
            return;
        }
        let first = last.tokens.first as usize;
        let before = if first > 0 { self.tokens.lower(first - 1) } else { "" };
        let dash = joiner.chars().all(is_dash) && joiner.chars().count() <= 2;
        let joined = dash
            || matches!(joiner, "to" | "through" | "till" | "until") && before != "from"
            || matches!(joiner, "and" | "to") && before == "between";
        let related = joined || matches!(joiner, "to" | "or" | "and" | "/" | "x" | "×" | "by") && !earlier.ordinal;
        // "fell 2.3% to $41"
        let alike = match (earlier.unit, number.unit) {
            (Some(one), Some(other)) => units::dimension(one) == units::dimension(other),
            _ => true,
        };
        if !related || !alike || earlier.ordinal != number.ordinal {
            return;
        }
        let ascending = match (earlier.readings.first(), number.readings.first()) {
            (Some(low), Some(high)) => low.value < high.value,
            _ => false,
        };
        let mut changed = *last;
        if joined {
            // "2012-13" is a season.
            let season = dash && self.last.plain_digits == 4 && found.plain_digits == 2;
            if season && let (Some(year), Some(short)) = (earlier.readings.first(), number.readings.first()) {
                let hundred = Decimal::ONE_HUNDRED;
                let century = year
                    .value
                    .checked_div(hundred)
                    .map(|value| value.floor())
                    .and_then(|value| value.checked_mul(hundred));
                let full =
                    century.and_then(|century| century.checked_add(short.value)).filter(|&full| full > year.value);
                if let Some(full) = full {
                    number.readings =
                        self.bump.alloc_slice_copy(&[Reading { value: full, step: Decimal::ONE }, *short]);
                    earlier.range = true;
                    number.range = true;
                }
            } else if ascending || !dash || found.power > 0 && self.last.power == 0 {
                // "113-107" is a score.
                earlier.range = true;
                number.range = true;
            }
        }
        // "$5-10 million" is from five million on.
        if joined
            && found.power > 0
            && self.last.power == 0
            && earlier.readings.len() == 1
            && let Some(&reading) = earlier.readings.first()
            && let Some(scaled) = (Readings { first: reading, second: None }).times_power(found.power)
        {
            earlier.readings = self.bump.alloc_slice_copy(&[scaled.first, reading]);
        }
        match (earlier.unit, number.unit) {
            // "5-10 km", "5 x 10 cm", "5 or 6 days"
            (None, Some(unit)) if joined || joiner == "or" || joiner == "to" => earlier.unit = Some(unit),
            // "2 × €14" multiplies.
            (None, Some(unit)) if joiner != "and" && matches!(units::dimension(unit), "length" | "pixels") => {
                earlier.unit = Some(unit);
                self.share_unit(unit);
            }
            (Some(unit @ (Unit::Currency { .. } | Unit::Percent)), None) if joined => number.unit = Some(unit),
            _ => {}
        }
        changed.what = What::Number(earlier);
        if let Some(last) = self.found.last_mut() {
            *last = changed;
        }
        found.what = What::Number(number);
    }

    /// "March 9-11, 2026" and "9-11 March 2026": the day that stands alone is a date of the same month.
    fn join_dates(&mut self, date: Date, start: usize) {
        let Some(last) = self.found.last_mut() else { return };
        let between = self.text.get(last.span.end as usize..start).unwrap_or("");
        if between.len() > 12 || !dates::is_joined(between) {
            return;
        }
        match &mut last.what {
            What::Number(number) if date.day.is_some() && date.month.is_some() && number.unit.is_none() => {
                let is_day = number.ordinal || (1..3).contains(&self.last.plain_digits);
                let day = number.readings.first().and_then(|reading| i8::try_from(reading.value).ok());
                let day = day.filter(|day| is_day && (1..=31).contains(day));
                if day.is_some() {
                    last.what = What::Date(Date { day, weekday: None, ..date });
                }
            }
            What::Date(earlier) if earlier.year.is_none() && earlier.day.is_some() && date.day.is_some() => {
                earlier.year = date.year
            }
            _ => {}
        }
    }

    /// "10-11 am": the number before is an hour as well.
    fn join_times(&mut self, time: Time, start: usize) {
        let Some(last) = self.found.last_mut() else { return };
        let between = self.text.get(last.span.end as usize..start).unwrap_or("");
        let What::Number(number) = last.what else { return };
        let hour = number.readings.first().and_then(|reading| i8::try_from(reading.value).ok());
        let Some(hour) = hour.filter(|hour| (1..=12).contains(hour)) else { return };
        let plain = number.unit.is_none() && (1..3).contains(&self.last.plain_digits) && !time.half_day_open;
        if !plain
            || between.len() > 12
            || !dates::is_joined(between)
            || between.trim() == "and"
            || between.trim() == "or"
        {
            return;
        }
        // The same half of the day, unless that would be later than the end.
        let afternoon = time.hour >= 12;
        let same = hour % 12 + if afternoon { 12 } else { 0 };
        let hour = if same <= time.hour { same } else { hour % 12 + if afternoon { 0 } else { 12 } };
        last.what = What::Time(Time { hour, minute: None, second: None, ..time });
    }

    /// "40 × 30 × 15 cm": what the middle has got, the first has too.
    fn share_unit(&mut self, unit: Unit<'a>) {
        let mut behind: Option<u32> = None;
        for mention in self.found.iter_mut().rev().take(4) {
            let joined = behind.is_none_or(|start| {
                let between =
                    self.text.get(mention.span.end as usize..start as usize).unwrap_or("").trim_matches(is_blank);
                matches!(between, "x" | "×" | "by")
            });
            let What::Number(number) = &mut mention.what else { break };
            if !joined || number.unit.is_some() {
                break;
            }
            number.unit = Some(unit);
            behind = Some(mention.span.start);
        }
    }

    /// The "11" of "March 9-11, 2026".
    fn second_day(&self, index: usize) -> Option<Found<'a>> {
        let last = self.found.last()?;
        let What::Date(date) = last.what else { return None };
        let start = self.tokens.start(index);
        let between = self.text.get(last.span.end as usize..start)?;
        date.day?;
        if between.len() > 12 || !dates::is_joined(between) {
            return None;
        }
        let found = dates::day_of_month(self.tokens, index, Date { weekday: None, ..date })?;
        Some(self.plain(found.start, found.end, What::Date(found.value)))
    }
}

/// "1:1", a meeting of two.
fn is_one_on_one(around: &str, at_start: bool) -> bool {
    let first =
        if at_start { around.starts_with("1:1") } else { around.get(2..).is_some_and(|rest| rest.starts_with("1:1")) };
    first || around.starts_with("1:1")
}

struct Prefix<'a> {
    number: usize,
    negative: bool,
    signed: bool,
    unit: Option<Unit<'a>>,
}

#[derive(Clone, Copy, Default)]
struct Suffix<'a> {
    end: usize,
    power: u32,
    unit: Option<Unit<'a>>,
    ordinal: bool,
    idle: bool,
    hedge: Hedge,
}

#[cfg(test)]
mod tests {
    use bumpalo::Bump;

    use crate::grounding::scan::{Hedge, Mention, What, describe, scan};

    /// Each mention as "text = kind values unit", without what is idle.
    fn found(text: &str) -> Vec<String> {
        let bump = Bump::new();
        let scan = scan(text, &bump);
        scan.mentions.iter().filter(|mention| !mention.idle).map(|mention| shown(text, mention)).collect()
    }

    fn shown(text: &str, mention: &Mention<'_>) -> String {
        let described = describe(mention);
        let written = text.get(mention.span.start as usize..mention.span.end as usize).unwrap();
        let unit = described.unit.map_or(String::new(), |unit| format!(" {unit}"));
        format!("{written} = {} {}{unit}", described.kind, described.values.join("/"))
    }

    fn check(cases: &[(&str, &[&str])]) {
        for (text, expected) in cases {
            assert_eq!(found(text), *expected, "{text}");
        }
    }

    #[test]
    fn sums_of_money() {
        check(&[
            ("It is €1,234.50.", &["€1,234.50 = money 1234.5 EUR"]),
            ("1.234,50 € in all", &["1.234,50 € = money 1234.5 EUR"]),
            ("EUR 12, 12 euros", &["EUR 12 = money 12 EUR", "12 euros = money 12 EUR"]),
            (
                "US$5, A$ 20 and 12 US dollars",
                &["US$5 = money 5 USD", "A$ 20 = money 20 AUD", "12 US dollars = money 12 USD"],
            ),
            ("Rs. 500 or ₹1,00,000", &["Rs. 500 = money 500 INR", "₹1,00,000 = money 100000 INR"]),
            ("USD1200", &["USD1200 = money 1200 USD"]),
            ("-$5, $-5, −5 €", &["-$5 = money -5 USD", "$-5 = money -5 USD", "−5 € = money -5 EUR"]),
            ("a loss of ($45)", &["($45) = money 45/-45 USD"]),
            ("| net | (45) |", &["(45) = number -45/45"]),
            ("$1.5 million", &["$1.5 million = money 1500000 USD"]),
            (
                "$5M, €5m, £2.5bn, $3.5k/month",
                &[
                    "$5M = money 5000000 USD",
                    "€5m = money 5000000 EUR",
                    "£2.5bn = money 2500000000 GBP",
                    "$3.5k = money 3500 USD",
                ],
            ),
            ("50 cents, 50¢", &["50 cents = quantity 50 cent", "50¢ = quantity 50 cent"]),
            ("twenty dollars", &["twenty dollars = money 20 USD"]),
            ("5 items at $10 each", &["5 = number 5", "$10 = money 10 USD"]),
        ]);
    }

    #[test]
    fn percent_and_quantities() {
        check(&[
            ("%12 and -%3,25", &["%12 = percent 12 percent", "-%3,25 = percent -3.25 percent"]),
            ("87.3% or 5 per cent", &["87.3% = percent 87.3 percent", "5 per cent = percent 5 percent"]),
            ("up 2 percentage points", &["2 percentage points = percent 2 percent"]),
            (
                "It's -3 °C, minus 3 °C, −3°C or -3°F.",
                &[
                    "-3 °C = quantity -3 celsius",
                    "minus 3 °C = quantity -3 celsius",
                    "−3°C = quantity -3 celsius",
                    "-3°F = quantity -3 fahrenheit",
                ],
            ),
            ("72F", &["72F = quantity 72 fahrenheit"]),
            (
                "20 degrees, 20 degrees Celsius",
                &["20 degrees = quantity 20 degree", "20 degrees Celsius = quantity 20 celsius"],
            ),
            (
                "30 mph, 5 miles per hour, 10 m²",
                &[
                    "30 mph = quantity 30 mile_per_hour",
                    "5 miles per hour = quantity 5 mile_per_hour",
                    "10 m² = quantity 10 square_metre",
                ],
            ),
            (
                "12-inch, 10-day, 6.1\" and 5'11\"",
                &[
                    "12-inch = quantity 12 inch",
                    "10-day = quantity 10 day",
                    "6.1\" = quantity 6.1 inch",
                    "5' = quantity 5 foot",
                    "11\" = quantity 11 inch",
                ],
            ),
            (
                "5000mAh, 108 MP, 120Hz, 1080p",
                &[
                    "5000mAh = quantity 5000 milliampere_hour",
                    "108 MP = quantity 108 megapixel",
                    "120Hz = quantity 120 hertz",
                    "1080p = quantity 1080 scan_line",
                ],
            ),
            ("720x1280 pixels", &["720 = quantity 720 pixel", "1280 pixels = quantity 1280 pixel"]),
            ("5 in the morning, 3 a day", &["5 = number 5", "3 = number 3"]),
            ("5\u{a0}km and 5\u{202f}%", &["5\u{a0}km = quantity 5 kilometre", "5\u{202f}% = percent 5 percent"]),
            ("2 × €14", &["2 = number 2", "€14 = money 14 EUR"]),
            (
                "40 × 30 × 15 cm",
                &["40 = quantity 40 centimetre", "30 = quantity 30 centimetre", "15 cm = quantity 15 centimetre"],
            ),
            (
                "126 mg/dL, 7 mmol/L",
                &["126 mg/dL = quantity 126 milligram_per_decilitre", "7 mmol/L = quantity 7 millimole_per_litre"],
            ),
            ("45°N", &["45° = quantity 45 degree"]),
            ("half an hour", &["half an hour = quantity 0.5 hour"]),
            (
                "1½ hours, 1 1/2 hours, 3/4 mile",
                &["1½ hours = quantity 1.5 hour", "1 1/2 hours = quantity 1.5 hour", "3/4 mile = quantity 0.75 mile"],
            ),
        ]);
    }

    #[test]
    fn numbers_with_scales_and_powers() {
        check(&[
            (
                "6.5e3, 6.5×10³, 10^6, 2 x 10^-3",
                &["6.5e3 = number 6500", "6.5×10³ = number 6500", "10^6 = number 1000000", "2 x 10^-3 = number 0.002"],
            ),
            (
                "6.5 million, 5k, 3 lakh, 2 crore",
                &[
                    "6.5 million = number 6500000",
                    "5k = number 5000",
                    "3 lakh = number 300000",
                    "2 crore = number 20000000",
                ],
            ),
            ("١٬٢٣٤٫٥٠", &["١٬٢٣٤٫٥٠ = number 1234.5"]),
            ("1.234 and 1,234", &["1.234 = number 1.234/1234", "1,234 = number 1234/1.234"]),
            ("in 2024", &["2024 = number 2024"]),
            ("2x faster", &["2x = number 2"]),
            ("5,10,15", &["5 = number 5", "10 = number 10", "15 = number 15"]),
            ("100 200 300", &["100 = number 100", "200 = number 200", "300 = number 300"]),
            ("816 000 t", &["816 000 t = quantity 816000 tonne"]),
        ]);
    }

    #[test]
    fn numbers_in_words() {
        check(&[
            ("twenty-one", &["twenty-one = number 21"]),
            ("one hundred and five people", &["one hundred and five = number 105"]),
            (
                "a dozen eggs, two dozen eggs, half a dozen eggs",
                &["a dozen = number 12", "two dozen = number 24", "half a dozen = number 6"],
            ),
            ("two and a half million", &["two and a half million = number 2500000"]),
            ("three point five", &["three point five = number 3.5"]),
            ("three quarters", &["three quarters = number 0.75"]),
            (
                "nineteen eighty-four and twenty twenty-four",
                &["nineteen eighty-four = number 1984", "twenty twenty-four = number 2024"],
            ),
            ("six thousand two hundred", &["six thousand two hundred = number 6200"]),
            ("a hundred people", &["a hundred = number 100"]),
            ("hundreds of people, a couple, several", &[]),
            ("the second one, take one: it rains", &["second = ordinal 2"]),
            ("no one, this one, one of them, I have one.", &[]),
            ("one result and zero errors", &["one = number 1", "zero = number 0"]),
            ("two three", &["two = number 2", "three = number 3"]),
        ]);
    }

    #[test]
    fn ordinals() {
        check(&[
            (
                "the 3rd, third place, the twenty-first",
                &["3rd = ordinal 3", "third = ordinal 3", "twenty-first = ordinal 21"],
            ),
            ("First, call them. Second, wait. At first it rained. Wait a second.", &[]),
            ("30 seconds", &["30 seconds = quantity 30 second"]),
        ]);
    }

    #[test]
    fn names_with_digits_are_no_numbers() {
        check(&[
            (
                "A-99812, T-9, K9, X1, HAT139, INV_2209",
                &[
                    "A-99812 = id a99812",
                    "T-9 = id t9",
                    "K9 = id k9",
                    "X1 = id x1",
                    "HAT139 = id hat139",
                    "INV_2209 = id inv_2209",
                ],
            ),
            ("WH-1000XM4 and Boeing-747", &["WH-1000XM4 = id wh1000xm4", "Boeing-747 = id boeing747"]),
            ("#5120, #12", &["#5120 = id 5120", "#12 = number 12"]),
            ("order-12345, run-001", &["order-12345 = id order12345", "run-001 = id run001"]),
            ("top-10, mid-2020, under-21", &["10 = number 10", "2020 = number 2020", "21 = number 21"]),
            (
                "550e8400-e29b-41d4-a716-446655440000",
                &["550e8400-e29b-41d4-a716-446655440000 = id 550e8400e29b41d4a716446655440000"],
            ),
            (
                "9c1185a5c5e9fc54612808977ee8f548",
                &["9c1185a5c5e9fc54612808977ee8f548 = id 9c1185a5c5e9fc54612808977ee8f548"],
            ),
            (
                "10.0.0.1, v2.3.1, 3.11.4, 1.2.3-rc1",
                &["10.0.0.1 = id 10.0.0.1", "v2.3.1 = id v2.3.1", "3.11.4 = id 3.11.4", "1.2.3-rc1 = id 1.2.3rc1"],
            ),
            (
                "(555) 123-4567, +1 555-123-4567",
                &["(555) 123-4567 = id 5551234567", "+1 555-123-4567 = id +15551234567"],
            ),
            ("9400110200881234567890", &["9400110200881234567890 = id 9400110200881234567890"]),
            ("007", &["007 = id 007"]),
            ("****4743, •••• 4743, ending in 4743", &["****4743 = id 4743", "•••• 4743 = id 4743", "4743 = id 4743"]),
            ("DE89 3704 0044 0532 0130 00", &["DE89 3704 0044 0532 0130 00 = id de89370400440532013000"]),
            ("4111 1111 1111 1111.", &["4111 1111 1111 1111 = id 4111111111111111"]),
            ("seat 14C, 5G", &["14C = id 14c", "5G = id 5g"]),
            (
                "dana@x.io, https://x.io/a1?b=2, x2.com",
                &["dana@x.io = email dana@x.io", "https://x.io/a1?b=2 = url x.io/a1?b=2", "x2.com = url x2.com"],
            ),
            ("COVID-19, 3D", &[]),
        ]);
    }

    #[test]
    fn dates_and_times_are_no_numbers() {
        check(&[
            ("2026-03-09T14:05:00Z", &["2026-03-09T14:05:00Z = datetime 2026-03-09T14:05:00Z"]),
            ("on 9 March 2026 at 2:05 PM UTC", &["9 March 2026 = date 2026-03-09", "2:05 PM UTC = time 14:05Z"]),
            ("on 03/09/2026, on 3/9", &["03/09/2026 = date 2026-03-09?", "3/9 = date --03-09?"]),
            ("March 9-11, 2026", &["March 9 = date 2026-03-09", "11, 2026 = date 2026-03-11"]),
            ("9-11 March 2026", &["9 = date 2026-03-09", "11 March 2026 = date 2026-03-11"]),
            ("10-11 am, 9am–5pm", &["10 = time 10:00", "11 am = time 11:00", "9am = time 09:00", "5pm = time 17:00"]),
            (
                "leaves at 7.42 am from platform 4, arrives at 8.06",
                &["7.42 am = time 07:42", "4 = number 4", "8.06 = time 08:06"],
            ),
            (
                "18 °C on 3 March and 14 °C on 4 March",
                &[
                    "18 °C = quantity 18 celsius",
                    "3 March = date --03-03",
                    "14 °C = quantity 14 celsius",
                    "4 March = date --03-04",
                ],
            ),
            (
                "at half past nine, on the fifth of March",
                &["half past nine = time 09:30", "fifth of March = date --03-05"],
            ),
            ("expires 08/28", &["08/28 = date 2028-08"]),
            ("noon on Monday, today", &["noon = time 12:00", "Monday = date monday"]),
            ("in March, in May, may I, march on", &["March = date --03", "May = date --05"]),
        ]);
    }

    #[test]
    fn what_only_looks_like_a_value_is_idle() {
        for text in [
            "1. Apples",
            "2) Pears",
            "## 3. Pears",
            "open 24/7",
            "100% sure",
            "step 2",
            "Option 1: go",
            "as told [1]",
            "the 1990s",
            "top 10",
            "- **Flight 1:** JFK",
            "Day 2: rain",
            "a 1:1 with Theo",
            "at an offset of -05:00",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
        check(&[("rated 4/5", &["4 = number 4"]), ("1. Apples: 5", &["5 = number 5"])]);
    }

    #[test]
    fn ranges_have_two_ends_and_share_their_unit() {
        let ends = |text: &str| {
            let bump = Bump::new();
            let mentions = scan(text, &bump).mentions;
            let range = |mention: &Mention<'_>| matches!(mention.what, What::Number(number) if number.range);
            mentions
                .iter()
                .map(|mention| format!("{}{}", shown(text, mention), if range(mention) { " range" } else { "" }))
                .collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("3-5 days", ["3 = quantity 3 day range", "5 days = quantity 5 day range"]),
            ("3 to 5 km", ["3 = quantity 3 kilometre range", "5 km = quantity 5 kilometre range"]),
            ("between 3 and 5", ["3 = number 3 range", "5 = number 5 range"]),
            ("from 3 to 5", ["3 = number 3", "5 = number 5"]),
            ("$5–10", ["$5 = money 5 USD range", "10 = money 10 USD range"]),
            ("5%-10%", ["5% = percent 5 percent range", "10% = percent 10 percent range"]),
            ("-5 to -10 °C", ["-5 = quantity -5 celsius range", "-10 °C = quantity -10 celsius range"]),
            ("2012-13", ["2012 = number 2012 range", "13 = number 2013/13 range"]),
            ("2.3% to $41", ["2.3% = percent 2.3 percent", "$41 = money 41 USD"]),
            ("$49\n- 310 g", ["$49 = money 49 USD", "310 g = quantity 310 gram"]),
            ("113-107", ["113 = number 113", "107 = number 107"]),
            ("£5-10 million", ["£5 = money 5000000/5 GBP range", "10 million = money 10000000 GBP range"]),
        ] {
            assert_eq!(ends(text), expected, "{text}");
        }
    }

    #[test]
    fn quotations_are_mentions_where_they_are_short() {
        check(&[
            ("I found \"Blade Runner 2049\" there.", &["Blade Runner 2049 = quote Blade Runner 2049"]),
            ("“light snow” and «neige»", &["light snow = quote light snow", "neige = quote neige"]),
            ("the 'fern' isn't the users' one", &["fern = quote fern"]),
            ("\"A-99812\"", &["A-99812 = id a99812"]),
            (
                "\"It took 5 km to get there, and then there were 7 km to go back home.\"",
                &["5 km = quantity 5 kilometre", "7 km = quantity 7 kilometre"],
            ),
            ("`order_id` is 5", &["5 = number 5"]),
        ]);
    }

    #[test]
    fn hedges_say_how_near() {
        let hedge = |text: &str| {
            let bump = Bump::new();
            scan(text, &bump).mentions.first().map(|mention| mention.hedge)
        };
        for (hedged, expected) in [
            (
                &["about 30", "approximately 30", "~30", "≈ 30", "roughly $30", "30 or so", "around a dozen"][..],
                Hedge::About,
            ),
            (&["over 30", "more than 30", "at least 30", "30+", "30 or more", "> 30", "upwards of 30"], Hedge::Over),
            (&["up to 30", "less than 30", "nearly 30", "at most 30", "no more than 30", "< 30"], Hedge::Under),
            (&["30", "the 30", "exactly 30"], Hedge::None),
        ] {
            for text in hedged {
                assert_eq!(hedge(text), Some(expected), "{text}");
            }
        }
    }

    #[test]
    fn steps_are_the_worth_of_the_last_place() {
        let step = |text: &str| {
            let bump = Bump::new();
            match scan(text, &bump).mentions.first().map(|mention| mention.what) {
                Some(What::Number(number)) => {
                    number.readings.first().map(|reading| reading.step.normalize().to_string())
                }
                _ => None,
            }
        };
        for (text, expected) in [
            ("6.5", "0.1"),
            ("6.50 km", "0.01"),
            ("6.5 million", "100000"),
            ("1,200", "1"),
            ("6k", "1000"),
            ("six thousand", "1000"),
            ("twenty", "1"),
            ("5.0e3", "100"),
        ] {
            assert_eq!(step(text).as_deref(), Some(expected), "{text}");
        }
    }

    /// Spans are in order, do not overlap, lie on characters, and cover their tokens.
    fn hold(text: &str) {
        let bump = Bump::new();
        let scan = scan(text, &bump);
        let mut end = 0;
        for mention in scan.mentions {
            let (from, to) = (mention.span.start as usize, mention.span.end as usize);
            assert!(from >= end && to > from && text.get(from..to).is_some(), "{text:?}");
            let (inner, behind) = (mention.core.start as usize, mention.core.end as usize);
            assert!(inner >= from && behind <= to && text.get(inner..behind).is_some(), "{text:?}");
            end = to;
            assert!(
                (mention.sentence as usize) < scan.sentences.len() && (mention.clause as usize) < scan.clauses.len()
            );
        }
        let mut next = 0;
        for sentence in scan.sentences {
            assert_eq!(sentence.tokens.first, next);
            next = sentence.tokens.end;
        }
        assert_eq!(next as usize, scan.tokens.len());
    }

    #[test]
    fn no_text_is_too_odd() {
        let parts = [
            "5", "1,2", "-", "–", "$", "€ ", "USD", "%", "°C", "km/h", " ", "\n", "\n\n", "\"", "“", "”", "'", "`",
            "```", "|", "# ", "- ", "1. ", "(", ")", "@x.io", "https://", "www.", "March ", "9, ", "2026", ":", "05",
            "pm", "UTC", "+", "*", "****", "half a ", "and ", "to ", "twenty", "-one ", "hundred ", "not ", "if ",
            "n't", "ſ", "İ", "é", "e\u{301}", "\u{200f}", "\u{a0}", "٣", "½", "³", "年", "3月", "x", "e9", "/", ".",
            "'s", "_", "\u{0}", "😀",
        ];
        // All pairs and a long walk through triples: a fixed pseudo-random order.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            parts[(state >> 33) as usize % parts.len()]
        };
        for first in parts {
            for second in parts {
                hold(&format!("{first}{second}"));
            }
        }
        for length in 0..4000 {
            let text: String = (0..3 + length % 12).map(|_| next()).collect();
            hold(&text);
        }
    }

    #[test]
    fn long_texts_of_one_thing_take_linear_time() {
        for part in [
            "1",
            "a",
            "1,",
            "1.",
            "1-",
            "a-",
            "a1-",
            "a_",
            "\"",
            "'",
            "“",
            "(",
            "`",
            "*",
            "|",
            "a.",
            "a@",
            "://",
            "1 ",
            "a, ",
            "and ",
            "one ",
            "1/",
            "x",
            "- ",
            "not ",
            "unsuccessful ",
            "if a ",
            "\n",
            "1. ",
            "...",
            "$",
            "-$",
            "March ",
            "1:",
            "+1",
            "****1 ",
            "é",
            "'s",
            "/",
            "a/",
        ] {
            let text = part.repeat(40_000 / part.len());
            let started = std::time::Instant::now();
            let bump = Bump::new();
            scan(&text, &bump);
            // Generous: unoptimised code on a busy machine.
            assert!(started.elapsed().as_secs() < 10, "{part:?} took {:?}", started.elapsed());
        }
    }
}
