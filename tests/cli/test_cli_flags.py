"""The ten flags of the most used options: what each sets, which source of a value wins over which, and what is named as a value's
origin.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from command import Command

from thresher.crawler.cli import thresher as program
from thresher.storage.store import Store
from thresher.storage.view import View

FLAGS = {
    "--contact": ("identity.contact", "me@example.org", "me@example.org"),
    "--profile": ("profile", "own-site", "own-site"),
    "--scope": ("scope.type", "domain", "domain"),
    "--include": ("scope.include", "[a-c]x", ["[a-c]x"]),
    "--exclude": ("scope.exclude", "\\.pdf$", ["\\.pdf$"]),
    "--max-pages": ("limits.max_pages", "100", 100),
    "--max-depth": ("limits.max_depth", "0", 0),
    "--max-time": ("limits.max_time", "10 min", 600.0),
    "--delay": ("politeness.min_delay", "2", 2.0),
    "--agents": ("agents", "auto", "auto"),
}


def at(tree: object, key: str) -> object:
    for name in key.split("."):
        assert isinstance(tree, dict)
        tree = tree[name]
    return tree


@pytest.mark.parametrize("command", ["crawl", "resume", "check"])
def test_each_command_that_configures_a_crawl_has_all_ten(command: str) -> None:
    found = program.get_command(click.Context(program), command)
    assert found is not None
    assert {option for parameter in found.params for option in parameter.opts} >= set(FLAGS)


@pytest.mark.parametrize("flag", list(FLAGS))
def test_a_flag_sets_its_option_and_is_named_as_its_origin(thresher: Command, flag: str) -> None:
    key, text, value = FLAGS[flag]
    rendered = json.loads(thresher("check", flag, text, "--render", "--json").out)
    assert at(rendered["settings"], key) == value
    assert rendered["origins"][key] == flag


def test_a_flag_wins_over_set_that_over_the_environment_that_over_a_file(
    thresher: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THRESHER_LIMITS__MAX_PAGES", "2")
    monkeypatch.setenv("THRESHER_LIMITS__MAX_DEPTH", "2")
    (tmp_path / "c.yaml").write_text("limits: {max_pages: 1, max_depth: 1, max_time: 1}\nscope: {include: [a, b]}\n")
    words = ("-c", tmp_path / "c.yaml", "--set", "limits.max_pages=3", "--max-pages", "4", "--include", "x", "--include", "y")
    rendered = json.loads(thresher("check", *words, "--render", "--json").out)
    limits = rendered["settings"]["limits"]
    assert (limits["max_pages"], limits["max_depth"], limits["max_time"]) == (4, 2, 1)
    assert rendered["settings"]["scope"]["include"] == ["x", "y"]


def test_delay_holds_at_ones_own_site_too(thresher: Command) -> None:
    rendered = json.loads(thresher("check", "--delay", "3", "--render", "--json").out)
    assert rendered["settings"]["own_site"]["delay"] == 3.0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--max-pages", "many"), '--max-pages many: limits.max_pages: expected a whole number ≥ 1 or null, got "many"'),
        (("--max-pages", ""), "--max-pages : limits.max_pages: expected"),
        (("--exclude", "("), 'expected an RE2 pattern, got "("'),
        (("--delay", "120"), "politeness.min_delay: expected at most politeness.max_delay, 60.0"),
    ],
)
def test_a_bad_value_is_refused_as_anywhere(thresher: Command, words: tuple[str, ...], says: str) -> None:
    ran = thresher("check", "--contact", "me@example.org", *words)
    assert ran.code == 2
    assert says in ran.err


def test_a_value_that_several_options_take_is_one_mistake(thresher: Command) -> None:
    """Mutation: each of the flag's options said the same, "2 mistakes"."""
    ran = thresher("check", "--contact", "me@example.org", "--delay", "-1")
    assert ran.err.splitlines() == [
        'thresher: --delay -1: politeness.min_delay: expected a number of seconds ≥ 0, got "-1". Write for example 1.0'
    ]


def test_resume_takes_them_over_the_crawls_own_configuration(thresher: Command, tmp_path: Path) -> None:
    """With a limit that is reached at once, so that nothing is fetched."""
    from thresher.config.load import load

    settings = load([], sets=["identity.contact=me@example.org", "seeds=['http://a.example/']", "limits.max_depth=7"]).settings
    Store.create(tmp_path / "crawl", settings, 0.0).close()
    assert thresher("resume", tmp_path / "crawl", "--max-time", "0", "--progress", "none").code == 0
    with View(tmp_path / "crawl") as view:
        assert (view.settings.limits.max_time, view.settings.limits.max_depth) == (0.0, 7)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scope.include", "['(']"),
        ("scope.exclude", "['a.example', '[']"),
        ("scope.schemes", "[]"),
        ("profile=own-site,own_site.pinned", "{'a.example:x': '10.0.0.1'}"),
        ("fetch.allow_addresses", "[x]"),
        ("dns.static", "{'a_-.example..': x}"),
        ("dns.servers", "[x]"),
        ("url.strip_params", "['*x']"),
        ("filters.media.skip_extensions", "['.pdf']"),
        ("overrides", "[{match: '*.a.example'}]"),
    ],
)
def test_a_value_that_cannot_work_is_one_mistake_whatever_else_is_checked(thresher: Command, key: str, value: str) -> None:
    """Mutation: the wrong value stays in the settings with which seeds are checked; a wrong pattern raises an exception wherever it is
    compiled.
    """
    *before, key = key.split(",")
    sets = [word for text in (*before, f"{key}={value}") for word in ("--set", text)]
    ran = thresher("check", "--contact", "me@example.org", *sets, "a.example")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1, ran.err
    assert f"{key}" in ran.err


@pytest.mark.parametrize(
    "text",
    ["identity: {contact: &c me@example.org}", "identity: {contact: me@example.org}\nidentity: {}", "identity: {contact: me@example.org"],
)
def test_what_a_file_that_cannot_be_read_may_say_is_not_called_missing(thresher: Command, tmp_path: Path, text: str) -> None:
    """Mutation: what was given is checked for completeness although a file could not be read."""
    (tmp_path / "c.yaml").write_text(f"{text}\nfetch: {{allow_ports: [8080]}}\n")
    ran = thresher("check", "-c", tmp_path / "c.yaml", "http://a.example:8080/")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1, ran.err
    assert "c.yaml:" in ran.err
