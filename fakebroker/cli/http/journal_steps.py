"""What takes long with the journal, in steps between which the broker serves its clients."""

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

from fakebroker.cli.http.turns import in_turns, pace_of
from fakebroker.protocol.errors import WaitTimeout
from fakebroker.testing.handles.expectation import REQUESTS_PER_STEP, Expectation
from fakebroker.testing.handles.handle import WAIT_S
from fakebroker.testing.handles.journal import JournalHandle

if TYPE_CHECKING:
    from fakebroker.broker.engine.journal import Exchange
    from fakebroker.testing.handles.waiting import WaitingRequest
    from fakebroker.testing.journal.brief import BriefJournal

Given = Mapping[str, Any]


async def brief(journal: JournalHandle, given: Given) -> "BriefJournal":
    """`journal.brief`."""
    from fakebroker.testing.journal.brief import BYTES_PER_STEP

    return await in_turns(journal._brief(pace_of(BYTES_PER_STEP), **given))


async def waiting(journal: JournalHandle, _given: Given) -> "list[WaitingRequest]":
    """`journal.waiting`."""
    from fakebroker.testing.handles.waiting import WAITING_PER_STEP, waiting_connections, waiting_in_steps

    engine = journal._access._engine
    return await in_turns(waiting_in_steps(engine, waiting_connections(engine), pace_of(WAITING_PER_STEP)))


async def wait(journal: JournalHandle, given: Given) -> "list[Exchange]":
    """`journal.wait`."""
    timeout_s = given.get("timeout_s", WAIT_S)
    expectation = Expectation(journal._access, given["requests"], given.get("since", 0))
    progress, end_s = expectation._progress(), monotonic() + timeout_s
    try:
        while (found := await in_turns(progress.steps(pace_of(REQUESTS_PER_STEP)))) is None:
            if monotonic() >= end_s:
                raise WaitTimeout
            await journal._access.wait(progress.has_news, end_s - monotonic(), str)
    except WaitTimeout:
        if progress.is_silent:
            return progress.found
        raise WaitTimeout(progress.failure(timeout_s)) from None
    return found
