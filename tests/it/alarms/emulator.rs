//! The same against an emulator that others wrote, with the kinds that are on a single metric: it forgets the queries of
//! alarms on metric math, so that those would differ whenever they are looked at. Topics are our double's.

use aws_credential_types::Credentials;
use aws_sdk_cloudwatch::Client;
use aws_sdk_cloudwatch::types::{ComparisonOperator, HistoryItemType, Statistic};

use super::command::{FS_A, FS_B, PAGES, account, name};
use crate::ministack::Ministack;

const KINDS: [&str; 5] = ["credits-low", "mount-stalled", "percent-io-limit", "--sns", PAGES];

#[tokio::test]
async fn an_emulator_takes_the_alarms_and_another_hand_is_found_and_mended() {
    let (account, ministack) = (account(), Ministack::start());
    let run = |command: &str, arguments: &[&str]| {
        let mut command = account.command(&[&["alarms", command], arguments].concat());
        let output = command.env("AWS_ENDPOINT_URL_CLOUDWATCH", ministack.url()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    let apply = [&["--yes"], &KINDS[..]].concat();
    let (code, text) = run("apply", &apply);
    assert!(code == Some(0) && text.ends_with("\n5 alarms changed\n"), "{text}");
    for (command, arguments) in [("apply", &apply[..]), ("diff", &KINDS)] {
        let (code, text) = run(command, arguments);
        assert!(code == Some(0) && text.contains("no changes: 5 alarms are as they should be\n"), "{text}");
    }
    assert_eq!(run("verify", &KINDS).0, Some(0));

    let credentials = Credentials::new("test", "test", None, None, "test");
    let client = Client::new(&crate::aws::config(&ministack.url(), credentials));
    let (low, stalled) = (name(FS_A, "credits-low"), name(FS_B, "mount-stalled"));
    client.delete_alarms().alarm_names(&low).send().await.unwrap();
    let found = client.describe_alarms().alarm_names(&stalled).send().await.unwrap();
    let description = found.metric_alarms()[0].alarm_description().unwrap();
    let by_hand = client
        .put_metric_alarm()
        .alarm_name(&stalled)
        .alarm_description(description)
        .namespace("EFSMon")
        .metric_name("MountStalled")
        .statistic(Statistic::Maximum)
        .period(60)
        .evaluation_periods(1)
        .threshold(9.0)
        .comparison_operator(ComparisonOperator::GreaterThanThreshold);
    by_hand.send().await.unwrap();
    let (code, text) = run("diff", &KINDS);
    assert!(code == Some(3) && text.contains("\n-  \"Threshold\": 9.0,\n"), "{text}");
    let (code, text) = run("verify", &KINDS);
    assert!(code == Some(3) && text.contains(&format!("wrong  {low} is not there\n")), "{text}");
    assert!(text.contains(&format!("wrong  {stalled} has no actions: nobody is told\n")), "{text}");
    let (code, text) = run("apply", &apply);
    assert!(code == Some(0) && text.ends_with("\n2 alarms changed\n"), "{text}");
    assert_eq!(run("verify", &KINDS).0, Some(0));

    assert_eq!(run("verify", &["--fire", &low, "--hold", "0", "--yes"]).0, Some(0));
    let history = client
        .describe_alarm_history()
        .alarm_name(&low)
        .history_item_type(HistoryItemType::StateUpdate)
        .send()
        .await
        .unwrap();
    let mut told: Vec<_> =
        history.alarm_history_items().iter().filter_map(|item| item.history_summary()).collect();
    // It counts the making of an alarm, too.
    told.retain(|change| !change.ends_with(" to INSUFFICIENT_DATA"));
    told.sort_unstable();
    let expected = ["Alarm updated from ALARM to OK", "Alarm updated from INSUFFICIENT_DATA to ALARM"];
    assert_eq!(told, expected);

    let (code, text) = run("delete", &["--yes", "mount-stalled"]);
    assert!(code == Some(0) && text.ends_with("\n2 alarms deleted\n"), "{text}");
    let left = client.describe_alarms().send().await.unwrap();
    assert_eq!(left.metric_alarms().len(), 3);
}
