"""Client properties: what a file says of security, by the names of Java and of librdkafka, and every error in it."""

from pathlib import Path

import pytest

from fakebroker.client.cluster.client_properties import read_properties, security_in_file, security_of
from fakebroker.client.login import Credentials
from fakebroker.client.security import Security, Tls
from fakebroker.protocol.errors import InvalidArgument
from tests.support.tls import authority

SECRET = "not-for-an-error"
JAAS = "org.apache.kafka.common.security.scram.ScramLoginModule required"
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "a",
    "sasl.password": SECRET,
}


def test_the_format_is_that_of_java() -> None:
    """Comments, three separators, continued lines, escapes, and values with any of these in them."""
    text = (
        "# a comment\n! another\n\na=1\n b : 2\nc 3\nd=x=y:z\ne\n"
        "f=one \\\n    two\ng=C:\\\\dir\\\\\nh=\\u00e4\\tb\\=\ni\\:j=4\nlast=end"
    )
    assert read_properties(text) == {
        "a": "1",
        "b": "2",
        "c": "3",
        "d": "x=y:z",
        "e": "",
        "f": "one two",
        "g": "C:\\dir\\",
        "h": "ä\tb=",
        "i:j": "4",
        "last": "end",
    }


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ({}, Security()),
        ({"bootstrap.servers": "x:1", "group.id": "g", "acks": "all"}, Security()),
        ({"security.protocol": "ssl", "ssl.protocol": "TLSv1.3"}, Security("SSL", Tls())),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "a"}, Security()),
        (LOGIN, Security("SASL_PLAINTEXT", None, Credentials("a", SECRET, "PLAIN"))),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanisms": "SCRAM-SHA-256",
                "sasl.jaas.config": f'{JAAS} username="a b" password="p\\"=;q";',
            },
            Security("SASL_PLAINTEXT", None, Credentials("a b", 'p"=;q', "SCRAM-SHA-256")),
        ),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": f'{JAAS} username="id" password="hmac" tokenauth=true;',
            },
            Security("SASL_PLAINTEXT", None, Credentials("id", "hmac", "SCRAM-SHA-512", "", True)),
        ),
    ],
)
def test_what_properties_say(properties: dict[str, str], found: Security) -> None:
    """Settings that are not of security, or of another protocol than is spoken, have no effect."""
    assert security_of(properties, "f") == found


def test_secrets_are_in_no_text() -> None:
    """Neither of what was read, nor of what it is part of."""
    key = {"ssl.certificate.pem": SECRET, "ssl.key.pem": SECRET, "ssl.key.password": SECRET}
    assert SECRET not in repr(security_of({**LOGIN, **key, "security.protocol": "SASL_SSL"}, "f"))


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"security.protocol": "TLS"}, "security.protocol is 'TLS'; it must be PLAINTEXT or SSL or SASL_PLAINTEXT or"),
        ({"sasl.pasword": SECRET}, "sasl.pasword is not supported; did you mean 'sasl.password'"),
        ({"ssl.provider": "x"}, "ssl.provider is not supported; there are"),
        (
            {**LOGIN, "sasl.mechanism": ""},
            "sasl.mechanism is missing; it must be PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or",
        ),
        ({**LOGIN, "sasl.mechanism": "GSSAPI"}, "sasl.mechanism is 'GSSAPI'; it must be"),
        ({**LOGIN, "sasl.username": ""}, 'sasl.username is missing; set it, or username="..." in sasl.jaas.config'),
        (
            {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "a"},
            "sasl.password is missing; set it, or password",
        ),
        (
            {**LOGIN, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "https://x/token"},
            "sasl.oauthbearer.token.endpoint.url must be the URL of a file with a token, such as file:///run/kafka-token",
        ),
        (
            {**LOGIN, "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.endpoint.url": "file:///dev/null"},
            "names an empty file; it must have a token in it",
        ),
        (
            {"security.protocol": "SSL", "ssl.ca.location": "/nowhere.pem"},
            "ssl.ca.location names the file '/nowhere.pem', which cannot be read: No such file or directory",
        ),
        (
            {"security.protocol": "SSL", "ssl.truststore.location": "x.jks"},
            "ssl.truststore.type is missing, which means JKS; only PEM can be read here: openssl pkcs12 -in",
        ),
        (
            {"security.protocol": "SSL", "ssl.keystore.type": "PKCS12", "ssl.keystore.location": "x.p12"},
            "ssl.keystore.type is PKCS12; only PEM can be read here",
        ),
        (
            {"security.protocol": "SSL", "ssl.certificate.pem": "x"},
            "ssl.key.location is missing; a certificate is given",
        ),
        ({"security.protocol": "SSL", "ssl.key.pem": SECRET}, "ssl.certificate.location is missing; a key is given"),
        (
            {"security.protocol": "SSL", "enable.ssl.certificate.verification": "no"},
            "enable.ssl.certificate.verification is 'no'; it must be true or false",
        ),
    ],
)
def test_what_is_wrong_names_file_and_setting(properties: dict[str, str], problem: str) -> None:
    """And what would be right; it has no secret."""
    with pytest.raises(InvalidArgument) as error:
        security_of(properties, "client.properties")
    assert str(error.value).startswith("client.properties: ")
    assert problem in str(error.value)
    assert SECRET not in str(error.value)


def test_a_file_is_read(tmp_path: Path) -> None:
    """A file in another encoding is reported."""
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SSL\nssl.ca.location={authority().ca_file}\n")
    assert security_in_file(path) == Security("SSL", Tls(authority().ca_file.read_text()))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidArgument, match="the file is not UTF-8 text"):
        security_in_file(path)
