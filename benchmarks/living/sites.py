"""All living sites, and how one is built and served."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from sys import stderr

from benchmarks.living.answers import ANSWERS
from benchmarks.living.apache import Place, serving
from benchmarks.living.blog import BLOG
from benchmarks.living.bookmarks import BOOKMARKS
from benchmarks.living.bugs import BUGS
from benchmarks.living.calendar import CALENDAR
from benchmarks.living.changesets import CHANGESETS
from benchmarks.living.diary import DIARY
from benchmarks.living.dictionary import DICTIONARY
from benchmarks.living.family import FAMILY
from benchmarks.living.forge import FORGE
from benchmarks.living.forum import FORUM
from benchmarks.living.gallery import GALLERY
from benchmarks.living.gazetteer import GAZETTEER
from benchmarks.living.gitweb import GITWEB_SITE
from benchmarks.living.handbook import HANDBOOK
from benchmarks.living.headers import HEADERS
from benchmarks.living.inbox import INBOX
from benchmarks.living.journal import JOURNAL
from benchmarks.living.languages import LANGUAGES
from benchmarks.living.letters import LETTERS
from benchmarks.living.library import LIBRARY
from benchmarks.living.listings import LISTINGS
from benchmarks.living.lists import LISTS
from benchmarks.living.manpages import MANPAGES
from benchmarks.living.manuals import MANUALS
from benchmarks.living.mediawiki import MEDIAWIKI
from benchmarks.living.news import NEWS
from benchmarks.living.notebook import NOTEBOOK
from benchmarks.living.packages import PACKAGES
from benchmarks.living.programme import PROGRAMME
from benchmarks.living.projects import PROJECTS
from benchmarks.living.repository import REPOSITORY
from benchmarks.living.revisions import REVISIONS
from benchmarks.living.shop import SHOP
from benchmarks.living.site import Site
from benchmarks.living.snapshots import SNAPSHOTS
from benchmarks.living.tables import TABLES
from benchmarks.living.tickets import TICKETS
from benchmarks.living.wiki import WIKI
from benchmarks.support.ports import free_port

_ALL = (
    WIKI,
    MEDIAWIKI,
    MANUALS,
    LANGUAGES,
    REPOSITORY,
    GITWEB_SITE,
    FORUM,
    CALENDAR,
    BLOG,
    LISTINGS,
    LETTERS,
    TICKETS,
    CHANGESETS,
    FORGE,
    SHOP,
    TABLES,
    JOURNAL,
    GALLERY,
    FAMILY,
    BUGS,
    NEWS,
    LIBRARY,
    NOTEBOOK,
    INBOX,
    PACKAGES,
    PROGRAMME,
    GAZETTEER,
    DICTIONARY,
    REVISIONS,
    PROJECTS,
    MANPAGES,
    HANDBOOK,
    ANSWERS,
    HEADERS,
    DIARY,
    BOOKMARKS,
    SNAPSHOTS,
    LISTS,
)
SITES = {site.name: site for site in _ALL}
Before = Callable[[Place], AbstractContextManager[None]]


def there(names: Sequence[str]) -> list[Site]:
    """Return the sites of these names, or all sites, whose software is installed; print how to install that of the others."""
    found = [SITES[name] for name in names or SITES]
    for site in found:
        for command in site.missing_packages():
            print(f"{site.name} is left out: {command}", file=stderr)
    return [site for site in found if not site.missing_packages()]


def _nothing(place: Place) -> AbstractContextManager[None]:
    return nullcontext()


@contextmanager
def served(site: Site, directory: Path, before: Before = _nothing, *, is_fronted: bool = False) -> Iterator[Place]:
    """Build a site in a folder of `directory` and serve it until the block ends.

    before: what runs between the crawler and Apache; it listens at the place's port if `is_fronted`, Apache at `own_port`.
    """
    own_port = free_port(site.address) if is_fronted else 0
    place = Place(directory / site.name, site.address, free_port(site.address), own_port)
    place.directory.mkdir(parents=True)
    directives = site.build(place)
    with site.behind(place), serving(place, directives, modules=site.modules), before(place):
        yield place
