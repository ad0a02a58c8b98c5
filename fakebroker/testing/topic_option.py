"""Topics as command lines name them: NAME[:PARTITIONS[:SETTING=VALUE,...]]."""

from typing import TYPE_CHECKING, NamedTuple

from fakebroker.protocol.errors import FakebrokerError, InvalidArgument

if TYPE_CHECKING:
    from fakebroker.testing.handles.broker_control import BrokerControl

FORM = "NAME[:PARTITIONS[:SETTING=VALUE,...]]"


class TopicOption(NamedTuple):
    """One topic to begin with."""

    name: str
    partitions: int
    config: dict[str, str]


def parse_topic(text: str) -> TopicOption:
    """Read the option's text. A topic has one partition unless the text says how many.

    What follows a comma without a "=" belongs to the value before it, as in lists.

    Raises InvalidArgument naming `topic` and the part that is wrong.
    """
    name, found, rest = text.partition(":")
    if not name or (found and not rest):
        raise _wrong(text, f"it is not {FORM}")
    partitions, has_config, settings = rest.partition(":")
    partitions = partitions if found else "1"
    if not partitions.isdecimal() or not partitions.isascii() or int(partitions) < 1:
        raise _wrong(text, f"{partitions!r} is not a number of partitions")
    config: dict[str, str] = {}
    last = ""
    for part in settings.split(",") if has_config else ():
        setting, equals, value = part.partition("=")
        if equals and setting:
            if setting in config:
                raise _wrong(text, f"{setting} is given twice")
            config[setting], last = value, setting
        elif last and not equals:
            config[last] += f",{part}"
        else:
            raise _wrong(text, f"{part!r} is not SETTING=VALUE")
    return TopicOption(name, int(partitions), config)


def create_topic(broker: "BrokerControl", text: str) -> None:
    """Create the topic that an option names. Raises InvalidArgument, which repeats the option's text."""
    topic = parse_topic(text)
    try:
        broker.create_topic(topic.name, topic.partitions, config=topic.config)
    except FakebrokerError as error:
        raise _wrong(text, str(error)) from None


def _wrong(text: str, why: str) -> InvalidArgument:
    return InvalidArgument("topic", text, f"--topic {text!r}: {why}")
