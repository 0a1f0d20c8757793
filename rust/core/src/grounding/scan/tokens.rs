//! Words, numbers and signs, the lines that they stand in, and what stands in quotation marks.

use bumpalo::Bump;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::{
    Block, Negation, Span, Token, TokenKind,
    characters::{
        at, before, digit, is_accent, is_apostrophe, is_blank, is_line_break, is_picture, is_punctuation,
        is_script_without_spaces, vulgar_fraction,
    },
    lexicon::{self, Word},
    numbers, symbols,
};

/// What is known of a token beyond what is told of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    pub word: Word,
    /// Line breaks before it: 0, 1, or 2 for more.
    pub breaks: u8,
    /// Is there white space before it?
    pub spaced: bool,
    /// Has it letters and digits?
    pub mixed: bool,
}

/// A line of the text that is not blank.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub first: u32,
    pub end: u32,
    pub block: Block,
    /// Is there a blank line before it?
    pub apart: bool,
    /// The tokens that only say what it is: "#", "-", "1.".
    pub marker: u32,
}

/// A pair of quotation marks, as tokens.
#[derive(Clone, Copy, Debug)]
pub struct Quotation {
    pub open: u32,
    pub close: u32,
    /// Backticks.
    pub code: bool,
}

pub struct Tokens<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token<'a>>,
    pub marks: Vec<Mark>,
    pub lines: Vec<Line>,
    /// In the order of their opening marks; they may be in one another.
    pub quotations: Vec<Quotation>,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a str, bump: &'a Bump) -> Self {
        // Offsets are 32 bits wide; nobody reads an answer of 4 GB.
        let text = if u32::try_from(text.len()).is_ok() { text } else { "" };
        let mut tokens = Tokens {
            text,
            tokens: Vec::with_capacity(text.len() / 4 + 1),
            marks: Vec::with_capacity(text.len() / 4 + 1),
            lines: Vec::new(),
            quotations: Vec::new(),
        };
        tokens.split(bump);
        tokens.find_lines();
        tokens.find_quotations();
        tokens
    }

    pub fn lower(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| token.lower)
    }

    pub fn word(&self, index: usize) -> Word {
        self.marks.get(index).map_or_else(Word::default, |mark| mark.word)
    }

    pub fn kind(&self, index: usize) -> Option<TokenKind> {
        self.tokens.get(index).map(|token| token.kind)
    }

    pub fn start(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(self.text.len(), |token| token.span.start as usize)
    }

    pub fn end(&self, index: usize) -> usize {
        self.tokens.get(index).map_or(self.text.len(), |token| token.span.end as usize)
    }

    /// The token as it is written.
    pub fn written(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| written(self.text, token.span))
    }

    pub fn is(&self, index: usize, written: &str) -> bool {
        self.written(index) == written
    }

    /// Does it begin a line, or stand behind white space?
    pub fn spaced(&self, index: usize) -> bool {
        self.marks.get(index).is_none_or(|mark| mark.spaced)
    }

    pub fn breaks(&self, index: usize) -> u8 {
        self.marks.get(index).map_or(2, |mark| mark.breaks)
    }

    /// The first token that begins at a place of the text or behind it, from `from` on.
    pub fn index_at(&self, from: usize, place: usize) -> usize {
        let later = self.tokens.get(from..).unwrap_or_default();
        // Most mentions are a few tokens long.
        let near = later.iter().take(8).position(|token| token.span.start as usize >= place);
        from + near.unwrap_or_else(|| later.partition_point(|token| (token.span.start as usize) < place))
    }

    fn push(&mut self, start: usize, end: usize, kind: TokenKind, lower: &'a str, mark: Mark) {
        self.tokens.push(Token {
            span: Span { start: start as u32, end: end as u32 },
            kind,
            lower,
            sentence: 0,
            clause: 0,
            negation: Negation::None,
            quoted: false,
            mention: None,
        });
        self.marks.push(mark);
    }

    fn split(&mut self, bump: &'a Bump) {
        let text = self.text;
        let mut place = 0;
        let mut breaks = 0;
        let mut spaced = true;
        while let Some(c) = at(text, place) {
            if is_blank(c) || is_picture(c) {
                spaced = true;
                if is_line_break(c) && !(c == '\n' && before(text, place) == Some('\r')) {
                    breaks = 2.min(breaks + 1);
                }
                place += c.len_utf8();
                continue;
            }
            let mark = Mark { breaks, spaced, ..Mark::default() };
            let start = place;
            if c.is_alphabetic() && !is_number_letter(c) {
                place = self.push_word(start, mark, bump);
            } else if digit(c).is_some() || c == '.' && spaced && at(text, place + 1).and_then(digit).is_some() {
                place = numbers::end_of_digits(text, start);
                self.push(start, place, TokenKind::Number, written(text, span(start, place)), mark);
            } else if vulgar_fraction(c).is_some() {
                place += c.len_utf8();
                self.push(start, place, TokenKind::Number, written(text, span(start, place)), mark);
            } else {
                place += c.len_utf8();
                let kind = if is_punctuation(c) { TokenKind::Punctuation } else { TokenKind::Symbol };
                let lower = written(text, span(start, place));
                // "~" and ">" are words for how near a number is meant to be.
                let word = if kind == TokenKind::Symbol { lexicon::look_up(lower) } else { Word::default() };
                self.push(start, place, kind, lower, Mark { word, ..mark });
            }
            breaks = 0;
            spaced = false;
        }
    }

    /// A word, in its parts if it is contracted.
    fn push_word(&mut self, start: usize, mut mark: Mark, bump: &'a Bump) -> usize {
        let text = self.text;
        let mut end = start;
        let mut apostrophe = None;
        let mut plain = true;
        let mut ascii = true;
        while let Some(c) = at(text, end) {
            if c.is_ascii_lowercase() {
            } else if c.is_ascii_uppercase() {
                plain = false;
            } else if digit(c).is_some() {
                // "720x1280"
                let by = end == start + 1
                    && matches!(written(text, span(start, end)), "x" | "X")
                    && before(text, start).and_then(digit).is_some();
                // "気温は21度": no space parts words and numbers there.
                let unspaced = before(text, end).is_some_and(is_script_without_spaces);
                if by || unspaced || !mark.mixed && symbols::is_glued_code(written(text, span(start, end))) {
                    break;
                }
                mark.mixed = true;
            } else if c == '_' {
                if !at(text, end + 1).is_some_and(|next| next.is_alphanumeric()) {
                    break;
                }
            } else if is_apostrophe(c) {
                let next = at(text, end + c.len_utf8());
                if !next.is_some_and(char::is_alphabetic) || before(text, end).and_then(digit).is_some() {
                    break;
                }
                plain = false;
                ascii &= c.is_ascii();
                apostrophe = Some(end);
            } else if c.is_alphabetic() && !is_number_letter(c)
                || !c.is_ascii() && is_combining_mark(c)
                || matches!(c, '\u{200c}' | '\u{200d}')
            {
                plain &= c.is_ascii();
                ascii &= c.is_ascii();
            } else {
                break;
            }
            end += c.len_utf8();
        }
        let whole = written(text, span(start, end));
        let lower = if plain { whole } else { fold(whole, ascii, bump) };
        if let Some(apostrophe) = apostrophe
            && let Some((parts, first_end)) = contraction(text, lower, apostrophe)
        {
            let [first, second] = parts;
            self.push(start, first_end, TokenKind::Word, first, Mark { word: lexicon::look_up(first), ..mark });
            let behind = Mark { word: lexicon::look_up(second), ..Mark::default() };
            self.push(first_end, end, TokenKind::Word, second, behind);
        } else if lower == "cannot" {
            self.push(start, start + 3, TokenKind::Word, "can", Mark { word: lexicon::look_up("can"), ..mark });
            let behind = Mark { word: lexicon::look_up("not"), ..Mark::default() };
            self.push(start + 3, end, TokenKind::Word, "not", behind);
        } else {
            self.push(start, end, TokenKind::Word, lower, Mark { word: lexicon::look_up(lower), ..mark });
        }
        end
    }

    fn find_lines(&mut self) {
        let mut fenced = false;
        let mut first = 0;
        while first < self.tokens.len() {
            let mut end = first + 1;
            while end < self.tokens.len() && self.breaks(end) == 0 {
                end += 1;
            }
            let fence = (first..first + 3).all(|index| self.is(index, "`"))
                || (first..first + 3).all(|index| self.is(index, "~"));
            let (block, marker) =
                if fenced || fence && end > first + 2 { (Block::Code, 0) } else { self.block_of(first, end) };
            fenced ^= fence;
            if block == Block::Code {
                self.tokens.get_mut(first..end).unwrap_or_default().iter_mut().for_each(|token| token.quoted = true);
            }
            self.lines.push(Line {
                first: first as u32,
                end: end as u32,
                block,
                apart: self.breaks(first) > 1,
                marker: marker as u32,
            });
            first = end;
        }
    }

    /// What a line is, and how many tokens say so.
    fn block_of(&self, first: usize, end: usize) -> (Block, usize) {
        let mut marker = first;
        while marker < end && (self.is(marker, ">") && self.spaced(marker + 1)) {
            marker += 1;
        }
        let hashes =
            (marker..end).take_while(|&index| self.is(index, "#") && (index == marker || !self.spaced(index))).count();
        if (1..=6).contains(&hashes) && marker + hashes < end && self.spaced(marker + hashes) {
            return (Block::Heading, marker + hashes - first);
        }
        let bars = (first..end).filter(|&index| self.is(index, "|")).count();
        if self.is(first, "|") && bars > 1 || bars > 2 {
            return (Block::Row, 0);
        }
        if marker + 1 < end
            && self.spaced(marker + 1)
            && matches!(
                self.written(marker),
                "-" | "*" | "+" | "•" | "–" | "—" | "◦" | "▪" | "●" | "·" | "‣" | "✓" | "✔" | "✅" | "❌"
            )
        {
            return (Block::Item, marker + 1 - first);
        }
        if let Some(length) = self.numbered(marker, end) {
            return (Block::Item, marker + length - first);
        }
        // A line that is nothing but bold is a heading.
        let stars = |from: usize| self.is(from, "*") && self.is(from + 1, "*");
        if end - first > 4 && stars(first) && stars(end - 2) && (first + 2..end - 2).all(|index| !self.is(index, "*")) {
            return (Block::Heading, 0);
        }
        (Block::Prose, 0)
    }

    /// "1." "2)" "(3)" "a)" "1.": how many tokens of a line number it.
    fn numbered(&self, first: usize, end: usize) -> Option<usize> {
        let bracket = usize::from(self.is(first, "("));
        let label = first + bracket;
        let written = self.written(label);
        let counts = match self.kind(label)? {
            TokenKind::Number => written.len() <= 3 && written.bytes().all(|byte| byte.is_ascii_digit()),
            TokenKind::Word => written.len() == 1 && bracket == 0 && self.is(label + 1, ")"),
            _ => false,
        };
        let closes = self.is(label + 1, ")") || bracket == 0 && self.is(label + 1, ".");
        if counts && closes && label + 2 < end && self.spaced(label + 2) { Some(bracket + 2) } else { None }
    }

    /// Pairs within a paragraph. Each opening mark is looked for once, so a mark without a partner costs nothing more.
    fn find_quotations(&mut self) {
        let mut open: Vec<(u32, &'static str, bool)> = Vec::new();
        let mut found = std::mem::take(&mut self.quotations);
        for index in 0..self.tokens.len() {
            if self.breaks(index) > 1 {
                open.clear();
            }
            if !matches!(self.kind(index), Some(TokenKind::Punctuation | TokenKind::Symbol)) {
                continue;
            }
            let mark = self.written(index);
            // What would close a quotation that is open here; the innermost first, and only a few deep.
            let closes = open.iter().rposition(|&(_, closing, _)| {
                closing == mark || closing == "”" && mark == "“" && closing_side(self, index)
            });
            if let Some(depth) = closes
                && closing_side(self, index)
            {
                if let Some(&(from, _, code)) = open.get(depth) {
                    found.push(Quotation { open: from, close: index as u32, code });
                }
                open.truncate(depth);
                continue;
            }
            let closing = match mark {
                "\"" if opening_side(self, index) => "\"",
                "'" if opening_side(self, index) => "'",
                "“" | "„" | "‟" => "”",
                "‘" | "‚" => "’",
                "«" => "»",
                "»" if opening_side(self, index) => "«",
                "‹" => "›",
                "「" => "」",
                "`" if !self.is(index + 1, "`") && (index == 0 || !self.is(index - 1, "`")) => "`",
                _ => continue,
            };
            if open.len() < 4 {
                open.push((index as u32, closing, closing == "`"));
            }
        }
        found.sort_by_key(|quotation| quotation.open);
        for quotation in &found {
            // Nested ones mark their tokens again: at most four deep.
            let inside = self.tokens.get_mut(quotation.open as usize + 1..quotation.close as usize).unwrap_or_default();
            inside.iter_mut().for_each(|token| token.quoted = true);
        }
        self.quotations = found;
    }
}

