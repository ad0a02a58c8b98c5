"""A request of the first run, and a case: one fault at one request. A case has a name that repeats it."""

import re
from typing import NamedTuple

from fakebroker.protocol.arguments.checks import check_text
from fakebroker.protocol.errors import InvalidArgument
from fakebroker.testing.sweeps import plausible
from fakebroker.testing.sweeps.plausible import PlausibleFault

FORM = "[CLIENT/]API#N:FAULT, e.g. OffsetCommit#3:lost-answer"


class RequestSeen(NamedTuple):
    """A request of the first run: the `nth` of its API by its client, counted from 1.

    `previous` is the request that the same client sent before it, `is_member` says whether the client was a member of
    a group then. The client id of a client that sends none is "".
    """

    api: str
    client_id: str
    nth: int
    previous: str
    is_member: bool


class Case(NamedTuple):
    """A fault at the `nth` request of an API, by one client (its client id) or, with None, by any."""

    api: str
    nth: int
    fault: PlausibleFault
    client_id: str | None = None
    previous: str = ""
    is_named: bool = False  # whether the name must say which client

    @property
    def name(self) -> str:
        """What `--fakebroker-fault` and `only=` take: "OffsetCommit#3:lost-answer", with "CLIENT/" if several."""
        client = f"{self.client_id}/" if self.is_named else ""
        return f"{client}{self.api}#{self.nth}:{self.fault.name}"

    @property
    def sentence(self) -> str:
        """What happens, for people: "the answer to OffsetCommit #3 of consumer-1 is lost after it was applied"."""
        client = self.client_id or "the client"
        request = f"{self.api} #{self.nth}" + (f" of {client}" if self.client_id else "")
        return self.fault.happens.format(request=request, client=client, previous=self.previous or "its last request")


def parse_case(text: str, field: str = "only") -> Case:
    """The case of that name. Raises InvalidArgument, about `field`, for what is none."""
    check_text(field, text)
    found = re.fullmatch(r"(?:(?P<client>.*)/)?(?P<api>[^/#]+)#(?P<nth>\d+):(?P<fault>[\w-]+)", text, re.S)
    if found is None:
        raise InvalidArgument(field, text, f"{field} must be {FORM}, not {text!r}")
    nth, client = int(found["nth"]), found["client"]
    if not nth:
        raise InvalidArgument(field, text, f"{field}: requests are counted from 1, not {text!r}")
    api, fault = plausible.api(found["api"], field), plausible.fault(found["fault"], field)
    return Case(api, nth, fault, client, is_named=client is not None)
