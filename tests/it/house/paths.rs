//! Rust text as far as the house rules need it: without comments, literals and tests, and the paths that it names.

use std::ops::Range;

/// The part of a file that is not test code.
pub struct Production {
    /// Code alone: comments, literals and test items are blank, lines stay where they were.
    pub code: String,
    /// Lines that belong to no test item; comments and blank lines count.
    pub lines: usize,
}

/// A path as written, `use` groups taken apart.
pub struct Named<'a> {
    /// From 1.
    pub line: usize,
    pub parts: Vec<&'a str>,
}

pub fn production(text: &str) -> Production {
    let mut code = without_comments_and_literals(text);
    let mut lines = text.lines().count();
    for item in test_items(&code) {
        lines -= code[item.clone()].lines().count();
        code.replace_range(item.clone(), &blank(&code[item]));
    }
    Production { code, lines }
}

/// The names of the modules that only tests have and that are files of their own.
pub fn test_modules(text: &str) -> Vec<String> {
    let code = without_comments_and_literals(text);
    let items = test_items(&code).into_iter().filter_map(|item| code[item].strip_suffix(';'));
    items.filter_map(|item| Some(item.split_once("mod ")?.1.trim().to_owned())).collect()
}

/// Paths of two parts or more, what `use` imports, and the keyword `async`.
pub fn named(code: &str) -> Vec<Named<'_>> {
    let tokens = tokens(code);
    let mut found = Vec::new();
    let mut next = 0;
    while let Some((line, token)) = tokens.get(next) {
        let imported = next > 0 && tokens[next - 1].1 == "use";
        if is_name(token) {
            let mut paths = Vec::new();
            next = path(&tokens, next, Vec::new(), &mut paths);
            paths.retain(|parts| imported || parts.len() > 1 || parts == &["async"]);
            found.extend(paths.into_iter().map(|parts| Named { line: *line, parts }));
        } else {
            next += 1;
        }
    }
    found
}

/// Reads the path or group that begins at `next`, behind `parts`; gives the token after it.
fn path<'a>(
    tokens: &[(usize, &'a str)],
    mut next: usize,
    mut parts: Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) -> usize {
    let token = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
    loop {
        match token(next) {
            "{" => {
                next += 1;
                while !matches!(token(next), "}" | "") {
                    next = match token(next) {
                        "as" => next + 2, // the new name is not a path
                        name if is_name(name) || name == "*" => path(tokens, next, parts.clone(), found),
                        _ => next + 1,
                    };
                }
                return next + 1;
            }
            "self" if !parts.is_empty() => next += 1,
            name if is_name(name) || name == "*" => {
                parts.push(name);
                next += 1;
            }
            _ => {}
        }
        if token(next) != "::" || !(is_name(token(next + 1)) || matches!(token(next + 1), "{" | "*")) {
            found.push(parts);
            return next;
        }
        next += 1;
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c == '_' || c.is_alphabetic())
}

/// Names and numbers, `::`, and every other character by itself, with their lines.
fn tokens(code: &str) -> Vec<(usize, &str)> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
        let length = match (word, rest.starts_with("::")) {
            (0, true) => 2,
            (0, false) => first.len_utf8(),
            (word, _) => word,
        };
        let (token, after) = rest.split_at(length);
        if first == '\n' {
            line += 1;
        } else if !first.is_whitespace() {
            tokens.push((line, token));
        }
        rest = after;
    }
    tokens
}

/// Where `#[cfg(test)]` items stand in code without literals, attribute included.
fn test_items(code: &str) -> Vec<Range<usize>> {
    const ATTRIBUTE: &str = "#[cfg(test)]";
    let mut items: Vec<Range<usize>> = Vec::new();
    for (start, _) in code.match_indices(ATTRIBUTE) {
        if items.last().is_some_and(|item| item.contains(&start)) {
            continue;
        }
        let mut depth = 0_usize;
        let end = code[start..].char_indices().find_map(|(at, character)| {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            (depth == 0 && matches!(character, '}' | ';')).then_some(start + at + 1)
        });
        items.push(start..end.unwrap_or(code.len()));
    }
    items
}

/// `text` with as many bytes and the same line ends, comments and literals blank.
fn without_comments_and_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hidden = hidden_length(rest);
        let (part, after) = rest.split_at(hidden.unwrap_or(first.len_utf8()));
        match hidden {
            Some(_) => code.push_str(&blank(part)),
            None => code.push_str(part),
        }
        rest = after;
    }
    code
}

/// The length of the comment or literal that `rest` begins with.
fn hidden_length(rest: &str) -> Option<usize> {
    let end_of =
        |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if let Some(raw) = rest.strip_prefix('r') {
        let quote = raw.trim_start_matches('#');
        let hashes = raw.len() - quote.len();
        return quote.starts_with('"').then(|| end_of(hashes + 2, &format!("\"{}", "#".repeat(hashes))));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, '"'));
    }
    if let Some(inside) = rest.strip_prefix('\'') {
        // A quote begins a lifetime, unless one character or an escape stands between it and another.
        let mut characters = inside.chars();
        let escaped = characters.next() == Some('\\');
        return (escaped || characters.next() == Some('\'')).then(|| quoted(rest, '\''));
    }
    None
}

/// The length of the literal up to the next `quote` that no backslash escapes.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        let (step, change) = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (2, 1),
            [b'*', b'/', ..] => (2, -1),
            _ => (1, 0),
        };
        at += step;
        depth = depth.saturating_add_signed(change);
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// Spaces of the same length; line ends stay.
fn blank(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}
