//! Where sentences end: not at the point of a number, an address or an abbreviation, and never across a heading, an item or a row.

use super::{
    Block, Run, Sentence, Span, TokenKind,
    characters::{at, is_blank},
    lexicon::Role,
    tokens::Tokens,
};

/// A line of prose that is as long as this and ends without a full stop was broken by an editor, and goes on.
const LONG_LINE: usize = 60;

/// The sentences of a text. `mention_of` tells of a token whether it belongs to a mention that goes on behind it.
pub fn split(tokens: &Tokens<'_>) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    let mut first = 0;
    for (number, line) in tokens.lines.iter().enumerate() {
        let (start, end) = (line.first as usize, line.end as usize);
        if first < start && !goes_on(tokens, number) {
            add(tokens, &mut sentences, first, start, number.saturating_sub(1));
            first = start;
        }
        for index in start + line.marker as usize..end {
            if line.block != Block::Code && line.block != Block::Row && ends_sentence(tokens, index, end) {
                let behind = behind_closing(tokens, index + 1, end);
                if behind > first {
                    add(tokens, &mut sentences, first, behind, number);
                    first = behind;
                }
            }
        }
    }
    add(tokens, &mut sentences, first, tokens.tokens.len(), tokens.lines.len().saturating_sub(1));
    sentences
}

/// Nobody writes longer sentences; dumps of data do not need them, and would make all that looks around in a sentence slow.
const MOST_TOKENS: usize = 256;

fn add(tokens: &Tokens<'_>, sentences: &mut Vec<Sentence>, mut first: usize, end: usize, line: usize) {
    let block = tokens.lines.get(line).map_or(Block::Prose, |line| line.block);
    while first < end {
        // A cut never goes through a mention, but for those that are longer still.
        let least = first + MOST_TOKENS;
        let mention = |index: usize| tokens.tokens.get(index).and_then(|token| token.mention);
        let mut last = least.min(end);
        while last < end
            && last > first + MOST_TOKENS / 2
            && mention(last).is_some()
            && mention(last) == mention(last - 1)
        {
            last -= 1;
        }
        sentences.push(Sentence {
            span: Span { start: tokens.start(first) as u32, end: tokens.end(last - 1) as u32 },
            tokens: Run { first: first as u32, end: last as u32 },
            clauses: Run { first: 0, end: 0 },
            mentions: Run { first: 0, end: 0 },
            block,
        });
        first = last;
    }
}

/// Does a sentence go on from the line before?
fn goes_on(tokens: &Tokens<'_>, number: usize) -> bool {
    let (Some(line), Some(before)) =
        (tokens.lines.get(number), number.checked_sub(1).and_then(|before| tokens.lines.get(before)))
    else {
        return false;
    };
    if line.apart || line.block != Block::Prose || !matches!(before.block, Block::Prose | Block::Item) {
        return false;
    }
    let last = before.end as usize - 1;
    if matches!(tokens.written(last), "." | "!" | "?" | ":" | ";") {
        return false;
    }
    let lower = tokens.written(line.first as usize).chars().next().is_some_and(char::is_lowercase);
    let length = tokens.end(last).saturating_sub(tokens.start(before.first as usize));
    lower || before.block == Block::Prose && length >= LONG_LINE
}

