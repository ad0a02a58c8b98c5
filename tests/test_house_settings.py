"""A rule of the house, read from the source as those of test_house.py are: a setting says whether code looks at it."""

import re

from fakebroker.broker.settings.table import BROKER, FALLBACKS, GROUP, TOPIC, TOPIC_BEFORE_4
from tests.test_house import SOURCES

# Names that the code writes or refuses, but whose value it does not look at.
NOT_READ = {
    "node.id",
    "broker.id",
    "advertised.listeners",
    "remote.storage.enable",
    "ssl.keystore.type",
    "ssl.truststore.type",
    # Names of clients' properties, too (client/cluster/client_properties.py).
    "sasl.oauthbearer.token.endpoint.url",
    "ssl.protocol",
    "ssl.endpoint.identification.algorithm",
    # What a clone leaves out (testing/imported/settings.py).
    "early.start.listeners",
    "process.roles",
}
# Names that the code puts together, with the parts it puts in.
FORMED = {
    "group.{}.session.timeout.ms": ("min", "max"),
    "{}.num.partitions": ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"),
    "{}.replication.factor": ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"),
    "{}.segment.bytes": ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"),
    "compression.{}.level": ("gzip", "lz4", "zstd"),
}


def used_names() -> set[str]:
    """Every setting's name that the package's source outside of broker/settings/ mentions."""
    sources = [path for path in SOURCES if "settings" not in path.parts and path.name != "release.py"]
    text = "\n".join(path.read_text() for path in sources)
    names = set(re.findall(r'"([a-z][a-z0-9.]+\.[a-z0-9.]+)"', text))
    for form, parts in FORMED.items():
        assert re.search('f"' + re.escape(form).replace(r"\{\}", r"\{\w+\}") + '"', text), f"nobody forms {form}"
        names |= {form.format(part) for part in parts}
    return names


def test_has_effect_tells_the_truth() -> None:
    """A setting is said to do something exactly when code outside of the tables reads it, or the topic's one."""
    used = used_names()
    topics = TOPIC | TOPIC_BEFORE_4
    reads = {name for name in topics if name in used} | {name for name in BROKER if name in used}
    reads |= {row.broker_name for row in topics.values() if row.name in used and row.broker_name}
    reads |= {row.broker_name for row in GROUP.values() if row.name in used and row.broker_name}
    reads |= {name for first, others in FALLBACKS.items() if first in reads for name, _ in others}
    acting = {row.name for row in (*BROKER.values(), *topics.values()) if row.has_effect}
    assert acting - reads == set()
    assert reads - acting == NOT_READ
