"""Errors of the user's: the traceback ends in the user's line, with a single frame of ours below it."""

import inspect
import re
import traceback
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fakebroker
from fakebroker import AsyncFakeBroker, FakeBroker, VirtualBroker, types
from fakebroker.protocol.errors import FakebrokerError, WrongCall
from fakebroker.protocol.short_errors import ShortErrors
from fakebroker.testing.handles.broker_control import BrokerControl
from fakebroker.testing.handles.handle import Handle

PACKAGE = str(Path(fakebroker.__file__).parent)
MAX_FRAMES = 3


@pytest.fixture
def broker() -> Iterator[VirtualBroker]:
    with VirtualBroker() as running:
        running.create_topic("orders")
        yield running


def frames_of_ours(error: BaseException) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(PACKAGE)]


def subclasses(kind: type) -> set[type]:
    below: list[type] = kind.__subclasses__()
    return {kind, *(each for found in below for each in subclasses(found))}


def public_members(kind: type) -> Iterator[tuple[str, Any]]:
    for name in dir(kind):
        if not name.startswith("_") and name != "call":
            yield name, inspect.getattr_static(kind, name)


def test_every_public_method_shortens_its_errors() -> None:
    """Of all handles, brokers, expectations, snapshots and scripted clients; those of async brokers are awaited."""
    assert {AsyncFakeBroker, FakeBroker, VirtualBroker, types.GroupHandle, types.Expectation} <= subclasses(ShortErrors)
    long = [
        f"{kind.__name__}.{name}"
        for kind in subclasses(ShortErrors)
        for name, member in public_members(kind)
        for function in [member.fget if isinstance(member, property) else member]
        if inspect.isfunction(function) and not inspect.iscoroutinefunction(function)
        if not hasattr(function, "__wrapped__") and not hasattr(function, "__isabstractmethod__")
    ]
    assert long == []


class Wrong:
    """No argument that anything takes."""


def wrong_calls(thing: object) -> Iterator[Exception]:
    for name, member in public_members(type(thing)):
        if not inspect.isfunction(member) or inspect.iscoroutinefunction(member) or name in ("start", "stop"):
            continue
        parameters = list(inspect.signature(member).parameters.values())[1:]
        needed = [p for p in parameters if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
        named = {p.name: Wrong() for p in needed if p.kind is p.KEYWORD_ONLY}
        try:
            getattr(thing, name)(*(Wrong() for p in needed if p.kind is not p.KEYWORD_ONLY), **named)
        except FakebrokerError as error:
            yield error
        except Exception:
            continue


def test_wrong_calls_end_in_the_users_line(broker: VirtualBroker) -> None:
    """Every public method of what a broker gives, called with what it cannot take."""
    things = [
        broker, broker.clock, broker.topic("orders"), broker.topic("none"), broker.group("g"), broker.journal,
        broker.node(1), broker.coordinator("g"), broker.transaction("t"), broker.acls, broker.quotas, broker.users,
        broker.telemetry, broker.topic("none").partition(0),
    ]  # fmt: skip
    errors = [error for thing in things for error in wrong_calls(thing)]

    assert len(errors) > 40
    for error in errors:
        assert len(frames_of_ours(error)) <= MAX_FRAMES, "".join(traceback.format_exception(error))
        assert error.__suppress_context__


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda broker: broker.topic("none").produce("x"), "there is no topic 'none'"),
        (lambda broker: broker.clock.advance(8), "days=8"),
        (lambda broker: broker.clock.advance(timedelta(1), hours=1), "it cannot be combined with hours="),
        (lambda broker: broker.group("g").wait(state="stable"), "did you mean 'Stable'"),
        (lambda broker: broker.fault(api="OffsetCommt", error="NOT_COORDINATOR"), "did you mean 'OffsetCommit'"),
        (lambda broker: broker.pass_time(), "pass_time() needs a duration: s=5, or ms="),
        (lambda _: FakeBroker(nodes=0), "nodes: should be a whole number of brokers from 1 to 1000, not 0"),
        (lambda _: FakeBroker().bootstrap, "not started: use `with FakeBroker() as broker` or start()"),
    ],
)
def test_common_mistakes(broker: VirtualBroker, call: Any, text: str) -> None:
    """The message says it all; one frame of ours is left."""
    with pytest.raises(FakebrokerError) as raised:
        call(broker)

    assert text in str(raised.value)
    assert len(frames_of_ours(raised.value)) == 1


def methods() -> Iterator[tuple[str, Any, list[inspect.Parameter]]]:
    """Every public method that is not awaited, with the arguments that have names."""
    for kind in subclasses(ShortErrors):
        for name, member in public_members(kind):
            if not inspect.isfunction(member) or inspect.iscoroutinefunction(member):
                continue
            parameters = list(inspect.signature(member).parameters.values())[1:]
            if not hasattr(member, "__isabstractmethod__") and all(p.kind != p.VAR_KEYWORD for p in parameters):
                yield f"{kind.__name__}.{name}", member, [p for p in parameters if p.kind is not p.POSITIONAL_ONLY]


