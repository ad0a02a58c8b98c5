"""An option whose value is one of some names; a wrong one is answered as everywhere, with the nearest names."""

from typing import TYPE_CHECKING, Any

import click

from fakebroker.protocol.errors import nearest

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # generic since click 8.2


class Choice(_Choice):
    """click's Choice, with the names that are spelt like a wrong one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name. Fails for one that does not exist."""
        if value not in self.choices:
            self.fail(f"there is no {value!r}; {nearest(value, list(self.choices))}", param, ctx)
        return super().convert(value, param, ctx)
