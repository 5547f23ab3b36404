//! `efsmon dashboards`: rendered and applied.

mod apply;
mod emulator;
mod refusals;
mod render;
mod render_limits;
mod render_values;

use std::process::Output;

use serde_json::{Value, json};

use crate::account::Account;

/// The name of [`template`]'s dashboard.
const MINE: &str = "efsmon-eu-west-1-mine";

/// A file system, and a template of one's own, `mine`, in the folder `templates`.
fn account() -> Account {
    let account = Account::start();
    account.efs.create("fs-0123456789abcdef0", &[]);
    write_template(&account, "mine", &template());
    account
}

fn write_template(account: &Account, name: &str, template: &Value) {
    let folder = account.path().join("templates");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{name}.json")), template.to_string()).unwrap();
}

fn template() -> Value {
    json!({ "widgets": [
        { "type": "text", "x": 0, "y": 0, "width": 24, "height": 2, "properties": { "markdown": "Zähler ▶ ${Mark}." } },
        { "type": "metric", "x": 0, "y": 2, "width": 12, "height": 6, "properties": {
            "title": "Metered", "region": "${Region}", "stat": "Sum", "period": 60,
            "metrics": [["AWS/EFS", "MeteredIOBytes", "FileSystemId", "${FileSystemId}"]] } },
    ] })
}

/// `efsmon dashboards COMMAND .. --templates templates`: exit code, standard output, standard error.
fn dashboards(account: &Account, arguments: &[&str]) -> (i32, String, String) {
    let arguments = [&["dashboards"], arguments, &["--templates", "templates"]].concat();
    told(account.efsmon(&arguments))
}

fn told(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// What CloudWatch was asked, each operation once.
fn operations(account: &Account) -> Vec<String> {
    let mut operations: Vec<_> = account.cloudwatch.calls().into_iter().map(|call| call.operation).collect();
    operations.sort();
    operations.dedup();
    operations
}
