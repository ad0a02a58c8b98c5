"""The paths of the HTTP API as a tree of words: /groups/{group_id}/explain is `groups GROUP_ID explain`."""

from collections.abc import Mapping

from fakebroker.cli.ctl.extras import EXTRAS, Extra
from fakebroker.cli.http.operations import OPERATIONS, Operation

Row = Operation | Extra

# What a method is called on a path that is not a command by itself.
WORDS_OF_LISTS = {"GET": "list", "POST": "add", "PUT": "set", "DELETE": "clear"}
NUMBERED = frozenset({"fault_id", "hold_id", "index", "node_id", "seq"})  # placeholders that stand for a number
WORDS_OF_THINGS = {"GET": "show", "POST": "do", "PUT": "create", "DELETE": "delete"}


class Node:
    """A place in the tree: what can be done there, the words that go on, and a placeholder that goes on."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.operations: dict[str, Row] = {}  # by verb
        self.words: dict[str, Node] = {}
        self.placeholder: str | None = None
        self.beyond: Node | None = None  # after the placeholder

    def takes(self, word: str) -> bool:
        """Whether a word can stand for the placeholder."""
        return self.beyond is not None and (self.placeholder not in NUMBERED or word.isdecimal())

    @property
    def commands(self) -> Mapping[str, Row]:
        """What can be done here, by word. None if the place is itself the one thing to do."""
        words = WORDS_OF_THINGS if self.path.endswith("}") else WORDS_OF_LISTS
        return {row.word or words[verb]: row for verb, row in self.operations.items()}

    @property
    def only(self) -> Row | None:
        """The operation that the last word itself stands for: there is no other, and nothing goes on."""
        is_end = not self.words and self.beyond is None and len(self.operations) == 1
        return next(iter(self.operations.values())) if is_end and not self.path.endswith("}") else None


def word_of(part: str) -> str:
    """The word of a part of a path: in kebab-case, without the ending of a file."""
    return part.partition(".")[0].replace("_", "-")


def tree() -> Node:
    """All rows."""
    root = Node("")
    for row in (*OPERATIONS, *EXTRAS):
        node = root
        for part in row.path.strip("/").split("/"):
            node = _step(node, part)
        node.operations[row.verb] = row
    return root


def _step(node: Node, part: str) -> Node:
    path = f"{node.path}/{part}"
    if part[:1] != "{":
        return node.words.setdefault(word_of(part), Node(path))
    if node.beyond is None:
        node.placeholder, node.beyond = part[1:-1], Node(path)
    return node.beyond
