//! A text on its way through a parser.

/// What a parser has not read yet.
pub(super) struct Text<'a> {
    whole: &'a str,
    rest: &'a str,
}

impl<'a> Text<'a> {
    pub fn new(whole: &'a str) -> Self {
        Text { whole, rest: whole }
    }

    /// The next character that is not white space.
    pub fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    /// Whether `sign` is next; then it is read.
    pub fn eat(&mut self, sign: &str) -> bool {
        self.peek();
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    /// # Errors
    ///
    /// Something else is next.
    pub fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.eat(sign) { Ok(()) } else { Err(self.found(sign)) }
    }

    /// # Errors
    ///
    /// Something is left; `allowed` says what might have been.
    pub fn end(&mut self, allowed: &str) -> Result<(), String> {
        if self.peek().is_none() { Ok(()) } else { Err(self.found(allowed)) }
    }

    /// The letters, digits and underscores that are next; may be empty.
    pub fn word(&mut self) -> &'a str {
        self.run(|character| character.is_ascii_alphanumeric() || character == '_')
    }

    /// What [`word`](Self::word) would read.
    pub fn next_word(&mut self) -> &'a str {
        let before = self.rest;
        let word = self.word();
        self.rest = before;
        word
    }

    /// Whether the word is next, in any case of letters; then it is read.
    pub fn keyword(&mut self, word: &str) -> bool {
        let found = self.next_word().eq_ignore_ascii_case(word);
        if found {
            self.word();
        }
        found
    }

    /// What is next as long as it is of those characters; may be empty.
    pub fn run(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        self.peek();
        let end = self.rest.find(|character| !of(character)).unwrap_or(self.rest.len());
        let (run, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        run
    }

    /// What stands between two of these quotes, as it is.
    ///
    /// # Errors
    ///
    /// There is no such quote, or just one.
    pub fn between(&mut self, quote: char) -> Result<&'a str, String> {
        self.peek();
        let Some((inside, rest)) = self.rest.strip_prefix(quote).and_then(|inside| inside.split_once(quote))
        else {
            return Err(self.found(&format!("a text in {quote}..{quote}")));
        };
        self.rest = rest;
        Ok(inside)
    }

    /// What stands between two of these quotes, where a backslash makes one of `escaped` stand for itself.
    ///
    /// # Errors
    ///
    /// There is no such quote, or just one, or a backslash before another character.
    pub fn quoted(&mut self, quote: char, escaped: &str) -> Result<String, String> {
        self.peek();
        let mut inside = String::new();
        let mut characters = self.rest.chars();
        if characters.next() == Some(quote) {
            while let Some(character) = characters.next() {
                match character {
                    '\\' => match characters.next().filter(|next| escaped.contains(*next)) {
                        Some(next) => inside.push(next),
                        None => return Err(format!("{} holds an unknown escape", self.place())),
                    },
                    _ if character == quote => {
                        self.rest = characters.as_str();
                        return Ok(inside);
                    }
                    _ => inside.push(character),
                }
            }
        }
        Err(self.found(&format!("a text in {quote}..{quote}")))
    }

    /// A number as metric math writes it: digits, with a decimal point or without.
    ///
    /// # Errors
    ///
    /// No digits are next, or something like `1e6`.
    pub fn number(&mut self) -> Result<f64, String> {
        let place = self.place();
        let run = self.run(|character| character.is_ascii_alphanumeric() || matches!(character, '.' | '_'));
        let plain = run.starts_with(|character: char| character.is_ascii_digit())
            && run.ends_with(|character: char| character.is_ascii_digit())
            && run.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match run.parse::<f64>() {
            Ok(number) if plain && number.is_finite() => Ok(number),
            _ => Err(format!("{place}: found {run:?}, allowed: digits, with a decimal point or without")),
        }
    }

    /// A mistake at this place.
    pub fn found(&mut self, allowed: &str) -> String {
        let place = self.place();
        let found = match self.next_word() {
            "" => self.rest.chars().next().map_or("the end".to_owned(), |next| format!("{next:?}")),
            word => format!("{word:?}"),
        };
        format!("{place}: found {found}, allowed: {allowed}")
    }

    /// Such as `character 5`.
    pub fn place(&mut self) -> String {
        self.peek();
        format!("character {}", self.whole.chars().count() - self.rest.chars().count() + 1)
    }
}
