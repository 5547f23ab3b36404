//! A man page in the making.

use clap_mangen::roff::{Inline, Roff, bold, roman};

/// The text of a page. Between `backquotes` it is bold.
pub struct Page {
    text: String,
}

impl Page {
    /// A page with its title line. `date` may be empty.
    pub fn new(name: &str, section: &str, date: &str) -> Page {
        let mut page = Page { text: Roff::new().render() };
        let version = format!("efsmon {}", env!("CARGO_PKG_VERSION"));
        let title = name.to_uppercase();
        // An empty argument would be lost, and the next one take its place.
        let date = if date.is_empty() { "\"\"" } else { date };
        page.control("TH", &[&title, section, date, &version, "efsmon Manual"]);
        page
    }

    pub fn finish(self) -> String {
        self.text
    }

    /// A section, and with it a new paragraph.
    pub fn section(&mut self, title: &str) {
        self.control("SH", &[title]);
    }

    pub fn subsection(&mut self, title: &str) {
        self.control("SS", &[title]);
    }

    /// The paragraphs that a section begins with.
    pub fn paragraphs<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        for (at, text) in texts.into_iter().enumerate() {
            match at {
                0 => self.words(text),
                _ => self.paragraph(text),
            }
        }
    }

    /// A further paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.control("PP", &[]);
        self.words(text);
    }

    /// Something, and indented below it what there is to say of it.
    pub fn entry(&mut self, name: impl Into<Vec<Inline>>, text: &str) {
        self.control("TP", &[]);
        self.line(name);
        self.words(text);
    }

    /// Lines as they are, such as commands.
    pub fn literal<'a>(&mut self, lines: impl IntoIterator<Item = &'a str>) {
        self.control("PP", &[]);
        self.control("RS", &["4"]);
        self.control("nf", &[]);
        for line in lines {
            self.line([roman(line)]);
        }
        self.control("fi", &[]);
        self.control("RE", &[]);
    }

    /// Other pages, as `name(section)`.
    pub fn references(&mut self, pages: &[String]) {
        let mut line = Vec::new();
        for page in pages {
            if !line.is_empty() {
                line.push(roman(", "));
            }
            line.extend(reference(page));
        }
        self.line(line);
    }

    pub fn words(&mut self, text: &str) {
        self.line(inlines(text));
    }

    pub fn line(&mut self, line: impl Into<Vec<Inline>>) {
        let mut roff = Roff::new();
        roff.text(line);
        self.append(&roff.render());
    }

    pub fn control(&mut self, name: &str, arguments: &[&str]) {
        let mut roff = Roff::new();
        roff.control(name, arguments.iter().copied());
        self.append(&roff.render());
    }

    /// What roff has rendered, without the definitions that begin every rendered text: the page has them once.
    pub fn append(&mut self, rendered: &str) {
        let definitions = Roff::new().render();
        self.text.push_str(rendered.strip_prefix(&definitions).unwrap_or(rendered));
    }
}

/// `name(section)`, with the name in bold.
pub fn reference(page: &str) -> Vec<Inline> {
    match page.split_once('(') {
        Some((name, section)) => vec![bold(name), roman(format!("({section}"))],
        None => vec![bold(page)],
    }
}

fn inlines(text: &str) -> Vec<Inline> {
    let parts = text.split('`').enumerate().filter(|(_, part)| !part.is_empty());
    parts.map(|(at, part)| if at % 2 == 1 { bold(part) } else { roman(part) }).collect()
}
