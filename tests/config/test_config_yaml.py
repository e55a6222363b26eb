"""Files that are no configuration: hostile, broken, not there. Each ends in one ConfigError with its place, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from thresher.config.errors import ConfigError
from thresher.config.load import load, render
from thresher.config.yaml_tree import MAX_BYTES, MAX_VALUES

QUOTE_IT = "Put text that begins with this character in quotes"
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"

HOSTILE = {
    "deep_flow": (b"[" * 100_000, "crawl.yaml:1:21: expected at most 20 levels of lists and mappings. Remove the inner ones"),
    "deep_flow_later": (
        b"seeds: [a, " + b"[" * 100_000,
        "crawl.yaml:1:30: seeds: expected at most 20 levels of lists and mappings. Remove the inner ones",
    ),
    "deep_block": (b"- " * 100_000, "crawl.yaml:1:41: expected at most 20 levels of lists and mappings. Remove the inner ones"),
    "deep_keys": (
        b"{a: " * 60_000,
        "crawl.yaml:1:81: " + "a." * 19 + "a: expected at most 20 levels of lists and mappings. Remove the inner ones",
    ),
    "alias_bomb": (
        BOMB.encode(),
        "crawl.yaml:1:4: a: expected a value, got an anchor (&). " + QUOTE_IT + ", write other values out",
    ),
    "alias": (
        b"seeds: [*x]",
        "crawl.yaml:1:9: seeds: expected a value, got an alias (*). " + QUOTE_IT + ", write other values out",
    ),
    "python_tag": (
        b"seeds: !!python/object/apply:os.system [x]",
        'crawl.yaml:1:8: seeds: expected a value, got the tag "tag:yaml.org,2002:python/object/apply:os.system". '
        + QUOTE_IT
        + "; tags have no use here",
    ),
    "duplicate_key": (b"agents: 1\nagents: 2\n", "crawl.yaml:2:1: agents: key given twice, first at line 1. Remove one"),
    "duplicate_inner_key": (
        b"robots:\n  obey: true\n  obey: no\n",
        "crawl.yaml:3:3: robots.obey: key given twice, first at line 2. Remove one",
    ),
    "merge_key": (b"robots:\n  <<: {obey: no}\n", "crawl.yaml:2:3: robots: expected a key, got a merge key (<<). Write the values out"),
    "complex_key": (b"? [a]\n: b\n", "crawl.yaml:1:3: expected a key, got a list or mapping. Write `key: value`"),
    "empty_key": (b"? \n: b\n", "crawl.yaml:1:2: expected a key, got nothing. Write `key: value`"),
    "two_documents": (b"agents: 1\n---\nagents: 2\n", "crawl.yaml:2:1: expected one document, got a second one. Give two files instead"),
    "nul": (b"agents: 1\nlog:\n  level: a\0b", "crawl.yaml:3:11: expected text, got the control character U+0000. Remove it"),
    "escape": (b"# \x1b[31m", "crawl.yaml:1:3: expected text, got the control character U+001B. Remove it"),
    "binary": (b"\x7fELF\x02\x01\xff", "crawl.yaml:1:7: expected UTF-8 text, got byte 0xff. Save the file as UTF-8"),
    "latin_1": ("agents: 1\n# é".encode("latin-1"), "crawl.yaml:2:3: expected UTF-8 text, got byte 0xe9. Save the file as UTF-8"),
    "mark_then_latin_1": (b"\xef\xbb\xbfa: \xe9", "crawl.yaml:1:4: expected UTF-8 text, got byte 0xe9. Save the file as UTF-8"),
    "utf_16": ("agents: 1".encode("utf-16"), "crawl.yaml:1:1: expected UTF-8 text, got byte 0xff. Save the file as UTF-8"),
    "empty": (b"", "crawl.yaml:1:1: expected a mapping of options, got nothing. Write {} to set nothing"),
    "only_comments": (b"# agents: 1\n", "crawl.yaml:1:1: expected a mapping of options, got nothing. Write {} to set nothing"),
    "list_at_top": (b"- agents\n", "crawl.yaml:1:1: expected a mapping of options, got a list. Write `key: value` lines"),
    "text_at_top": (b"\nhello\n", 'crawl.yaml:2:1: expected a mapping of options, got "hello". Write `key: value` lines'),
    "too_large": (b"#" * (MAX_BYTES + 1), "crawl.yaml: expected at most 256 KiB, got more. Give seeds in a file of their own"),
    "too_many": (
        b"seeds: [" + b"a," * MAX_VALUES + b"]",
        "crawl.yaml:1:20003: seeds: expected at most 10,000 values. Give seeds in a file of their own",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_yaml_is_refused_with_its_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S23: bombs, tags, duplicates, depth, binary. Mutation: without the depth limit deep_flow never names level 21."""
    content, message = HOSTILE[name]
    monkeypatch.chdir(tmp_path)
    Path("crawl.yaml").write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(["crawl.yaml"])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("a: [1\nb: 2\n", "crawl.yaml:2:2: not YAML: "),
        ("a: 'x\ny", "crawl.yaml:2:2: not YAML: "),
        ("agents: 1\n\tlog: 2", "crawl.yaml:2:1: not YAML: "),
        ("a: b: c", "crawl.yaml:1:5: not YAML: "),
        ("seeds: [@x]", "crawl.yaml:1:9: not YAML: "),
        ("scope: {exclude: [*.pdf]}", "crawl.yaml:1:20: not YAML: "),
        ('log: {requests: "\\ud800"}', "crawl.yaml:1:"),
    ],
)
def test_broken_syntax_is_named_with_its_place(content: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("crawl.yaml").write_text(content)
    with pytest.raises(ConfigError) as caught:
        load(["crawl.yaml"])
    assert str(caught.value).startswith(place)


def test_text_that_begins_like_an_alias_is_told_to_be_quoted(tmp_path: Path) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text("scope:\n  exclude:\n    - *.pdf\n")
    with pytest.raises(ConfigError, match=r":3:\d+: not YAML: .*in quotes$"):
        load([path])


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").write_text("{}")
    for path, message in {
        "folder": "folder: expected a file, got a directory. Name a file in it",
        "absent.yaml": "absent.yaml: cannot be read: No such file or directory. Name another file",
        "file/under": "file/under: cannot be read: Not a directory. Name another file",
        "x" * 300: "x" * 199 + "…: cannot be read: File name too long. Name another file",
        "a\0b": "a\\u0000b: expected the name of a file, got one with a NUL character",
        "-": "-: expected a file, got standard input, which is not available here. Name a file",
        "esc\x1b": "esc\\u001b: cannot be read: No such file or directory. Name another file",
    }.items():
        with pytest.raises(ConfigError) as caught:
            load([path])
        assert str(caught.value) == message


def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text("{}")
    path.chmod(0)
    try:
        path.read_text()
    except PermissionError:
        with pytest.raises(ConfigError, match=r"crawl\.yaml: cannot be read: Permission denied\. Name another file$"):
            load([path])
    else:
        pytest.skip("this user may read every file")


def test_standard_input_is_a_file_once() -> None:
    loaded = load(["-"], stdin=lambda: "agents: 2\n")
    assert loaded.settings.agents == 2
    assert loaded.origins["agents"].source == "stdin:1"
    with pytest.raises(ConfigError, match="got it twice"):
        load(["-", "-"], stdin=lambda: "agents: 2\n")
    with pytest.raises(ConfigError, match=r"^stdin:1:1: expected UTF-8 text"):
        load(["-"], stdin=lambda: "\udcff")


def test_a_byte_order_mark_windows_lines_and_an_empty_section_are_taken(tmp_path: Path) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_bytes(b"\xef\xbb\xbf%YAML 1.1\r\n---\r\nagents: 3\r\nrobots:\r\n  # obey: no\r\n")
    assert load([path]).settings.agents == 3


@given(st.one_of(st.text(max_size=80), st.text(alphabet="[]{}:,-&*!|>'\"%@`# \nabpoliteness_", max_size=60)))
@settings(max_examples=100, deadline=None, derandomize=True)
@example("{a}")
@example("- - -\n- :")
@example("? ")
@example("!")
@example("--- |\n")
def test_any_text_loads_or_is_a_config_error(text: str) -> None:
    message = ""
    try:
        load(["-"], stdin=lambda: text)
    except ConfigError as error:
        message = str(error)
    assert not message or message.isprintable()


def test_text_that_only_an_escape_can_write_survives_rendering() -> None:
    text = "a\ufeff\u2028\u00ad\U000e0001b"
    loaded = load([], sets=["log.requests=" + text])
    assert loaded.settings.log.requests == text
    rendered = render(loaded)
    assert rendered.replace("\n", "").isprintable()
    assert load(["-"], stdin=lambda: rendered).settings == loaded.settings
