//! The same against an emulator that others wrote.

use aws_credential_types::Credentials;
use aws_sdk_cloudwatch::Client;

use super::{MINE, account, told};
use crate::ministack::Ministack;

#[tokio::test]
async fn an_emulator_takes_the_dashboards_and_another_hand_is_found_and_mended() {
    let (account, ministack) = (account(), Ministack::start());
    let run = |arguments: &[&str]| {
        let mut command =
            account.command(&[&["dashboards"], arguments, &["--templates", "templates"]].concat());
        told(command.env("AWS_ENDPOINT_URL_CLOUDWATCH", ministack.url()).output().unwrap())
    };
    let ok = |out: &str| (0, out.to_owned(), String::new());
    let (code, out, err) = run(&["apply", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(out.matches("\ncreated efsmon-eu-west-1-").count(), 3, "{out}");
    let unchanged = ok("no changes: 3 dashboards of eu-west-1 are as they should be\n");
    assert_eq!(run(&["apply", "--yes"]), unchanged);
    assert_eq!(run(&["diff"]), unchanged);

    // The emulator keeps dashboards by the Region of the request.
    let credentials = Credentials::new("test", "test", None, None, "test");
    let client = Client::new(&crate::aws::config(&ministack.url(), credentials));
    let body = async || {
        let found = client.get_dashboard().dashboard_name(MINE).send().await.unwrap();
        found.dashboard_body().unwrap().to_owned()
    };
    let applied = body().await;
    let edited = applied.replace("\"Metered\"", "\"Von Hand\"");
    assert_ne!(edited, applied);
    client.put_dashboard().dashboard_name(MINE).dashboard_body(edited).send().await.unwrap();
    let (code, out, _) = run(&["diff"]);
    let changed = "-        \"title\": \"Von Hand\"\n+        \"title\": \"Metered\"\n";
    assert!(code == 3 && out.contains(changed), "{out}");
    let (code, out, _) = run(&["apply", "--yes"]);
    assert!(code == 0 && out.ends_with("\nupdated efsmon-eu-west-1-mine\n"), "{out}");
    assert_eq!(body().await, applied);

    let (code, out, err) = run(&["delete", "mine", "--yes"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let gone = client.get_dashboard().dashboard_name(MINE).send().await.unwrap_err();
    assert!(gone.into_service_error().is_dashboard_not_found_error());
}
