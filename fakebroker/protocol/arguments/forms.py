"""How a way in writes values: Python's objects, or the data of JSON. Scenarios have a form of their own."""

import json
from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]
MAX_SHOWN = 60  # characters of a value in a sentence


class Form:
    """The form of values that are data: texts, numbers, true and false, null, lists and mappings."""

    is_python = False
    nests_tables = False  # a table by topic and partition is a mapping of mappings
    partition_example = '("orders", 0)'
    partition_schema: Schema = {}
    bytes_key = ""  # of a mapping that stands for bytes: {"base64": "..."}
    bytes_schema: Schema = {}
    bytes_hint = ""  # the ending of a sentence about a value that should be bytes

    def leaves(self, value: object) -> bool:  # noqa: ARG002 - scenarios need it
        """Whether a value stands for another one and is left as it is."""
        return False

    def shown(self, value: object) -> str:
        """A value in a sentence; the beginning of a long one."""
        text = self._text(value)
        return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."

    def _text(self, value: object) -> str:
        """As Python writes it, but for what has another word in data."""
        if value is None or isinstance(value, bool):
            return json.dumps(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self._text, value))}]"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{name!r}: {self._text(each)}' for name, each in value.items())}}}"
        return repr(value)

    def bytes_of(self, text: str) -> bytes:
        """The bytes that the text under `bytes_key` stands for. Raises ValueError."""
        raise NotImplementedError

    def partition(self, value: Any) -> tuple[str, int]:
        """A topic and a partition. Raises ValueError."""
        match value:
            case (str(topic), int(number)) if not isinstance(number, bool) and number >= 0:
                return topic, number
        raise ValueError

    def encoded(self, text: str) -> str | bytes:
        """A text that is given where bytes are wanted."""
        return text

    def inner(self, schema: Schema) -> Schema:
        """The schema of a value in a list or a mapping."""
        return schema

    def component(
        self,
        name: str,  # noqa: ARG002 - documents have components
        about: str,  # noqa: ARG002
        schema: Schema,
        defaults: Mapping[str, Any],  # noqa: ARG002
    ) -> Schema:
        """The schema of a mapping with named fields, or a reference to it. `defaults` are those of its fields."""
        return schema


class PythonForm(Form):
    """Python's objects."""

    is_python = True

    def _text(self, value: object) -> str:
        return repr(value)


class JsonForm(Form):
    """The data of a JSON body, and of texts in a query or a shell once they are parsed."""

    nests_tables = True
    partition_example = '["orders", 0]'
    partition_schema: Schema = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "integer"}],
        "minItems": 2,
        "maxItems": 2,
    }
    bytes_key = "base64"
    bytes_schema: Schema = {
        "type": "object",
        "properties": {"base64": {"type": "string", "format": "byte"}},
        "required": ["base64"],
        "additionalProperties": False,
    }
    bytes_hint = '; bytes that are not text are {"base64": "..."}'

    def bytes_of(self, text: str) -> bytes:
        """Raises ValueError for what is no base64."""
        from base64 import b64decode

        try:
            return b64decode(text, validate=True)
        except ValueError:
            raise ValueError("is not base64") from None


PYTHON, JSON = PythonForm(), JsonForm()
