//! AWS's query protocol, as STS and SNS speak it: a form comes in, XML goes out.

use super::server::{Answer, Reply, Request};

/// A parameter of the form, if it is there.
pub fn parameter(request: &Request, name: &str) -> Option<String> {
    let form = std::str::from_utf8(&request.body).unwrap();
    let value = form.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.replace("%3A", ":").replace("%2F", "/"))
}

pub fn xml(status: u16, body: &str) -> Reply {
    Reply::Answer(Answer {
        status,
        headers: vec![("content-type", "text/xml".to_owned())],
        body: body.into(),
    })
}

/// An error of the service with that XML namespace.
pub fn error(namespace: &str, status: u16, code: &str, message: &str) -> Reply {
    xml(
        status,
        &format!(
            "<ErrorResponse xmlns=\"{namespace}\"><Error><Type>Sender</Type><Code>{code}</Code>\
             <Message>{message}</Message></Error><RequestId>01234567-89ab-cdef-0123-456789abcdef</RequestId>\
             </ErrorResponse>"
        ),
    )
}
