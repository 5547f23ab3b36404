//! What a mount's device and options say, as the kernel prints them.

/// The server of a device: what stands before `:/`, brackets of an IPv6 address taken off.
pub fn server(device: &str) -> Option<&str> {
    let (host, _) = device.split_once(":/")?;
    let host = without_brackets(host);
    (!host.is_empty()).then_some(host)
}

/// Whether a server is a mount helper's proxy, or another one on this host.
pub fn is_this_host(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "::1")
}

/// The value of an option of the `opts:` line, where it has one.
pub fn option<'a>(options: &'a [u8], name: &str) -> Option<&'a str> {
    let mut options = options.split(|byte| *byte == b',');
    let value = options.find_map(|option| option.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    std::str::from_utf8(value).ok()
}

pub(super) fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}
