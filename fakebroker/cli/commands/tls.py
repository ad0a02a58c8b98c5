"""`fakebroker tls`: certificates in a directory, for a broker in a process of its own and clients in any language."""

import click

from fakebroker.cli.choice import Choice
from fakebroker.cli.exit_status import errors_end_the_command


@click.command()
@click.argument("directory")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Name or address of the broker's host. Repeatable. [default: this machine]",
)
@click.option(
    "--client", "clients", multiple=True, metavar="NAME", help="Also make a client certificate for CN=NAME. Repeatable."
)
@click.option(
    "--client-auth",
    type=Choice(["none", "requested", "required"]),
    default="none",
    show_default=True,
    help="Whether clients must present a certificate.",
)
def tls(directory: str, hosts: tuple[str, ...], clients: tuple[str, ...], client_auth: str) -> None:
    """Make a certificate authority, and certificates for a broker and its clients.

    Prints the options of `fakebroker serve` that use the files in DIRECTORY, and the files for clients. Each call makes
    a new authority, which does not trust the certificates of the one before. Needs the extra `tls`.
    """
    with errors_end_the_command():
        from fakebroker.testing.certificates.authority import CertificateAuthority

        authority = CertificateAuthority(directory)
        config = authority.broker_config(client_auth, authority.issue(*hosts))
        click.echo("broker: --listen SSL://127.0.0.1:9093")
        for name, value in config.items():
            click.echo(f"broker: --config {name}={value}")
        click.echo(f"clients trust {authority.ca_file}, Java's {authority.truststore_pkcs12_file}")
        for name in clients:
            made = authority.issue_client(name)
            click.echo(f"{made.subject}: {made.file}, {made.key_file}, Java's {made.pkcs12_file}")
        click.echo("the password of PKCS12 files is fakebroker")
