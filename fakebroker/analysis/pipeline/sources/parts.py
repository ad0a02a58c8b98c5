"""The parts of a history: what one task reads and decodes. No Spark here."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from fakebroker.analysis.pipeline.sources.inputs import Input
from fakebroker.analysis.pipeline.sources.split_reading import read_split
from fakebroker.analysis.pipeline.sources.splits import SPLIT_BYTES, Split, balanced
from fakebroker.client.security import Security

PARTS_PER_CORE: Final = 4
SMALLEST_SPLIT_BYTES: Final = 1024 * 1024


class Part:
    """Some splits of a log that is called `source`. `security` is that of a running Kafka."""

    def __init__(self, splits: list[Split], source: str, security: Security = Security()) -> None:
        self.splits = splits
        self.source = source
        self.security = security

    def read(self) -> Iterator[Any]:
        """The RecordBatches of the splits, one after another."""
        for split in self.splits:
            yield from read_split(Split._make(split), self.source, self.security)


def all_parts(of: Input, source: str, security: Security, parallelism: int) -> list[Part]:
    """All that there is, in parts of about the same size, a few for each of `parallelism` tasks at a time.

    Raises FakebrokerError for what cannot be read.
    """
    start, end = of.first(), of.latest(is_growing=False)
    size_bytes = sum(each.size_bytes for each in of.splits(start, end))
    aim = size_bytes // (PARTS_PER_CORE * parallelism)
    splits = of.splits(start, end, min(SPLIT_BYTES, max(SMALLEST_SPLIT_BYTES, aim)))
    return parts_of(splits, source, security, parallelism)


def parts_of(splits: Sequence[Split], source: str, security: Security, parallelism: int) -> list[Part]:
    """Splits shared out among tasks."""
    most = max(PARTS_PER_CORE * parallelism, sum(each.size_bytes for each in splits) // SPLIT_BYTES)
    return [Part(each, source, security) for each in balanced(splits, most)]
