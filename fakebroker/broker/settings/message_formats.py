"""The versions that `message.format.version` can name, and the message format (magic) that each of them means.

A version is a release with the number of an internal version ("0.10.1-IV2", "2.1-IV2"), or a release alone, which
means its last one. What follows another dot is ignored ("2.1.1" is "2.1", "0.9.0.1" is "0.9.0").
Kafka: `ApiVersion` of 2.x, `MetadataVersion` of 3.x.
"""

from functools import cache

from fakebroker.broker.settings.declare import Form

# Releases and how many internal versions each has; those before 0.10.0 have none. As running 2.1.1 and 3.9.1 know them.
_VERSIONS: tuple[tuple[str, int], ...] = (
    ("0.8.0", 0),
    ("0.8.1", 0),
    ("0.8.2", 0),
    ("0.9.0", 0),
    ("0.10.0", 2),
    ("0.10.1", 3),
    ("0.10.2", 1),
    ("0.11.0", 3),
    ("1.0", 1),
    ("1.1", 1),
    ("2.0", 2),
    ("2.1", 3),
    ("2.2", 2),
    ("2.3", 2),
    ("2.4", 2),
    ("2.5", 1),
    ("2.6", 1),
    ("2.7", 3),
    ("2.8", 2),
    ("3.0", 2),
    ("3.1", 1),
    ("3.2", 1),
    ("3.3", 4),
    ("3.4", 1),
    ("3.5", 3),
    ("3.6", 3),
    ("3.7", 5),
    ("3.8", 1),
    ("3.9", 1),
)
_FIRST_OF_FORMAT_1, _FIRST_OF_FORMAT_2 = (0, 10, 0), (0, 11, 0)
NEWEST_MAGIC = 2


@cache
def format_versions(line: tuple[int, int]) -> Form:
    """The values that a release of that line allows: those of itself and of the releases before it."""
    alternatives = [
        _pattern(release, count) for release, count in _VERSIONS if tuple(map(int, release.split(".")))[:2] <= line
    ]
    return Form(rf"({'|'.join(alternatives)})(\..*)?", "a version such as 2.1-IV2, 2.1 or 0.9.0")


def magic_of(version: str) -> int:
    """The message format that a version means: 0 before 0.10.0, 1 before 0.11.0, else 2."""
    release = tuple(int(part) for part in version.partition("-")[0].split(".")[:3] if part.isdecimal())
    if release < _FIRST_OF_FORMAT_1:
        return 0
    return 1 if release < _FIRST_OF_FORMAT_2 else NEWEST_MAGIC


def _pattern(release: str, count: int) -> str:
    escaped = release.replace(".", r"\.")
    return f"{escaped}(-IV[0-{count - 1}])?" if count else escaped
