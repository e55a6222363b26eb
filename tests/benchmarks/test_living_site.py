"""A living site says with which commands its software is installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tiny_site import SITE

from benchmarks.living import children


def test_what_is_missing_is_told_for_each_way_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "MAVEN", tmp_path)
    monkeypatch.setattr(children, "ENVIRONMENTS", tmp_path)
    needy = replace(SITE, needs={tmp_path / "program": "program-bin"}, pip=("django",), maven=("org.example:wiki:1.2:war",))
    debian, pip, maven = needy.missing_packages()
    assert debian == "apt-get install --no-install-recommends program-bin"
    assert pip.endswith("-m pip install 'django'")
    assert maven == "mvn dependency:get -Dartifact=org.example:wiki:1.2:war -Dtransitive=false"
    file = tmp_path / "org" / "example" / "wiki" / "1.2" / "wiki-1.2.war"
    file.parent.mkdir(parents=True)
    file.touch()
    assert needy.missing_packages() == [debian, pip]
