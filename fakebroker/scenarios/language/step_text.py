"""A step in one line, as transcripts show it."""

from collections.abc import Mapping

from fakebroker.scenarios.language.secrets import Hiding
from fakebroker.scenarios.language.yaml_file import Items, Node, Scalar, Table, resolved

NOT_SHOWN = ("note", "expect", "save", "steps")
MAX_CHARS = 200
_SPECIAL = frozenset(",[]{}#&*!|>'\"%@`:\n\t\\")


def text_of(word: str, value: Node, rest: Mapping[str, Node], hiding: Hiding) -> str:
    """The word with its text and the other keys, as they would stand in { }.

    Not what is expected, saved and remarked, and nothing that is secret, which `hiding` replaces.
    """
    parts = [word if isinstance(value, Items) else f"{word}: {_text(value, word != 'expect')}"]
    parts += [f"{name}: {_text(each)}" for name, each in hiding.of_step(value, rest).items() if name not in NOT_SHOWN]
    text = ", ".join(parts)
    return text if len(text) <= MAX_CHARS else text[:MAX_CHARS] + "..."


def _text(node: Node, is_bare: bool = False) -> str:
    if isinstance(node, Items):
        return f"[{', '.join(map(_text, node.items))}]"
    if isinstance(node, Table):
        return f"{{{', '.join(f'{name}: {_text(each)}' for name, each in node.entries.items())}}}"
    assert isinstance(node, Scalar)
    if not isinstance(node.value, str):
        return node.text or "null"
    is_plain = node.value.isprintable() if is_bare else not _needs_quotes(node.value)
    return node.value if is_plain else '"' + _escaped(node.value) + '"'


def _needs_quotes(text: str) -> bool:
    try:
        means_itself = resolved(text) == text and text == text.strip()
    except ValueError:
        means_itself = False
    return not means_itself or not _SPECIAL.isdisjoint(text) or not text.isprintable() or text[0] in "-?"


def _escaped(text: str) -> str:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return "".join(char if char.isprintable() else f"\\u{ord(char) & 0xFFFF:04x}" for char in quoted)
