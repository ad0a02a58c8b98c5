"""The topic settings that each release knows: 4.3's, and before 4.0 those of 3.9.1 without what came later."""

from collections.abc import Mapping
from functools import cache

from fakebroker.broker.settings.declare import Setting
from fakebroker.broker.settings.message_formats import format_versions
from fakebroker.broker.settings.table import TOPIC, TOPIC_BEFORE_4

# The release that brought a setting, for those that came after 1.0. Of 2.1.1 and 3.9.1 as running brokers describe it.
_SINCE: dict[str, tuple[int, int]] = {
    "message.downconversion.enable": (2, 0),
    "max.compaction.lag.ms": (2, 3),
    "local.retention.bytes": (3, 6),
    "local.retention.ms": (3, 6),
    "message.timestamp.after.max.ms": (3, 6),
    "message.timestamp.before.max.ms": (3, 6),
    "remote.storage.enable": (3, 6),
    "compression.gzip.level": (3, 8),
    "compression.lz4.level": (3, 8),
    "compression.zstd.level": (3, 8),
    "remote.log.copy.disable": (3, 9),
    "remote.log.delete.on.disable": (3, 9),
}


@cache
def topic_settings(line: tuple[int, int]) -> Mapping[str, Setting]:
    """The settings of a topic by name, as the releases of `line`, such as (2, 1), know them."""
    if line >= (4, 0):
        return TOPIC
    known = {name: row for name, row in TOPIC_BEFORE_4.items() if _SINCE.get(name, (0, 0)) <= line}
    version = known["message.format.version"]
    return known | {version.name: version._replace(allowed=format_versions(line))}
