//! What each name, id and address becomes.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::everybodys::{LABELS, PATH_PARTS, is_region_or_zone, is_uuid};
use crate::mountstats::unescape;

/// What has its own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    FileSystem,
    AccessPoint,
    Instance,
    Uuid,
    Part,
    Label,
    V4,
    V6,
}

/// Who is who.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<(Kind, Vec<u8>), u64>,
    last: HashMap<Kind, u64>,
}

impl Names {
    fn number(&mut self, kind: Kind, name: &[u8]) -> u64 {
        let last = self.last.entry(kind).or_default();
        *self.numbers.entry((kind, name.to_owned())).or_insert_with(|| {
            *last += 1;
            *last
        })
    }

    /// A file system's id, of the same shape; `None` for what is none.
    pub fn file_system(&mut self, id: &str) -> Option<String> {
        self.hex_id(Kind::FileSystem, "fs-", id)
    }

    /// An access point's id, of the same shape; `None` for what is none.
    pub fn access_point(&mut self, id: &str) -> Option<String> {
        self.hex_id(Kind::AccessPoint, "fsap-", id)
    }

    /// An instance's id, of the same shape when it has the usual one.
    pub fn instance(&mut self, id: &str) -> String {
        let shaped = self.hex_id(Kind::Instance, "i-", id);
        shaped.unwrap_or_else(|| format!("i-{:017x}", self.number(Kind::Instance, id.as_bytes())))
    }

    /// Ids of AWS have 8 hex digits, or 17.
    fn hex_id(&mut self, kind: Kind, prefix: &str, id: &str) -> Option<String> {
        let digits = id.strip_prefix(prefix)?;
        let is_id = matches!(digits.len(), 8 | 17) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_id.then(|| self.number(kind, id.as_bytes()))?;
        Some(format!("{prefix}{number:0width$x}", width = digits.len()))
    }

    /// An id of random digits in five groups, whatever it looked like.
    pub fn uuid(&mut self, id: &str) -> String {
        format!("00000000-0000-4000-8000-{:012x}", self.number(Kind::Uuid, id.as_bytes()))
    }

    /// A path without escapes.
    pub fn path(&mut self, path: &[u8]) -> String {
        let mut replaced = String::with_capacity(path.len());
        for part in path.split_inclusive(|byte| matches!(byte, b'/' | b'.')) {
            match part.split_last() {
                Some((end @ (b'/' | b'.'), part)) => {
                    replaced += &self.part(part);
                    replaced.push(char::from(*end));
                }
                _ => replaced += &self.part(part),
            }
        }
        replaced
    }

    fn part(&mut self, part: &[u8]) -> String {
        let text = std::str::from_utf8(part).unwrap_or_default();
        if part.is_empty() || PATH_PARTS.contains(&text) {
            return text.to_owned();
        }
        if let Some(id) = self.file_system(text).or_else(|| self.access_point(text)) {
            return id;
        }
        if is_uuid(text) {
            return self.uuid(text);
        }
        // Pods that the node itself makes have a hash of such digits.
        if text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return format!("{:032x}", self.number(Kind::Uuid, part));
        }
        // Volumes that Kubernetes provisions.
        if let Some(id) = text.strip_prefix("pvc-").filter(|id| is_uuid(id)) {
            return format!("pvc-{}", self.uuid(id));
        }
        // What the kernel escapes stays something that it escapes.
        let end = if part.iter().any(|byte| b" \t\n\\#".contains(byte)) { " " } else { "" };
        format!("p{}{end}", self.number(Kind::Part, part))
    }

    /// A path as the kernel prints it.
    pub fn printed_path(&mut self, printed: &[u8]) -> String {
        self.path(&unescape(printed)).replace(' ', "\\040")
    }

    /// `SERVER:/PATH` as the kernel prints it; anything else as a path.
    pub fn printed_device(&mut self, printed: &[u8]) -> String {
        let device = unescape(printed);
        match memchr::memmem::find(&device, b":/").and_then(|at| device.split_at_checked(at)) {
            Some((server, [colon, path @ ..])) => {
                let path = self.path(path);
                format!("{}{}{path}", self.host(server), char::from(*colon)).replace(' ', "\\040")
            }
            _ => self.printed_path(printed),
        }
    }

    /// A host's name or address; an IPv6 address also in brackets.
    pub fn host(&mut self, host: &[u8]) -> String {
        let bare = host.strip_prefix(b"[").and_then(|host| host.strip_suffix(b"]"));
        if let Some(address) = self.address(bare.unwrap_or(host)) {
            return if bare.is_some() { format!("[{address}]") } else { address };
        }
        let lower = host.to_ascii_lowercase();
        let labels = lower.split(|byte| *byte == b'.').map(|label| self.label(label));
        labels.collect::<Vec<_>>().join(".")
    }

    /// This host's own address stays.
    fn address(&mut self, text: &[u8]) -> Option<String> {
        let text = std::str::from_utf8(text).ok()?;
        let (address, _zone) = text.split_once('%').unwrap_or((text, ""));
        let address: IpAddr = address.parse().ok()?;
        if address.is_unspecified()
            || address == IpAddr::from(Ipv4Addr::LOCALHOST)
            || address == IpAddr::from(Ipv6Addr::LOCALHOST)
        {
            return Some(address.to_string());
        }
        let key = address.to_string();
        Some(match address {
            // The block for tests of networks (RFC 2544), which no host has.
            IpAddr::V4(_) => {
                let number = self.number(Kind::V4, key.as_bytes()) as u32;
                Ipv4Addr::from_bits(0xc612_0000 | number).to_string()
            }
            // The block that documentation uses (RFC 3849).
            IpAddr::V6(_) => {
                let number = u128::from(self.number(Kind::V6, key.as_bytes()));
                Ipv6Addr::from_bits((0x2001_0db8 << 96) | number).to_string()
            }
        })
    }

    fn label(&mut self, label: &[u8]) -> String {
        let text = std::str::from_utf8(label).unwrap_or_default();
        if label.is_empty() || LABELS.contains(&text) || is_region_or_zone(text) {
            return text.to_owned();
        }
        if let Some(id) = self.file_system(text) {
            return id;
        }
        // What no DNS name has stays something that none has.
        let is_dns = label.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        let end = if is_dns { "" } else { "_" };
        format!("h{}{end}", self.number(Kind::Label, label))
    }

    /// A region's name stays; anything else becomes a label.
    pub fn region(&mut self, region: &str) -> String {
        self.label(region.as_bytes())
    }
}
