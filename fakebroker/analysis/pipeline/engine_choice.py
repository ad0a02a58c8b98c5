"""Which engine suits an amount of work: the embedded one for what it does in about a minute, Spark for more.

The limits were measured in November 2026 on a cloud machine with two cores: 566 MB of journals (1,000,000 lines) become
all tables in 31 s with 2.8 GB of memory, 84 s on Spark. 219 MB of Parquet (10,000,000 records of
`__consumer_offsets`) become tables in 25 s with 1.5 GB, and 123 MB of segments (1,000,000 records, ten to a batch) in
19 s. What-if takes 12 s over 9,900,000 rows with 2.5 GB, 28 s over 19,800,000; of groups that are Empty every other
day, the worst that it can be given, 4,000,000 rows took 30 s. A run of a campaign takes 7 ms.
"""

from collections.abc import Iterable, Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from typing import Final, NamedTuple

from fakebroker.analysis.history.reading import has_scheme
from fakebroker.analysis.pipeline.extras import MissingExtra, need_extra
from fakebroker.analysis.pipeline.java import NoJava, java_home
from fakebroker.analysis.pipeline.publish import Published
from fakebroker.analysis.pipeline.tables.retention_losses import EMBEDDED_ROWS
from fakebroker.protocol.extras import install_command

MAX_JOURNAL_MB: Final = 1000
MAX_LOG_MB: Final = 500
MAX_EVENTS: Final = 5_000_000
MAX_WHATIF_ROWS: Final = EMBEDDED_ROWS
MAX_RUNS: Final = 5_000
_MB: Final = 1_000_000
_UNPACKED: Final = {".gz": 10}  # by how much a packed file grows, roughly; Parquet is no more work than its bytes


class Work(NamedTuple):
    """How much a command has to do: an amount of something, and how much of it is for the embedded engine."""

    amount: int
    limit: int
    of: str

    @property
    def is_for_spark(self) -> bool:
        """Whether it is more than the embedded engine does in about a minute."""
        return self.amount > self.limit

    @property
    def text(self) -> str:
        """The amount in words, compared with the limit."""
        limit = f"{self.limit:,}"
        compared = f"more than {limit} are for Spark" if self.is_for_spark else f"up to {limit} need no Spark"
        return f"{self.amount:,} {self.of}; {compared}"


class Unmeasured(NamedTuple):
    """Work of an amount that is not known."""

    is_for_spark: bool
    text: str


REMOTE: Final = Unmeasured(True, "only Spark reads files of other file systems")
LIVE: Final = Unmeasured(
    False, "the size of a running Kafka's log is not known; for more than a million records: --engine spark"
)
AnyWork = Work | Unmeasured


class Chosen(NamedTuple):
    """The name of an engine, and why it was chosen."""

    engine: str
    reason: str


def work_on_files(paths: Sequence[str], limit_mb: int) -> AnyWork:
    """Reading these files, folders and patterns: MB after unpacking, roughly. Missing files are no work."""
    if any(has_scheme(path) for path in paths):
        return REMOTE
    return Work(-(-sum(map(_size, _files(paths))) // _MB), limit_mb, "MB of input")


def work_on_tables(folder: Path, names: Iterable[str], limit: int) -> Work:
    """Reading these tables of a published folder, those that it has. Raises FakebrokerError if it is none."""
    tables = Published(folder).tables
    return Work(sum(tables[name]["rows"] for name in names if name in tables), limit, "rows")


def choose(work: AnyWork) -> Chosen:
    """The engine for this work. Where Spark cannot run it is the embedded one, unless Spark alone can do the work."""
    if not work.is_for_spark:
        return Chosen("embedded", work.text)
    if work == REMOTE or _can_run_spark():
        return Chosen("spark", work.text)
    return Chosen("embedded", f"{work.text}, but Spark or Java is missing: {install_command('spark')} installs both")


def _can_run_spark() -> bool:
    try:
        need_extra("spark")
        java_home()
    except (MissingExtra, NoJava):
        return False
    return True


def _files(paths: Iterable[str]) -> Iterator[Path]:
    for path in paths:
        for each in map(Path, glob(path, recursive=True) if has_magic(path) else [path]):
            yield from each.rglob("*") if each.is_dir() else [each]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size * _UNPACKED.get(file.suffix, 1) if file.is_file() else 0
    except OSError:
        return 0
