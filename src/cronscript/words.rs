//! A shell text as its simple commands: words without their quotes. No shell: what is computed at run time stays as
//! it is written, and what makes no sense is read as if it did.

use std::mem::take;

/// A command: a name and its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// The line on which it begins, from 1.
    pub line: usize,
    pub words: Vec<String>,
    /// The files to which it appends (`>> file`).
    pub appends_to: Vec<String>,
}

impl Command {
    /// The name of its program, without directories.
    pub fn program(&self) -> &str {
        base_name(self.words.first().map_or("", String::as_str))
    }
}

/// A path's last part.
pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The commands of a text, those within `$( .. )`, backticks and `sh -c '..'` too; an inner one comes before the one
/// it is in.
pub fn commands(text: &str) -> Vec<Command> {
    let mut reader = Reader { line: 1, frames: vec![Frame::default()], done: Vec::new() };
    reader.read(text);
    let mut commands = Vec::new();
    for command in reader.done {
        commands.extend(given_to_a_shell(&command).into_iter().flatten());
        commands.push(command);
    }
    commands
}

/// Programs that give a text to a shell, as the argument of `-c`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ksh", "zsh", "su", "runuser", "flock"];

impl Command {
    /// Where among the words the text stands that a shell is given (`sh -c 'text'`).
    pub fn shell_text(&self) -> Option<usize> {
        let shell = self.words.iter().position(|word| SHELLS.contains(&base_name(word)))?;
        let is_option = |word: &String| {
            word == "--command" || word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
        };
        let option = self.words.iter().skip(shell + 1).position(is_option)?;
        Some(shell + option + 2).filter(|text| *text < self.words.len())
    }
}

/// What `sh -c` runs. A text within a text is shorter than it, so this ends.
fn given_to_a_shell(command: &Command) -> Option<Vec<Command>> {
    let inner = commands(command.words.get(command.shell_text()?)?).into_iter();
    Some(inner.map(|inner| Command { line: inner.line + command.line - 1, ..inner }).collect())
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Ends {
    #[default]
    WithTheText,
    /// `)`
    Parenthesis,
    Backtick,
}

#[derive(Clone, Copy, Default)]
enum Target {
    #[default]
    None,
    Append,
    Other,
}

/// A command that is being read, and those around it.
#[derive(Default)]
struct Frame {
    command: Command,
    word: Option<String>,
    ends: Ends,
    /// Within double quotes.
    quoted: bool,
    /// What the word to come is, after `>` and its kin.
    target: Target,
}

impl Frame {
    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match take(&mut self.target) {
            Target::None => self.command.words.push(word),
            Target::Append => self.command.appends_to.push(word),
            Target::Other => {}
        }
    }
}

struct Reader {
    line: usize,
    /// Never empty.
    frames: Vec<Frame>,
    done: Vec<Command>,
}

/// More levels than anyone nests; what is deeper is read as if it were not.
const DEEPEST: usize = 50;

impl Reader {
    fn read(&mut self, text: &str) {
        let mut rest = text.chars().peekable();
        while let Some(character) = rest.next() {
            let line = self.line;
            self.line += usize::from(character == '\n');
            let deep = self.frames.len() >= DEEPEST;
            let Some(frame) = self.frames.last_mut() else { return };
            if frame.command.words.is_empty() && frame.word.is_none() {
                frame.command.line = line;
            }
            match character {
                '\\' => match rest.next() {
                    Some('\n') => self.line += 1,
                    Some(escaped) => frame.push(escaped),
                    None => {}
                },
                '"' => {
                    frame.quoted = !frame.quoted;
                    frame.word.get_or_insert_default();
                }
                '`' if frame.ends == Ends::Backtick => self.close(),
                '`' if !deep => self.open(Ends::Backtick),
                '$' if rest.peek() == Some(&'(') && !deep => {
                    rest.next();
                    frame.push('$');
                    self.open(Ends::Parenthesis);
                }
                _ if frame.quoted => frame.push(character),
                '\'' => {
                    frame.word.get_or_insert_default();
                    for quoted in rest.by_ref().take_while(|quoted| *quoted != '\'') {
                        self.line += usize::from(quoted == '\n');
                        frame.push(quoted);
                    }
                }
                '#' if frame.word.is_none() => while rest.next_if(|next| *next != '\n').is_some() {},
                '>' | '<' => {
                    // The digits before it are a file descriptor.
                    frame.word.take_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
                    frame.end_word();
                    let doubled = rest.next_if_eq(&character).is_some();
                    rest.next_if_eq(&'&');
                    frame.target = match (character, doubled) {
                        ('>', true) => Target::Append,
                        _ => Target::Other,
                    };
                }
                '&' if rest.peek() == Some(&'>') => {}
                '(' if !deep => self.open(Ends::Parenthesis),
                ')' if frame.ends == Ends::Parenthesis => self.close(),
                ';' | '&' | '|' | '(' | ')' | '\n' => self.end_command(),
                ' ' | '\t' | '\r' => frame.end_word(),
                _ => frame.push(character),
            }
        }
        while !self.frames.is_empty() {
            self.end_command();
            self.frames.pop();
        }
    }

    fn open(&mut self, ends: Ends) {
        let command = Command { line: self.line, ..Command::default() };
        self.frames.push(Frame { command, ends, ..Frame::default() });
    }

    /// Back to the command that the closed one is in: its word goes on, and is not known from here on.
    fn close(&mut self) {
        self.end_command();
        self.frames.pop();
        if let Some(around) = self.frames.last_mut().filter(|frame| frame.word.is_some()) {
            around.word.get_or_insert_default().push_str("(..)");
        }
    }

    fn end_command(&mut self) {
        let Some(frame) = self.frames.last_mut() else { return };
        frame.end_word();
        let command = take(&mut frame.command);
        if !command.words.is_empty() || !command.appends_to.is_empty() {
            self.done.push(command);
        }
    }
}
