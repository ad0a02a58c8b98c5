"""A rule of the house, read from the source: what decides who a client is goes by Java's blanks and digits."""

import re

from tests.test_house import PACKAGE

# Where logins, tokens, principals, entries and settings are read.
FOLDERS = ("broker/core/security", "broker/engine/security", "broker/engine/authorization", "broker/settings")
FILES = ("protocol/jaas.py", "broker/core/config_changes.py")
OF_UNICODE = re.compile(r"\.(?:[lr]?strip|split|splitlines|isspace|isdigit|isnumeric)\(\)")


def test_texts_that_decide_who_a_client_is_are_read_as_java_reads_them() -> None:
    """Python's methods know blanks and digits that Java does not: `protocol.java_text` has those of Java."""
    paths = [path for folder in FOLDERS for path in sorted((PACKAGE / folder).rglob("*.py"))]
    paths += [PACKAGE / name for name in FILES]
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in paths
        if path.name != "principal_mapping.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if OF_UNICODE.search(line) and "# " not in line
    ]
    assert found == []
