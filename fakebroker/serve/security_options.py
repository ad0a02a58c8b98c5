"""What options say of security, checked before a broker is made of them."""

from collections.abc import Mapping
from pathlib import Path

from fakebroker.protocol.arguments.checks import check
from fakebroker.protocol.arguments.kinds import NAME, SECRET
from fakebroker.protocol.errors import InvalidArgument, SettingError
from fakebroker.protocol.extras import missing_extra

_JWKS = "sasl.oauthbearer.jwks.endpoint.url"


def check_key_sets(config: Mapping[str, object]) -> None:
    """Signed tokens need a library, and a URL that can be read. Raises MissingExtra, SettingError."""
    for name, url in config.items():
        if not name.endswith(_JWKS):
            continue
        try:
            import jwt  # noqa: F401
        except ImportError:
            raise missing_extra("oauth", f"{name}: signed tokens need PyJWT") from None
        if not str(url).startswith(("file:", "http:", "https:")):
            raise SettingError(f"{name}: {url!r} is not the URL of a file or a web server (file:, http:, https:)")


def parse_user(text: str) -> tuple[str, str]:
    """NAME=PASSWORD; the password may have an "=". Raises InvalidArgument, which does not have the password."""
    name, found, password = text.partition("=")
    if not found:
        raise InvalidArgument("user", "(password)", "a user must be NAME=PASSWORD")
    check("name", name, NAME)
    check("password", password, SECRET)
    return name, password


def read_users(path: str) -> dict[str, str]:
    """The users of a file with a line NAME=PASSWORD for each; empty lines and those that begin with "#" are remarks.

    Raises OSError, InvalidArgument naming the line, without the password.
    """
    users = {}
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:  # which has the file's bytes, and so passwords
        raise InvalidArgument("users_file", path, f"{path} is not UTF-8 at byte {error.start}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            try:
                name, password = parse_user(line)
            except InvalidArgument as error:
                raise InvalidArgument("users_file", path, f"{path}:{number}: {error}") from None
            users[name] = password
    return users
