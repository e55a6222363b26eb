"""Layers and their order, origins, rendering, the documented defaults and the examples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect as types

from thresher.config.errors import ConfigError
from thresher.config.load import Loaded, Origin, from_json, load, render, to_json
from thresher.config.options import bare, options
from thresher.config.render import as_mapping
from thresher.config.settings import Settings

FOLDER = Path(__file__).parents[2] / "config"
DEFAULT = FOLDER / "default.yaml"


def test_nothing_given_is_the_defaults() -> None:
    loaded = load([])
    assert loaded.settings == Settings()
    assert set(loaded.origins) == set(options())
    assert {origin.source for origin in loaded.origins.values()} == {"default"}


def test_flag_beats_environment_beats_later_file_beats_earlier_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(
        "politeness:\n  min_delay: 1\n  delay_factor: 1\n  max_delay: 11\n  jitter: 0.5\nseeds: [http://a.example/]\n"
    )
    Path("b.yaml").write_text("politeness: {min_delay: 2, delay_factor: 2, max_delay: 12}\nseeds: [http://b.example/]\n")
    environ = {"THRESHER_POLITENESS__MIN_DELAY": "3", "THRESHER_POLITENESS__DELAY_FACTOR": "3", "HOME": "/"}
    loaded = load(["a.yaml", Path("b.yaml")], sets=["politeness.min_delay=9", "politeness.min_delay=4"], environ=environ)
    of = loaded.settings.politeness
    assert (of.min_delay, of.delay_factor, of.max_delay, of.jitter) == (4, 3, 12, 0.5)
    assert loaded.settings.seeds == ["http://b.example/"]
    assert {
        key: loaded.origins[f"politeness.{key}"].source for key in ("min_delay", "delay_factor", "max_delay", "jitter", "dead_wait")
    } == {
        "min_delay": "--set politeness.min_delay",
        "delay_factor": "env THRESHER_POLITENESS__DELAY_FACTOR",
        "max_delay": "b.yaml:1",
        "jitter": "a.yaml:5",
        "dead_wait": "default",
    }


def test_mappings_are_merged_entry_by_entry_and_lists_replaced(tmp_path: Path) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text("dns:\n  static:\n    a.example: 127.0.0.1\n    b.example: 127.0.0.2\n")
    loaded = load([path], sets=["dns.static.b.example=127.0.0.3", "dns.static={c.example: 127.0.0.4}"])
    assert loaded.settings.dns.static == {"a.example": "127.0.0.1", "b.example": "127.0.0.3", "c.example": "127.0.0.4"}
    assert loaded.origins["dns.static.a.example"] == Origin(f"{path}:3")
    assert loaded.origins["dns.static.b.example"] == Origin("--set dns.static.b.example")


def test_a_whole_section_may_be_set_and_its_own_options_win() -> None:
    environ = {"THRESHER_ROBOTS__OBEY": "yes", "THRESHER_ROBOTS": "{obey: no, on_403: disallow}"}
    of = load([], environ=environ).settings.robots
    assert (of.obey, of.on_403) == (True, "disallow")


def test_default_yaml_loads_to_exactly_the_defaults() -> None:
    loaded = load([DEFAULT])
    assert loaded.settings == Settings()
    assert {key for key, origin in loaded.origins.items() if origin.source == "default"} == set()


@pytest.mark.parametrize("key", list(options()))
def test_every_option_is_commented_with_its_unit_in_default_yaml(key: str) -> None:
    line = int(load([DEFAULT]).origins[key].source.rpartition(":")[2]) - 1
    lines = DEFAULT.read_text(encoding="utf-8").split("\n")
    comment = lines[line].partition(" # ")[2] or lines[line - 1].lstrip()
    assert len(comment.lstrip("# ").split()) >= 3, "says too little"
    kind = options()[key].type
    kinds = kind.types if isinstance(kind, types.UnionType) else (kind,)
    for unit in filter(None, (bare(kind)[1] for kind in kinds)):
        assert re.search(rf"\b{unit}\b", comment), f"no unit: {unit}"


def test_other_readers_of_yaml_agree_on_the_files_we_ship() -> None:
    """What we write must not depend on our own reading: the mode `off` and the like stay text elsewhere too."""
    for path in (DEFAULT, *(FOLDER / "examples").glob("*.yaml")):
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert isinstance(plain, dict)
        assert isinstance(plain.get("scope", {}).get("type", ""), str)


def test_gentle_example() -> None:
    of = load([FOLDER / "examples/gentle.yaml"]).settings
    assert of.identity.contact == ""
    assert of.politeness.min_delay >= 5
    assert (of.scope.type, of.fetch.concurrency, of.politeness.address_connections) == ("host", 2, 1)


def test_broad_example() -> None:
    of = load([FOLDER / "examples/broad.yaml"]).settings
    assert (of.identity.contact, of.scope.type) == ("", "any")
    assert of.limits.max_pages_per_host is not None
    assert of.limits.max_pages_per_host < 1_000
    assert of.politeness.min_delay >= Settings().politeness.min_delay


def test_archive_example_keeps_everything() -> None:
    of = load([FOLDER / "examples/archive.yaml"]).settings
    assert of.identity.contact == ""
    assert of.scope.type == "domain"
    assert of.store.bodies
    assert of.archive.format == "warc"
    assert of.fetch.accept_types == ["*/*"]
    assert {part["mode"] for part in msgspec.to_builtins(of.filters).values() if isinstance(part, dict)} == {"observe"}
    assert of.robots.obey
    assert of.politeness == Settings().politeness


def test_every_example_asks_for_a_contact_and_says_why_of_each_value() -> None:
    for path in (FOLDER / "examples").glob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert 'contact: ""  # FILL IN: ' in text


# ---- rendering ----

TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs")), max_size=12)


def numbers(kind: types.IntType | types.FloatType) -> st.SearchStrategy[Any]:
    if isinstance(kind, types.IntType):
        return st.integers(int(kind.ge if kind.ge is not None else 0), int(kind.le if kind.le is not None else 10**15))
    least = kind.gt if kind.gt is not None else kind.ge
    most = kind.lt if kind.lt is not None else kind.le
    return st.floats(least, most, exclude_min=kind.gt is not None, exclude_max=kind.lt is not None, allow_nan=False)


SPECIAL: dict[str, st.SearchStrategy[Any]] = {  # option → values that config/check.py lets through
    "identity.agent": st.from_regex(r"\A[A-Za-z_-]{1,20}\Z"),
    "identity.contact": st.sampled_from(["", "me@example.org", "https://example.org/~me?a='b'#c"]),
    "identity.from_header": st.sampled_from(["", "me@example.org"]),
    "scope.include": st.lists(TEXT.map(lambda text: re.sub(r"[^\w ]", "#", text) + ".*"), max_size=3),
    "scope.exclude": st.lists(st.sampled_from([r"\.pdf$", "a|b", "null", "off", "[?&]x=", "'\"", "  x  "]), max_size=3),
    "scope.schemes": st.sampled_from([["http"], ["https", "http"]]),
    "fetch.accept_types": st.sampled_from([["*/*"], ["text/*", "application/x.y+z"]]),
    "fetch.allow_addresses": st.sampled_from([[], ["127.0.0.0/8", "::1/128"]]),
    "fetch.allow_ports": st.sampled_from([[80], [1, 65_535], "any"]),
    "fetch.headers": st.dictionaries(st.sampled_from(["X-A", "0", "~", "no"]), TEXT.map(ascii)),
    "dns.servers": st.sampled_from([[], ["[::1]:53", "127.0.0.1"]]),
    "dns.static": st.dictionaries(st.sampled_from([".demo", "a.example", "1.0", "no"]), st.just("::1")),
    "own_site.pinned": st.dictionaries(st.sampled_from(["a.example:80", "[::1]:8000"]), st.sampled_from(["::1", "127.0.0.1 ::1"])),
    "labels": st.dictionaries(st.sampled_from(["https://a.example/", "a.example/x:y"]), TEXT, max_size=2),
    "fetch.proxy": st.sampled_from(["", "http://proxy.example:3128", "socks5://[::1]:1080"]),
    "fetch.bind": st.sampled_from([[], ["192.0.2.1"], ["192.0.2.1", "2001:db8::1"]]),
    "url.strip_params": st.sampled_from([[], ["utm_*", "*", "null"]]),
    "scope.danger.links": st.lists(st.sampled_from(["/logout", "/a|b/**", "?x=#", "/s?a|b=c*&d"]), max_size=3),
    "scope.danger.harmless": st.lists(st.sampled_from(["/docs/", "#", "x{2}"]), max_size=3),
    "filters.media.skip_announced": st.lists(st.sampled_from(["application/json", "text/*+x"]), max_size=3),
    "filters.media.skip_extensions": st.lists(st.sampled_from(["7z", "no", "1e3", "pdf"] * 9), max_size=40),
    "overrides": st.sampled_from(
        [
            [],
            [
                {"match": "a.example", "options": {"politeness.min_delay": 0.5}, "skip": True},
                {
                    "match": "https://a.example/x:y/",
                    "options": {"robots.obey": False, "limits.max_depth": None, "scope.exclude": ["a#"]},
                },
            ],
        ]
    ),
}


def values(key: str, kind: types.Type) -> st.SearchStrategy[Any]:
    """Draw any value that config/check.py lets through too."""
    if key in SPECIAL:
        return SPECIAL[key]
    match bare(kind)[0]:
        case types.UnionType(types=kinds):
            return st.one_of(*(values(key, inner) for inner in kinds))
        case types.NoneType():
            return st.none()
        case types.BoolType():
            return st.booleans()
        case types.LiteralType(values=words):
            return st.sampled_from(list(words))
        case types.StrType():
            return TEXT
        case types.ListType():
            return st.lists(TEXT, max_size=5)
        case types.IntType() | types.FloatType() as number:
            return numbers(number)
    raise AssertionError(key)


@st.composite
def configurations(draw: st.DrawFn) -> Settings:
    chosen = draw(st.lists(st.sampled_from(list(options())), unique=True, max_size=12))
    tree: dict[str, Any] = {}
    for key in chosen:
        *sections, name = key.split(".")
        level = tree
        for section in sections:
            level = level.setdefault(section, {})
        level[name] = draw(values(key, options()[key].type))
    for section, low, high in (
        ("politeness", "min_delay", "max_delay"),
        ("politeness", "backoff_initial", "backoff_max"),
        ("dns", "min_ttl", "max_ttl"),
    ):
        if low in tree.get(section, {}) or high in tree.get(section, {}):
            tree[section] |= {low: 0.25, high: 3600.0}
    if tree.get("profile") == "own-site":
        tree.get("fetch", {}).pop("proxy", None)
    return msgspec.convert(tree, Settings)


@given(configurations())
@settings(max_examples=30, deadline=None, derandomize=True)
def test_what_is_rendered_loads_back_to_equal_settings(of: Settings) -> None:
    """Mutation: leave `null` bare in render.py's `_scalar`, or the line wrap without its comma, and this fails."""
    sources = {key: Origin("a.yaml:1 \n# x") for key in options()}
    text = render(Loaded(of, sources))
    assert load(["-"], stdin=lambda: text).settings == of
    assert load(["-"], stdin=lambda: json.dumps(as_mapping(of))).settings == of
    assert from_json(to_json(of)) == of


