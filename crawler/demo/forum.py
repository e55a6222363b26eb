"""A forum and a booking calendar, for the part "patterns": their URL patterns yield nothing new, and no rewrite rule describes them.

forum       /viewforum.php?f=2[&start=15]             index        document of its own
            /viewforum.php?f=2&sk=a&sd=d              sort_order   document of the index
            /viewtopic.php?t=17                       page         document of its own: the thread
            /viewtopic.php?p=131                      permalink    document of the thread
            /posting.php?mode=reply&t=17              form         no document: asks to log in
            /ucp.php?mode=login&redirect=…            form
            /memberlist.php?mode=viewprofile&u=4      form
            /feed.php?t=17                            feed         no page
booking     /room/3                                   page
            /book?room=3&date=2024-05-17              calendar     no document: the same house rules and another date; finite
"""

from __future__ import annotations

from datetime import date, timedelta
from functools import partial
from itertools import accumulate
from urllib.parse import quote

from thresher.crawler.demo.page_truth import PageTruth
from thresher.crawler.demo.part_context import PartContext, PartHost, number_in
from thresher.crawler.demo.phrases import LOGIN

_N_FORUMS = 5
_PER_PAGE = 15  # threads of an index page
_POSTS = (3, 14)  # posts of a thread (least, most)
_POST_WORDS = 35
_N_MEMBERS = 40
_SORTS = tuple((key, way) for key in "arstv" for way in "ad")
_FIRST_DAY = date(2024, 1, 1)
_RULES_WORDS = 140


class Forum:
    """A forum: threads of posts, each linked in many ways."""

    def __init__(self, context: PartContext, host: str, n_threads: int) -> None:
        self._part_host = PartHost(context, host, subject=1)
        self._n_threads = n_threads
        sizes = [context.rng.within(_POSTS, "posts", host, thread) for thread in range(n_threads)]
        self._first_posts = [0, *accumulate(sizes)]

    def find(self, path: str) -> PageTruth:
        page, _, query = path.partition("?")
        match page:
            case "/":
                return self._part_host.page(path, [(f"/viewforum.php?f={f}", f"Forum {f}") for f in range(_N_FORUMS)], kind="index")
            case "/viewforum.php":
                return self._forum(path)
            case "/viewtopic.php":
                return self._topic(path)
            case "/posting.php" | "/ucp.php" | "/memberlist.php" if query:
                return self._part_host.page(path, kind="form", own="", title=LOGIN["en"][0], text=self._form)
            case "/feed.php" if (thread := number_in(path, "/feed.php?t=", below=self._n_threads)) >= 0:
                item = f"<item><title>{self._title(thread)}</title></item>"
                return PageTruth(kind="feed", mime="application/rss+xml", raw=f'<rss version="2.0"><channel>{item}</channel></rss>')
            case _:
                return self._part_host.gone()

    def _title(self, thread: int) -> str:
        return self._part_host.title("thread", thread)

    def _form(self) -> list[str]:
        return [LOGIN["en"][1], *self._part_host.text.paragraphs(60, self._part_host.host, "form")]

    def _forum(self, path: str) -> PageTruth:
        plain, way = next(
            ((path.removesuffix(f"&sk={s[0]}&sd={s[1]}"), s) for s in _SORTS if path.endswith(f"&sk={s[0]}&sd={s[1]}")), (path, None)
        )
        base, _, start_text = plain.partition("&start=")
        forum = number_in(base, "/viewforum.php?f=", below=_N_FORUMS)
        threads = range(forum, self._n_threads, _N_FORUMS) if forum >= 0 else range(0)
        start = number_in(start_text, "", below=len(threads)) if start_text else 0
        if forum < 0 or start < 0 or start % _PER_PAGE or (start_text and not start):
            return self._part_host.gone()
        shown = list(threads[start : start + _PER_PAGE])
        if way is not None:
            shown = sorted(
                shown, key=lambda thread: self._part_host.context.throw(way[0], self._part_host.host, thread), reverse=way[1] == "d"
            )
        links = [(f"/viewtopic.php?t={thread}", self._title(thread)) for thread in shown]
        links += [(f"{plain}&sk={key}&sd={order}", "Sort") for key, order in _SORTS]
        if start + _PER_PAGE < len(threads):
            links.append((f"{base}&start={start + _PER_PAGE}", "Next"))
        text = partial(self._teasers, shown)
        return self._part_host.page(
            path, links, kind="sort_order" if way else "index", own=plain, title=f"Forum {forum}, from {start}", text=text
        )

    def _teasers(self, threads: list[int]) -> list[str]:
        return [self._part_host.text.paragraphs(12, self._part_host.host, "thread", thread)[0] for thread in threads]

    def _topic(self, path: str) -> PageTruth:
        thread = number_in(path, "/viewtopic.php?t=", below=self._n_threads)
        kind = "page"
        if thread < 0:
            post, kind = number_in(path, "/viewtopic.php?p=", below=self._first_posts[-1]), "permalink"
            if post < 0:
                return self._part_host.gone()
            thread = next(i for i, first in enumerate(self._first_posts[1:]) if post < first)
        own = f"/viewtopic.php?t={thread}"
        posts = range(self._first_posts[thread], self._first_posts[thread + 1])
        links = [(f"/viewtopic.php?p={post}", f"#{post}") for post in posts]
        links += [
            (f"/memberlist.php?mode=viewprofile&u={self._part_host.context.throw('author', post) % _N_MEMBERS}", "Author") for post in posts
        ]
        links += [
            (f"/posting.php?mode=reply&t={thread}", "Reply"),
            (f"/ucp.php?mode=login&redirect={quote(own[1:], safe='')}", "Log in"),
            (f"/feed.php?t={thread}", "Feed"),
        ]
        text = partial(self._part_host.text.paragraphs, len(posts) * _POST_WORDS, self._part_host.host, "thread", thread)
        return self._part_host.page(path, links, kind=kind, own=own, title=self._title(thread), text=text)


