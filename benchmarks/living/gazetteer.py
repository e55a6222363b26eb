"""pygeoapi: a gazetteer, thousands of places of few words each, as an interface for programs that shows itself as pages, too.

A place has its page, the same page once more under `?f=html`, and two forms for programs, `?f=json` and `?f=jsonld`, whose types the links
announce; so has each list, each collection and each description of what may be asked. Lists go on by `?offset=`, ten places a page. As
pygeoapi configures it, over the zones of time and the regions that Debian's packages of such codes have.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from benchmarks.living import children
from benchmarks.living.apache import PACKAGE, PROGRAM, Place
from benchmarks.living.site import Site

ZONES = Path("/usr/share/zoneinfo/zone.tab")
CODES = Path("/usr/share/iso-codes/json")
N_REGIONS = 640
_FIELDS = ("id", "x", "y", "name", "kind", "country", "state", "remark")
_PLACE = re.compile(r"([+-])(\d\d)(\d\d)\d*([+-])(\d\d\d)(\d\d)\d*")
_APPLICATION = """
def make():
    from pygeoapi.flask_app import APP
    return APP
"""
_WORLD = {"spatial": {"bbox": [-180, -90, 180, 90], "crs": "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}}
_CONTACT = "name position address city stateorprovince postalcode country phone fax email url hours instructions role"


def build(place: Place) -> str:
    """Write the places and the configuration; return Apache's directives."""
    collections = {"zones": list(zones()), "regions": list(regions())}
    for name, rows in collections.items():
        with (place.directory / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([_FIELDS, *((n, *row) for n, row in enumerate(rows))])
    configuration = _configuration(place.url(GAZETTEER.hosts[0], "").rstrip("/"), place.directory, list(collections))
    (place.directory / "gazetteer.yml").write_text(json.dumps(configuration))  # which is YAML, too
    (place.directory / "gazetteer.py").write_text(_APPLICATION)
    generate = ("-c", "from pygeoapi import cli; cli()", "openapi", "generate", "gazetteer.yml", "--output-file", "interface.yml")
    children.run(GAZETTEER.name, place.directory, _variables(place), *generate)
    return children.proxied(place.directory)


def behind(place: Place) -> AbstractContextManager[None]:
    """Serve the application."""
    return children.application(GAZETTEER.name, "gazetteer:make", place.directory, _variables(place))


def _variables(place: Place) -> dict[str, str]:
    return {"PYGEOAPI_CONFIG": str(place.directory / "gazetteer.yml"), "PYGEOAPI_OPENAPI": str(place.directory / "interface.yml")}


def zones() -> Iterator[tuple[float, float, str, str, str, str, str]]:
    """Yield the zones of time: where, name, kind, country, its full name, remark."""
    countries = _countries()
    for line in ZONES.read_text().splitlines():
        if not line.startswith("#"):
            code, at, name, *remark = line.split("\t")
            state = countries[code].get("official_name", "")
            yield *_degrees(at), name, "zone of time", countries[code]["name"], state, "".join(remark)


def regions() -> Iterator[tuple[float, float, str, str, str, str, str]]:
    """Yield one in so many of the regions of all countries, where the country's first zone is."""
    countries = _countries()
    at = {line.split("\t")[0]: line.split("\t")[1] for line in reversed(ZONES.read_text().splitlines()) if line[0] != "#"}
    found = [region for region in json.loads((CODES / "iso_3166-2.json").read_text())["3166-2"] if region["code"][:2] in at]
    for region in found[:: len(found) // N_REGIONS][:N_REGIONS]:
        country = countries[region["code"][:2]]
        where, state = _degrees(at[country["alpha_2"]]), country.get("official_name", "")
        yield *where, region["name"], region["type"], country["name"], state, f"code {region['code']}"


def _countries() -> dict[str, dict[str, str]]:
    """Return code → the country's names."""
    return {country["alpha_2"]: country for country in json.loads((CODES / "iso_3166-1.json").read_text())["3166-1"]}


def _degrees(at: str) -> tuple[float, float]:
    """Return longitude and latitude of `+DDMM+DDDMM`, with seconds or without."""
    north, degrees, minutes, east, far, more = _PLACE.fullmatch(at).groups()  # type: ignore[union-attr]  # the file's form
    return round(float(f"{east}1") * (int(far) + int(more) / 60), 3), round(float(f"{north}1") * (int(degrees) + int(minutes) / 60), 3)


def _configuration(url: str, directory: Path, collections: list[str]) -> dict[str, Any]:
    about = {"description": "Places", "keywords": ["places"], "links": [], "extents": _WORLD}
    where = {"id_field": "id", "geometry": {"x_field": "x", "y_field": "y"}}
    resources = {
        name: {
            **about,
            "type": "collection",
            "title": name.title(),
            "providers": [{"type": "feature", "name": "CSV", "data": str(directory / f"{name}.csv"), **where}],
        }
        for name in collections
    }
    known = {"title": "Gazetteer", "description": "Places of the world", "keywords": ["places"], "keywords_type": "theme"}
    return {
        "server": {
            "bind": {"host": "127.0.0.1", "port": 0},
            "url": url,
            "mimetype": "application/json; charset=UTF-8",
            "encoding": "utf-8",
            "languages": ["en-US"],
            "limits": {"default_items": 10, "max_items": 50},
            "map": {"url": "https://tiles.example/{z}/{x}/{y}.png", "attribution": "nobody"},
        },
        "logging": {"level": "ERROR"},
        "metadata": {
            "identification": {**known, "terms_of_service": url, "url": url},
            "license": {"name": "none", "url": url},
            "provider": {"name": "Nobody", "url": url},
            "contact": dict.fromkeys(_CONTACT.split(), "none") | {"url": url, "email": "nobody@example.org", "role": "pointOfContact"},
        },
        "resources": resources,
    }


def kind(url: str) -> str:
    """Return the view, and the query fields with the form that is asked for."""
    parts = urlsplit(url)
    view = "/".join(re.sub(r"\d+", "N", step) for step in parts.path.strip("/").split("/") if step not in ("zones", "regions"))
    return f"{view or 'start'} {'&'.join(f'{name}={value}' if name == 'f' else name for name, value in parse_qsl(parts.query))}"


GAZETTEER = Site(
    name="gazetteer",
    about=f"pygeoapi with the zones of time and {N_REGIONS} regions, each as a page under two addresses and in two forms for programs",
    address="127.0.8.27",
    hosts=("gazetteer.example",),
    seed="/",
    needs={PROGRAM: PACKAGE, ZONES: "tzdata", CODES / "iso_3166-2.json": "iso-codes"},
    pip=("pygeoapi", children.SERVER),
    build=build,
    behind=behind,
    kind=kind,
    modules="proxy proxy_http",
)