@given(configurations())
@settings(max_examples=20, deadline=None, derandomize=True)
def test_the_rendered_settings_are_yaml_to_others_too(of: Settings) -> None:
    plain = yaml.safe_load(render(Loaded(of, {key: Origin("default") for key in options()})))
    plain["overrides"] = [_flat(item) for item in plain["overrides"]]
    assert msgspec.convert(plain, Settings, strict=False) == of


def _flat(item: dict[str, Any]) -> dict[str, Any]:
    """Return an override of a file as the settings have it: its sections are options by dotted key."""
    sections = {name: item.pop(name) for name in [*item] if name not in ("match", "skip")}
    return {**item, "options": {f"{name}.{key}": value for name, of in sections.items() for key, value in of.items()}}


def test_every_rendered_value_names_its_origin(tmp_path: Path) -> None:
    path = tmp_path / "crawl.yaml"
    path.write_text("fetch:\n  headers: {X-A: b}\noverrides: [{match: a.example, skip: yes}]\nlimits: {max_time: 2 h}\n")
    text = render(load([path], sets=["fetch.allow_ports=any"], environ={"THRESHER_AGENTS": "2"}))
    for line in (
        "agents: 2  # env THRESHER_AGENTS",
        f"  max_time: 7200.0  # {path}:4",
        "  allow_ports: any  # --set fetch.allow_ports",
        f"  headers:  # {path}:2",
        f"    X-A: b  # {path}:2",
        f"overrides:  # {path}:3",
        '  - match: "a.example"',
        "    skip: true",
        "  min_delay: 1.0  # default",
        '  contact: ""  # default',
    ):
        assert line in text.split("\n")
    assert text.count("# default") == len(options()) - 5


def test_json_holds_settings_and_origins() -> None:
    loaded = load([], sets=["agents=2"])
    shown = json.loads(render(loaded, as_json=True))
    assert msgspec.convert(shown["settings"], Settings) == loaded.settings
    assert shown["origins"]["agents"] == "--set agents"
    assert shown["origins"]["robots.obey"] == "default"


def test_a_stored_configuration_of_another_version_is_named() -> None:
    assert from_json(to_json(Settings())) == Settings()
    for content in (b"", b"{", b'{"agents": "many"}', b'{"unheard_of": 1}', b"\xff"):
        with pytest.raises(ConfigError, match=r"^the stored configuration cannot be used: .*Give the configuration anew$"):
            from_json(content)


def test_settings_are_read_by_type_alone_so_every_type_is_readable() -> None:
    """A new option of a type that the loader does not know fails here, not at a user's."""
    for key, field in options().items():
        assert values(key, field.type) is not None
        with pytest.raises(ConfigError):
            load([], sets=[key + "={x: [y]}"])