class Booking:
    """A booking calendar: rooms with a page each, and some with a page for every day."""

    def __init__(self, context: PartContext, host: str, n_rooms: int, n_days: int) -> None:
        self._part_host = PartHost(context, host, subject=5)
        self._n_rooms, self._n_days = n_rooms, n_days

    def find(self, path: str) -> PageTruth:
        if path == "/":
            return self._part_host.page(path, [(f"/room/{room}", f"Room {room}") for room in range(self._n_rooms)])
        if (room := number_in(path, "/room/", below=self._n_rooms)) >= 0:
            return self._part_host.page(path, [(self._day(room, 0), "Availability")] if room < 2 else ())
        room_text, _, day_text = path.removeprefix("/book?room=").partition("&date=")
        room, day = number_in(room_text, "", below=2), _day_number(day_text)
        if not path.startswith("/book?room=") or room < 0 or not 0 <= day < self._n_days:
            return self._part_host.gone()
        links = [
            (self._day(room, other), f"{_FIRST_DAY + timedelta(other)}")
            for other in (day - 1, day + 1, day + 7, day + 28)
            if 0 <= other < self._n_days
        ]
        return self._part_host.page(path, links, kind="calendar", own="", title="Availability", text=partial(self._rules, day_text))

    @staticmethod
    def _day(room: int, day: int) -> str:
        return f"/book?room={room}&date={_FIRST_DAY + timedelta(day)}"

    def _rules(self, day: str) -> list[str]:
        return [f"{day}: no bookings on this day.", *self._part_host.text.paragraphs(_RULES_WORDS, self._part_host.host, "rules")]


def _day_number(text: str) -> int:
    """Return the ordinal number of an ISO date; -1 if the text is none."""
    try:
        return (date.fromisoformat(text) - _FIRST_DAY).days if len(text) == len("2024-01-01") else -1
    except ValueError:
        return -1
