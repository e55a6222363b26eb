"""`thresher completion`: the script with which a shell completes commands, options, and the keys of --set.

bash breaks words at "=" and completes only the part behind it; here KEY=VALUE is one word. No blank is added after "KEY=".
"""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, get_completion_class

VARIABLE = "_THRESHER_COMPLETE"  # environment variable by which the script asks
_NO_BLANK = "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n\n    return 0\n"


class Bash(BashComplete):
    """Completion for bash that knows KEY=VALUE."""

    source_template = BashComplete.source_template.replace("    return 0\n", _NO_BLANK)
    _key = ""  # the "KEY=" of the word to complete: bash takes this part as complete

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return (words before the one to complete, the word to complete), with "KEY", "=" and "VALUE" joined."""
        words, last = super().get_completion_args()
        if last == "=" and words:
            words, last = words[:-1], f"{words[-1]}="
        elif len(words) > 1 and words[-1] == "=":
            words, last = words[:-2], f"{words[-2]}={last}"
        else:
            return words, last
        self._key = last.partition("=")[0] + "="
        return words, last

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line for the script."""
        return f"{item.type},{item.value.removeprefix(self._key)}"


def register() -> None:
    """Make click use this class for bash."""
    add_completion_class(Bash, "bash")


@click.command(epilog='Example: eval "$(thresher completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print a completion script for SHELL."""
    register()
    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(click.get_current_context().find_root().command, {}, "thresher", VARIABLE).source())
    return 0
