"""Windows of random histories as scenarios: they pass, and they say what happened."""

import re
from collections.abc import Callable, Iterable
from random import Random

import pytest

from fakebroker.analysis.history.compile.anonymise import HashedNames, PlainNames
from fakebroker.analysis.history.compile.scenario import Options, compiled
from fakebroker.analysis.history.compile.window import UnplayableGroup, window_of
from tests.analysis.history.compile.tables_of import Rows, from_journal, from_log, of_group
from tests.support.histories import History, make_history

SECRET = b"a secret of the tests"


def _times(rows: dict[str, Rows]) -> list[int]:
    return sorted({row["at"] for row in rows["commits"]} | {row["began_at"] for row in rows["group_states"]})


def _groups(tables: dict[str, Rows]) -> list[str]:
    return sorted({row["group_id"] for row in tables["commits"]})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tables_of", [from_journal, from_log])
def test_every_group_and_window_passes(seed: int, tables_of: object) -> None:
    """Whatever group and window of a random history: the scenario passes, anonymised or not, with the same steps."""
    tables = tables_of(make_history(seed, steps=60))  # type: ignore[operator]
    chance = Random(seed)
    for group_id in _groups(tables):
        rows = of_group(tables, group_id)
        start_ms, end_ms = sorted(chance.choices(_times(rows), k=2))
        window = window_of(rows, group_id, start_ms - chance.randint(0, 5000), end_ms + chance.randint(0, 5000))
        plain, hidden = compiled(window, PlainNames()), compiled(window, HashedNames(SECRET))
        assert plain.problems == [], plain.text
        assert hidden.problems == [], hidden.text
        assert plain.steps == hidden.steps


def names_in(text: str, names: Iterable[str | None]) -> list[str]:
    """The names that are whole words of a text: `topic-0` is none of `topic-0a1b2c`."""
    text = re.sub(
        "^#.*$|protocol_type: connect|reason: [^}]*|note: '[^']*'|note: [^,]*[,}]", "", text, flags=re.MULTILINE
    )
    return [name for name in names if name and re.search(rf"(?<![\w-]){re.escape(name)}(?!\w)", text)]


@pytest.mark.parametrize("seed", range(3))
def test_anonymised_text_has_none_of_the_names(seed: int) -> None:
    """No name of a group, topic, member, client or instance, and no metadata, is left anywhere in the text."""
    tables = from_journal(make_history(seed, steps=60))
    for group_id in _groups(tables):
        rows = of_group(tables, group_id)
        times = _times(rows)
        text = compiled(window_of(rows, group_id, times[0], times[-1]), HashedNames(SECRET)).text
        names = {row[name] for row in rows["members"] for name in ("member_id", "client_id", "group_instance_id")}
        names |= {row["topic"] for row in rows["commits"]} | {row["metadata"] for row in rows["commits"]}
        assert names_in(text, {group_id, *names}) == []


def test_two_windows_share_names() -> None:
    """What is hashed in two files of one secret has the same name in both; another secret gives others."""
    tables = from_log(make_history(1, steps=60))
    rows = of_group(tables, "group-0")
    times = _times(rows)
    middle = times[len(times) // 2]
    windows = [window_of(rows, "group-0", times[0], middle), window_of(rows, "group-0", middle, times[-1])]
    texts = [compiled(window, HashedNames(SECRET)).text for window in windows]
    other = compiled(windows[0], HashedNames(b"another secret")).text
    for kind, name in (("group", "group-0"), ("topic", "topic-0")):
        hashed = HashedNames(SECRET).name(kind, name)
        assert all(hashed in text for text in texts)
        assert hashed not in other


def test_all_commits_are_kept_when_wanted() -> None:
    """With every commit the scenario has as many as the history; without, no more, and it still passes."""
    tables = from_log(make_history(2, steps=200, deletes=False))
    rows = of_group(tables, "simple-1")
    times = _times(rows)
    window = window_of(rows, "simple-1", times[0], times[-1])
    every = compiled(window, PlainNames(), Options(keeps_commits=True))
    few = compiled(window, PlainNames())
    assert every.problems == few.problems == []
    assert few.steps < every.steps
    assert "earlier commits are left out" in few.text


@pytest.mark.parametrize("group_type", ["share", "streams"])
def test_groups_that_cannot_be_played(group_type: str) -> None:
    """A share or streams group is refused with its kind and place."""
    rows = of_group(from_log(make_history(1, steps=60)), "group-0")
    rows["group_states"][-1] = {**rows["group_states"][-1], "group_type": group_type}
    with pytest.raises(
        UnplayableGroup,
        match=f"group-0 is a {group_type} group at position .* support classic and consumer groups only",
    ):
        window_of(rows, "group-0", 0, 1 << 42)


def test_a_window_before_the_upgrade_of_a_group_can_be_played() -> None:
    """What a group became after the window does not matter, nor what it was before it became a classic one."""
    rows = of_group(from_log(make_history(1, steps=60)), "group-0")
    times = sorted(row["began_at"] for row in rows["group_states"])
    rows["group_states"][-1] = {**rows["group_states"][-1], "group_type": "consumer"}
    rows["group_states"][0] = {**rows["group_states"][0], "group_type": "consumer"}
    found = compiled(window_of(rows, "group-0", times[3], times[-1] - 1), PlainNames())
    assert found.problems == []


@pytest.mark.parametrize("release", ["3.9", "2.1"])
def test_older_releases(release: str) -> None:
    """The scenario says which release it was; members of before KIP-394 have no id to be named by."""
    tables = from_log(make_history(3, steps=60, as_release=release))
    rows = of_group(tables, "group-0")
    times = _times(rows)
    found = compiled(window_of(rows, "group-0", times[0], times[-1]), PlainNames(), Options(release))
    assert found.problems == []
    assert f"release: '{release}'" in found.text


@pytest.mark.parametrize(("tables_of", "is_log"), [(from_journal, False), (from_log, True)])
def test_what_a_log_does_not_tell_is_said_of_logs_only(
    tables_of: Callable[[History], dict[str, Rows]], is_log: bool
) -> None:
    """A journal names who committed, whatever happens in the window; a log does not, with transactions either."""
    rows = of_group(tables_of(make_history(1, steps=60, transactions=True)), "group-0")
    times = _times(rows)
    windows = [
        window_of(rows, "group-0", times[0], times[-1]),
        window_of(rows, "group-0", times[-1] + 1, times[-1] + 2),
    ]
    for window in windows:
        assert ("It does not name the committing member" in compiled(window, PlainNames()).text) == is_log