/// May a straight mark open a quotation here: nothing but space or a bracket before it, and none behind it?
fn opening_side(tokens: &Tokens<'_>, index: usize) -> bool {
    let place = tokens.start(index);
    let ahead = before(tokens.text, place).is_none_or(|c| {
        is_blank(c) || matches!(c, '(' | '[' | '{' | '*' | '_' | ':' | '=' | ',' | '—' | '–' | '/' | '“' | '"')
    });
    ahead && at(tokens.text, tokens.end(index)).is_some_and(|c| !is_blank(c))
}

fn closing_side(tokens: &Tokens<'_>, index: usize) -> bool {
    let place = tokens.start(index);
    let written = tokens.written(index);
    let ahead = before(tokens.text, place).is_some_and(|c| !is_blank(c)) || written == "»" || written == "`";
    // "users' data" does not close a quotation in the middle of a word.
    ahead
        && (written != "'" && written != "’" || at(tokens.text, tokens.end(index)).is_none_or(|c| !c.is_alphanumeric()))
}

fn span(start: usize, end: usize) -> Span {
    Span { start: start as u32, end: end as u32 }
}

pub fn written(text: &str, span: Span) -> &str {
    text.get(span.start as usize..span.end as usize).unwrap_or("")
}

/// Letters that are numbers or units by nature: "Ⅳ" stays a word, "℃" does not.
fn is_number_letter(c: char) -> bool {
    matches!(c, '℃' | '℉' | 'º' | 'ª')
}

