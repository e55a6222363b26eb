"""What the stories of soft errors share: a crawl of a little web with probes, and functions that read the verdicts from its store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from little_web import Crawled, LittleWeb, settings
from soft_web import only_soft_errors, standing

from thresher.config.settings import FilterSettings, LimitSettings, Settings
from thresher.crawler.explain.explain import Explainer
from thresher.filters.soft_error.probe import N_LETTERS
from thresher.storage.view import View

LIMITS = LimitSettings(min_free_disk=0, max_wait=1.0)
FILTERS = only_soft_errors()


def probing(web: LittleWeb, *seeds: str, filters: FilterSettings = FILTERS, **sections: Any) -> Settings:
    return settings(web, seeds or ["a.test/"], **{"limits": LIMITS, "filters": filters, **sections})


def soft(web: LittleWeb, crawled: Crawled) -> dict[str, tuple[str, str]]:
    """Return place → (kind, what the probe showed) of every URL whose verdict that stands says "soft error"."""
    found = standing(crawled.path)
    return {web.place(url): (str(evidence["kind"]), str(evidence["probe"])) for url, evidence in found.items()}


def is_probe(place: str) -> bool:
    name = place.rstrip("/").rpartition("/")[2].partition(".")[0].rpartition("=")[2]
    return len(name) == N_LETTERS and name.isalpha()


def probes(web: LittleWeb) -> list[str]:
    """Return the probes that the server received, each as the directory in which it asked."""
    return [place.rpartition("/")[0] + "/" for place in web.requests if is_probe(place)]


def explained(crawled: Crawled, url: str) -> Any:
    with View(crawled.path) as view:
        return Explainer(view, view.settings, view.clock).story(url)


NOT_FOUND = "Sorry, the page you asked for could not be found. It may have been removed. Please go to the home page and look for it."


def error_page(web: LittleWeb, place: str, *links: str) -> None:
    web.page(place, *links, text=NOT_FOUND)


def sends(web: LittleWeb, target: str) -> Callable[[str], None]:
    """Return a function that redirects a place to a target, in which {} is replaced by the requested path."""
    return lambda place: web.redirect(place, target.format(quote(place[place.index("/") :], safe="")), status=302)
