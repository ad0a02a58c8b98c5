"""Every setting once: broker, topic and group settings under their Kafka names, their values and where they come from.

The rows are in the files named after their scope or topic, the machinery in settings.py and declare.py.
"""

from fakebroker.broker.settings.settings import (
    PROFILES,
    Reader,
    Settings,
    Source,
    Synonym,
    find,
    find_group,
    find_topic,
)
from fakebroker.protocol.errors import SettingError

__all__ = ["PROFILES", "Reader", "SettingError", "Settings", "Source", "Synonym", "find", "find_group", "find_topic"]
