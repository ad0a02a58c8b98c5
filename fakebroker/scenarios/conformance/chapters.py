"""The chapters of the score, and which recordings are in which."""

from typing import NamedTuple


class Chapter(NamedTuple):
    """A row of the score: its name on the command line, its title, and the folders of its recordings."""

    name: str
    title: str
    folders: tuple[str, ...] = ()


SECURITY = Chapter("security", "Security")
OTHER = Chapter("other", "Other")
CHAPTERS = (
    Chapter("groups", "Groups", ("groups", "groups-more", "groups-3.9")),
    Chapter("offsets", "Offsets", ("offsets", "offsets-more")),
    Chapter("expiry", "Expiry of offsets", ("expiry", "expiry_slow", "expiry-2.0.1", "expiry-2.1.1")),
    Chapter("list-offsets", "List offsets", ("listoffsets",)),
    Chapter("log", "Log", ("log", "formats-2.1.1")),
    Chapter("transactions", "Transactions", ("transactions", "transactions-more", "transactions-3.9")),
    Chapter("consumer-groups", "Consumer groups", ("consumer-groups",)),
    Chapter("share-groups", "Share groups", ("share-groups",)),
    Chapter("streams-groups", "Streams groups", ("streams-groups", "streams-groups-more")),
    Chapter("admin", "Admin", ("admin",)),
    SECURITY,
    Chapter("cluster", "Cluster", ("cluster",)),
    OTHER,
)
_OF_SECURITY = ("acl_", "sasl_", "scram_", "tokens_")  # begin the names of recordings in the folder admin
_BY_FOLDER = {folder: chapter for chapter in CHAPTERS for folder in chapter.folders}


def chapter_of(folder: str, name: str) -> Chapter:
    """The chapter of a recording by the name of its folder and its own; OTHER for folders of your own."""
    chapter = _BY_FOLDER.get(folder, OTHER)
    return SECURITY if chapter.name == "admin" and name.startswith(_OF_SECURITY) else chapter
