"""`thresher robots`: what a robots.txt allows us."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import click

from thresher.config.settings import Settings
from thresher.crawler.cli.common import config_option, json_option, load_config, print_json, print_table, set_option
from thresher.crawler.core.errors import UsageError
from thresher.crawler.core.model import Outcome, Purpose, Redirect
from thresher.crawler.core.robots import RobotsRecord, Rules, judge
from thresher.crawler.core.url import BadURL, URLSpace
from thresher.crawler.core.url_rules import url_rules
from thresher.crawler.fetch.address_guard import AddressGuard
from thresher.crawler.fetch.fetcher import Fetcher
from thresher.crawler.fetch.proxy import names
from thresher.crawler.terminal.printable import printable
from thresher.crawler.version import VERSION


@click.command(epilog="Example: thresher robots https://example.org/private/ --set identity.contact=me@example.org")
@click.argument("target", metavar="URL|FILE")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--agent", help="Product token to check.  [default: identity.agent]")
@config_option
@set_option
@json_option
def robots(target: str, paths: tuple[str, ...], agent: str | None, configs: tuple[str, ...], sets: tuple[str, ...], as_json: bool) -> int:
    """Show what a robots.txt allows.

    It is fetched from the origin of a URL by one polite request, or read from a FILE. Prints whether the URL and each PATH are allowed,
    the crawl delay, the sitemaps and the AI-preference signals.
    """
    settings = load_config(configs, sets).settings
    token = agent or settings.identity.agent
    file = Path(target)
    if "://" not in target and not file.exists() and (target.endswith((".txt", ".robots")) or target.startswith((".", "/"))):
        raise UsageError(f"{target}: no such file. Name a file, or a URL with http:// or https:// before it")
    if "://" not in target and file.is_file():
        origin, record, body = "https://robots.invalid", None, file.read_bytes()
        asked = [f"{origin}{path if path.startswith('/') else '/' + path}" for path in paths]
    else:
        origin, record, body, asked = _fetched(target, paths, settings)
    rules = Rules(body, token)
    kind = record.kind if record else "rules"
    allowed = {url: kind == "allow" or (kind == "rules" and rules.allows(url)) for url in asked}
    result: dict[str, object] = {
        "origin": origin if record else str(file),
        "kind": kind,
        "detail": record.detail if record else "",
        "agent": token,
        "crawl_delay": rules.crawl_delay,
        "sitemaps": list(rules.sitemaps),
        "signals": list(rules.signals),
        "allowed": allowed if record else {url.removeprefix(origin): verdict for url, verdict in allowed.items()},
    }
    _show(result, as_json=as_json)
    return 0


def _show(result: dict[str, object], *, as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    print_table(("", ""), [(name, value if value not in (None, "", []) else "-") for name, value in result.items() if name != "allowed"])
    allowed = result["allowed"]
    assert isinstance(allowed, dict)
    for url, verdict in allowed.items():
        print(f"{'allowed' if verdict else 'DENIED '}  {printable(url)}")


def _fetched(target: str, paths: tuple[str, ...], settings: Settings) -> tuple[str, RobotsRecord, bytes, list[str]]:
    from thresher.crawler.start.opening import check_startable

    check_startable(settings)
    space = URLSpace(bytes(16), url_rules(settings))
    try:
        url = space.seed(target)
        asked = [url.text, *(space.canonical(path, url.text) for path in paths)]
    except BadURL as error:
        raise UsageError(f"{target}: neither a file nor a URL: {error.detail}") from error
    outcome = asyncio.run(_fetch(url.host, space, settings))
    record, body = judge(url.host, outcome, None, settings.robots, time.time())
    return url.host, record, body, asked


async def _fetch(origin: str, space: URLSpace, settings: Settings) -> Outcome:
    """Fetch robots.txt with at most five redirects; each host gets one request, so no delay is needed."""
    from thresher.crawler.gates.robots_cache import MAX_HOPS

    guard = AddressGuard(settings.fetch.allow_addresses)
    resolver = names(settings, guard)
    identity = settings.identity
    fetcher = Fetcher(
        settings.fetch,
        user_agent=identity.user_agent(VERSION),
        from_header=identity.from_header,
        resolver=resolver,
        guard=guard,
        address_connections=settings.politeness.address_connections,
    )
    url = space.url(f"{origin}/robots.txt", purpose=Purpose.ROBOTS)
    try:
        outcome = await fetcher.fetch(url, max_body=settings.robots.max_bytes, total_timeout=settings.robots.timeout)
        while isinstance(outcome, Redirect) and url.hops < MAX_HOPS:
            try:
                target = space.canonical(outcome.target, url.text)
            except BadURL:
                break
            url = space.url(target, hops=url.hops + 1, purpose=Purpose.ROBOTS)
            await asyncio.sleep(settings.politeness.min_delay)
            outcome = await fetcher.fetch(url, max_body=settings.robots.max_bytes, total_timeout=settings.robots.timeout)
        return outcome
    finally:
        await fetcher.close()
        await resolver.close()
