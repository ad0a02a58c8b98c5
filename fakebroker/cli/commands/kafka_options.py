"""The options by which every command names a running Kafka and connects to it: one declaration for all."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from fakebroker.cli.exit_status import errors_end_the_command
from fakebroker.client.security import ClientConfig
from fakebroker.protocol.errors import InvalidArgument

COMMAND_CONFIG = "--command-config"


def kafka_options(
    option: str, help_text: str, *, required: bool = False, several: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the option that names the Kafka, such as "--against", and --command-config for TLS and logins.

    The command gets both as one ClientConfig, under the name of `option`; None without it. `several` addresses may be
    given, with commas between, unless the command is about one broker.
    """
    name = option.lstrip("-").replace("-", "_")

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_kafka(**arguments: Any) -> Any:
            arguments[name] = _config(option, arguments.pop(name), arguments.pop("command_config"), several)
            return command(**arguments)

        metavar = "HOST:PORT[,HOST:PORT]" if several else "HOST:PORT"
        config = click.option(COMMAND_CONFIG, metavar="FILE", help=f"Client properties for {option}: TLS and login.")
        return click.option(option, required=required, metavar=metavar, help=help_text)(config(with_kafka))

    return decorate


def _config(option: str, bootstrap: str | None, file: str | None, several: bool) -> ClientConfig | None:
    if bootstrap is None:
        if file is not None:
            raise click.UsageError(f"{COMMAND_CONFIG} needs {option} HOST:PORT")
        return None
    from fakebroker.client.cluster.client_properties import security_in_file
    from fakebroker.client.cluster.links import addresses_of

    try:
        addresses = addresses_of(bootstrap)
    except InvalidArgument as error:
        raise click.UsageError(f"{option}: {error}") from None
    if len(addresses) > 1 and not several:
        raise click.UsageError(f"{option} {bootstrap}: give one broker; it names the others")
    if file is None:
        return ClientConfig(bootstrap)
    with errors_end_the_command():
        return ClientConfig(bootstrap, security_in_file(file), file)
