//! Names from the machine (mount points, devices) may hold any byte. This is how they are written out so
//! that no name can move a cursor, end a line or break a reader.

use std::fmt::Write;

/// For people and for one-line formats: UTF-8 as it is, but control characters, marks that turn the
/// direction of writing, and bytes that are not UTF-8 as `\xNN`.
pub fn printable(name: &[u8]) -> String {
    escaped(name, is_treacherous)
}

/// For JSON, which has its own escapes: UTF-8 as it is, other bytes as `\xNN`.
pub fn utf8(name: &[u8]) -> String {
    escaped(name, |_| false)
}

/// The bytes of a name as hexadecimal digits when it is not UTF-8, so that [`utf8`] does not tell it whole.
pub fn raw_hex(name: &[u8]) -> Option<String> {
    let hex = || name.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
    std::str::from_utf8(name).is_err().then(hex)
}

/// A JSON text with every treacherous character as `\uNNNN`, also those that JSON lets pass. In JSON they
/// can only stand inside strings, but for the ends of lines, which stay and cannot: so its meaning is the same.
pub fn safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        match is_treacherous(character) && character != '\n' {
            true => push(&mut safe, format_args!("\\u{:04x}", u32::from(character))),
            false => safe.push(character),
        }
    }
    safe
}

fn escaped(name: &[u8], treacherous: impl Fn(char) -> bool) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match treacherous(character) {
                true => push_bytes(&mut text, character.encode_utf8(&mut [0; 4]).as_bytes()),
                false => text.push(character),
            }
        }
        push_bytes(&mut text, chunk.invalid());
    }
    text
}

/// Control characters (terminals act on C0, DEL and C1), line separators, and marks of direction. All lie
/// in the Basic Multilingual Plane.
fn is_treacherous(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn push_bytes(text: &mut String, bytes: &[u8]) {
    bytes.iter().for_each(|byte| push(text, format_args!("\\x{byte:02x}")));
}

fn push(text: &mut String, what: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(what);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_escaped_and_the_rest_is_kept() {
        assert_eq!(printable("/mnt/dünn #1".as_bytes()), "/mnt/dünn #1");
        assert_eq!(printable(b"/mnt/\x1b[2J\x07\n"), r"/mnt/\x1b[2J\x07\x0a");
        assert_eq!(printable("/mnt/\u{9b}2J\u{202e}txt".as_bytes()), r"/mnt/\xc2\x9b2J\xe2\x80\xaetxt");
        assert_eq!(printable(b"/mnt/\xff\xfe"), r"/mnt/\xff\xfe");
    }

    #[test]
    fn a_name_that_is_not_utf8_has_its_bytes_beside_it() {
        assert_eq!((utf8(b"/a\xffb"), raw_hex(b"/a\xffb")), (r"/a\xffb".into(), Some("2f61ff62".into())));
        assert_eq!((utf8(b"/a\nb"), raw_hex(b"/a\nb")), ("/a\nb".into(), None));
    }

    #[test]
    fn json_stays_the_same_json() {
        let json = serde_json::to_string("é\u{9b}\u{7f}\u{202e}\u{1b}").unwrap();
        assert_eq!(safe_json(&json), r#""é\u009b\u007f\u202e\u001b""#);
        assert_eq!(serde_json::from_str::<String>(&safe_json(&json)).unwrap(), "é\u{9b}\u{7f}\u{202e}\u{1b}");
        let lines = "{\n  \"a\": \"b\\n\"\n}";
        assert_eq!(safe_json(lines), lines);
    }
}
