//! One client: how it logs in, and what it may do then.

use std::error::Error;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use rdkafka::ClientConfig;
use rdkafka::client::{ClientContext, OAuthToken};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::{BaseProducer, BaseRecord, DeliveryResult, Producer, ProducerContext, PurgeConfig};
use serde_json::Value;

use crate::{name, text};

const POLL: Duration = Duration::from_millis(50);

/// What librdkafka reports beside the answers to calls, by names; and the token of a login.
pub struct Heard {
    token: String,
    outcomes: Mutex<Vec<String>>,
}

impl ClientContext for Heard {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn error(&self, error: KafkaError, reason: &str) {
        eprintln!("{error}: {reason}");
        self.outcomes.lock().unwrap().push(name(error));
    }

    fn generate_oauth_token(&self, _config: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let ends = now + Duration::from_secs(3600);
        Ok(OAuthToken { token: self.token.clone(), principal_name: String::new(), lifetime_ms: ends.as_millis() as i64 })
    }
}

impl ConsumerContext for Heard {}

impl ProducerContext for Heard {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let outcome = result.as_ref().map_or_else(|(error, _)| name(error.clone()), |_| String::new());
        self.outcomes.lock().unwrap().push(outcome);
    }
}

impl Heard {
    /// What was heard since the last time, without what librdkafka says of lost connections while it tries again.
    pub fn take(&self) -> Vec<String> {
        let mut found = std::mem::take(&mut *self.outcomes.lock().unwrap());
        found.retain(|each| !["AllBrokersDown", "BrokerTransportFailure"].contains(&each.as_str()));
        found
    }
}

pub struct Client {
    config: ClientConfig,
    token: String,
    patience: Duration,
    producer: Option<BaseProducer<Heard>>,
    consumer: Option<BaseConsumer<Heard>>,
}

impl Client {
    /// A client with a login as tests/clients/logins.py writes it.
    pub fn new(login: &Value) -> Self {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", text(&login["bootstrap"]));
        config.set("security.protocol", text(&login["protocol"]));
        config.set("reconnect.backoff.max.ms", "100");
        for (setting, field) in [
            ("sasl.mechanism", "mechanism"),
            ("sasl.username", "user"),
            ("sasl.password", "password"),
            ("ssl.ca.location", "authority"),
            ("ssl.certificate.location", "certificate"),
            ("ssl.key.location", "key"),
        ] {
            if !text(&login[field]).is_empty() {
                config.set(setting, text(&login[field]));
            }
        }
        let patience = Duration::from_secs_f64(login["patience_s"].as_f64().unwrap());
        Self { config, token: text(&login["token"]).to_owned(), patience, producer: None, consumer: None }
    }

    fn heard(&self) -> Heard {
        Heard { token: self.token.clone(), outcomes: Mutex::default() }
    }

    /// A producer with these settings besides.
    pub fn connected(&self, settings: &[(&str, &str)]) -> KafkaResult<BaseProducer<Heard>> {
        let mut config = self.config.clone();
        for (setting, value) in settings {
            config.set(*setting, *value);
        }
        config.create_with_context(self.heard())
    }

    /// A consumer of a group that is no member yet.
    pub fn reading(&self, group: &str, settings: &Value) -> KafkaResult<BaseConsumer<Heard>> {
        let mut config = self.config.clone();
        config.set("group.id", group).set("auto.offset.reset", "earliest").set("enable.auto.commit", "false");
        config.set("topic.metadata.refresh.interval.ms", "500");
        for (setting, value) in settings.as_object().into_iter().flatten() {
            config.set(setting, text(value));
        }
        config.create_with_context(self.heard())
    }

    pub fn subscribe(&mut self, topic: &str, group: &str, settings: &Value) -> KafkaResult<()> {
        let consumer = self.reading(group, settings)?;
        consumer.subscribe(&[topic])?;
        self.consumer = Some(consumer);
        Ok(())
    }

    pub fn consumer(&self) -> &BaseConsumer<Heard> {
        self.consumer.as_ref().expect("it has subscribed")
    }

    /// Sends one record, and waits until the broker has it.
    pub fn send(&mut self, topic: &str) -> Result<(), String> {
        if self.producer.is_none() {
            self.producer = Some(self.connected(&[("linger.ms", "0")]).map_err(name)?);
        }
        let producer = self.producer.as_ref().unwrap();
        producer.context().take();
        if let Err((error, _)) = producer.send(BaseRecord::<(), str>::to(topic).payload("x")) {
            producer.poll(POLL); // it knows what it learned of the topic
            return Err(name(error));
        }
        let result = self.outcome(|| {
            producer.poll(POLL);
            producer.context().take().into_iter().next()
        });
        if result.is_err() {
            producer.purge(PurgeConfig::default().queue().inflight());
            producer.poll(POLL);
        }
        result
    }

    /// Reads until there is a record, as a member of a group.
    pub fn read(&mut self, topic: &str, group: &str) -> Result<(), String> {
        if self.consumer.is_none() {
            self.subscribe(topic, group, &Value::Null).map_err(name)?;
        }
        let consumer = self.consumer();
        consumer.context().take();
        self.outcome(|| match consumer.poll(POLL) {
            Some(Ok(_)) => Some(String::new()),
            Some(Err(error)) if !["AllBrokersDown", "BrokerTransportFailure"].contains(&name(error.clone()).as_str()) => Some(name(error)),
            _ => consumer.context().take().into_iter().next(),
        })
    }

    /// The first outcome of a step that is taken again and again.
    fn outcome(&self, step: impl Fn() -> Option<String>) -> Result<(), String> {
        let end = Instant::now() + self.patience;
        while Instant::now() < end {
            match step() {
                Some(outcome) if outcome.is_empty() => return Ok(()),
                Some(outcome) => return Err(outcome),
                None => {}
            }
        }
        Err("nothing".to_owned())
    }

    /// Leaves the group and disconnects. The poll delivers an assignment that waits: closing before it never ends.
    pub fn close(&mut self) {
        if let Some(consumer) = self.consumer.take() {
            consumer.poll(Duration::from_millis(300));
        }
        if let Some(producer) = self.producer.take() {
            producer.purge(PurgeConfig::default().queue().inflight());
            let _ = producer.flush(Duration::from_secs(1));
        }
    }
}
