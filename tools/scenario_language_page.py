"""docs/reference/scenario-language.md: every key, verb and word of scenario files, from their declaration."""

from collections.abc import Iterable, Mapping, Sequence

from fakebroker.client.steps import ClientSteps
from fakebroker.protocol.arguments.kinds import Kind
from fakebroker.scenarios.language.answer_fields import ANSWERED_BY, answer_form
from fakebroker.scenarios.language.declaration import (
    ACTOR_KEYS,
    FILE_KEYS,
    NOT_IN_SCENARIOS,
    OTHER_WORDS,
    STEP_KEYS,
    WORDS,
    Key,
    Verb,
    Word,
    actor_verbs,
    fault_fields,
    topic_arguments,
)
from fakebroker.scenarios.language.read_expectations import MATCHERS, PATTERN_FIELDS, SUBJECTS, properties_of
from fakebroker.scenarios.language.signatures import Argument

_NO_KIND = {
    "parameters": "a mapping",
    "topics": "a list or mapping",
    "actors": "a list or mapping",
    "timeline": "a list of steps",
    "expect": "a mapping",
    "with": "a mapping",
    "steps": "a list of steps",
}


def scenario_language_page(note: str) -> str:
    """The whole page."""
    lines = [
        "# The words of scenarios",
        note,
        "",
        "[scenarios.md](scenarios.md) tells how scenarios are written; this page lists all that there is. Keys in bold",
        "must be there. Of arguments in milliseconds or seconds the key without the unit is listed, for a duration",
        "(`session_timeout: 10s`); with the unit it takes a number (`session_timeout_ms: 10000`).",
        "",
        "## The keys of a file",
        "",
        *_keys(FILE_KEYS),
        "",
        "Under `topics` each has: " + _arguments(topic_arguments()) + ".",
        "",
        "Under `actors` each has:",
        "",
        *_keys(ACTOR_KEYS),
        "",
        "## The keys beside a word",
        "",
        *_keys(STEP_KEYS),
        "",
        "## What an actor does",
        "",
        "The steps of [ClientSteps](python-api.md#clientsteps), which says what they do. The fields of `request` are",
        "those of the API's message, in snake_case.",
        "",
        *_verbs(verb for verb in actor_verbs().values() if hasattr(ClientSteps, verb.name)),
        "",
        "Beside them:",
        "",
        "| what is done | other keys | what it means |",
        "|---|---|---|",
        *(
            f"| `{verb.name}{_subject(verb)}` | {_others(verb)} | {_cell(verb.about)} |"
            for verb in actor_verbs().values()
            if not hasattr(ClientSteps, verb.name)
        ),
        "",
        "### What an answer has",
        "",
        "For `expect` and `save`: the fields of the API's answer in any of its versions. At the top `error` is the",
        "name of the first error in it, inside it stands beside each `error_code`. `closed` says whether the",
        "connection was lost, then there is `why`. `fetch` has its records as `records`, each",
        "`{offset, timestamp_ms, key, value, headers}`.",
        "",
        *_answers(),
        "",
        "## What is done to the broker",
        "",
        "These are the methods and properties of [the Python API](python-api.md), which says what they do.",
        *(line for word in WORDS.values() for line in _word(word)),
        "",
        "## Time, order, and what must be",
        "",
        "| word | what it is |",
        "|---|---|",
        *(f"| `{name}` | {about} |" for name, about in OTHER_WORDS.items()),
        "",
        "## What can be expected",
        "",
        "| key | of what | properties |",
        "|---|---|---|",
        *(f"| `{name}` | {about} | {_properties(name)} |" for name, about in SUBJECTS.items()),
        "",
        "## Matchers",
        "",
        "| matcher | what it takes |",
        "|---|---|",
        *(f"| `{name}` | {matcher.about} |" for name, matcher in MATCHERS.items()),
        "",
        "## What is left out",
        "",
        "Of the object model, these have no word:",
        "",
        *(f"- `{name}`: {why}" for name, why in NOT_IN_SCENARIOS.items() if not why.startswith("the word")),
    ]
    return "\n".join(lines) + "\n"


def _keys(keys: Mapping[str, Key]) -> list[str]:
    rows = ["| key | what it takes | what it is |", "|---|---|---|"]
    return rows + [
        f"| {_name(name, key.is_required)} | {_kind(name, key.kind)} | {_cell(key.about)} |"
        for name, key in keys.items()
    ]


def _kind(name: str, kind: Kind | None) -> str:
    return _cell(_NO_KIND[name] if kind is None else kind.about)


def _name(name: str, is_required: bool) -> str:
    return f"**`{name}`**" if is_required else f"`{name}`"


def _word(word: Word) -> list[str]:
    which = {"": "", "name": " TOPIC", "group_id": " GROUP", "transactional_id": " ID", "node_id": " NODE"}[
        word.identity[0][0] if word.identity else ""
    ]
    which = {"partition": " TOPIC-NUMBER", "fault": " NAME", "hold": " NAME"}.get(word.name, which)
    lines = ["", f"### {word.name}: {word.about}", ""]
    if word.name == "fault":
        lines += [
            f"`fault: {{...}}` sets one ([faults.md](../how-to/faults.md)): {_arguments(fault_fields().arguments)}.",
            "",
        ]
    return lines + _verbs(word.verbs.values(), which)


def _answers() -> list[str]:
    verbs: dict[str, list[str]] = {}
    for verb, api_name in ANSWERED_BY.items():
        verbs.setdefault(api_name, []).append(f"`{verb}`")
    rows = [f"| {', '.join(names)} | {api_name} | `{answer_form(api_name)}` |" for api_name, names in verbs.items()]
    return ["| what is done | API | fields of its answer |", "|---|---|---|", *rows]


def _verbs(verbs: Iterable[Verb], which: str = "") -> list[str]:
    rows = ["| what is done | other keys |", "|---|---|"]
    return rows + [f"| `{verb.name}{which}{_subject(verb)}` | {_others(verb)} |" for verb in verbs]


def _subject(verb: Verb) -> str:
    if verb.takes_partition:
        return " TOPIC-NUMBER"
    if verb.subject is None or not _can_be_text(verb):
        return ""
    name = verb.subject.parameter.upper()
    name = "DURATION" if name in ("MS", "FOR_S") else name
    return f" {name}" if verb.subject.parameter in verb.required or verb.subject.parameter == "ms" else f" [{name}]"


def _can_be_text(verb: Verb) -> bool:
    from fakebroker.scenarios.language.kinds import takes_text

    return verb.subject is not None and takes_text(verb.subject.kind)


def _others(verb: Verb) -> str:
    taken = ("topic", "partition") if verb.takes_partition else ()
    if verb.subject is not None and _can_be_text(verb):
        taken = (*taken, verb.subject.parameter)
    return _arguments([each for each in verb.arguments if each.parameter not in taken])


def _arguments(arguments: Sequence[Argument]) -> str:
    """The keys; of a parameter with two keys the one for a duration."""
    durations = {each.parameter for each in arguments if each.key != each.parameter}
    shown = [each for each in arguments if each.key != each.parameter or each.parameter not in durations]
    return ", ".join(_name(each.key, each.is_required) for each in shown)


def _properties(subject: str) -> str:
    if subject == "journal":
        return "a list of requests with " + ", ".join(f"`{name}`" for name in PATTERN_FIELDS)
    return ", ".join(f"`{name}`" for name in properties_of(subject)) or "partitions (`orders-0`) with their offsets"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
