"""Path traps: endless spaces end, ordinary sites do not notice."""

import pytest
from dict_memory import DictMemory
from subjects import batch, candidate

from config.settings import PathTrap
from crawler.core.model import LinkBatch, Reason
from filters.base import LinkJudgement
from filters.path_trap import ShapeTrap, YieldTrap


def admit(trap: YieldTrap, links: LinkBatch, memory: DictMemory) -> list[Reason | None]:
    """Let the trap decide and learn as the panel does; return what it says of each link."""
    import numpy as np

    measure = trap.measure(links)
    ruling, _ = trap.decide(measure, memory)
    admitted = np.array([i not in ruling.refused for i in range(len(links))])
    trap.observe(measure, LinkJudgement(admitted, ruling.refused), memory)
    return [ruling.refused[i].reason if i in ruling.refused else None for i in range(len(links))]


@pytest.mark.parametrize(
    "path",
    ["/a/b/a/b/a/b/a/b/", "/products/products/products/products/", "/" + "x/y/z/" * 9, "/?" + "&".join(f"p{i}=1" for i in range(21))],
)
def test_a_trap_by_shape_is_refused(path: str) -> None:
    """F60."""
    assert ShapeTrap(PathTrap()).refuses(candidate(f"http://a.example{path}")) in (Reason.PATH_TRAP, Reason.TOO_MANY_SEGMENTS)


@pytest.mark.parametrize("path", ["/", "/a/a/a/", "/docs/2024/05/17/title.html", "/x?a=1&b=2&c=3"])
def test_an_ordinary_path_passes(path: str) -> None:
    assert ShapeTrap(PathTrap()).refuses(candidate(f"http://a.example{path}")) is None


def test_a_directory_admits_its_budget_and_no_more() -> None:
    """F60: an endless directory stops at the cap, its neighbours go on."""
    trap, memory = YieldTrap(PathTrap(max_per_prefix=5)), DictMemory()
    first = admit(trap, batch(*[f"http://a.example/tags/{i}" for i in range(4)]), memory)
    second = admit(trap, batch(*[f"http://a.example/tags/{i}x" for i in range(4)], "http://a.example/docs/1"), memory)
    assert first == [None] * 4
    assert second == [None, Reason.PREFIX_BUDGET, Reason.PREFIX_BUDGET, Reason.PREFIX_BUDGET, None]


def test_a_calendar_ends_although_each_page_is_new() -> None:
    """F60."""
    trap, memory = YieldTrap(PathTrap(max_calendar=12)), DictMemory()
    months = [f"http://a.example/cal?month={m}&year={y}" for y in range(2020, 2030) for m in range(1, 13)]
    said = admit(trap, batch(*months), memory)
    assert said.count(None) == 12
    assert set(said[12:]) == {Reason.PATH_TRAP}


def test_dated_articles_with_titles_of_their_own_are_no_calendar() -> None:
    trap, memory = YieldTrap(PathTrap(max_calendar=3)), DictMemory()
    articles = [f"http://a.example/2024/05/{day:02}/title-of-{'abcdefghij'[day % 10]}{'klm'[day // 10]}.html" for day in range(1, 29)]
    assert admit(trap, batch(*articles), memory) == [None] * 28


def test_budgets_of_hosts_of_one_site_are_apart() -> None:
    trap, memory = YieldTrap(PathTrap(max_per_prefix=1)), DictMemory()
    assert admit(trap, batch("http://x.a.example/1", "http://y.a.example/1"), memory) == [None, None]


def test_a_directory_holds_its_pages_with_and_without_a_slash_at_their_end() -> None:
    """F60: `/page/1/`, `/page/2/`, … is one place, not one each."""
    trap, memory = YieldTrap(PathTrap(max_per_prefix=3)), DictMemory()
    said = admit(
        trap, batch("http://a.example/page/1/", "http://a.example/page/2", *[f"http://a.example/page/{i}/" for i in range(3, 6)]), memory
    )
    assert said == [None, None, None, Reason.PREFIX_BUDGET, Reason.PREFIX_BUDGET]
    assert admit(trap, batch("http://a.example/", "http://a.example//", "http://a.example/page/"), memory) == [None] * 3
