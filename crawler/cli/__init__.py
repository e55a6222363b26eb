"""The command line: `thresher COMMAND`. One file per command, imported at its first use."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import sys
from difflib import get_close_matches
from keyword import iskeyword
from types import ModuleType

import click
from click.shell_completion import CompletionItem

from thresher.config.errors import ConfigError
from thresher.crawler.core.errors import ThresherError
from thresher.crawler.machines.reading import reach_machines
from thresher.crawler.native import IMPLEMENTATION
from thresher.crawler.process.leaving import leave
from thresher.crawler.version import VERSION

COMMANDS = {  # name → (file, first sentence of its help)
    "crawl": ("crawl", "Crawl from SEEDS, politely, into a new store in DIR."),
    "resume": ("crawl", "Continue the crawl in DIR after a stop, a crash or a kill."),
    "recrawl": ("recrawl", "Visit the pages of the crawl in DIR again, as a new round."),
    "changes": ("changes", "Print what is new, changed, moved or gone, as JSON lines."),
    "check": ("check", "Check the configuration, and SEEDS if given, without crawling."),
    "status": ("status", "Show what the crawl in DIR is doing, or how it ended."),
    "stats": ("stats", "Print totals of the crawl in DIR."),
    "hosts": ("hosts", "Print the hosts of the crawl in DIR."),
    "seeds": ("seeds", "Print what became of each seed of the crawl in DIR."),
    "explain": ("explain", "Explain why URL was or was not fetched by the crawl in DIR."),
    "robots": ("robots", "Show what a robots.txt allows."),
    "export": ("export", "Export what the crawl in DIR found, also while it runs."),
    "import": ("importing", "Make a crawl in DIR from the answers in WARC FILEs."),
    "rank": ("rank", "Rank pages, hosts or sites by PageRank."),
    "report": ("report", "Write a report on the crawl in DIR as one HTML page."),
    "verify": ("verify", "Check whether the store in DIR is sound."),
    "snapshot": ("snapshot", "Copy the crawl in DIR, as it is now, to TARGET."),
    "restore": ("snapshot", "Make a crawl in DIR from a snapshot in TARGET."),
    "migrate": ("migrate", "Convert the crawl in DIR to this version's schema."),
    "quarantine": ("quarantine", "Show what was quarantined because it killed an agent."),
    "forget": ("forget", "Delete a URL or a host from the crawl in DIR, for good."),
    "soft-errors": ("soft_errors", "Score redirects: how likely does each hide an error?"),
    "dust": ("dust", "Find and apply rules for URLs that lead to the same page."),
    "patterns": ("patterns", "Print what the URL patterns of each site have yielded."),
    "filters": ("filters", "Print what each filter saved and lost in the crawl in DIR."),
    "replicas": ("replicas", "Find pages of almost the same text."),
    "depth": ("depth", "How deep do visitors go, and how deep should a crawl go?"),
    "demo": ("demo", "Crawl a made-up web on this machine for some seconds."),
    "bench": ("bench", "Measure the crawler's speed, and what its filters are worth."),
    "cluster": ("cluster", "Let several machines take part in one crawl."),
    "completion": ("completion", "Print a completion script for SHELL."),
}


READERS = (
    "status",
    "stats",
    "hosts",
    "seeds",
    "explain",
    "export",
    "snapshot",
    "changes",
    "rank",
    "report",
    "soft-errors",
    "dust",
    "patterns",
    "filters",
    "replicas",
    "depth",
)


class Lazy(click.Group):
    """A group that imports a command's module on first use and lists commands in the order of a crawl's life."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands; no command is imported for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a command's name; no command is imported for it."""
        found = [CompletionItem(name, help=summary) for name, (_, summary) in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; if there is none, the error names the most similar one."""
        if args and args[0] not in COMMANDS and (nearest := get_close_matches(args[0], COMMANDS, 1)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {nearest[0]!r}?")
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        name = cmd_name.replace("-", "_") + "_" * iskeyword(cmd_name)
        command = getattr(_imported(module), name)
        assert isinstance(command, click.Command)
        return command


def _imported(name: str) -> ModuleType:
    """Import a file of this folder with the garbage collector off: looking through new modules would take a tenth of the start."""
    gc.disable()
    try:
        return importlib.import_module(f"thresher.crawler.cli.{name}")
    finally:
        gc.enable()


@click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(VERSION, prog_name="thresher", message=f"%(prog)s, version %(version)s, pages read by {IMPLEMENTATION} code")
def thresher() -> None:
    """Thresher: a polite breadth-first web crawler with inline quality filters.

    Exit codes: 0 done · 1 internal error, state safe · 2 wrong usage or configuration · 3 stopped, can be resumed · 4 done, but too
    many requests failed · 5 store in use · 6 store damaged or of another version · 74 disk error · 129/130/143 stopped at once by a
    signal.
    """


def guarded() -> None:
    """Run the command line as a program: `main`, in a child process if the command reads a store."""
    if len(sys.argv) > 2 and sys.argv[1] in READERS and any(os.path.isdir(f"{word}/state") for word in sys.argv[2:]):  # noqa: PTH112 - any word
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in `main`; also, a process with threads should not fork
        _imported("reader_guard").guarded(main, sys.argv[2:])
    else:
        main()


def main() -> None:
    """Run the command line. An error about which the operator can do something becomes one message and an exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # else numpy starts a thread per core in each process; we multiply no matrices
    try:
        if sys.stdout is None or sys.stderr is None:  # the parent process has closed them
            sys.exit(74)
        if "_THRESHER_COMPLETE" in os.environ:
            from thresher.crawler.cli.completion import register

            register()
        reach_machines()
        code = thresher.main(prog_name="thresher", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as end:
        code = end.exit_code
    except click.Abort:
        code = 130
    except click.ClickException as error:
        match error:
            case click.MissingParameter(param=click.Option(help=str(what)) as option):
                said = f"Give {option.opts[-1]} {option.metavar or 'VALUE'}: {what}"
                error = click.MissingParameter(said, error.ctx, param=option)
        error.show()
        code = 2
    except (ThresherError, ConfigError) as error:
        from thresher.crawler.cli.common import complain

        complain(f"thresher: {error}")
        code = error.exit_code if isinstance(error, ThresherError) else 2
    except BrokenPipeError:  # `thresher export | head`
        code = 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        print(f"thresher: standard output cannot be written: {error.strerror}", file=sys.stderr)
        os._exit(74)  # at once: Python would try to write what is still buffered, and fail again
    leave(code if isinstance(code, int) else 0)
