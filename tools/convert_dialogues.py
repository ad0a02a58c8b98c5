"""Write dialogues of the format before in that of today, in place: `python -m tools.convert_dialogues PATH...`."""

import sys
from pathlib import Path

from fakebroker.scenarios.dialogue.old_dialogue import is_old, lines_of_old
from fakebroker.scenarios.dialogue.script import find_dialogues, read_dialogue
from fakebroker.testing.exchanges.reading import read_lines
from fakebroker.testing.exchanges.writing import line_of


def convert(path: Path) -> bool:
    """Whether the file was one of the old format, and is one of today now.

    Raises UnreadableFile for a file that is no dialogue.
    """
    dialogue = read_dialogue(path)
    lines = list(read_lines(path))
    if not is_old(lines[0][1]):
        return False
    text = b"".join(line_of(row) for _, row in lines_of_old(path, lines))
    path.write_bytes(text)
    assert read_dialogue(path) == dialogue
    return True


def main() -> None:
    """Convert all, and count them."""
    found = find_dialogues([Path(each) for each in sys.argv[1:]])
    print(f"{sum(map(convert, found))} of {len(found)} dialogues converted")


if __name__ == "__main__":
    main()
