"""Tokens whose JSON has text that cannot be sent on."""

import pytest

from fakebroker.broker.core.security.bearer_tokens import InvalidToken, unsecured_login
from tests.clients.secured import unsecured_token


@pytest.mark.rules("SA-11")
def test_a_subject_that_is_no_text_is_refused() -> None:
    """Half of a surrogate pair has no UTF-8: a principal of it would break every answer that names it."""
    with pytest.raises(InvalidToken):
        unsecured_login(unsecured_token("a\ud800"), 0)
