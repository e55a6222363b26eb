"""Opens the web that settings describe: the plain one, or a labelled one if they name parts."""

from __future__ import annotations

from thresher.crawler.demo.demo_settings import DemoSettings
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.web import Web

AnyWeb = Web | LabelledWeb


def open_web(demo_settings: DemoSettings, *, port: int = 80) -> AnyWeb:
    return LabelledWeb(demo_settings, port=port) if demo_settings.parts else Web(demo_settings, port=port)
