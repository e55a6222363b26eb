"""`thresher check`: is this configuration usable, and what does it come to?"""

from __future__ import annotations

import click
import msgspec

from config.load import render
from crawler.cli.common import complain, config_option, flag_options, json_option, load_config, set_option
from crawler.opening import check_seeds, check_startable, seed_rules
from crawler.seeds import read_seeds


@click.command(epilog="Example: thresher check -c crawl.yaml --render")
@click.argument("seeds", nargs=-1)
@click.option("-f", "--file", "files", type=click.Path(), multiple=True, metavar="FILE", help="Seed file to check, - for standard input.")
@config_option
@flag_options
@set_option
@click.option("--render", "rendered", is_flag=True, help="Print every effective value and where it came from.")
@json_option
def check(
    seeds: tuple[str, ...], files: tuple[str, ...], configs: tuple[str, ...], sets: tuple[str, ...], rendered: bool, as_json: bool
) -> int:
    """Validate the configuration, and SEEDS if any are given, without crawling.

    Says what `thresher crawl` would complain about. With --render, prints the effective configuration as YAML that loads again.
    """
    loaded = load_config(configs, sets)
    if rendered:
        click.echo(render(loaded, as_json=as_json), nl=False)
        return 0
    check_startable(loaded.settings)
    if seeds or files or loaded.settings.seeds:
        found = read_seeds(seeds, files, loaded.settings.seeds, seed_rules(loaded.settings))
        check_seeds(msgspec.structs.replace(loaded.settings, seeds=found.urls))
        if found.warning():
            complain(f"left out:\n{found.warning()}")
        click.echo(f"seeds: {len(found.urls):,}, repeated: {found.n_repeated:,}, left out: {found.n_bad:,}", err=True)
    click.echo("the configuration is usable", err=True)
    return 0
