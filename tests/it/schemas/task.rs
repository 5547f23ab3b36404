//! The task definition for ECS is one that AWS's model of RegisterTaskDefinition takes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::models::{self, complaints};

#[test]
fn the_task_definition_is_one_that_ecs_takes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/ecs/efsmon.json");
    let mut task: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let register = models::operation(&models::service("ecs/2014-11-13"), "RegisterTaskDefinition");
    assert_eq!(complaints(&register, &task), Vec::<String>::new());

    task["containerDefinitions"][0]["readOnlyRootFilesystem"] = json!(true);
    assert_eq!(complaints(&register, &task).len(), 1, "a name that is written otherwise would pass");
}
