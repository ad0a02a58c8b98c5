"""The sentences of the rules in the package are those of the pages, and lead from an error to what says why."""

from fakebroker.protocol.wire.registry import APIS
from fakebroker.testing.explanations.rule_texts import CHAPTERS, MAX_RULES, rule_text, rules_of_error
from tools.rule_texts_file import PATH, plain, rule_texts_file
from tools.rules_pages import chapters


def test_the_file_is_up_to_date() -> None:
    """It is what `make docs` would write now."""
    assert PATH.read_text() == rule_texts_file(), "run `make docs`"


def test_prose_is_made_plain() -> None:
    """Links become their texts, lines become sentences; paragraphs and points stay apart."""
    prose = "A [link](x.md#y) that\nis broken.\n\nAnother:\n\n- one\n  point\n- two"

    assert plain(prose) == "A link that is broken.\nAnother:\n- one point\n- two"


def test_a_rule_says_something() -> None:
    """By its id; one that does not exist says nothing."""
    assert rule_text("JG-1").startswith("An empty group id is INVALID_GROUP_ID (24)")
    assert rule_text("no rule") == ""


def test_every_api_has_chapters_that_exist() -> None:
    """An API that is added gets its line in the table, and a chapter that is renamed is missed."""
    prefixes = {chapter.prefix for chapter in chapters()}

    assert sorted({api.name for api in APIS.values()} - CHAPTERS.keys()) == []
    assert {prefix for each in CHAPTERS.values() for prefix in each} - prefixes == set()


def test_an_error_leads_to_rules_of_its_api() -> None:
    """Those of the API's own chapters, first the chapter that is called after it."""
    rules = rules_of_error("JoinGroup", "MEMBER_ID_REQUIRED")

    assert "JG-16" in [rule.id for rule in rules]
    assert all("MEMBER_ID_REQUIRED" in rule.text for rule in rules)


def test_an_error_that_any_api_may_have() -> None:
    """An API whose own rules do not name it: rules that are true of all."""
    rules = rules_of_error("Metadata", "UNSUPPORTED_VERSION")

    assert rules
    assert {rule.id.partition("-")[0] for rule in rules} <= {"AV", "AD", "GEN", "CLU"}


def test_there_are_never_too_many() -> None:
    """An error that half of a chapter names leads to the first rules only; one that nothing names to none."""
    assert max(len(rules_of_error(api, "INVALID_REQUEST")) for api in CHAPTERS) <= MAX_RULES
    assert rules_of_error("JoinGroup", "NO_SUCH_ERROR") == []
