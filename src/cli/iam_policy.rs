//! `efsmon iam-policy`: the least that each part of efsmon must be allowed, as JSON for IAM.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};

use super::config::ConfigFlags;
use crate::catalog::CRON_SCRIPT_NAMESPACE;
use crate::config::{Config, is_region};
use crate::iam::{self, Daemon, Place, Policy};

/// Print the least IAM policy for the daemon, for provisioning or for reading
///
/// For what is configured: the namespaces, the look-ups, the role to publish as. Nobody is asked. The packages keep what
/// it prints without a configuration in /usr/share/efsmon/iam.
#[derive(Debug, Args)]
pub struct IamPolicyArgs {
    /// Who gets the policy
    #[arg(long = "for", value_name = "WHO")]
    who: Who,
    /// Read this file in place of /etc/efsmon/efsmon.toml, then conf.d/*.toml beside it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The account of the file systems, dashboards and alarms [default: any]
    #[arg(long, value_name = "ID", value_parser = account)]
    account: Option<String>,
    /// Their Region; * for any [default: publish.region, or else any]
    #[arg(long, value_name = "REGION", value_parser = region)]
    region: Option<String>,
    /// The partition of the Region, such as aws-cn [default: the one that the Region is of]
    #[arg(long, value_name = "PARTITION", value_parser = partition)]
    partition: Option<String>,
}

/// Any Region.
const ANYWHERE: &str = "*";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Who {
    /// The hosts
    Daemon,
    /// Whoever applies dashboards and alarms
    Provision,
    /// Whoever looks at credits
    Read,
}

fn account(text: &str) -> Result<String, String> {
    match text.len() == 12 && text.bytes().all(|b| b.is_ascii_digit()) {
        true => Ok(text.to_owned()),
        false => Err("allowed: the 12 digits of an account".to_owned()),
    }
}

fn region(text: &str) -> Result<String, String> {
    match text == ANYWHERE || is_region(text) {
        true => Ok(text.to_owned()),
        false => Err("allowed: the name of a Region, such as eu-west-1, or *".to_owned()),
    }
}

fn partition(text: &str) -> Result<String, String> {
    let rest = text.strip_prefix("aws").filter(|rest| rest.is_empty() || rest.starts_with('-'));
    match rest.is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')) {
        true => Ok(text.to_owned()),
        false => Err("allowed: aws, aws-cn, aws-us-gov or another partition of AWS".to_owned()),
    }
}

/// Writes the policy; notes go to stderr.
///
/// # Errors
///
/// A bad configuration; one that needs no policy.
pub fn run(args: &IamPolicyArgs, out: &mut impl Write) -> anyhow::Result<()> {
    let flags = ConfigFlags { config: args.config.clone(), ..ConfigFlags::default() };
    let config = super::config::load(&flags)?.config;
    let place = args.place(&config);
    out.write_all(policy(args.who, &config, &place)?.as_bytes())?;
    Ok(out.flush()?)
}

/// Who gets a policy, and what `efsmon iam-policy` prints for them where nothing is configured.
///
/// # Errors
///
/// None by the defaults.
pub fn defaults() -> anyhow::Result<Vec<(String, String)>> {
    let (config, place) = (Config::default(), Place::region(ANYWHERE));
    let values = Who::value_variants().iter().filter_map(|who| Some((who, who.to_possible_value()?)));
    values.map(|(who, value)| Ok((value.get_name().to_owned(), policy(*who, &config, &place)?))).collect()
}

fn policy(who: Who, config: &Config, place: &Place) -> anyhow::Result<String> {
    let policy = match who {
        Who::Daemon => daemon(config, place)?,
        Who::Provision => iam::provision(place),
        Who::Read => iam::read(),
    };
    Ok(json(&policy)? + "\n")
}

impl IamPolicyArgs {
    fn place(&self, config: &Config) -> Place {
        let region = self.region.as_deref().or(config.publish.region.as_deref()).unwrap_or(ANYWHERE);
        let mut place = Place::region(region);
        if let Some(partition) = &self.partition {
            place.partition.clone_from(partition);
        }
        if let Some(account) = &self.account {
            place.account.clone_from(account);
        }
        place
    }
}

fn daemon(config: &Config, place: &Place) -> anyhow::Result<Policy> {
    let mut namespaces = Vec::new();
    if config.publish.enabled {
        namespaces.push(config.namespace.as_str());
        if config.compat.cron_script {
            namespaces.push(CRON_SCRIPT_NAMESPACE);
        }
        namespaces.dedup();
    }
    let role = config.publish.role_arn.as_deref();
    let policy =
        iam::daemon(&Daemon { namespaces: &namespaces, role, lookup: config.identity.lookup }, place);
    if policy.statement.is_empty() {
        bail!(
            "the daemon needs no policy: publish.enabled and identity.lookup are false, so that it asks AWS for \
             nothing"
        );
    }
    if let Some(role) = role.filter(|_| config.publish.enabled) {
        let external_id = match &config.publish.external_id {
            Some(id) => format!(", with the external id {id}"),
            None => String::new(),
        };
        // Nobody is left to tell when stderr is closed.
        let _ = writeln!(
            io::stderr(),
            "efsmon: {role} itself needs a trust policy that lets these hosts assume it{external_id}, and this policy:\n{}",
            json(&iam::publisher(&namespaces))?
        );
    }
    Ok(policy)
}

/// All that comes from outside is printable ASCII: the settings and flags are checked.
fn json(policy: &Policy) -> serde_json::Result<String> {
    serde_json::to_string_pretty(policy)
}
