//! Clients of rdkafka that do what they are told: see tests/clients/programs.py for the lines in and out.

mod client;
mod story;

use std::collections::HashMap;
use std::io::{BufRead, stdin};

use client::Client;
use rdkafka::error::KafkaError;
use serde_json::{Value, json};

fn main() {
    let mut clients: HashMap<i64, Client> = HashMap::new();
    for line in stdin().lock().lines() {
        let order: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let number = order["client"].as_i64().unwrap();
        if order["login"].is_object() {
            clients.insert(number, Client::new(&order["login"]));
        }
        let answer = match obey(clients.get_mut(&number).unwrap(), &order) {
            Ok(mut answer) => {
                answer["outcome"] = json!("");
                answer
            }
            Err(name) => json!({ "outcome": name }),
        };
        println!("{answer}");
    }
}

fn obey(client: &mut Client, order: &Value) -> Result<Value, String> {
    let done = |()| json!({});
    match order["do"].as_str().unwrap() {
        "send" => client.send(text(&order["topic"])).map(done),
        "read" => client.read(text(&order["topic"]), text(&order["group"])).map(done),
        "produce" => story::produce(client, order).map(done).map_err(name),
        "transaction" => story::transaction(client, order).map(done).map_err(name),
        "offsets" => story::offsets(client, order).map(|found| json!({ "offsets": found })).map_err(name),
        "subscribe" => client.subscribe(text(&order["topic"]), text(&order["group"]), &order["settings"]).map(done).map_err(name),
        "poll" => story::poll(client.consumer()).map(|found| json!({ "records": found })).map_err(name),
        "commit" => story::commit(client.consumer()).map(done).map_err(name),
        _ => {
            client.close();
            Ok(json!({}))
        }
    }
}

/// The text of a field, "" if there is none.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("")
}

/// The name of an error in librdkafka's terms.
pub fn name(error: KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(code) => format!("{code:?}"),
        None => error.to_string(),
    }
}
