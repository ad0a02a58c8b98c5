"""Who a client is."""

from dataclasses import dataclass, field

USER = "User"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a client is: as text "User:alice" (SA-5). `is_token`: it logged in with a delegation token of that user.

    The text is made once: what is kept of a client's requests refers to one text, however long its name is.
    """

    name: str
    type: str = USER
    is_token: bool = False
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the text."""
        object.__setattr__(self, "_text", f"{self.type}:{self.name}")

    def __str__(self) -> str:
        return self._text

    def is_client_of(self, other: "Principal") -> bool:
        """Whether both are the same client, however each has logged in: one with a delegation token has the rights of
        its owner, but for the APIs of tokens (TK-1).
        """
        return (self.type, self.name) == (other.type, other.name)


ANONYMOUS = Principal("ANONYMOUS")  # every client of a listener without authentication
