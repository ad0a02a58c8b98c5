"""Decisions: who may do what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.broker.core.security.acls import (
    CLUSTER_NAME,
    Acl,
    Acls,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from fakebroker.broker.core.security.authorizer import OPERATIONS, Authorizer, Client, authorizer_of
from fakebroker.broker.settings import Settings
from fakebroker.protocol.pace import AT_ONCE, finished
from tests.broker.core.security.test_acls import ENTRIES, plainly
from tests.support.work_counter import calls_of

LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER
ALLOW, DENY = Permission.ALLOW, Permission.DENY
ALICE = Client("User:alice", "10.0.0.1")
O = Operation  # noqa: E741  # as short as the tables need it


def acl(
    operation: Operation, name: str = "t", pattern_type: PatternType = LITERAL, permission: Permission = ALLOW,
    principal: str = "User:alice", host: str = "*", resource_type: ResourceType = TOPIC,
) -> Acl:  # fmt: skip
    return Acl(ResourcePattern(resource_type, name, pattern_type), principal, host, operation, permission)


def authorizer(*entries: Acl, allows_without_acl: bool = False) -> Authorizer:
    acls = Acls()
    for each in entries:
        acls.add(each)
    return Authorizer(acls, ["User:root"], allows_without_acl)


def may(judge: Authorizer, operation: Operation, name: str = "t", client: Client = ALICE) -> bool:
    return judge.decide(client, operation, TOPIC, name).is_allowed


@pytest.mark.rules("AU-2", "AU-8")
def test_who_is_meant() -> None:
    """A super user, the principal itself or everybody, from that address or from anywhere."""
    judge = authorizer(acl(O.READ), acl(O.WRITE, host="10.0.0.1"), acl(O.ALTER, principal="User:*"))
    elsewhere, bob = Client("User:alice", "10.0.0.2"), Client("User:bob", "10.0.0.1")

    assert may(judge, O.DELETE, client=Client("User:root", "::1"))
    assert [may(judge, O.READ, client=who) for who in (ALICE, elsewhere, bob)] == [True, True, False]
    assert [may(judge, O.WRITE, client=who) for who in (ALICE, elsewhere, bob)] == [True, False, False]
    assert [may(judge, O.ALTER, client=who) for who in (ALICE, elsewhere, bob)] == [True, True, True]


@pytest.mark.rules("AU-2")
def test_a_super_user_has_the_blanks_that_java_leaves() -> None:
    """Around a name in the setting Java's blanks do not count; others of Unicode are part of it."""
    settings = Settings({"super.users": "User:root; \x01User:admin\u00a0 ;\u2003"})

    assert authorizer_of(settings).super_users == {"User:root", "User:admin\u00a0", "\u2003"}


@pytest.mark.rules("AU-2", "AU-7")
@pytest.mark.parametrize(("name", "pattern_type"), [("t", LITERAL), ("t", PREFIXED), ("*", LITERAL), ("", PREFIXED)])
def test_a_denial_wins(name: str, pattern_type: PatternType) -> None:
    """However wide its pattern is, and however exact the one that allows."""
    entries = [acl(O.READ), acl(O.READ, name, pattern_type, DENY)]
    for order in (entries, entries[::-1]):
        decision = authorizer(*order).decide(ALICE, O.READ, TOPIC, "t")
        assert (decision.is_allowed, decision.acl) == (False, entries[1])


@pytest.mark.rules("AU-5")
@pytest.mark.parametrize(
    ("given_", "allowed"),
    [
        (O.READ, [O.READ, O.DESCRIBE]),
        (O.WRITE, [O.WRITE, O.DESCRIBE]),
        (O.DELETE, [O.DELETE, O.DESCRIBE]),
        (O.ALTER, [O.ALTER, O.DESCRIBE]),
        (O.CREATE, [O.CREATE]),
        (O.ALTER_CONFIGS, [O.DESCRIBE_CONFIGS, O.ALTER_CONFIGS]),
        (O.DESCRIBE_CONFIGS, [O.DESCRIBE_CONFIGS]),
        (O.ALL, list(OPERATIONS[TOPIC])),
    ],
)
def test_what_an_operation_implies(given_: Operation, allowed: list[Operation]) -> None:
    """What is allowed beside the operation itself; what is denied is just that, or everything."""
    judge = authorizer(acl(given_))
    assert sorted(each for each in OPERATIONS[TOPIC] if may(judge, each)) == sorted(allowed)
    denied = authorizer(acl(O.ALL, principal="User:*"), acl(given_, permission=DENY))
    lost = [each for each in OPERATIONS[TOPIC] if not may(denied, each)]
    assert sorted(lost) == sorted(OPERATIONS[TOPIC] if given_ is O.ALL else [given_])


