"""Which topic and partition the fields of a struct speak of."""

from typing import Any

from fakebroker.scenarios.comparison import fields

Json = Any
Where = tuple[Json, ...]  # (), (topic,) or (topic, partition)


class TopicScopes:
    """Finds the place that a struct speaks of; a topic's id stands for its name once both were seen together."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def inside(self, data: dict[str, Json], around: Where) -> Where:
        """The place that the fields of `data` speak of: said in it, or that of the struct around it."""
        name: Json = next((data[key] for key in ("Topic", "TopicName", "Name") if _is_text(data.get(key))), None)
        topic_id: Json = data.get("TopicId")
        if _is_text(topic_id):
            if name is not None:
                self._names[topic_id] = name
            return (name or self._names.get(topic_id, topic_id),)
        if name is not None:
            return (name,)
        for key in ("PartitionIndex", "Partition", "Index"):
            if type(data.get(key)) is int:
                return (*around[:1], data[key])
        return around


def _is_text(value: Json) -> bool:
    return isinstance(value, str) and value not in fields.NO_ID
