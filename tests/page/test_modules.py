"""Modules of the page that know nothing of the document: formats, the parser of events, the timeline's axis."""

import re
from pathlib import Path
from typing import Any

import pytest

import fakebroker.cli.http.page_files
from tests.support.chromium import ShownPage

pytestmark = [pytest.mark.page, pytest.mark.slow]

PAGE = fakebroker.cli.http.page_files.FOLDER


def test_all_modules_are_loaded_at_once() -> None:
    """index.html names exactly the modules that main.js needs, directly or not."""
    named = set(re.findall(r'modulepreload" href="page/([^"]+)"', (PAGE / "index.html").read_text()))
    needed: set[Path] = set()
    waiting = [PAGE / "main.js"]
    while waiting:
        module = waiting.pop()
        if module not in needed:
            needed.add(module)
            imports = re.findall(r'(?:from|import)\s*"(\.[^"]+)"', module.read_text())
            waiting += [(module.parent / each).resolve() for each in imports]
    assert named == {str(each.relative_to(PAGE)) for each in needed} - {"main.js"}


def of_module(shown: ShownPage, module: str, expression: str) -> Any:
    """The value of a JavaScript expression about a module `m` of the page."""
    page = shown.open()
    return page.evaluate(f"async () => {{ const m = await import('/page/{module}'); return {expression}; }}")


def test_durations_have_their_two_largest_units(shown: ShownPage) -> None:
    """From milliseconds to days, also negative ones."""
    durations = [0, 999, 1500, 45_000, 61_000, 3_600_000, 90_000_000, -1500]
    texts = of_module(shown, "core/format.js", f"{durations}.map(m.duration)")
    assert texts == ["0 ms", "999 ms", "1.5 s", "45 s", "1 m 1 s", "1 h", "1 d 1 h", "-1.5 s"]


def test_partitions_are_reported_as_ranges(shown: ShownPage) -> None:
    """Neighbours belong together, in any order."""
    assert of_module(shown, "core/format.js", "[m.ranges([2, 0, 1, 5, 7, 8]), m.ranges([])]") == ["0-2, 5, 7-8", ""]


def test_the_parser_takes_events_in_any_pieces(shown: ShownPage) -> None:
    """Cut anywhere, with comments and data of several lines, the same events come out."""
    text = ": hello\\n\\nid: 1\\nevent: lines\\ndata: a\\ndata: b\\n\\ndata: c\\r\\n\\r\\n"
    code = f"""[1, 2, 3, 7, 1000].map((size) => {{
        const events = []; const push = m.parser((event) => events.push(event)); const text = "{text}";
        for (let at = 0; at < text.length; at += size) push(text.slice(at, at + size));
        return JSON.stringify(events); }})"""
    results = of_module(shown, "core/stream.js", code)
    assert set(results) == {'[{"id":"1","event":"lines","data":"a\\nb"},{"data":"c"}]'}


def test_the_axis_leaves_out_what_a_test_skipped(shown: ShownPage) -> None:
    """Monotonic time that was moved with the timers takes no place, and places lead back to their time."""
    code = """(() => {
        const line = (seq, mono_ms, more = {}) => ({seq, kind: "request", wall_ms: 1000 + mono_ms, mono_ms, ...more});
        const day = 86400000;
        const moved = {kind: "clock_moved", how: "advanced with timers", from_ms: 1100, to_ms: 1100 + day};
        const axis = new m.Axis([line(0, 0), line(1, 100), line(2, 100 + day, moved), line(3, 150 + day)]);
        return [axis.place(50), axis.place(100 + day), axis.place(150 + day), axis.mono(150), axis.wallAt(150),
            axis.place(5000)];
    })()"""
    day = 86_400_000
    assert of_module(shown, "timeline/axis.js", code) == [50, 100, 150, 150 + day, 1150 + day, 100]


