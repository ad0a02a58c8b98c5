"""Settings of brokers and topics in a scenario: names and values are checked where the file is read."""

from collections.abc import Callable
from typing import Any

from fakebroker.broker.settings.settings import find_topic
from fakebroker.broker.settings.table import TOPIC, TOPIC_BEFORE_4
from fakebroker.protocol.errors import SettingError
from fakebroker.scenarios.language.kinds import SCALAR, Reading, TableOf, Wrong
from fakebroker.scenarios.language.yaml_file import Node, Table
from fakebroker.testing.releases import Settings


class SettingTable(TableOf):
    """A mapping of settings. `check` raises SettingError for a name or a value that cannot be."""

    def __init__(self, check: Callable[[str, Any], object]) -> None:
        super().__init__(SCALAR)
        self._check = check

    def value(self, node: Node, reading: Reading) -> Any:
        """The settings. Raises Wrong."""
        made = super().value(node, reading)
        assert isinstance(node, Table)
        for name, value in made.items():
            try:
                self._check(name, value)
            except SettingError as error:
                raise Wrong(node.keys[name], str(error)) from None
        return made


BROKER_SETTINGS = SettingTable(lambda name, value: Settings({name: value}))
TOPIC_SETTINGS = SettingTable(lambda name, _value: find_topic(name, {**TOPIC, **TOPIC_BEFORE_4}))