def test_a_misspelt_argument_is_answered_with_the_right_one() -> None:
    """Of every argument of every method, without running the method."""
    unclear = []
    for name, method, parameters in methods():
        for each in parameters:
            wrong = each.name[:-1] if len(each.name) > 3 else each.name + "x"
            if each.kind is each.VAR_POSITIONAL or wrong in [other.name for other in parameters]:
                continue
            thing = SimpleNamespace(steps=None, start=None)
            try:
                method(thing, **{wrong: 1})
            except WrongCall as error:
                if not re.match(rf"{wrong}: \w+ has no such argument; ", str(error)) or each.name not in str(error):
                    unclear.append(f"{name}: {error}")
            else:
                unclear.append(name)
    assert unclear == []


def test_a_method_that_needs_a_duration_says_so() -> None:
    """Without its arguments, every method asks for them; seconds are called seconds."""
    asked = []
    for name, method, parameters in methods():
        needed = [each.name for each in parameters if each.default is each.empty and each.kind != each.VAR_POSITIONAL]
        if needed and not name.startswith("ScriptedClient"):
            with pytest.raises(WrongCall, match=f"{needed[0]}: is missing; "):
                method(None)
            asked.append(name)
    assert {"CoordinatorHandle.zombie", "TopicHandle.truncate"} <= set(asked)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda broker: broker.coordinator("g").zombie(), "for_s: is missing; zombie needs a number of seconds"),
        (lambda broker: broker.journal.expect("JoinGroup").within(3), "within(3): arguments must be named: s="),
        (
            lambda broker: broker.journal.expect("JoinGroup").within(seconds=3),
            "seconds: within has no such argument; did you mean 's'?",
        ),
        (
            lambda broker: broker.clock.advance(milliseconds=3),
            "milliseconds: advance has no such argument; did you mean 'ms'?",
        ),
        (lambda broker: broker.clock.advance(day=8), "day: advance has no such argument; did you mean 'days'?"),
        (lambda broker: broker.client("a").join("g", ["t"], session_timeout=3), "did you mean 'session_timeout_ms'"),
        (lambda broker: broker.is_running(), "'bool' object is not callable"),
    ],
)
def test_wrong_calls_say_what_is_right(broker: VirtualBroker, call: Any, text: str) -> None:
    """They are TypeErrors, as Python's are, and in the user's line."""
    with pytest.raises(TypeError) as raised:
        call(broker)

    assert text in str(raised.value)
    assert len(frames_of_ours(raised.value)) <= 1


def test_a_type_error_of_ours_is_no_wrong_call(broker: VirtualBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its traceback."""
    monkeypatch.setattr(Handle, "_with_cluster", lambda _self, _function: len(3))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="has no len") as raised:
        broker.topic("orders").produce("x")
    assert not isinstance(raised.value, WrongCall)


def test_bugs_of_ours_keep_their_traceback(broker: VirtualBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no error of the user's is shown in full."""

    def fails(*_args: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(Handle, "_with_cluster", fails)
    with pytest.raises(RuntimeError) as raised:
        broker.topic("orders").produce("x")
    assert [frame.name for frame in frames_of_ours(raised.value)] == ["public", "produce"]


pytest_plugins = ["pytester"]


def test_pytest_shows_the_users_line(pytester: pytest.Pytester) -> None:
    """And the message, and nothing else of the package."""
    pytester.makepyfile(
        test_it="""
        def test_it(fakebroker):
            fakebroker.topic("orders").produce("x")
        """
    )
    text = pytester.runpytest_subprocess("-p", "no:cacheprovider").stdout.str()
    assert "test_it.py:2: KafkaError" in text
    assert "fakebroker/testing/handles" not in text.split("Captured")[0]


@pytest.mark.slow
def test_pytest_shows_the_users_await(pytester: pytest.Pytester) -> None:
    """A wait in vain on an async broker ends in the line that awaits it."""
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.asyncio
        async def test_it(fakebroker_async):
            await fakebroker_async.group("billing").wait(state="Stable", timeout_s=0.01)
        """
    )
    text = pytester.runpytest_subprocess("-p", "no:cacheprovider").stdout.str()
    assert "test_it.py:5: WaitTimeout" in text
    assert "async def _wait" not in text


def test_a_scenario_file_that_is_missing_or_wrong(tmp_path: Path) -> None:
    """How the file is read is not in the traceback of `play`."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("about: x\n")
    for path in (tmp_path / "nowhere.yaml", wrong):
        with pytest.raises((OSError, FakebrokerError)) as raised:
            fakebroker.play(path)
        assert len(frames_of_ours(raised.value)) <= 2


def test_all_brokers_are_covered() -> None:
    """A new kind of broker or handle inherits it."""
    assert issubclass(BrokerControl, ShortErrors)
    assert issubclass(Handle, ShortErrors)
