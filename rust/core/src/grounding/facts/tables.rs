//! Tables in texts: CSV (with commas, semicolons, tabs or bars), and those of Markdown.

use bumpalo::{Bump, collections::Vec as ArenaVec};

/// A text with a table in it.
#[derive(Debug)]
pub struct Table<'a> {
    /// Lines before it such as `# unit: people`.
    pub remarks: &'a [(&'a str, &'a str)],
    pub header: &'a [&'a str],
    /// Of as many cells as the header has.
    pub rows: &'a [&'a [&'a str]],
    /// What else the text says.
    pub prose: &'a [&'a str],
}

const DELIMITERS: [u8; 4] = [b'\t', b';', b'|', b','];
/// How long a name of a column may be.
const LONGEST_NAME: usize = 60;
/// How many lines are looked at for where a table begins.
const MOST_LINES_BEFORE: usize = 200;

/// The first table of a text that has one.
pub fn find<'a>(text: &'a str, bump: &'a Bump) -> Option<Table<'a>> {
    // A header and two rows, or a header, a rule and a row.
    if memchr::memchr_iter(b'\n', text.as_bytes()).take(2).count() < 2 {
        return None;
    }
    let mut lines = ArenaVec::new_in(bump);
    lines.extend(text.lines().map(str::trim_end));
    let lines: &'a [&'a str] = lines.into_bump_slice();
    let (first, delimiter) = (0..lines.len().min(MOST_LINES_BEFORE))
        .find_map(|at| Some((at, DELIMITERS.into_iter().find(|&delimiter| begins(lines, at, delimiter, bump))?)))?;
    let header = cells(lines.get(first)?, delimiter, bump)?;
    let mut rows = ArenaVec::new_in(bump);
    let mut next = first + 1;
    while let Some(line) = lines.get(next) {
        if !is_rule(line) {
            match cells(line, delimiter, bump) {
                Some(row) if row.len() == header.len() => rows.push(row),
                _ => break,
            }
        }
        next += 1;
    }
    let mut remarks = ArenaVec::new_in(bump);
    let mut prose = ArenaVec::new_in(bump);
    for line in lines.get(..first).unwrap_or_default().iter().chain(lines.get(next..).unwrap_or_default()) {
        match line.trim_start_matches(['#', '/', ' ']).split_once(':') {
            Some((name, said)) if line.starts_with(['#', '/']) && name.len() <= LONGEST_NAME => {
                remarks.push((name.trim(), said.trim()));
            }
            _ if line.trim().is_empty() => {}
            _ => prose.push(*line),
        }
    }
    Some(Table {
        remarks: remarks.into_bump_slice(),
        header,
        rows: rows.into_bump_slice(),
        prose: prose.into_bump_slice(),
    })
}

/// Does a table with this delimiter begin at this line? Two lines that are like it follow, or a rule and one line, and
/// a column has numbers or dates where the header has a name: lines of prose have commas too.
fn begins<'a>(lines: &[&'a str], at: usize, delimiter: u8, bump: &'a Bump) -> bool {
    let row = |offset: usize| lines.get(at + offset).and_then(|line| cells(line, delimiter, bump));
    let Some(header) = row(0) else { return false };
    let is_name = |cell: &&str| cell.len() <= LONGEST_NAME && !is_value(cell);
    if header.len() < 2 || !header.iter().all(is_name) || header.iter().all(|cell| cell.is_empty()) {
        return false;
    }
    let alike = |row: Option<&[&str]>| row.is_some_and(|row| row.len() == header.len());
    if delimiter == b'|' && lines.get(at + 1).is_some_and(|line| is_rule(line)) {
        return alike(row(2));
    }
    let (Some(second), Some(third)) = (row(1), row(2)) else { return false };
    alike(Some(second))
        && alike(Some(third))
        && second.iter().zip(third).any(|(above, below)| is_value(above) && is_value(below))
}

/// `|---|:--:|`
fn is_rule(line: &str) -> bool {
    line.contains("--") && line.bytes().all(|byte| matches!(byte, b'-' | b'|' | b':' | b' ' | b'+'))
}

