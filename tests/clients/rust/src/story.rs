//! Producing, reading as a member of a group, offsets by time, transactions.

use std::time::{Duration, Instant};

use rdkafka::Offset;
use rdkafka::TopicPartitionList;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{Value, json};

use crate::client::{Client, Heard};
use crate::text;

const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);
const POLL_RECORDS: usize = 500;

pub fn produce(client: &Client, order: &Value) -> KafkaResult<()> {
    let producer = client.connected(&[("compression.type", text(&order["codec"])), ("linger.ms", "5")])?;
    send(&producer, order)
}

fn send(producer: &BaseProducer<Heard>, order: &Value) -> KafkaResult<()> {
    for each in order["records"].as_array().unwrap() {
        let headers = each["headers"].as_array().unwrap().iter().fold(OwnedHeaders::new(), |made, header| {
            made.insert(Header { key: text(&header[0]), value: Some(text(&header[1])) })
        });
        let record = BaseRecord::to(text(&order["topic"]))
            .partition(each["partition"].as_i64().unwrap() as i32)
            .key(text(&each["key"]))
            .payload(text(&each["value"]))
            .timestamp(each["timestamp_ms"].as_i64().unwrap())
            .headers(headers);
        producer.send(record).map_err(|(error, _)| error)?;
        producer.poll(Duration::ZERO);
    }
    producer.flush(PATIENCE)?;
    match producer.context().take().into_iter().find(|outcome| !outcome.is_empty()) {
        Some(outcome) => Err(KafkaError::Canceled).inspect_err(|_| eprintln!("not delivered: {outcome}")),
        None => Ok(()),
    }
}

pub fn transaction(client: &Client, order: &Value) -> KafkaResult<()> {
    let producer = client.connected(&[("transactional.id", text(&order["transactional_id"]))])?;
    producer.init_transactions(PATIENCE)?;
    producer.begin_transaction()?;
    send(&producer, order)?;
    if order["commit"].as_bool().unwrap() { producer.commit_transaction(PATIENCE) } else { producer.abort_transaction(PATIENCE) }
}

/// Without a record at or after the time librdkafka gives the end of the log.
pub fn offsets(client: &Client, order: &Value) -> KafkaResult<Vec<Option<i64>>> {
    let consumer = client.reading("times", &Value::Null)?;
    let mut asked = TopicPartitionList::new();
    for partition in 0..order["partitions"].as_i64().unwrap() {
        let time = Offset::Offset(order["timestamp_ms"].as_i64().unwrap());
        asked.add_partition_offset(text(&order["topic"]), partition as i32, time)?;
    }
    let found = consumer.offsets_for_times(asked, PATIENCE)?;
    Ok(found.elements().iter().map(|each| each.offset().to_raw().filter(|offset| *offset >= 0)).collect())
}

pub fn poll(consumer: &BaseConsumer<Heard>) -> KafkaResult<Vec<Value>> {
    let (mut found, end) = (vec![], Instant::now() + POLL);
    while found.len() < POLL_RECORDS {
        match consumer.poll(end.saturating_duration_since(Instant::now())) {
            None => break,
            Some(message) => {
                let message = message?;
                let headers: Vec<Value> = message.headers().map_or(vec![], |all| all.iter().map(|each| json!([each.key, written(each.value)])).collect());
                found.push(json!({
                    "partition": message.partition(), "key": written(message.key()), "value": written(message.payload()),
                    "timestamp_ms": message.timestamp().to_millis(), "headers": headers,
                }));
            }
        }
    }
    Ok(found)
}

fn written(bytes: Option<&[u8]>) -> String {
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

/// Commits what was polled; what a rebalance was faster with comes again.
pub fn commit(consumer: &BaseConsumer<Heard>) -> KafkaResult<()> {
    use RDKafkaErrorCode::{IllegalGeneration, NoOffset, RebalanceInProgress, UnknownMemberId};
    match consumer.commit_consumer_state(CommitMode::Sync) {
        Err(error) if [IllegalGeneration, NoOffset, RebalanceInProgress, UnknownMemberId].map(Some).contains(&error.rdkafka_error_code()) => Ok(()),
        result => result,
    }
}
