//! amazon-efs-utils' state with other names: JSON texts of mounts and settings of proxies, field by field (`mount_efs`,
//! write_tunnel_state_file and write_stunnel_config_file). A text that cannot be read becomes an empty one; its
//! file's name still tells of the mount.

use serde_json::{Map, Value};

use super::names::Names;
use crate::source::StateFile;

const CONFIG: &str = "stunnel-config.";

/// The files under other names, with what is known of their texts. A file whose name is none of the mount helper's is
/// left out.
pub(super) fn redacted(files: &[StateFile], names: &mut Names) -> Vec<StateFile> {
    let mut redacted: Vec<StateFile> = files
        .iter()
        .filter_map(|file| {
            let is_config = file.name.starts_with(CONFIG);
            let text = |text: &Vec<u8>| match is_config {
                true => config(text, names),
                false => state(text, names),
            };
            let text = file.text.as_ref().map(text);
            Some(StateFile { name: file_name(&file.name, names)?, text })
        })
        .collect();
    redacted.sort_by(|a, b| a.name.cmp(&b.name));
    redacted
}

/// `fs-ID.MOUNT.PORT`, with what may stand in front of it and behind.
fn file_name(name: &str, names: &mut Names) -> Option<String> {
    let prefix = ["~", CONFIG].into_iter().find(|prefix| name.starts_with(prefix)).unwrap_or_default();
    let rest = name.strip_prefix(prefix)?;
    let (rest, suffix) = match rest.strip_suffix('+') {
        Some(rest) => (rest, "+"),
        None => (rest, ""),
    };
    let (id, rest) = rest.split_once('.')?;
    let (mount_point, port) = rest.rsplit_once('.').unwrap_or(("", rest));
    let port: u16 = port.parse().ok()?;
    let dot = if rest.contains('.') { "." } else { "" };
    let (id, mount_point) = (names.file_system(id)?, names.path(mount_point.as_bytes()));
    Some(format!("{prefix}{id}.{mount_point}{dot}{port}{suffix}"))
}

/// A path in the state directory, whose last part may be a state file's name.
fn helper_path(path: &str, names: &mut Names) -> String {
    let part = |part: &str| file_name(part, names).unwrap_or_else(|| names.path(part.as_bytes()));
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The first object of the text: bytes of a longer one may follow.
fn state(text: &[u8], names: &mut Names) -> Vec<u8> {
    let first = serde_json::Deserializer::from_slice(text).into_iter().next();
    let Some(Ok(Value::Object(object))) = first else { return Vec::new() };
    let fields: Map<String, Value> = object
        .into_iter()
        .filter_map(|(key, value)| Some((key.clone(), field(&key, value, names)?)))
        .collect();
    Value::Object(fields).to_string().into_bytes()
}

fn field(key: &str, value: Value, names: &mut Names) -> Option<Value> {
    match (key, value) {
        (
            "pid" | "mount_time" | "unmount_time" | "unmount_count" | "last_stunnel_check_time",
            value @ (Value::Number(_) | Value::Null),
        ) => Some(value),
        ("cmd" | "files", Value::Array(items)) => {
            let text = |item: &Value| Some(word(item.as_str()?, names).into());
            Some(Value::Array(items.iter().filter_map(text).collect()))
        }
        (_, Value::String(text)) => Some(text_field(key, &text, names)?.into()),
        _ => None,
    }
}

fn text_field(key: &str, text: &str, names: &mut Names) -> Option<String> {
    match key {
        "fsId" => Some(names.file_system(text).unwrap_or_else(|| names.host(text.as_bytes()))),
        "accessPoint" => Some(names.access_point(text).unwrap_or_else(|| names.host(text.as_bytes()))),
        "mountpoint" => Some(names.path(text.as_bytes())),
        "region" => Some(names.region(text)),
        "commonName" => Some(names.host(text.as_bytes())),
        "service_type" => ["elasticfilesystem", "s3files"].contains(&text).then(|| text.to_owned()),
        "certificate" | "privateKey" | "mountStateDir" => Some(helper_path(text, names)),
        "certificateCreationTime" => {
            let digits = text.strip_suffix('Z').unwrap_or(text);
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.to_owned())
        }
        _ => None,
    }
}

/// A word of a command line.
fn word(word: &str, names: &mut Names) -> String {
    match word {
        "--tls" | "efs-proxy" | "stunnel" | "stunnel5" => word.to_owned(),
        _ if word.starts_with('/') => helper_path(word, names),
        _ => names.path(word.as_bytes()),
    }
}

/// The whole lines of a proxy's settings.
fn config(text: &[u8], names: &mut Names) -> Vec<u8> {
    let text = str::from_utf8(text).unwrap_or_default();
    let (lines, _) = text.rsplit_once('\n').unwrap_or_default();
    let settings = lines.lines().filter_map(|line| setting(line, names));
    settings.fold(String::new(), |text, line| text + &line + "\n").into_bytes()
}

fn setting(line: &str, names: &mut Names) -> Option<String> {
    if line.trim() == "[efs]" {
        return Some("[efs]".to_owned());
    }
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let value = match key {
        "accept" | "connect" | "checkHost" => {
            let (host, port) = match value.rsplit_once(':') {
                Some((host, port)) if port.parse::<u16>().is_ok() => (host, format!(":{port}")),
                _ => (value, String::new()),
            };
            names.host(host.as_bytes()) + &port
        }
        "fs_id" => names.file_system(value)?,
        "region" => names.region(value),
        "efs_utils_version" => value.bytes().all(is_version).then(|| value.to_owned())?,
        _ => [
            "TIMEOUTbusy",
            "TIMEOUTclose",
            "TIMEOUTidle",
            "client",
            "delay",
            "fips",
            "renegotiation",
            "verify",
        ]
        .contains(&key)
        .then_some(value)
        .filter(|value| matches!(*value, "yes" | "no") || value.bytes().all(is_version))?
        .to_owned(),
    };
    Some(format!("{key} = {value}"))
}

fn is_version(byte: u8) -> bool {
    byte.is_ascii_digit() || byte == b'.'
}
