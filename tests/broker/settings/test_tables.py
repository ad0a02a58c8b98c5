"""The declared settings against Kafka's own definitions (tests/data/settings.tsv, printed by Kafka's classes)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from fakebroker.broker.settings import SettingError, Settings, broker_internal
from fakebroker.broker.settings.declare import PASSWORD, TYPE_NAMES, Allowed, Form, OneOf, Range, Setting, render
from fakebroker.broker.settings.message_formats import format_versions
from fakebroker.broker.settings.table import (
    BROKER,
    BROKER_REMOVED_IN_4,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    TOPIC_BEFORE_4,
)

FACTS_FILE = Path(__file__).resolve().parents[2] / "data" / "settings.tsv"
# Kafka describes these in words, not as a range; we leave the first three unchecked and check the last as a form.
IN_WORDS = ("non-empty string", "non-empty list", "non-null string", "valid")
AS_FORM = ("[partitionId]", "[latest, earliest, by_duration")


class Fact(NamedTuple):
    """What Kafka says of a setting; `last` is the update mode of a broker setting, else the broker's name of it."""

    scope: str
    release: str
    name: str
    type: str
    default: str
    valid: str
    last: str


FACTS = [Fact(*line.split("\t")) for line in FACTS_FILE.read_text().splitlines()[2:]]
TABLES = {("broker", "4.3.1"): BROKER, ("topic", "4.3.1"): TOPIC, ("topic", "3.9.1"): TOPIC_BEFORE_4}
TABLES["group", "4.3.1"] = GROUP
TABLES["broker-internal", "4.3.1"] = BROKER


def facts(scope: str, release: str) -> list[Fact]:
    return [fact for fact in FACTS if (fact.scope, fact.release) == (scope, release)]


def expected_valid(text: str) -> Allowed:
    """Kafka's text for what is allowed, as ours."""
    number = re.fullmatch(r"\[(-?\d+),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?", text)
    if number:
        low, high, also = (None if part is None else _number(part) for part in number.groups())
        assert low is not None
        assert not isinstance(also, float)
        return Range(low, high, also)
    words = re.fullmatch(r"(\(case insensitive\) )?\[(.*)\]", text)
    if words:
        return OneOf(tuple(words[2].split(", ")), any_case=words[1] is not None)
    return None


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def differences(fact: Fact) -> Iterator[str]:
    """In what our declaration of a setting is not Kafka's."""
    setting = TABLES[fact.scope, fact.release][fact.name]
    if TYPE_NAMES[setting.type] != fact.type:
        yield f"type {TYPE_NAMES[setting.type]}"
    default = render(setting.default)
    if fact.default not in (default, "null" if default is None else default, "" if default is None else default):
        yield f"default {default}"
    if fact.valid.startswith(AS_FORM):
        if not isinstance(setting.allowed, Form):
            yield f"allowed {setting.allowed}"
    elif fact.valid not in IN_WORDS and setting.allowed != expected_valid(fact.valid):
        yield f"allowed {setting.allowed}"
    if fact.scope.startswith("broker") and setting.update != fact.last:
        yield f"update mode {setting.update}"
    if fact.scope == "topic" and (setting.broker_name or "") != fact.last:
        yield f"broker's name {setting.broker_name}"


def test_as_kafka_defines_them() -> None:
    """Type, default, allowed values, update mode and broker's name of every setting are Kafka's."""
    found = {
        (fact.release, fact.scope, fact.name): list(differences(fact))
        for fact in FACTS
        if fact.default != "3600000 (1 hour)"
    }
    known = ("3.9.1", "topic", "message.timestamp.after.max.ms")  # Kafka: the broker setting's default differs

    assert len(found) > 400
    assert [each for each in found.pop(known) if not each.startswith("default")] == []
    # Kafka does not start with the name of an assignor that it cannot find; ours are the two that it brings along.
    assert found.pop(("4.3.1", "broker", "group.consumer.assignors")) == ["allowed uniform, range"]
    # Kafka prints no words for what it allows here; the versions were asked of running brokers.
    assert found.pop(("3.9.1", "topic", "message.format.version")) == [f"allowed {format_versions((3, 9))}"]
    assert {key: found_of for key, found_of in found.items() if found_of} == {}


def test_every_setting_of_kafka_is_there_and_no_other() -> None:
    """Besides Kafka's there are only our own, those it hides, and those that 4.0 removed."""
    ours = set(BROKER) - set(BROKER_REMOVED_IN_4)
    hidden = {fact.name for fact in facts("broker-internal", "4.3.1")}
    added = {row.name for row in broker_internal.ROWS if row.name.startswith("fakebroker.") or row.of_plugin}
    assert ours == {fact.name for fact in facts("broker", "4.3.1")} | hidden | added
    assert {row.name for row in broker_internal.ROWS} == hidden | added
    assert all(row.internal for row in broker_internal.ROWS)
    assert set(TOPIC) == {fact.name for fact in facts("topic", "4.3.1")}
    assert set(TOPIC_BEFORE_4) == {fact.name for fact in facts("topic", "3.9.1")}
    assert set(GROUP) == {fact.name for fact in facts("group", "4.3.1")}


def all_settings() -> list[Setting]:
    return [row for table in (BROKER, TOPIC_BEFORE_4, TOPIC, GROUP, CLIENT_METRICS) for row in table.values()]


def test_every_setting_says_what_it_is() -> None:
    """Each has a line of its own that says what it does, or would do."""
    assert [row.name for row in all_settings() if not row.description] == []


def test_broker_names_exist_and_have_the_type() -> None:
    """The broker setting that a topic or group setting takes its default from is of the same type."""
    for row in all_settings():
        if row.broker_name is not None:
            assert BROKER[row.broker_name].type == row.type, row.name


def test_units() -> None:
    """The unit of a number is reported by its name."""
    assert BROKER["group.min.session.timeout.ms"].unit == "ms"
    assert BROKER["offsets.retention.minutes"].unit == "minutes"
    assert BROKER["log.retention.bytes"].unit == "bytes"
    assert BROKER["log.cleaner.io.max.bytes.per.second"].unit == "bytes per second"
    assert BROKER["num.partitions"].unit == ""
    assert BROKER["auto.create.topics.enable"].unit == ""


def test_passwords_have_no_default() -> None:
    """A secret is never made up."""
    assert [row.name for row in all_settings() if row.type == PASSWORD and row.default is not None] == []


def test_every_setting_of_kafka_is_accepted() -> None:
    """With its own default, those that Kafka does not document as well; a value of another type is refused."""
    for fact in [*facts("broker", "4.3.1"), *facts("broker-internal", "4.3.1")]:
        if fact.default not in ("null", "", "-"):
            assert Settings({fact.name: fact.default}).is_given_at_start(fact.name)
        if fact.type in ("int", "long", "short", "double", "boolean"):
            with pytest.raises(SettingError, match=re.escape(fact.name)):
                Settings({fact.name: "much"})
