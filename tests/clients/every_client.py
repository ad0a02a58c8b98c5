"""Every client that logs in, and what each calls what happens to it: patterns of names of errors."""

from typing import NamedTuple

import pytest

from tests.clients.programs import LANGUAGES


class Words(NamedTuple):
    """What a client says if..."""

    refused: str  # the name or the password is wrong
    bad_token: str  # its token does not hold
    silent: str  # the listener wants a login, and the client makes none
    distrusts: str  # it does not believe the broker's certificate
    distrusted: str  # the broker does not believe its certificate
    no_topic: str  # it may not write to the topic, or not any more read from it
    unread: str  # it begins to read a topic that it may not read
    no_group: str  # it may not be a member of the group


# kafka-python raises that it could not connect in time, and logs the reason, which is what stands here: if it finds the
# answer and the end of the connection at once, it does not read the answer. Of what Kafka says of a token, only
# librdkafka and Java tell what it means: the others stumble over an answer with content. librdkafka learns that its
# certificate is refused when its handshake is over (TLS 1.3), takes it for a lost connection, and tries again.
# kafka-python reads nothing, and says nothing, where it has never seen the topic.
_LOST_OR_REFUSED = "KafkaConnectionError|SaslAuthenticationFailedError"
_NO_TOPIC = "kafka server: The client is not authorized to access this topic"  # sarama's words
_JAVA = Words(
    "SaslAuthenticationException",
    "SaslAuthenticationException",
    "TimeoutException",
    "SslAuthenticationException",
    "SslAuthenticationException",
    "TopicAuthorizationException",
    "TopicAuthorizationException",
    "GroupAuthorizationException",
)
WORDS = {
    "confluent-kafka": Words(
        "_AUTHENTICATION",
        "_AUTHENTICATION",
        "nothing",
        "_SSL",
        "nothing",
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    "kafka-python": Words(
        _LOST_OR_REFUSED,
        _LOST_OR_REFUSED,
        "KafkaTimeoutError|RequestTimedOutError",  # which of its two clocks runs out first
        "KafkaConnectionError",
        "KafkaConnectionError",
        "TopicAuthorizationFailedError",
        "TimeoutError",
        "GroupAuthorizationFailedError",
    ),
    "aiokafka": Words(
        "KafkaConnectionError",
        "TimeoutError",
        "KafkaConnectionError",
        "KafkaConnectionError",
        "KafkaConnectionError",
        "TopicAuthorizationFailedError",
        "TopicAuthorizationFailedError",
        "GroupAuthorizationFailedError",
    ),
    "java": _JAVA,
    "java-2.8": _JAVA,
    "kafkajs": Words(
        "KafkaJSSASLAuthenticationError",
        "ILLEGAL_SASL_STATE",
        "KafkaJSConnectionClosedError",
        "KafkaJSConnectionError",
        "KafkaJSConnectionError",
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "KafkaJSGroupCoordinatorNotFound",
    ),
    "franz-go": Words(
        "SASL_AUTHENTICATION_FAILED",
        "unexpected data in oauth response",
        r".*is SASL missing\?",
        "CertificateVerificationError",
        "remote error: tls: .*",  # Java's and OpenSSL's alerts are not the same
        "TOPIC_AUTHORIZATION_FAILED",
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
    ),
    "sarama": Words(
        r".*: SASL Authentication failed: .*",
        r".*: SASL Authentication failed: .*",
        r".* run out of available brokers to talk to: EOF",
        "CertificateVerificationError",
        r".*remote error: tls: .*",
        _NO_TOPIC,
        _NO_TOPIC,
        "kafka server: The client is not authorized to access this group",
    ),
    "rdkafka": Words(
        "Authentication",
        "Authentication",
        "nothing",
        "SSL",
        "nothing",
        "TopicAuthorizationFailed",
        "TopicAuthorizationFailed",
        "GroupAuthorizationFailed",
    ),
}
_MARKS = {name: language.marks for name, language in LANGUAGES.items()}
EVERY_CLIENT = [pytest.param(name, marks=_MARKS.get(name, [])) for name in WORDS]
WITH_DELEGATION_TOKENS = [pytest.param(name, marks=_MARKS[name]) for name in ("java", "java-2.8", "franz-go")]
SILENCE_S = 2  # how long to wait for a client that waits for ever