/// A word as it is compared: lower case, no accents, compatible forms, straight apostrophes.
pub fn fold<'a>(word: &str, ascii: bool, bump: &'a Bump) -> &'a str {
    let mut folded = bumpalo::collections::String::with_capacity_in(word.len(), bump);
    if ascii {
        folded.push_str(word);
        folded.make_ascii_lowercase();
        return folded.into_bump_str();
    }
    for c in word.nfkd() {
        match c {
            _ if is_accent(c) || matches!(c, '\u{200c}' | '\u{200d}') => {}
            _ if is_apostrophe(c) => folded.push('\''),
            'ß' => folded.push_str("ss"),
            'ı' => folded.push('i'),
            'ł' | 'Ł' => folded.push('l'),
            'ø' | 'Ø' => folded.push('o'),
            'đ' | 'Đ' => folded.push('d'),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            // The final form of sigma is the same letter.
            'ς' => folded.push('σ'),
            _ => folded.extend(c.to_lowercase().filter(|&c| !is_accent(c))),
        }
    }
    folded.into_bump_str()
}

/// The two parts of a contraction, and where the second begins. `apostrophe` is the last one of the word as it is written.
fn contraction<'a>(text: &str, lower: &'a str, apostrophe: usize) -> Option<([&'a str; 2], usize)> {
    let (head, tail) = lower.rsplit_once('\'')?;
    let behind = match tail {
        "s" => "'s",
        "ve" => "'ve",
        "re" => "'re",
        "ll" => "'ll",
        "d" => "'d",
        "m" => "'m",
        "t" => {
            let verb = match head.strip_suffix('n')? {
                "ca" => "can",
                "wo" => "will",
                "sha" => "shall",
                "ai" => "is",
                verb => VERBS.into_iter().find(|&known| known == verb)?,
            };
            let n = before(text, apostrophe).filter(char::is_ascii)?;
            return Some(([verb, "n't"], apostrophe - n.len_utf8()));
        }
        _ => return None,
    };
    Some(([head, behind], apostrophe))
}

const VERBS: [&str; 17] = [
    "is", "are", "was", "were", "do", "does", "did", "has", "have", "had", "could", "would", "should", "might", "must",
    "need", "may",
];