fn ends_sentence(tokens: &Tokens<'_>, index: usize, end: usize) -> bool {
    let Some(token) = tokens.tokens.get(index) else { return false };
    if token.kind == TokenKind::Word || token.kind == TokenKind::Number {
        // "2 p.m." in one mention may end a sentence as well as its point would.
        return false;
    }
    let mark = tokens.written(index);
    if !matches!(mark, "." | "!" | "?" | "…" | "。" | "！" | "？" | "।" | "؟" | "۔") {
        return false;
    }
    if matches!(mark, "。" | "！" | "？") {
        return true;
    }
    // Of "?!" and "..." the last.
    if index + 1 < end && !tokens.spaced(index + 1) && matches!(tokens.written(index + 1), "." | "!" | "?" | "…") {
        return false;
    }
    let behind = behind_closing(tokens, index + 1, end);
    if behind < end && !tokens.spaced(behind) {
        return false;
    }
    if behind >= end {
        return true;
    }
    let next = tokens.written(behind);
    let lower = next.chars().next().is_some_and(char::is_lowercase);
    if mark != "." {
        // "Really?" he asked. A mark that stands inside ends no sentence that goes on in lower case.
        return if mark == "…" { !lower } else { !lower || behind == index + 1 };
    }
    if token
        .mention
        .is_some_and(|mention| tokens.tokens.get(index + 1).is_some_and(|next| next.mention == Some(mention)))
    {
        return false;
    }
    // "Wait... what?"
    if lower && !tokens.spaced(index) && index > 0 && tokens.is(index - 1, ".") {
        return false;
    }
    let line_start = index == 0 || tokens.breaks(index) > 0;
    if line_start || behind > index + 1 && !lower {
        return !line_start;
    }
    let word = tokens.word(index - 1);
    let before = tokens.written(index - 1);
    let is_number = |index: usize| tokens.kind(index) == Some(TokenKind::Number) || tokens.is(index, "#");
    if tokens.spaced(index) {
        return true;
    }
    // The parts of "e.g." and "U.S." are looked up together.
    let (joined, initials) = with_points(tokens, index);
    let word = joined.unwrap_or(word);
    if word.is(Role::Abbreviation) && !(initials == 1 && before.len() > 1 && is_sentence_word(tokens, index - 1, lower))
    {
        return false;
    }
    if word.is(Role::AbbreviationOfNumber) && is_number(behind) {
        return false;
    }
    if word.is(Role::AbbreviationOrEnd) || initials > 1 {
        return !lower && !is_number(behind);
    }
    // "J. Smith", but "plan B. Then"
    let initial = before.chars().count() == 1
        && before.chars().all(char::is_uppercase)
        && tokens.kind(index - 1) == Some(TokenKind::Word);
    let named = tokens.tokens.get(index - 1).is_some_and(|token| token.mention.is_none());
    if initial && named && before != "I" {
        return false;
    }
    // "9. März": a day of the month in other languages, "1. FC".
    if tokens.kind(index - 1) == Some(TokenKind::Number) && token.mention.is_some() && tokens.word(behind).month > 0 {
        return false;
    }
    true
}

/// Abbreviations that are words too ("no.", "st.") count as words where the next begins in capitals and nothing speaks for a name.
fn is_sentence_word(tokens: &Tokens<'_>, index: usize, next_is_lower: bool) -> bool {
    matches!(
        tokens.lower(index),
        "ed" | "max" | "min" | "cf" | "gen" | "col" | "est" | "fax" | "tel" | "incl" | "vol" | "fig" | "mt" | "rep"
    ) && !next_is_lower
        && index > 1
}

/// For "e.g." at its last point: what it is as one word, and how many letters with points it has.
fn with_points(tokens: &Tokens<'_>, index: usize) -> (Option<crate::grounding::scan::lexicon::Word>, usize) {
    let mut first = index - 1;
    let mut parts = 1;
    while parts < 4
        && first >= 2
        && tokens.is(first - 1, ".")
        && !tokens.spaced(first)
        && !tokens.spaced(first - 1)
        && tokens.kind(first - 2) == Some(TokenKind::Word)
        && tokens.written(first).len() <= 2
        && tokens.written(first - 2).len() <= 2
    {
        first -= 2;
        parts += 1;
    }
    if parts == 1 {
        return (None, 1);
    }
    let mut joined = [0u8; 16];
    let mut length = 0;
    for place in (first..index).step_by(2) {
        let lower = tokens.lower(place).as_bytes();
        let point = usize::from(length > 0);
        let Some(room) = joined.get_mut(length..length + point + lower.len()) else { return (None, parts) };
        if let Some((dot, rest)) = room.split_at_mut_checked(point) {
            dot.fill(b'.');
            rest.copy_from_slice(lower);
        }
        length += point + lower.len();
    }
    let word = joined.get(..length).and_then(|joined| std::str::from_utf8(joined).ok());
    (word.map(super::lexicon::look_up).filter(|&word| word != super::lexicon::Word::default()), parts)
}

