"""Opens the web that knobs describe: the plain one, or a labelled one where they name parts."""

from __future__ import annotations

from thresher.crawler.demo.knobs import Knobs
from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.web import Web

AnyWeb = Web | LabelledWeb


def open_web(knobs: Knobs, *, port: int = 80) -> AnyWeb:
    return LabelledWeb(knobs, port=port) if knobs.parts else Web(knobs, port=port)