@pytest.mark.rules("AU-3")
def test_a_resource_without_entries() -> None:
    """Closed to all, or open to all if that was configured; an entry for anybody closes it."""
    others = acl(O.WRITE, "other", principal="User:bob")
    closed, opened = authorizer(others), authorizer(others, allows_without_acl=True)
    assert [may(judge, O.READ, "t") for judge in (closed, opened)] == [False, True]
    assert [may(judge, O.READ, "other") for judge in (closed, opened)] == [False, False]
    assert opened.decide(ALICE, O.READ, TOPIC, "t").reason.endswith("allow.everyone.if.no.acl.found is true")


@given(st.lists(ENTRIES, max_size=10), st.sampled_from(["a", "abc", "*", "x"]), st.booleans())
@pytest.mark.rules("AU-2", "AU-3")
def test_decisions_follow_the_rule(entries: list[Acl], name: str, is_open: bool) -> None:
    """For random entries it is what the sentence says: any denial, else any permission, else the default."""
    judge = authorizer(*entries, allows_without_acl=is_open)
    matching = [each for each in entries if each.pattern.resource_type is TOPIC and each.pattern.matches(name)]
    about = [
        each.permission
        for each in matching
        if each.principal in ("User:alice", "User:*")
        and each.host in ("10.0.0.1", "*")
        and each.operation in (O.READ, O.ALL)
    ]
    wanted = is_open if not matching else DENY not in about and ALLOW in about
    assert may(judge, O.READ, name) is wanted


@given(st.lists(ENTRIES, max_size=10, unique=True), st.sampled_from(["a", "abc", "*", "x"]))
@pytest.mark.rules("AU-2")
def test_what_decides_is_the_first_that_does(entries: list[Acl], name: str) -> None:
    """Own name, prefixes from the shortest, the wildcard, each in the order in which they were added."""
    whom = [(principal, host) for principal in ("User:alice", "User:*") for host in ("10.0.0.1", "*")]
    about = [each for each in plainly(entries, name, whom) if each.operation in (O.READ, O.ALL)]
    by_permission = [each for permission in (DENY, ALLOW) for each in about if each.permission is permission]
    assert authorizer(*entries).decide(ALICE, O.READ, TOPIC, name).acl == next(iter(by_permission), None)


def may_somewhere(judge: Authorizer, client: Client = ALICE) -> bool:
    return finished(judge.is_allowed_somewhere(client, O.WRITE, TOPIC, AT_ONCE))


@pytest.mark.rules("AU-6")
@pytest.mark.parametrize(
    ("entries", "is_allowed"),
    [
        ([], False),
        ([acl(O.WRITE, "any")], True),
        ([acl(O.ALL, "any", PREFIXED)], True),
        ([acl(O.READ, "any")], False),
        ([acl(O.WRITE, "any", principal="User:bob")], False),
        ([acl(O.WRITE, "any", host="10.0.0.2")], False),
        ([acl(O.WRITE, "*"), acl(O.WRITE, "any", permission=DENY)], True),
        ([acl(O.WRITE, "any"), acl(O.WRITE, "any", permission=DENY)], False),
        ([acl(O.WRITE, "any"), acl(O.WRITE, "an", PREFIXED, DENY)], False),
        ([acl(O.WRITE, "an", PREFIXED), acl(O.WRITE, "any", PREFIXED, DENY)], True),
        ([acl(O.WRITE, "any"), acl(O.WRITE, "*", permission=DENY)], False),
    ],
)
def test_whether_there_is_anything_to_write_to(entries: list[Acl], is_allowed: bool) -> None:
    """Some name that a permission covers and no denial: that is enough for an idempotent producer."""
    assert may_somewhere(authorizer(*entries)) is is_allowed


