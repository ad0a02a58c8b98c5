"""Which topic and partition the fields of a struct speak of."""

from collections.abc import Iterator
from typing import Any

from fakebroker.protocol.schema.types import Entity
from fakebroker.scenarios.comparison import fields

Json = Any
Where = tuple[Json, ...]  # (), (topic,) or (topic, partition)


class TopicScopes:
    """Finds the topic and partition that a struct speaks of.

    A topic's id stands for its name once both were seen together.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def inside(self, data: dict[str, Json], around: Where) -> Where:
        """The topic and partition that the fields of `data` speak of: said in it, or those of the struct around it."""
        name: Json = next((each for each in _meaning(data, "topicName") if _is_text(each)), None)
        topic_id: Json = next(_meaning(data, "topicId"), None)
        if _is_text(topic_id):
            if name is not None:
                self._names[topic_id] = name
            return (name or self._names.get(topic_id, topic_id),)
        if name is not None:
            return (name,)
        index = next((each for each in _meaning(data, "partitionIndex") if type(each) is int), None)
        return around if index is None else (*around[:1], index)


def _meaning(data: dict[str, Json], entity: Entity) -> Iterator[Json]:
    """The values of the fields that mean that."""
    return (value for key, value in data.items() if fields.entity_of(key) == entity)


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and value not in fields.NO_ID
