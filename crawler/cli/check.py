"""`thresher check`: is this configuration usable, and what are its effective values?"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
import msgspec

from thresher.config.load import Loaded, Origin, examine, render
from thresher.config.settings import Settings
from thresher.crawler.cli.common import complain, config_option, flag_options, given_flags, load_config, set_option
from thresher.crawler.core.errors import ConfigError, UsageError
from thresher.crawler.core.overriding import Overriding
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.start.seeds import read_seeds, whole_hosts


@click.command(epilog="Example: thresher check -c crawl.yaml --render")
@click.argument("seeds", nargs=-1)
@click.option(
    "-f", "--file", "files", type=click.Path(), multiple=True, metavar="FILE", help="File of seeds to check, - for standard input."
)
@config_option
@flag_options
@set_option
@click.option("--render", "rendered", is_flag=True, help="Print every effective value and where it comes from.")
@click.option("--for", "for_url", metavar="URL", help="With --render: the values for this URL, its host and its site.")
@click.option("--json", "as_json", is_flag=True, help="With --render: print one JSON object.")
def check(
    seeds: tuple[str, ...],
    files: tuple[str, ...],
    configs: tuple[str, ...],
    sets: tuple[str, ...],
    rendered: bool,
    for_url: str | None,
    as_json: bool,
) -> int:
    """Check the configuration, and SEEDS if given, without crawling.

    Reports all mistakes that `thresher crawl` would report. With --render, prints the effective configuration as YAML, which is a valid
    configuration file.
    """
    from thresher.crawler.start.opening import check_startable

    if for_url is not None and not rendered:
        raise UsageError("--for URL: expected --render beside it. Add --render")
    if rendered:
        read = load_config(configs, sets)
        click.echo(render(read if for_url is None else _held_for(for_url, read), as_json=as_json), nl=False)
        return 0
    loaded, mistakes = examine(configs, sets=sets, environ=os.environ, stdin=sys.stdin.read, flags=given_flags())
    complaints: list[ConfigError | UsageError] = [mistake for error in mistakes for mistake in error.mistakes]
    unread = {mistake.key for mistake in complaints if isinstance(mistake, ConfigError)}
    try:
        check_startable(loaded.settings)
    except UsageError as error:
        if loaded.is_whole and not {"identity", "identity.contact"} & unread:  # reported already, or given in a file that could not be read
            complaints.append(error)
    said = ""
    if loaded.is_whole and (seeds or files or loaded.settings.seeds):
        try:
            said = _check_seeds(seeds, files, loaded.settings)
        except UsageError as error:
            complaints.append(error)
    for complaint in complaints:
        complain(f"thresher: {complaint}")
    if complaints:
        if len(complaints) > 1:
            complain(f"thresher: {len(complaints):,} mistakes")
        return UsageError.exit_code
    click.echo(f"{said}the configuration is usable", err=True)
    return 0


def _held_for(text: str, loaded: Loaded) -> Loaded:
    """Return the configuration that holds for a URL; each value from an override names that override."""
    url = read_seeds([text], (), (), url_rules(loaded.settings)).urls[0]
    overriding = Overriding(loaded.settings)
    said = {one.key: Origin(f"override {one.match}") for one in overriding.said(url)}
    return Loaded(msgspec.structs.replace(overriding.all_of(url), overrides=[]), {**loaded.origins, **said})


def _check_seeds(seeds: Sequence[str], files: Sequence[str], settings: Settings) -> str:
    """Return in one line how many seeds there are, and how many of them can be used.

    Raises:
        UsageError: When none can be used.
    """
    from thresher.crawler.start.opening import check_seeds, seed_rules

    found = read_seeds(seeds, files, settings.seeds, seed_rules(settings))
    check_seeds(msgspec.structs.replace(settings, seeds=found.urls))
    if found.warning():
        complain(f"left out:\n{found.warning()}")
    for warning in whole_hosts(settings, found.urls):
        complain(f"thresher: {warning}")
    return f"seeds: {len(found.urls):,}, repeated: {found.n_repeated:,}, left out: {found.n_bad:,}\n"
