"""Entry points of other distributions, as the configuration finds them. How such a filter works: tests/filters/test_filter_plugins.py."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from thresher.config import plugins
from thresher.config.settings import FilterSettings, Settings

MODULE = """
import msgspec
class Options(msgspec.Struct, kw_only=True):
    mode: str = "enforce"
    least: int = {least}
class good:
    settings = Options
    @staticmethod
    def spec(options): ...
class no_settings:
    spec = len
class no_mode:
    class settings(msgspec.Struct): ...
    spec = len
class no_spec:
    settings = Options
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a folder whose distributions are found, and whose filters are forgotten afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    _forget()
    yield tmp_path
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    plugins.plugins.cache_clear()
    plugins.settings_type.cache_clear()
    for name in ("first_of_others", "second_of_others"):
        sys.modules.pop(name, None)


def install(folder: Path, module: str, **filters: str) -> None:
    """Put a distribution into a folder, with entry points by name."""
    (folder / f"{module}.py").write_text(MODULE.format(least=3))
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[thresher.filters]\n" + "".join(f"{name} = {to}\n" for name, to in filters.items()))


def test_a_filter_of_another_distribution_is_an_option_with_its_defaults(folder: Path) -> None:
    """Mutation: `settings_type` returned `Settings`."""
    install(folder, "first_of_others", thin="first_of_others:good")
    (thin,) = [one for one in plugins.plugins() if one.name == "thin"]
    assert (thin.distribution, thin.fault) == ("first_of_others", "")
    configured = msgspec.convert({"filters": {"thin": {"least": 5}}}, plugins.settings_type())
    assert isinstance(configured, Settings)
    assert (configured.filters.thin.least, configured.filters.thin.mode) == (5, "enforce")  # type: ignore[attr-defined]  # made at run time


@pytest.mark.parametrize(
    ("name", "to", "fault"),
    [
        ("thin", "first_of_others:no_settings", "expected `settings`, a msgspec Struct class"),
        ("thin", "first_of_others:no_mode", "expected an option `mode` among its settings"),
        ("thin", "first_of_others:no_spec", "expected `spec`, which builds the filter"),
        ("thin", "first_of_others:missing", "AttributeError"),
        ("thin", "no_such_module:good", "ModuleNotFoundError"),
        ("dust", "first_of_others:good", "its name is that of a filter of ours"),
        ("not-a-name", "first_of_others:good", "no name for an option"),
    ],
)
def test_what_cannot_be_used_is_no_option_and_says_why(folder: Path, name: str, to: str, fault: str) -> None:
    install(folder, "first_of_others", **{name: to})
    (found,) = [one for one in plugins.plugins() if one.name == name]
    assert fault in found.fault
    assert name not in set(plugins.settings_type()().filters.__struct_fields__) - set(FilterSettings.__struct_fields__)


def test_two_filters_of_one_name_are_both_left_out(folder: Path) -> None:
    """Mutation: the first was taken."""
    install(folder, "first_of_others", thin="first_of_others:good")
    install(folder, "second_of_others", thin="second_of_others:good")
    assert [one.fault for one in plugins.plugins() if one.name == "thin"] == ["another distribution has a filter of the same name"] * 2


def test_a_stored_configuration_names_filters_that_are_missing(folder: Path) -> None:
    install(folder, "first_of_others", thin="first_of_others:good")
    assert plugins.missing(b'{"filters": {"thin": {}, "dust": {}, "gone": {}}}') == ["gone"]
    assert plugins.missing(b"no configuration") == []
