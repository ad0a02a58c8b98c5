"""The options of a login module in `sasl.jaas.config`, as Kafka reads them."""

import re

# A name begins where no other character of one is before it, and nothing is tried twice: a client may set a text of
# a megabyte, which is read at each login.
_OPTION = re.compile(
    r"""(?<![^\s="])(?P<name>[^\s="]++)\s*+=\s*+(?:"(?P<quoted>(?:[^"\\]|\\.)*+)"|(?P<plain>[^\s;"]++))"""
)


def jaas_options(config: str) -> dict[str, str]:
    """The options by name: `username="alice" password="secret"`."""
    found = {}
    for option in _OPTION.finditer(config):
        quoted = option["quoted"]
        found[option["name"]] = option["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    return found
