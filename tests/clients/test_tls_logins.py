"""Real clients speak TLS, and refuse or are refused when a certificate is not right: here and with a real Kafka."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.clients.every_client import EVERY_CLIENT, SILENCE_S, WORDS
from tests.clients.logins import Client, Login
from tests.clients.secured import BOTH_SERVERS, PASSWORDS, SCRAM, SERVERS, SETTINGS, SecuredServer, unsecured_token

if TYPE_CHECKING:
    from fakebroker.testing.certificates import Certificate, CertificateAuthority

tls = pytest.importorskip("fakebroker.testing.certificates", reason="TLS IS NOT TESTED: needs the extra `tls`")

pytestmark = [
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore"),
]

# All but SASL_SSL want no login. SSL wants a client's certificate; the others below have one of the broker's own.
LISTENERS = {"SASL_SSL": "SASL_SSL", "SSL": "SSL", "OPEN": "SSL"}
BAD_LISTENERS = {"EXPIRED": "SSL", "EARLY": "SSL", "ELSEWHERE": "SSL"}
Open = Callable[[str, Login], Client]


class Secured(NamedTuple):
    """A broker, the authority that signed its certificates, and one that it does not know."""

    server: SecuredServer
    authority: "CertificateAuthority"
    stranger: "CertificateAuthority"

    def login(self, listener: str, **more: str | float) -> Login:
        """How a client that trusts the authority connects to a listener."""
        protocol = {**LISTENERS, **BAD_LISTENERS}[listener]
        return Login(
            **{  # type: ignore[arg-type]
                "bootstrap": self.server.addresses[listener],
                "protocol": protocol,
                "authority": str(self.authority.ca_file),
                **more,
            }
        )


@pytest.fixture(scope="module", params=BOTH_SERVERS)
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker with a listener for each kind of certificate."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = tls.CertificateAuthority(folder / "known")
    stranger = tls.CertificateAuthority(folder / "unknown", "another authority")
    bad = {"expired": authority.issue_expired(), "early": authority.issue_not_yet_valid()}
    bad["elsewhere"] = authority.issue_wrong_host()
    settings = {
        **authority.broker_config(),
        **{name.replace("sasl_plaintext", "sasl_ssl"): value for name, value in SETTINGS.items()},
        **{f"listener.name.{name}.ssl.keystore.location": str(each.keystore_file) for name, each in bad.items()},
        **{f"listener.name.{name}.ssl.keystore.type": "PEM" for name in bad},
        "listener.name.ssl.ssl.client.auth": "required",
    }
    with SERVERS[request.param](settings, {**LISTENERS, **BAD_LISTENERS}) as server:
        for user, password in PASSWORDS.items():
            server.set_password(user, password)
        server.create_topic("orders")
        yield Secured(server, authority, stranger)


@pytest.mark.behaviour("SASL over TLS")
@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_passwords_over_tls(secured: Secured, opened: Open, name: str, mechanism: str) -> None:
    """By each mechanism the right one is served, and a wrong one refused as without TLS."""
    login = secured.login("SASL_SSL", mechanism=mechanism, user="alice", password="pa")

    assert opened(name, login).send("orders") == ""
    assert re.fullmatch(WORDS[name].refused, opened(name, login._replace(password="pb")).send("orders"))


@pytest.mark.behaviour("SASL over TLS")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_tokens_over_tls(secured: Secured, opened: Open, name: str) -> None:
    """One that holds is served, and one that has ended refused."""
    login = secured.login("SASL_SSL", mechanism="OAUTHBEARER", token=unsecured_token("alice"), patience_s=SILENCE_S)

    assert opened(name, login._replace(patience_s=20)).send("orders") == ""
    ended = login._replace(token=unsecured_token("alice", lifetime_s=-3600))
    assert re.fullmatch(WORDS[name].bad_token, opened(name, ended).send("orders"))


@pytest.mark.behaviour("TLS: the client checks the broker")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_client_refuses_a_broker_that_it_cannot_believe(secured: Secured, opened: Open, name: str) -> None:
    """Certificates of an unknown authority, that are no more or not yet valid, or of another host; a good one holds."""
    assert opened(name, secured.login("OPEN")).send("orders") == ""

    unknown = secured.login("OPEN", authority=str(secured.stranger.ca_file))
    for login in (unknown, *map(secured.login, BAD_LISTENERS)):
        outcome = opened(name, login._replace(patience_s=SILENCE_S)).send("orders")
        assert re.fullmatch(WORDS[name].distrusts, outcome), login


@pytest.mark.behaviour("TLS: the broker checks the client")
@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_client_without_a_good_certificate_is_refused(secured: Secured, opened: Open, name: str) -> None:
    """No certificate, one of an unknown authority, one that has expired; with a good one the client is served."""
    good, bad = (
        secured.authority.issue_client("alice"),
        [secured.stranger.issue_client("alice"), secured.authority.issue_expired("alice")],
    )
    assert opened(name, showing(secured, good)).send("orders") == ""

    for login in (secured.login("SSL"), *(showing(secured, each) for each in bad)):
        outcome = opened(name, login._replace(patience_s=SILENCE_S)).send("orders")
        assert re.fullmatch(WORDS[name].distrusted, outcome), login


@pytest.mark.parametrize("name", EVERY_CLIENT)
def test_a_certificate_that_is_revoked_counts_from_the_next_connection_on(
    secured: Secured, opened: Open, name: str
) -> None:
    """Who is connected stays so. A Kafka looks at no list of revoked certificates."""
    if secured.server.broker is None:
        pytest.skip("a Kafka looks at no list of revoked certificates")
    certificate = secured.authority.issue_client(name)
    there = opened(name, showing(secured, certificate))
    assert there.send("orders") == ""

    secured.authority.revoke(certificate)

    again = opened(name, showing(secured, certificate)._replace(patience_s=SILENCE_S))
    assert re.fullmatch(WORDS[name].distrusted, again.send("orders"))
    assert there.send("orders") == ""


def showing(secured: Secured, certificate: "Certificate") -> Login:
    """How a client with a certificate connects where one is wanted."""
    return secured.login("SSL", certificate=str(certificate.file), key=str(certificate.key_file))