@given(st.lists(ENTRIES, max_size=10))
@pytest.mark.rules("AU-6")
def test_anything_to_write_to_is_a_pattern_that_no_denial_covers(entries: list[Acl]) -> None:
    """By a look at each permission with each denial: the wildcard covers all, and only it covers the wildcard."""
    judge = authorizer(*entries)
    mine = [
        each
        for each in entries
        if each.pattern.resource_type is TOPIC
        and each.principal in ("User:alice", "User:*")
        and each.operation in (O.WRITE, O.ALL)
    ]
    denied = [each.pattern for each in mine if each.permission is DENY]

    def is_open(pattern: ResourcePattern) -> bool:
        for each in denied:
            if each.name == "*" and each.pattern_type is LITERAL:
                return False
            if (pattern.name, pattern.pattern_type) == ("*", LITERAL):
                continue
            if each == pattern or (each.pattern_type is PREFIXED and pattern.name.startswith(each.name)):
                return False
        return True

    wanted = any(is_open(each.pattern) for each in mine if each.permission is ALLOW)
    assert may_somewhere(judge) is (wanted or may(judge, O.WRITE, "hardcode"))


@pytest.mark.rules("AU-6")
def test_many_denials_cost_a_permission_little() -> None:
    """Prefixes are looked up by their lengths, of which there are few: not each denial is compared with each name."""
    calls = list[int]()
    for count in (100, 1_000):
        allowed = [acl(O.WRITE, f"z{number}") for number in range(count)]
        denied = [acl(O.WRITE, f"y{number}", PREFIXED, DENY) for number in range(count)]
        judge = authorizer(*allowed, *denied, acl(O.WRITE, "z", PREFIXED, DENY))
        calls.append(calls_of(lambda: may_somewhere(judge)))  # noqa: B023  # called at once
    assert calls[1] < 12 * calls[0]


@pytest.mark.rules("AU-6")
def test_super_users_may_write_somewhere() -> None:
    """Also without any entry; and everybody where resources without entries are open."""
    assert may_somewhere(authorizer(), Client("User:root", "h"))
    assert may_somewhere(authorizer(allows_without_acl=True))


@pytest.mark.rules("AU-14")
def test_operations_as_bits() -> None:
    """Bit n is operation n; a super user has all that the type of resource knows."""
    judge = authorizer(acl(O.READ), acl(O.ALTER_CONFIGS))
    assert judge.operations(ALICE, OPERATIONS[TOPIC], TOPIC, "t") == 1 << 3 | 1 << 8 | 1 << 10 | 1 << 11 == 3336
    root = Client("User:root", "h")
    assert judge.operations(root, OPERATIONS[TOPIC], TOPIC, "t") == 3576
    assert judge.operations(root, OPERATIONS[CLUSTER], CLUSTER, CLUSTER_NAME) == 8096
    assert judge.operations(ALICE, OPERATIONS[TOPIC], TOPIC, "other") == 0


def test_settings_make_the_authorizer() -> None:
    """Super users are separated by semicolons; blanks around them do not count."""
    names = {"super.users": "User:admin; User:CN=kafka,O=x ;", "allow.everyone.if.no.acl.found": "true"}
    judge = authorizer_of(Settings(names))
    assert judge.super_users == {"User:admin", "User:CN=kafka,O=x"}
    assert may(judge, O.READ)


def test_reasons() -> None:
    """Why something was decided: the entry in words, or that there is none."""
    judge = authorizer(acl(O.READ), acl(O.WRITE, permission=DENY))
    assert str(judge.decide(ALICE, O.READ, TOPIC, "t")) == "allowed: ALLOW User:alice READ on TOPIC 't'"
    assert str(judge.decide(ALICE, O.WRITE, TOPIC, "t")) == "denied: DENY User:alice WRITE on TOPIC 't'"
    assert str(judge.decide(ALICE, O.ALTER, TOPIC, "t")) == "denied: no ACL that matches the resource allows it"
    assert str(judge.decide(ALICE, O.READ, TOPIC, "x")) == "denied: no ACL matches the resource"
    root = Client("User:root", "h")
    assert str(judge.decide(root, O.READ, TOPIC, "x")) == "allowed: User:root is a super user"


@given(st.lists(ENTRIES, max_size=10), st.sampled_from(["a", "abc", "*"]), st.booleans())
@pytest.mark.rules("AU-14")
def test_operations_are_those_that_would_be_allowed(entries: list[Acl], name: str, is_open: bool) -> None:
    """Each bit is the decision about that operation, for a user and for a super user."""
    judge = authorizer(*entries, allows_without_acl=is_open)
    for client in (ALICE, Client("User:root", "h")):
        wanted = sum(1 << each for each in OPERATIONS[TOPIC] if may(judge, each, name, client))
        assert judge.operations(client, OPERATIONS[TOPIC], TOPIC, name) == wanted
