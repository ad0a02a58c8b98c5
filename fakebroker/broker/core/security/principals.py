"""Who a client is."""

from typing import NamedTuple

USER = "User"


class Principal(NamedTuple):
    """Who a client is: as text "User:alice" (SA-5). `is_token`: it logged in with a delegation token of that user."""

    name: str
    type: str = USER
    is_token: bool = False

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("ANONYMOUS")  # every client of a listener without authentication
