"""A topic of both brokers."""

from typing import NamedTuple


class Topic(NamedTuple):
    """A topic that both brokers have, with its id on the reference and on the subject, "" where topics have none."""

    name: str
    topic_id: str
    subject_id: str
