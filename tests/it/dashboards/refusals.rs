//! What AWS refuses, and what is said about it.

use aws_credential_types::Credentials;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::error::ProvideErrorMetadata;
use serde_json::{Value, json};

use super::{MINE, account, dashboards, template, told, write_template};
use crate::fake::cloudwatch::{CloudWatch, Fault};

#[test]
fn a_refused_call_names_action_resource_and_statement() {
    let account = account();
    account.cloudwatch.fail_calls("PutDashboard", 1, Fault::AccessDenied);
    let (code, out, err) = dashboards(&account, &["apply", "--yes"]);
    let expected = "efsmon: efsmon-eu-west-1-file-system: cloudwatch:PutDashboard on \
                    arn:aws:cloudwatch::*:dashboard/efsmon-eu-west-1-file-system is refused (AccessDenied: User: \
                    arn:aws:sts::123456789012:assumed-role/web/i-1 is not authorized to perform: \
                    cloudwatch:PutDashboard); add to the policy of this role: \
                    {\"Action\":\"cloudwatch:PutDashboard\",\"Effect\":\"Allow\",\"Resource\":\
                    \"arn:aws:cloudwatch::*:dashboard/efsmon-eu-west-1-file-system\"}\n\
                    efsmon: 1 of 3 dashboards not applied, for the reasons above\n";
    assert_eq!((code, err.as_str()), (1, expected));
    assert!(out.ends_with("created efsmon-eu-west-1-mine\ncreated efsmon-eu-west-1-overview\n"), "{out}");

    // The next run does what is left.
    let (code, out, err) = dashboards(&account, &["apply", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.ends_with("created efsmon-eu-west-1-file-system\n"), "{out}");
    assert_eq!(account.cloudwatch.called("PutDashboard"), 4);
}

#[test]
fn a_dashboard_that_may_not_be_read_is_not_written() {
    let account = account();
    account.cloudwatch.fail_calls("GetDashboard", 1, Fault::AccessDenied);
    let (code, out, err) = dashboards(&account, &["diff"]);
    assert_eq!((code, out.matches("+++ ").count()), (1, 2), "{out}");
    let refused = "efsmon: efsmon-eu-west-1-file-system: cloudwatch:GetDashboard on \
                   arn:aws:cloudwatch::*:dashboard/efsmon-eu-west-1-file-system is refused (";
    assert!(err.starts_with(refused), "{err}");
    assert!(err.ends_with("\nefsmon: 1 dashboard could not be looked at\n"), "{err}");

    account.cloudwatch.fail_calls("GetDashboard", 1, Fault::AccessDenied);
    let (code, out, err) = dashboards(&account, &["apply", "--yes"]);
    assert_eq!((code, account.cloudwatch.called("PutDashboard")), (1, 2), "{out}");
    assert!(err.starts_with(refused), "{err}");
    assert!(err.ends_with("\nefsmon: 1 of 3 dashboards not applied, for the reasons above\n"), "{err}");
}

#[test]
fn a_throttle_is_waited_for_and_then_told() {
    let account = account();
    account.cloudwatch.fail_calls("PutDashboard", 2, Fault::Throttling);
    let (code, _, err) = dashboards(&account, &["apply", "mine", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""));
    account.cloudwatch.fail_calls("GetDashboard", 3, Fault::Throttling);
    let (code, _, err) = dashboards(&account, &["apply", "mine", "--yes"]);
    let expected = "efsmon: efsmon-eu-west-1-mine: cloudwatch:GetDashboard was throttled in every attempt \
                    (Throttling: Rate exceeded); try again in a minute\n\
                    efsmon: 1 of 1 dashboard not applied, for the reasons above\n";
    assert_eq!((code, err.as_str()), (1, expected));
}

#[test]
fn an_invalid_body_is_told_by_widget_and_the_others_are_written() {
    let account = account();
    let errors = [
        ("/widgets/1/properties/metrics/0", "Should NOT have more than 3 items"),
        ("/widgets/0", "Should be\n\u{1b}object"),
        ("", "Should be small"),
    ];
    for empty in [false, true] {
        account.cloudwatch.dashboards(|dashboards| dashboards.refuse(MINE, &errors, empty));
        let (code, out, err) = dashboards(&account, &["apply", "--yes"]);
        let expected = r"efsmon: efsmon-eu-west-1-mine: CloudWatch does not take this body; what is wrong in its template:
efsmon:   widget 2 (Metered), properties/metrics/0: Should NOT have more than 3 items
efsmon:   widget 1: Should be \x1bobject
efsmon:   Should be small
efsmon: 1 of 3 dashboards not applied, for the reasons above
";
        assert_eq!((code, err.as_str()), (1, expected), "{out}");
    }
    assert_eq!(account.cloudwatch.dashboards(|dashboards| dashboards.names().len()), 2);
    let (_, out, _) = dashboards(&account, &["apply", "mine", "--yes", "--json"]);
    let out: Value = serde_json::from_str(&out).unwrap();
    let remark = json!({
        "place": "widget 2 (Metered), properties/metrics/0: ", "message": "Should NOT have more than 3 items",
    });
    assert_eq!(
        (&out["dashboards"][0]["remarks"][0], &out["dashboards"][0]["done"]),
        (&remark, &json!(false))
    );

    account.cloudwatch.dashboards(|dashboards| dashboards.take_all());
    assert_eq!(dashboards(&account, &["apply", "--yes"]).0, 0);
}

#[test]
fn what_cloudwatch_ignores_in_a_body_is_a_warning() {
    let account = account();
    let mut odd = template();
    odd["widgets"][1]["colour"] = json!("red");
    write_template(&account, "mine", &odd);
    let (code, out, err) = dashboards(&account, &["apply", "mine", "--yes"]);
    let expected = "efsmon: warning: efsmon-eu-west-1-mine: widget 2 (Metered), colour: The \"colour\" property is not \
                    expected to be part of a widget definition, will be ignored\n";
    assert_eq!((code, err.as_str()), (0, expected));
    assert!(out.ends_with("created efsmon-eu-west-1-mine\n"), "{out}");
}

#[test]
fn without_region_or_credentials_it_says_what_to_do() {
    let account = account();
    let run = |without: &str| {
        let mut command = account.command(&["dashboards", "diff", "--templates", "templates"]);
        let output = command.env_remove(without).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, err) = run("AWS_REGION");
    let expected = "efsmon: add --region REGION: no AWS region: set publish.region or AWS_REGION, or `region` in \
                    ~/.aws/config, or let this host reach its instance metadata service\n";
    assert_eq!((code, err.as_str()), (1, expected));
    let (code, err) = run("AWS_ACCESS_KEY_ID");
    assert_eq!(code, 1);
    assert!(err.starts_with("efsmon: no AWS credentials: "), "{err}");
    assert_eq!(account.cloudwatch.calls().len(), 0);
}

#[test]
fn a_region_that_cannot_be_one_is_bad_usage() {
    let account = account();
    for command in [&["dashboards", "list"][..], &["alarms", "list"], &["credits"]] {
        for region in ["Ireland", "eu-west-1a", "eu west 1", "*", ""] {
            let output = account.efsmon(&[command, &["--region", region]].concat());
            let (code, _, err) = told(output);
            assert!(code == 2 && err.contains("the name of a Region, such as eu-west-1"), "{code} {err}");
        }
    }
}

#[test]
fn what_cannot_be_looked_at_is_not_said_to_be_missing() {
    let account = account();
    account.cloudwatch.fail_calls("GetDashboard", 3, Fault::AccessDenied);
    let (code, out, err) = dashboards(&account, &["delete", "--yes"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(
        err.contains("cloudwatch:GetDashboard on ") && err.ends_with("efsmon: 3 dashboards not deleted\n"),
        "{err}"
    );
}

#[test]
fn a_name_that_no_template_has_is_bad_usage() {
    let account = account();
    let (code, _, err) = dashboards(&account, &["apply", "overveiw", "--yes"]);
    let expected = "efsmon: found NAME overveiw; allowed: file-system, mine, overview, or one of them behind \
                    efsmon-eu-west-1-; try --help\n";
    assert_eq!((code, err.as_str()), (2, expected));
    let (code, _, err) = dashboards(&account, &["apply", "mine", "--prune", "--yes"]);
    assert_eq!(code, 2, "{err}");
    assert_eq!(account.cloudwatch.calls().len(), 0);
}

#[test]
fn json_leaves_nobody_to_be_asked() {
    let account = account();
    let expected =
        "efsmon: found --json alone, which asks nothing; allowed: with --yes or --dry-run; try --help\n";
    for command in ["apply", "delete"] {
        let refused = (2, String::new(), expected.to_owned());
        assert_eq!(dashboards(&account, &[command, "--json"]), refused);
    }
    assert_eq!(account.cloudwatch.calls().len(), 0);
}

#[test]
fn a_template_that_cannot_be_used_stops_everything_before_it_begins() {
    let account = account();
    std::fs::write(account.path().join("templates/bad.json"), "{\"widgets\": [").unwrap();
    let (code, out, err) = dashboards(&account, &["apply", "--yes"]);
    let expected = "efsmon: nothing was done, because of the templates:\n  \
                    bad: is not JSON: EOF while parsing a list at line 1 column 13\n";
    assert_eq!((code, out.as_str(), err.as_str()), (1, "", expected));
    assert_eq!(account.cloudwatch.calls().len(), 0);
}

/// The double is as strict as these tests rely on.
#[tokio::test]
async fn the_double_refuses_what_cloudwatch_refuses() {
    let cloudwatch = CloudWatch::start();
    let credentials = Credentials::new("AKIDEXAMPLE", "secret", None, None, "test");
    let client = Client::new(&crate::aws::config(&cloudwatch.url(), credentials));
    let put = async |name: &str, body: &str| {
        let put = client.put_dashboard().dashboard_name(name).dashboard_body(body).send().await;
        put.map(|taken| taken.dashboard_validation_messages().len())
            .map_err(|error| error.code().unwrap_or_default().to_owned())
    };
    let invalid = Err("InvalidParameterInput".to_owned());
    let good = r#"{"widgets":[{"type":"metric","properties":{"region":"eu-west-1","metrics":[["A","b",{"id":"m"}]]}}]}"#;
    assert_eq!(put("a", good).await, Ok(0));
    assert_eq!(put("a.b", good).await, invalid);
    assert_eq!(put("a", "{").await, invalid);
    for (from, to) in [
        ("metric\"", "metrics\""),
        ("\"eu-west-1\"", "1"),
        ("\"b\"", "1"),
        ("[\"A\"", "[{}, \"A\""),
        ("\"type\"", "\"width\":25,\"type\""),
        ("\"type\"", "\"x\":1,\"type\""),
    ] {
        assert_eq!(put("a", &good.replacen(from, to, 1)).await, invalid, "{to}");
    }
    assert_eq!(put("a", &good.replace("\"type\"", "\"tpye\":1,\"type\"")).await, Ok(1));
    assert!(
        client
            .get_dashboard()
            .dashboard_name("b")
            .send()
            .await
            .unwrap_err()
            .into_service_error()
            .is_dashboard_not_found_error()
    );
    let gone = client.delete_dashboards().dashboard_names("a").dashboard_names("b").send().await;
    assert!(gone.unwrap_err().code() == Some("ResourceNotFound"));
    assert_eq!(cloudwatch.dashboards(|dashboards| dashboards.names()), ["a"]);
}