/// Behind the quotation marks and brackets that close with a sentence.
fn behind_closing(tokens: &Tokens<'_>, mut index: usize, end: usize) -> usize {
    while index < end && !tokens.spaced(index) {
        let closes = match tokens.written(index) {
            ")" | "]" | "}" | "”" | "’" | "»" | "*" | "_" | "」" => true,
            "\"" | "'" => at(tokens.text, tokens.end(index)).is_none_or(is_blank),
            _ => false,
        };
        if !closes {
            break;
        }
        index += 1;
    }
    index
}

#[cfg(test)]
mod tests {
    use crate::grounding::scan::{Block, scan};
    use bumpalo::Bump;

    fn sentences(text: &str) -> Vec<&str> {
        let bump = Bump::new();
        let spans: Vec<_> = scan(text, &bump).sentences.iter().map(|sentence| sentence.span).collect();
        spans.iter().filter_map(|span| text.get(span.start as usize..span.end as usize)).collect()
    }

    #[test]
    fn prose_is_split_at_the_ends_of_sentences() {
        for (text, expected) in [
            ("It is 3.5 km. It rains!", &["It is 3.5 km.", "It rains!"][..]),
            ("Dr. Smith met J. R. Brown at 5 p.m. on Monday.", &["Dr. Smith met J. R. Brown at 5 p.m. on Monday."]),
            ("It opens at 5 p.m. The shop is new.", &["It opens at 5 p.m.", "The shop is new."]),
            ("See example.com. Then call.", &["See example.com.", "Then call."]),
            ("Fruit, e.g. apples, i.e. red ones. Good.", &["Fruit, e.g. apples, i.e. red ones.", "Good."]),
            ("He lives in the U.S. He is well.", &["He lives in the U.S.", "He is well."]),
            ("No. I could not. No. 5 is alive.", &["No.", "I could not.", "No. 5 is alive."]),
            ("Wait... what? \u{201c}Stop.\u{201d} He did.", &["Wait... what?", "\u{201c}Stop.\u{201d}", "He did."]),
            ("\"Really?\" he asked. Yes.", &["\"Really?\" he asked.", "Yes."]),
            ("It costs $5. That is all.", &["It costs $5.", "That is all."]),
            ("it failed. it is gone.", &["it failed.", "it is gone."]),
            ("(It is open.) Good.", &["(It is open.)", "Good."]),
            ("Version 2.3.1 of v1.2 is out. Get it.", &["Version 2.3.1 of v1.2 is out.", "Get it."]),
            ("It was in 2024. In 2025 it was not.", &["It was in 2024.", "In 2025 it was not."]),
            ("Acme Inc. is big. So is Acme Ltd.", &["Acme Inc. is big.", "So is Acme Ltd."]),
        ] {
            assert_eq!(sentences(text), expected, "{text}");
        }
    }

    #[test]
    fn no_sentence_is_longer_than_its_bound() {
        let bump = Bump::new();
        let text = "1, ".repeat(5000) + &"no \"x y z\" and ".repeat(3000);
        let scan = scan(&text, &bump);
        assert!(scan.sentences.iter().all(|sentence| sentence.tokens.end - sentence.tokens.first <= 256));
        assert_eq!(scan.sentences.last().unwrap().tokens.end as usize, scan.tokens.len());
    }

    #[test]
    fn lines_are_sentences_unless_they_go_on() {
        let text = "# Weather\n\n- Oslo: 3 °C\n- Rome: 20 °C. Sunny.\n\nTemperature: 5\nHumidity: 80\nIt was\nwarm.\n\n| a | b |\n|---|---|\n| 1. | 2 |\n\n```\nx = 1. y\n```\n1. First\n2. Second";
        let expected = [
            "# Weather",
            "- Oslo: 3 °C",
            "- Rome: 20 °C.",
            "Sunny.",
            "Temperature: 5",
            "Humidity: 80",
            "It was\nwarm.",
            "| a | b |",
            "|---|---|",
            "| 1. | 2 |",
            "```",
            "x = 1. y",
            "```",
            "1. First",
            "2. Second",
        ];
        assert_eq!(sentences(text), expected);
        let bump = Bump::new();
        let blocks: Vec<_> = scan(text, &bump).sentences.iter().map(|sentence| sentence.block).collect();
        use Block::{Code, Heading, Item, Prose, Row};
        assert_eq!(
            blocks,
            [Heading, Item, Item, Item, Prose, Prose, Prose, Row, Row, Row, Code, Code, Code, Item, Item]
        );
    }
}
