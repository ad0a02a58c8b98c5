"""The OpenAPI document is true: what random requests made from it are answered is what it describes."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from fakebroker.cli.http.openapi import document
from tests.support.serving import controlled

if TYPE_CHECKING:
    import schemathesis
else:
    schemathesis = pytest.importorskip("schemathesis", reason="HTTP AT RANDOM IS NOT TESTED: needs make .venv/.http")
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = 40  # of each operation, beside those of each boundary that the document names
# Random addresses would be listened on, waits waited for; everything else may be anything.
UNTRIED = {"listen", "advertise"}

ENDLESS = ["/journal/stream", "/live"]

schema = schemathesis.openapi.from_dict(document()).exclude(path=ENDLESS)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A served broker."""
    with controlled() as url:
        yield url


def check(case: Any, url: str) -> None:
    """The answer is one that the document describes."""
    if isinstance(case.body, dict):
        case.body = {name: value for name, value in case.body.items() if name not in UNTRIED}
        if isinstance(wanted_s := case.body.get("timeout_s"), int | float):
            case.body["timeout_s"] = min(wanted_s, 0.01)
        elif case.path.endswith("/wait"):
            case.body["timeout_s"] = 0.01
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=30)


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_requests(case: Any, url: str) -> None:
    """No server error, no status, type or shape that the document does not have."""
    check(case, url)