/// A number or a date: it begins with a digit (or a sign or currency and one), and most of it is digits.
fn is_value(cell: &str) -> bool {
    let begins = cell
        .trim_start_matches(['+', '-', '−', '$', '€', '£', '(', '<', '>', '~'])
        .starts_with(|c: char| c.is_ascii_digit());
    begins && cell.bytes().filter(u8::is_ascii_digit).count() * 2 >= cell.len()
}

/// None if there is none of the delimiters, or a quotation mark is not closed.
fn cells<'a>(line: &'a str, delimiter: u8, bump: &'a Bump) -> Option<&'a [&'a str]> {
    let mut line = line.trim_matches(' ');
    if delimiter == b'|' {
        line = line.strip_prefix('|').unwrap_or(line);
        line = line.strip_suffix('|').unwrap_or(line);
    }
    memchr::memchr(delimiter, line.as_bytes())?;
    let mut cells = ArenaVec::new_in(bump);
    let mut rest = line;
    loop {
        let quoted = rest.trim_start_matches(' ');
        if let Some(inside) = quoted.strip_prefix('"') {
            // A doubled quotation mark stands for one: it stays doubled, which matters to nobody.
            let (cell, after) = closed(inside)?;
            cells.push(cell);
            match after.trim_start_matches(' ').strip_prefix(char::from(delimiter)) {
                Some(next) => rest = next,
                None if after.trim().is_empty() => break,
                None => return None,
            }
        } else {
            match rest.split_once(char::from(delimiter)) {
                Some((cell, next)) => {
                    cells.push(cell.trim());
                    rest = next;
                }
                None => {
                    cells.push(rest.trim());
                    break;
                }
            }
        }
    }
    Some(cells.into_bump_slice())
}

/// What stands before the closing quotation mark, and behind it.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('"')?;
        match text.get(at + 1..)?.strip_prefix('"') {
            Some(_) => from = at + 2,
            None => return Some((text.get(..at)?, text.get(at + 1..)?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table<'a>(text: &'a str, bump: &'a Bump) -> Table<'a> {
        find(text, bump).unwrap()
    }

    #[test]
    fn csv_with_comments() {
        let bump = Bump::new();
        let text = "# country: Mongolia\n# unit: people\ndate,value\n2021-02-25,0.09\n2021-02-26,0.14\n";
        let found = table(text, &bump);
        assert_eq!(found.remarks, [("country", "Mongolia"), ("unit", "people")]);
        assert_eq!(found.header, ["date", "value"]);
        assert_eq!(found.rows, [&["2021-02-25", "0.09"][..], &["2021-02-26", "0.14"]]);
        assert!(found.prose.is_empty());
    }

    #[test]
    fn markdown_with_prose_around() {
        let bump = Bump::new();
        let text = "Here it is:\n\n| Item | Price |\n|---|---:|\n| Mug | 12.50 |\n| Tea | 7.25 |\n\nAll in euros.";
        let found = table(text, &bump);
        assert_eq!(found.header, ["Item", "Price"]);
        assert_eq!(found.rows, [&["Mug", "12.50"][..], &["Tea", "7.25"]]);
        assert_eq!(found.prose, ["Here it is:", "All in euros."]);
    }

    #[test]
    fn quoted_cells_keep_their_commas() {
        let bump = Bump::new();
        let found = table("name,population\n\"Oslo, Norway\",\"709,037\"\n\"Bergen\",291940\n", &bump);
        assert_eq!(found.rows, [&["Oslo, Norway", "709,037"][..], &["Bergen", "291940"]]);
    }

    #[test]
    fn prose_is_no_table() {
        let bump = Bump::new();
        for text in [
            "Dear Ann, hello\nI am well, thanks\nBest, Bob",
            "one line, only",
            "1,2\n3,4\n5,6",
            "a,b\n\"open,1\n2,3",
            "",
            "\n\n\n",
            "|\n|\n|\n",
        ] {
            assert!(find(text, &bump).is_none(), "{text}");
        }
    }
}
