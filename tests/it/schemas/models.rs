//! How AWS describes its APIs and resources: botocore's service models and cfn-lint's schemas, as JSON schemas.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// A file of the packages that `make test` installs.
fn read(file: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/models").join(file);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}: `make test` installs it", path.display()))
}

pub fn json(file: &str) -> Value {
    serde_json::from_slice(&read(file)).unwrap()
}

/// The model of a service: `cloudwatch/2010-08-01`.
pub fn service(service: &str) -> Value {
    let packed = read(&format!("botocore/data/{service}/service-2.json.gz"));
    serde_json::from_reader(flate2::read::GzDecoder::new(packed.as_slice())).unwrap()
}

/// What an operation takes: the shape of its input, and those that it is made of.
pub fn operation(model: &Value, operation: &str) -> Validator {
    let input = &model["operations"][operation]["input"]["shape"];
    let input = input.as_str().unwrap_or_else(|| panic!("{operation} is not in the model"));
    let shapes = model["shapes"].as_object().unwrap();
    let shapes: Map<String, Value> =
        shapes.iter().map(|(name, shape)| (name.clone(), schema(name, shape))).collect();
    validator(&json!({ "$ref": format!("#/$defs/{input}"), "$defs": shapes }))
}

pub fn validator(schema: &Value) -> Validator {
    jsonschema::draft202012::new(schema).unwrap()
}

/// A shape of a service model (https://smithy.io calls it the same) as a JSON schema. Lengths count characters in both.
fn schema(name: &str, shape: &Value) -> Value {
    let reference = |to: &Value| json!({ "$ref": format!("#/$defs/{}", to["shape"].as_str().unwrap()) });
    let (mut schema, least, most) = match shape["type"].as_str().unwrap() {
        "structure" => (structure(shape, reference), None, None),
        "list" => (
            json!({ "type": "array", "items": reference(&shape["member"]) }),
            Some("minItems"),
            Some("maxItems"),
        ),
        "map" => {
            let (key, value) = (reference(&shape["key"]), reference(&shape["value"]));
            let map = json!({ "type": "object", "propertyNames": key, "additionalProperties": value });
            (map, Some("minProperties"), Some("maxProperties"))
        }
        "string" => (json!({ "type": "string" }), Some("minLength"), Some("maxLength")),
        "integer" | "long" => (json!({ "type": "integer" }), Some("minimum"), Some("maximum")),
        "double" | "float" => (json!({ "type": "number" }), Some("minimum"), Some("maximum")),
        "boolean" => (json!({ "type": "boolean" }), None, None),
        // In seconds since 1970, or in words.
        "timestamp" => (json!({ "type": ["number", "string"] }), None, None),
        "blob" => (json!({ "type": "string" }), None, None),
        other => panic!("{name} is of a type that is not known here: {other}"),
    };
    for (found, keyword) in [(&shape["min"], least), (&shape["max"], most)] {
        if let Some(keyword) = keyword.filter(|_| !found.is_null()) {
            schema[keyword] = found.clone();
        }
    }
    if let Some(pattern) = shape["pattern"].as_str() {
        schema["pattern"] = format!("^(?:{pattern})$").into();
    }
    if !shape["enum"].is_null() {
        schema["enum"] = shape["enum"].clone();
    }
    schema
}

fn structure(shape: &Value, reference: impl Fn(&Value) -> Value) -> Value {
    let members = shape["members"].as_object().unwrap();
    let members: Map<String, Value> =
        members.iter().map(|(name, member)| (name.clone(), reference(member))).collect();
    let required = shape.get("required").cloned().unwrap_or_else(|| json!([]));
    let mut schema = json!({
        "type": "object", "properties": members, "required": required, "additionalProperties": false
    });
    if shape["union"] == true {
        schema["minProperties"] = 1.into();
        schema["maxProperties"] = 1.into();
    }
    schema
}

/// What CloudFormation takes as the properties of a resource: `AWS::CloudWatch::Alarm`.
pub fn resource(kind: &str) -> Validator {
    let index = json("cfnlint/data/schemas/providers/us-east-1.json");
    let file = index[kind].as_str().unwrap_or_else(|| panic!("{kind} is not in the index"));
    cloudformation(json(&format!("cfnlint/data/schemas/resources/{file}.json")))
}

/// A schema that uses cfn-lint's own keywords.
pub fn cloudformation(mut schema: Value) -> Validator {
    translate(&mut schema);
    validator(&schema)
}

/// cfn-lint's own keywords in those of JSON Schema, throughout.
fn translate(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(translate),
        Value::Object(keywords) => {
            keywords.values_mut().for_each(translate);
            let mut rules = Vec::new();
            if let Some(Value::Object(excluded)) = keywords.remove("dependentExcluded") {
                rules.extend(excluded.into_iter().map(|(name, others)| without(&name, &others)));
            }
            if let Some(names) = keywords.remove("requiredXor") {
                rules.push(json!({ "if": { "type": "object" }, "then": { "oneOf": each_required(&names) } }));
            }
            if let Some(most) = keywords.remove("maxUniqueItems") {
                keywords.insert("maxItems".to_owned(), most);
            }
            if let Some(Value::Array(others)) = keywords.get_mut("allOf") {
                others.append(&mut rules);
            } else if !rules.is_empty() {
                keywords.insert("allOf".to_owned(), rules.into());
            }
        }
        _ => {}
    }
}

/// A member that is there only without any of `others`.
fn without(name: &str, others: &Value) -> Value {
    json!({ "if": { "required": [name] }, "then": { "not": { "anyOf": each_required(others) } } })
}

fn each_required(names: &Value) -> Vec<Value> {
    names.as_array().unwrap().iter().map(|name| json!({ "required": [name] })).collect()
}

/// What a value breaks, each with its place.
pub fn complaints(validator: &Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect()
}
