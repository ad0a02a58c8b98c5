"""When committed offsets expire (KIP-211): one table of cases, which the audit, the what-if and the compiler read.

Written from the proposal, docs/rules (EX, CGO-10) and docs/explanation/expiry.md, not from the broker's code, which is
audited by it; `tests/analysis/pipeline/test_expiry_cases.py` compares the two. Of the cases for a policy the first
whose facts hold decides.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from fakebroker.analysis.pipeline.group_transitions import is_newer

COMMIT: Final = "commit"
EMPTY: Final = "empty"
NEVER: Final = "never"
NEWER_RULE: Final = "CGO-10"
PLAIN_RULE, OWN_RULE, LATE_RULE = "EX-3", "EX-2", "EX-5"

POLICIES: Final = ("2.0", "2.1", "3.9", "4.3", "kip-211")
"""Those of docs/explanation/expiry.md."""


class GroupFacts(NamedTuple):
    """What a case may ask of a group. `is_simple`: without a protocol type, or Empty since an unknown time."""

    is_newer: bool = False
    is_empty: bool = True
    is_stable: bool = False
    is_simple: bool = True
    knows_topics: bool = False


class Case(NamedTuple):
    """One case: what a rule says for some policies of groups for which `facts`, fields of GroupFacts, hold.

    `counts_from` is when the retention counts from: the commit, when the group became Empty, or never. `ignores_own`
    says that an expire timestamp of the offset's own does not matter.
    """

    rule: str
    policies: tuple[str, ...]
    facts: Mapping[str, bool]
    counts_from: Literal["commit", "empty", "never"]
    ignores_own: bool = False

    @property
    def keeps_topics(self) -> bool:
        """Whether offsets of the topics that members subscribe to are kept."""
        return self.facts.get("knows_topics", False)


_RELEASED = ("2.1", "3.9", "4.3")
CASES: Final = (
    Case("CGO-10", POLICIES, {"is_newer": True, "is_empty": True}, COMMIT),
    Case("CGO-10", POLICIES, {"is_newer": True, "knows_topics": True}, COMMIT),
    Case("CGO-10", POLICIES, {"is_newer": True}, NEVER),
    Case("EX-17", ("2.0",), {}, COMMIT),
    Case("EX-3", _RELEASED, {"is_empty": True, "is_simple": True}, COMMIT),
    Case("EX-3", _RELEASED, {"is_empty": True}, EMPTY),
    Case("EX-3", ("3.9", "4.3"), {"is_stable": True, "knows_topics": True}, COMMIT),
    Case("EX-3", _RELEASED, {}, NEVER),
    Case("EX-14", ("kip-211",), {"is_empty": True, "is_simple": True}, COMMIT),
    Case("EX-14", ("kip-211",), {"is_empty": True}, EMPTY, ignores_own=True),
    Case("EX-14", ("kip-211",), {"knows_topics": True}, COMMIT),
    Case("EX-14", ("kip-211",), {}, NEVER),
)


@cache
def case_of(policy: str, facts: GroupFacts) -> Case:
    """The case of a group in a state. Raises StopIteration for a policy that there is not."""
    known = facts._asdict()
    return next(
        case
        for case in CASES
        if policy in case.policies and all(known[name] == value for name, value in case.facts.items())
    )


class Due(NamedTuple):
    """When an offset is due, and by which rule."""

    rule: str
    due_ms: int


class Aging(NamedTuple):
    """How the offsets of a group age while it stays as it is.

    `empty_ms` is when the group became Empty, where that counts; offsets of `topics`, which members read, are kept.
    """

    case: Case
    empty_ms: int = 0
    topics: frozenset[str] = frozenset()

    def due(self, topic: str, committed_ms: int, own_ms: int | None, retention_ms: int) -> Due | None:
        """When an offset is due; None: never. `own_ms` is its own expire timestamp, None if it has none."""
        rule = self.case.rule
        if self.case.counts_from == NEVER or topic in self.topics:
            return None
        if own_ms is not None and not self.case.ignores_own:
            return Due(OWN_RULE if rule == PLAIN_RULE else rule, own_ms)
        if self.case.counts_from == COMMIT:
            return Due(rule, committed_ms + retention_ms)
        is_late = rule == PLAIN_RULE and committed_ms > self.empty_ms
        return Due(LATE_RULE if is_late else rule, self.empty_ms + retention_ms)


def aging_of(
    policy: str,
    state: str,
    protocol_type: str | None,
    topics: frozenset[str] | None,
    empty_ms: int | None,
    group_type: str | None = None,
) -> Aging:
    """How the offsets of a group age by a policy, one of POLICIES.

    `protocol_type` is empty for a simple group. What is not known is None: the protocol type, the `topics` that members
    subscribe to, `empty_ms` when it became Empty. A `group_type` of None is "classic".
    """
    knows_topics = topics is not None and (is_newer(group_type) or protocol_type in ("consumer", None))
    facts = GroupFacts(
        is_newer(group_type), state == "Empty", state == "Stable", protocol_type == "" or empty_ms is None, knows_topics
    )
    case = case_of(policy, facts)
    return Aging(case, empty_ms or 0, topics if topics is not None and case.keeps_topics else frozenset())


def simple_aging(policy: str) -> Aging:
    """How offsets of a group age that never had members."""
    return Aging(case_of(policy, GroupFacts()))
