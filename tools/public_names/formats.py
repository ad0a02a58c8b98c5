"""The file formats of fakebroker, with the versions that it writes."""

from typing import NamedTuple

from fakebroker.analysis.pipeline.publish import MANIFEST_VERSION
from fakebroker.protocol.storage.properties import META_VERSION
from fakebroker.scenarios.language.declaration import LANGUAGE_VERSION
from fakebroker.testing.exchanges.kinds import DIALOGUE, SESSION
from fakebroker.testing.journal.schema import JOURNAL
from fakebroker.testing.snapshot.file_format import FORMAT_VERSION


class FileFormat(NamedTuple):
    """A format: where a file names its version, and which other versions are read."""

    name: str
    version: int
    where: str
    others: str

    @property
    def row(self) -> str:
        """Its row in docs/reference/versions.md."""
        return f"| {self.name} | {self.version} | {self.where} | {self.others} |"


FORMATS = (
    FileFormat("snapshot", FORMAT_VERSION, "the first bytes", "all older ones are read; newer ones are refused"),
    FileFormat("session", SESSION.version, "`schema_version` of the first line", "refused"),
    FileFormat(
        "dialogue",
        DIALOGUE.version,
        "`schema_version` of the first line",
        "refused, but for version 1, whose lines have `do` instead of `kind`",
    ),
    FileFormat(
        "journal", JOURNAL.version, "`schema_version` of each line", "refused; the pipeline rejects their lines"
    ),
    FileFormat("scenario", LANGUAGE_VERSION, "`schema_version`, 1 unless given", "refused"),
    FileFormat("pipeline tables", MANIFEST_VERSION, "`manifest_version` in manifest.json", "refused"),
    FileFormat("data directory", META_VERSION, "`version` in meta.properties, as in Kafka", "refused"),
)
