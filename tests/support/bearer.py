"""Tokens that nobody has signed."""

import json
from base64 import urlsafe_b64encode
from typing import Any


def unsecured(subject: str, expires_s: float, **claims: Any) -> str:
    """A token for a user that expires then, in seconds since the epoch."""
    parts = ({"alg": "none"}, {"sub": subject, "exp": expires_s, **claims})
    header, body = (urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=").decode() for each in parts)
    return f"{header}.{body}."
