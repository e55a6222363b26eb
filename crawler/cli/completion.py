"""`thresher completion`: the line that a shell needs to complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(epilog='Example: eval "$(thresher completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the completion script of SHELL."""
    from crawler.cli import thresher

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(thresher, {}, "thresher", "_THRESHER_COMPLETE").source())
    return 0