@pytest.mark.parametrize("how", ["advanced", "advanced with timers"])
def test_the_axis_is_right_after_a_jump_in_which_something_fell_due(shown: ShownPage, how: str) -> None:
    """What fell due carries its own moment, which lies before the end of the jump."""
    code = """(() => {
        const day = 86400000, timers = HOW === "advanced with timers" ? day : 0;
        const line = (seq, mono_ms, wall_ms, more = {}) => ({seq, kind: "offset_expired", wall_ms, mono_ms, ...more});
        const moved = {kind: "clock_moved", how: HOW, from_ms: 1100, to_ms: 1100 + day};
        const axis = new m.Axis([line(0, 100, 1100), line(1, 100 + timers, 1100, moved), line(2, 100 + timers, 5000)]);
        return [axis.wallAt(100), axis.wallAt(150), axis.ticks(100, 400, 330).ticks[0][1]];
    })()""".replace("HOW", repr(how))
    after = 1100 + 86_400_000
    assert of_module(shown, "timeline/axis.js", code) == [after, after + 50, after]


def test_the_steps_of_a_rebalance_are_one_rebalance(shown: ShownPage) -> None:
    """For each kind of group: its cause, members before and after, how long it took; other lines stand alone."""
    code = """(() => {
        let seq = 0;
        const line = (kind, group, mono_ms, more) => ({seq: ++seq, kind, group, mono_ms, wall_ms: mono_ms, ...more});
        const step = (group, mono_ms, before, after, reason) =>
            line("transition", group, mono_ms, {before, after, reason, generation: 1});
        const lines = [
            line("group_stored", "classic", 0, {members: 2}),
            step("classic", 100, "Stable", "PreparingRebalance", "b left"),
            line("group_epoch_bumped", "share", 150, {epoch: 2, reason: "s joined"}),
            step("classic", 300, "PreparingRebalance", "CompletingRebalance", "over"),
            line("group_stored", "classic", 350, {members: 1}),
            step("classic", 400, "CompletingRebalance", "Stable", "stored"),
            line("offset_expired", "classic", 500, {}),
            line("assignment_computed", "share", 550, {epoch: 2, members: 1}),
            line("group_epoch_bumped", "consumer", 600, {epoch: 3, reason: "c joined"}),
            step("consumer", 600, "Empty", "Assigning", "c joined"),
            line("assignment_computed", "consumer", 610, {epoch: 3, members: 1}),
            step("consumer", 620, "Reconciling", "Stable", "all have it"),
            line("member_transition", "consumer", 630, {epoch: 3}),
            step("classic", 700, "Stable", "PreparingRebalance", "c joined"),
        ];
        return m.happenings(lines).map((each) => each.steps
            ? [each.group, each.cause, each.steps.length, each.before, each.after, each.took_ms] : each.kind);
    })()"""
    assert of_module(shown, "core/rebalances.js", code) == [
        ["classic", "b left", 3, 2, 1, 300],
        ["share", "s joined", 2, None, 1, 400],
        "offset_expired",
        ["consumer", "c joined", 5, 0, 1, 20],
        ["classic", "c joined", 1, 1, None, None],
    ]


def test_calls_are_shown_as_a_shell_and_as_python_would_make_them(shown: ShownPage) -> None:
    """Quotes of names from clients stay quotes."""
    code = """(() => {
        const body = {member: 'a"b', all: true};
        const call = m.call("POST", m.encoded`/groups/${"it's"}/evict`, "broker.group(\\"it's\\").evict", body);
        return [m.asCurl(call).replace(location.origin, ""), call.python];
    })()"""
    curl, python = of_module(shown, "parts/call.js", code)
    assert curl == """curl -sS --fail-with-body '/groups/it'\\''s/evict' --json '{"member":"a\\"b","all":true}'"""
    assert python == 'broker.group("it\'s").evict(member="a\\"b", all=True)'


def test_names_that_no_address_can_have_are_refused(shown: ShownPage) -> None:
    """A browser would take them for steps between folders, and delete something else."""
    paths = ["/groups/..", "/groups/./view?limit=1", "/groups/a..b"]
    refused = f"Promise.all({paths}.map((path) => m.send('GET', path).catch((error) => error.status)))"
    statuses = of_module(shown, "core/api.js", f"await {refused}")
    assert statuses == [0, 0, 404]
