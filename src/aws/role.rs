//! A role to publish as: AssumeRole of AWS STS, with the credentials that the host has otherwise.
//!
//! The SDK keeps the session until shortly before its end, and then asks for another.

use std::error::Error;

use aws_config::SdkConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{
    ProvideCredentials, Result, SharedCredentialsProvider, future::ProvideCredentials as Providing,
};
use aws_sdk_cloudwatch::error::ErrorMetadata;

/// What AssumeRole is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    arn: String,
    external_id: Option<String>,
    session: String,
}

impl Role {
    /// The session is named after the host, as far as it is known already: CloudTrail and the errors of IAM show the
    /// name.
    pub fn new(arn: String, external_id: Option<String>, host: Option<&str>) -> Role {
        Role { arn, external_id, session: session_name(host) }
    }
}

/// STS API reference, AssumeRole, `RoleSessionName`: at most 64 of these characters.
fn session_name(host: Option<&str>) -> String {
    let name = host.map_or("efsmon".to_owned(), |host| format!("efsmon-{host}"));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_+=,.@-".contains(c);
    name.chars().map(|c| if allowed(c) { c } else { '-' }).take(64).collect()
}

/// Why there is no session, and what to do.
#[derive(Debug, thiserror::Error)]
pub(super) enum RoleError {
    #[error(
        "publish.role_arn: STS does not let this host assume {arn} ({reason}); allow sts:AssumeRole on it to this \
         host's own role or user, and name that in the role's trust policy, with publish.external_id where it asks \
         for one"
    )]
    Refused { arn: String, reason: String },
    #[error(
        "publish.role_arn: STS takes this host's own credentials for bad ({reason}), so that it cannot assume {arn}; \
         renew them and check the clock"
    )]
    Credentials { arn: String, reason: String },
    #[error(
        "publish.role_arn: STS does not answer ({reason}), so that {arn} cannot be assumed; let this host reach the \
         STS endpoint of its region"
    )]
    Unreached { arn: String, reason: String },
}

/// The same configuration, with the credentials of the role.
pub(super) async fn assume(role: &Role, config: SdkConfig) -> SdkConfig {
    let mut provider = AssumeRoleProvider::builder(&role.arn).session_name(&role.session);
    if let Some(id) = &role.external_id {
        provider = provider.external_id(id);
    }
    let provider = provider.configure(&config).build().await;
    let assumed = Assumed { arn: role.arn.clone(), provider };
    config.into_builder().credentials_provider(SharedCredentialsProvider::new(assumed)).build()
}

#[derive(Debug)]
struct Assumed {
    arn: String,
    provider: AssumeRoleProvider,
}

impl Assumed {
    async fn credentials(&self) -> Result {
        self.provider.provide_credentials().await.map_err(|error| self.explain(error))
    }

    fn explain(&self, error: CredentialsError) -> CredentialsError {
        let cause = error.source();
        // The host's own are missing: what is said of that holds.
        if cause.is_some_and(|cause| super::in_chain::<CredentialsError>(cause).is_some()) {
            return error;
        }
        let arn = self.arn.clone();
        let refusal = super::in_chain::<ErrorMetadata>(&error).and_then(|refusal| {
            let code = refusal.code()?;
            Some((code, format!("{code}: {}", refusal.message().unwrap_or("no message"))))
        });
        CredentialsError::provider_error(match refusal {
            Some((code, reason)) if BAD_CREDENTIALS.contains(&code) => RoleError::Credentials { arn, reason },
            Some((_, reason)) => RoleError::Refused { arn, reason },
            None => RoleError::Unreached { arn, reason: super::one_line(cause.unwrap_or(&error)) },
        })
    }
}

/// STS API reference, "Common errors".
const BAD_CREDENTIALS: &[&str] = &[
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "MissingAuthenticationToken",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
];

impl ProvideCredentials for Assumed {
    fn provide_credentials<'a>(&'a self) -> Providing<'a>
    where
        Self: 'a,
    {
        Providing::new(self.credentials())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_named_after_the_host_in_what_sts_takes() {
        assert_eq!(session_name(None), "efsmon");
        assert_eq!(session_name(Some("i-0123456789abcdef0")), "efsmon-i-0123456789abcdef0");
        assert_eq!(session_name(Some("rack 7: é/1")), "efsmon-rack-7----1");
        assert_eq!(session_name(Some(&"h".repeat(100))), format!("efsmon-{}", "h".repeat(57)));
    }
}
