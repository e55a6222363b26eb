"""What a value may look like, and the message when it looks otherwise: a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from thresher.config.errors import ConfigError
from thresher.config.load import load
from thresher.config.settings import Settings


def value(settings: Settings, key: str) -> object:
    found: object = settings
    for name in key.split("."):
        found = getattr(found, name)
    return found


GOOD = [
    ("politeness.min_delay", "2", 2.0),
    ("politeness.min_delay", "2.5", 2.5),
    ("politeness.min_delay", ".5", 0.5),
    ("politeness.min_delay", "1e-3", 0.001),
    ("politeness.min_delay", "500 ms", 0.5),
    ("politeness.min_delay", '"2"', 2.0),
    ("limits.max_wait", "10 min", 600.0),
    ("limits.max_wait", "25s", 25.0),
    ("limits.max_wait", "10min", 600.0),
    ("limits.min_free_disk", "1GiB", 1 << 30),
    ("limits.max_wait", '"10 min"', 600.0),
    ("limits.max_time", "1.5 h", 5400.0),
    ("limits.max_time", "7 d", 604_800.0),
    ("limits.max_time", "null", None),
    ("limits.max_time", "~", None),
    ("limits.max_time", "None", None),
    ("limits.max_pages", "10_000", 10_000),
    ("limits.max_pages", "+5", 5),
    ("limits.min_free_disk", "0", 0),
    ("fetch.max_body", "10 MiB", 10 << 20),
    ("fetch.max_body", "64 KB", 64_000),
    ("fetch.max_body", "1.5 KiB", 1536),
    ("store.compression_level", "-3", -3),
    ("robots.obey", "no", False),
    ("robots.obey", "Off", False),
    ("robots.obey", "TRUE", True),
    ("robots.obey", "'yes'", True),
    ("filters.media.mode", "off", "off"),
    ("agents", "auto", "auto"),
    ("agents", "4", 4),
    ("fetch.allow_ports", "any", "any"),
    ("fetch.allow_ports", "[80,8080]", [80, 8080]),
    ("scope.include", '["/docs/"]', ["/docs/"]),
    ("scope.include", "[NO, 010, 12:30:00, 1.0, .inf]", ["NO", "010", "12:30:00", "1.0", ".inf"]),
    ("identity.agent", "NO", "NO"),
    ("log.requests", "", ""),
    ("log.requests", "'null'", "null"),
    ("dns.static", "{.demo: 127.0.0.1#, a.example: '::1'}", {".demo": "127.0.0.1#", "a.example": "::1"}),
    ("dns.servers", "['9.9.9.9', '127.0.0.1:5353', '::1', '[::1]:53']", ["9.9.9.9", "127.0.0.1:5353", "::1", "[::1]:53"]),
    ("fetch.allow_addresses", "[127.0.0.0/8, '::1']", ["127.0.0.0/8", "::1"]),
    ("identity.contact", "https://example.org/bot?a=b#c", "https://example.org/bot?a=b#c"),
    ("identity.contact", "me@example.org", "me@example.org"),
]


@pytest.mark.parametrize(("key", "text", "expected"), GOOD)
def test_a_value_means_what_its_option_is(key: str, text: str, expected: object, tmp_path: Path) -> None:
    *sections, name = key.split(".")
    path = tmp_path / "crawl.yaml"
    if text:  # in a file nothing at all is no text
        path.write_text(
            "".join("  " * i + section + ":\n" for i, section in enumerate(sections)) + "  " * len(sections) + f"{name}: {text}\n"
        )
        read = value(load([path]).settings, key)
        assert (read, type(read)) == (expected, type(expected))
    for loaded in (
        load([], sets=[f"{key}={text}"]),
        load([], environ={"THRESHER_" + key.upper().replace(".", "__"): text}),
    ):
        assert value(loaded.settings, key) == expected


NUMBER = "a number of seconds ≥ 0"
BAD = [
    ("politeness.min_delay", "2 sec", f'expected {NUMBER}, got "2 sec". Write 2.0'),
    ("politeness.min_delay", "1m", f'expected {NUMBER}, got "1m". Write 60.0'),
    ("politeness.min_delay", "abc", f'expected {NUMBER}, got "abc". Write for example 1.0'),
    ("politeness.min_delay", "-1", f'expected {NUMBER}, got "-1". Write for example 1.0'),
    ("politeness.min_delay", ".inf", f'expected {NUMBER}, got ".inf". Write for example 1.0'),
    ("politeness.min_delay", "nan", f'expected {NUMBER}, got "nan". Write for example 1.0'),
    ("politeness.min_delay", "1e999", 'expected a number of seconds ≤ 1000000000, got "1e999". Write for example 1.0'),
    ("politeness.min_delay", "12:30:00", f'expected {NUMBER}, got "12:30:00". Write for example 1.0'),
    ("politeness.min_delay", "null", f'expected {NUMBER}, got "null". Write for example 1.0'),
    ("politeness.min_delay", "[1]", f"expected {NUMBER}, got a list. Write for example 1.0"),
    ("politeness.delay_factor", "10 s", 'expected a number ≥ 0, got "10 s". Write for example 10.0'),
    ("limits.max_time", "2 hours", f'expected {NUMBER} or null, got "2 hours". Write 7200.0'),
    ("limits.max_time", "", f"expected {NUMBER} or null, got nothing. Write null for none"),
    ("limits.max_pages", "ten", 'expected a whole number ≥ 1 or null, got "ten". Write for example 100'),
    ("limits.max_pages", "1e6", 'expected a whole number ≥ 1 or null, got "1e6". Write 1000000'),
    ("limits.max_pages", "010", 'expected a whole number ≥ 1 or null, got "010". Write for example 100'),
    ("limits.max_pages", "0x10", 'expected a whole number ≥ 1 or null, got "0x10". Write for example 100'),
    ("limits.max_pages", "9" * 5000, 'expected a whole number ≥ 1 or null, got "' + "9" * 59 + '…". Write for example 100'),
    ("fetch.max_body", "10M", 'expected a number of bytes ≥ 1, got "10M". Write 10485760'),
    ("fetch.max_body", "0.3 B", 'expected a number of bytes ≥ 1, got "0.3 B". Write for example 10485760'),
    ("fetch.total_timeout", "0", 'expected a number of seconds > 0, got "0". Write for example 60.0'),
    ("politeness.jitter", "2", 'expected a number from 0 to 1, got "2". Write for example 0.1'),
    ("store.compression_level", "99", 'expected a whole number from -7 to 19, got "99". Write for example 1'),
    ("agents", "many", 'expected a whole number ≥ 1 or auto, got "many". Write for example 1'),
    ("robots.obey", "y", 'expected true or false, got "y". Write true or false'),
    ("robots.obey", "1", 'expected true or false, got "1". Write true or false'),
    ("filters.media.mode", "obseve", 'expected enforce, observe or off, got "obseve". Write observe'),
    ("filters.media.mode", "false", 'expected enforce, observe or off, got "false". Write one of these'),
    ("fetch.allow_ports", "80", 'expected a list or any, got "80". Write [80]'),
    ("fetch.allow_ports", "[]", "expected at least one port, or any, got an empty list. Write [80, 443]"),
    ("scope.include", "/docs/", 'expected a list, got "/docs/". Write [/docs/]'),
    ("dns.static", "[a]", "expected a mapping of names to text, got a list. Write {} or {name: text}"),
    ("identity.contact", "null", 'expected text, got "null". Write "" for none, or "null" in quotes for the word itself'),
    ("identity.contact", "[a]", "expected text, got a list. Write one value, in quotes if it holds any of []{},:#"),
    ("log.requests", '"a\\u0001b"', 'expected text without the control character U+0001, got "a\\u0001b". Remove it'),
    ("politeness", "3", 'expected a mapping of options, got "3". Write `key: value` lines'),
]


@pytest.mark.parametrize(("key", "text", "message"), BAD)
def test_a_wrong_value_is_named_with_place_and_remedy(
    key: str, text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    *sections, name = key.split(".")
    Path("crawl.yaml").write_text(
        "\n" + "".join("  " * i + s + ":\n" for i, s in enumerate(sections)) + "  " * len(sections) + f"{name}: {text}\n"
    )
    with pytest.raises(ConfigError) as caught:
        load(["crawl.yaml"])
    place, _, rest = str(caught.value).partition(": ")
    assert place.startswith(f"crawl.yaml:{len(sections) + 2}:")
    assert rest == f"{key}: {message}"
    with pytest.raises(ConfigError) as caught:
        load([], sets=[f"{key}={text}"])
    assert str(caught.value).startswith(f"--set {key}=")
    assert str(caught.value).endswith(f": {key}: {message}")
    variable = "THRESHER_" + key.upper().replace(".", "__")
    with pytest.raises(ConfigError) as caught:
        load([], environ={variable: text})
    assert str(caught.value) == f"env {variable}: {key}: {message}"


UNKNOWN = [
    ("politeness:\n  min_dely: 2\n", "crawl.yaml:2:3: politeness.min_dely: unknown key, did you mean politeness.min_delay?"),
    ("min_delay: 2\n", "crawl.yaml:1:1: min_delay: unknown key, did you mean politeness.min_delay?"),
    (
        "politeness.min_delay: 2\n",
        "crawl.yaml:1:1: politeness.min_delay: expected one key a level, got a dotted one. Write politeness: {min_delay: …}",
    ),
    ("politness: {min_delay: 2}\n", "crawl.yaml:1:1: politness: unknown key, did you mean politeness?"),
    ("limits: {max-pages: 2}\n", "crawl.yaml:1:10: limits.max-pages: unknown key, did you mean limits.max_pages?"),
    ("filters: {media: {modes: off}}\n", "crawl.yaml:1:19: filters.media.modes: unknown key, did you mean filters.media.mode?"),
    ("retry: {zzz: 1}\n", "crawl.yaml:1:9: retry.zzz: unknown key. Known here: scale, max_tries"),
    ("NO: 1\n", "crawl.yaml:1:1: NO: unknown key. Known here: "),
    ("? " + "k" * 5000 + "\n: 1\n", "crawl.yaml:1:3: " + "k" * 99 + "…: unknown key"),
    (
        "overrides: [{match: a.example, min_delay: 3}]\n",
        "crawl.yaml:1:32: overrides[0].min_delay: unknown key, did you mean politeness.min_delay?",
    ),
    (
        "overrides: [{match: a.example, zzz: 3}]\n",
        "crawl.yaml:1:32: overrides[0].zzz: unknown key. Known here: ",
    ),
    (
        "overrides: [{match: a.example, skp: yes}]\n",
        "crawl.yaml:1:32: overrides[0].skp: unknown key, did you mean skip?",
    ),
    (
        "overrides: [{match: a.example, retry: {zzz: 1}}]\n",
        "crawl.yaml:1:40: overrides[0].retry.zzz: unknown key. Known here: scale, max_tries",
    ),
    (
        "overrides: [{match: a.example, retry.scale: 1}]\n",
        "crawl.yaml:1:32: overrides[0].retry.scale: expected one key a level, got a dotted one. Write retry: {scale: …}",
    ),
    ("overrides: [{skip: yes}]\n", "crawl.yaml:1:13: overrides[0]: expected the key match, got none. Add match: …"),
    ("overrides: [a.example]\n", 'crawl.yaml:1:13: overrides[0]: expected a mapping of options, got "a.example". Write {match: …, …}'),
]


@pytest.mark.parametrize(("content", "message"), UNKNOWN)
def test_an_unknown_key_is_answered_with_the_nearest(content: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("crawl.yaml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        load(["crawl.yaml"])
    assert str(caught.value).startswith(message) if message.endswith(("key", "here: ")) else str(caught.value) == message


def test_unknown_keys_of_flags_and_environment_are_named_too() -> None:
    for key, near in {
        "min_delay": "politeness.min_delay",
        "politness.min_delay": "politeness.min_delay",
        "politeness_min_delay": "politeness.min_delay",
        "fetch.concurency": "fetch.concurrency",
        "agent": "identity.agent",
        "politeness.min_delay.x": "politeness.min_delay",
    }.items():
        with pytest.raises(ConfigError) as caught:
            load([], sets=[f"{key}=2"])
        assert str(caught.value) == f"--set {key}=2: {key}: unknown key, did you mean {near}?"
    with pytest.raises(ConfigError) as caught:
        load([], environ={"THRESHER_POLITENESS_MIN_DELAY": "2"})
    assert str(caught.value) == "env THRESHER_POLITENESS_MIN_DELAY: politeness_min_delay: unknown key, did you mean politeness.min_delay?"
    with pytest.raises(ConfigError, match=r"^env THRESHER_: : unknown key"):
        load([], environ={"THRESHER_": "2"})


@pytest.mark.parametrize("text", ["politeness.min_delay", "=3", "", " = "])
def test_a_flag_without_key_or_value_shows_the_form(text: str) -> None:
    with pytest.raises(ConfigError, match=r"expected KEY=VALUE, got .*Write for example politeness\.min_delay=2$"):
        load([], sets=[text])


def test_a_flag_is_taken_as_it_is_unless_it_begins_like_yaml() -> None:
    loaded = load([], sets=["log.requests= a # b: *c ", "fetch.headers.X-Note=!x", "dns.static..demo=127.0.0.1#"])
    assert loaded.settings.log.requests == "a # b: *c"
    assert loaded.settings.fetch.headers == {"X-Note": "!x"}
    assert loaded.settings.dns.static == {".demo": "127.0.0.1#"}
    with pytest.raises(ConfigError, match=r"^--set scope\.include=\[/docs/: not YAML: "):
        load([], sets=["scope.include=[/docs/"])
    with pytest.raises(ConfigError, match=r"^--set a=\"\\udcff\": expected text, got the control character U\+DCFF\. Remove it$"):
        load([], sets=['a="\udcff"'])
    with pytest.raises(ConfigError, match="at most 256 KiB"):
        load([], sets=["log.requests=" + "x" * 300_000])
