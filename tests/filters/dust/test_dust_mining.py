"""What is mined from small lists: each kind of rule alone, bound to where it holds, and nothing from what only looks like one."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from dust_lists import listed

from benchmarks.speed.dust_mining import site
from thresher.filters.dust.canonize import Canonizer
from thresher.filters.dust.context import narrowed
from thresher.filters.dust.eliminate import Alphabet, core, eliminate, refines
from thresher.filters.dust.evidence import in_chance_order
from thresher.filters.dust.mine import OF_TEXTS, Mining, mine, substring_rules
from thresher.filters.dust.rules import LearnedRule, Parameter, Rule, Substitution, from_json, to_json
from thresher.filters.dust.substrings import LikelyPair, SubstringLimits
from thresher.filters.dust.urllist import Sighting, UrlList
from thresher.filters.dust.validate import judge


def valid(known: UrlList) -> list[Rule]:
    return [learned.rule for learned in judge(mine(known), known).rules if learned.standing == "valid"]


def joined(known: UrlList, one: str, other: str) -> bool:
    canonical = Canonizer(valid(known))
    return canonical(one) == canonical(other)


def test_a_session_id_is_dropped_from_every_page() -> None:
    shows = {f"http://s/p{i}?sid={i * 7919:x}": f"text {i}" for i in range(30)} | {f"http://s/p{i}": f"text {i}" for i in range(30)}
    assert Parameter(name_="sid") in valid(listed(shows))


def test_hosts_that_differ_in_how_they_show_a_site_are_likely_aliases_before_any_page_shows_it() -> None:
    hosts = ("www.x.example", "x.example", "m.x.example", "shop.x.example")
    known = listed({f"http://{host}/p{n}{i}": f"text {n} {i}" for n, host in enumerate(hosts) for i in range(9 - n)})
    assert {learned.rule.readable for learned in mine(known)} == {'"/x" → "/www.x"', '"/m." → "/www."'}


def test_a_parameter_that_matters_on_one_page_is_dropped_on_the_other() -> None:
    shows = {f"http://s/show?id={i}&v={v}": f"text {i}" for i in range(30) for v in (0, 1)} | {
        f"http://s/show?id={i}": f"text {i}" for i in range(30)
    }
    shows |= {f"http://s/diff?id={i}&v={v}": f"diff {i} {v}" for i in range(30) for v in (0, 1)}
    known = listed(shows)
    assert joined(known, "http://s/show?id=99&v=4", "http://s/show?id=99")
    assert not joined(known, "http://s/diff?id=99&v=4", "http://s/diff?id=99&v=5")


def test_a_parameter_is_dropped_beside_the_action_that_ignores_it() -> None:
    shows = {}
    for i, j in product(range(40), range(2)):
        shows[f"http://s/wiki?do=login&back=p{i}"] = "the form"
        shows[f"http://s/wiki?do=show&back=p{i}&n={j}"] = f"page {i} {j}"
    known = listed(shows | {"http://s/wiki?do=login": "the form"})
    assert joined(known, "http://s/wiki?do=login&back=new", "http://s/wiki?do=login")
    assert not joined(known, "http://s/wiki?do=show&back=a&n=1", "http://s/wiki?do=show&back=b&n=1")


def test_a_value_is_set_beside_the_action_that_ignores_it_though_without_it_the_page_shows_another() -> None:
    """A wiki's form to log in is the same whatever page it leads back to, but without such a parameter it names the start page.

    Mutation: pairs without the parameter count against the rule that sets it.
    """
    shows = {f"http://s/wiki?id=p{i}&do=login": "the form" for i in range(30)}
    shows |= {f"http://s/wiki?id=p{i}&do=show": f"page {i}" for i in range(30)}
    known = listed(shows | {"http://s/wiki?do=login": "the form of the start page"})
    assert joined(known, "http://s/wiki?id=new&do=login", "http://s/wiki?id=other&do=login")
    assert not joined(known, "http://s/wiki?id=new&do=login", "http://s/wiki?do=login")


def test_a_rule_is_not_valid_by_its_first_pairs_where_the_others_of_the_list_contradict_it() -> None:
    """A wiki's exports: most resemble their pages, one in eight does not. Mutation: what came behind the test's end was not looked at."""
    urls = [f"http://s/p{i}?export" for i in range(100)]
    order = in_chance_order(listed(dict.fromkeys(urls, "page"))).places
    differs = {urls[i] for i in order[-12:]}
    shows = {f"http://s/p{i}": f"page {i}" for i in range(100)} | {
        url: "another" if url in differs else f"page {i}" for i, url in enumerate(urls)
    }
    rule = LearnedRule(rule=Substitution(source="?export$", target="$"))
    held = {url: f"page {i}" for i, url in enumerate(urls)}
    assert [judge([rule], listed(shows | more)).rules[0].standing for more in (held, {})] == ["valid", "invalid"]


def test_a_rule_is_not_bound_to_a_directory_whose_own_page_contradicts_it() -> None:
    """Two presentations share their images and are not the same. Mutation: a directory's own page does not count as part of it."""
    rule = Substitution(source="/talk-1/", target="/talk-2/")
    images = [(f"http://s/talk-1/images/{i}.png", True) for i in range(20)]
    assert {bound.path for bound in narrowed(rule, [*images, ("http://s/talk-1/", False)])} == {"/talk-1/images/"}


@pytest.mark.parametrize(("n_pairs", "standing"), [(45, "undecided"), (60, "valid")])
def test_pages_that_only_resemble_each_other_must_do_so_more_often(n_pairs: int, standing: str) -> None:
    """Mutation: 35 pairs are enough, however they agree."""
    sketches = [np.arange(100 * i + 1, 100 * i + 65, dtype=np.uint16) for i in range(n_pairs)]
    pages = [Sighting(f"http://s/p{i}", fingerprint=f"page {i}", sketch=own) for i, own in enumerate(sketches)]
    exports = [Sighting(f"http://s/p{i}?export", fingerprint=f"export {i}", sketch=own) for i, own in enumerate(sketches)]
    rule = LearnedRule(rule=Substitution(source="?export$", target="$"))
    assert judge([rule], UrlList.of([*pages, *exports])).rules[0].standing == standing


def test_what_was_only_asked_for_suggests_no_rule() -> None:
    """A page that was fetched for one hypothesis would count as evidence for the next one, and so on for ever.

    Mutation: such pages suggest rules.
    """
    met = [Sighting(f"http://s/media?id=p{i}&ns=a", fingerprint="the files") for i in range(30)]
    asked = [Sighting(f"http://s/media?id=p{i}&ns=b", fingerprint="the files", is_met=False) for i in range(30)]
    names = {learned.rule.name_ for learned in mine(UrlList.of([*met, *asked])) if isinstance(learned.rule, Parameter)}
    assert names == {"id"}


def test_what_agrees_word_for_word_ranks_before_what_resembles() -> None:
    """Mutation: rules are ranked by their number of pairs alone."""
    sketches = np.arange(1, 65, dtype=np.uint16)
    forms = [Sighting(f"http://s/wiki?id=p{i}&do=login", fingerprint="form", sketch=sketches) for i in range(30)]
    bare = Sighting("http://s/wiki?do=login", fingerprint="form, nearly", sketch=np.where(sketches < 63, sketches, 999).astype(np.uint16))
    others = [Sighting(f"http://s/wiki?id=p{i}&do=show", fingerprint=f"page {i}", sketch=sketches + 100 * i) for i in range(1, 30)]
    first, second, *_ = mine(UrlList.of([*forms, bare, *others]))
    assert [(first.equal, first.agree), (second.equal, second.agree)] == [(29, 29), (0, 30)]


def test_a_default_value_is_dropped_and_other_values_are_not() -> None:
    shows = {f"http://s/log/{i}?h={h}": f"log {i} {h}" for i in range(30) for h in ("master", "wip")}
    shows |= {f"http://s/log/{i}": f"log {i} master" for i in range(30)}
    known = listed(shows)
    assert joined(known, "http://s/log/x?h=master", "http://s/log/x")
    assert not joined(known, "http://s/log/x?h=wip", "http://s/log/x")


def test_a_parameter_is_dropped_beside_another_that_says_all_whatever_its_value() -> None:
    """A repository: a branch beside the commit's id changes nothing, without it everything, on each of many pages."""
    pages = ("commit", "diff", "tree/a.py", "tree/b.py", "tree/c.py")
    branches = ("next", "stable", "old")
    shows = {f"http://s/{page}?h={branch}": f"{page} of {branch}" for page in pages for branch in branches}
    shows |= {f"http://s/{page}?{h}id={i}": f"{page} {i}" for page in pages for i in range(9) for h in ("", *(f"h={b}&" for b in branches))}
    shows |= {f"http://s/{page}": f"{page} of main" for page in pages}
    known = listed(shows)
    assert Parameter(name_="h", having=("id=*",)) in valid(known)
    assert not joined(known, "http://s/commit?h=other", "http://s/commit")


def test_parameters_in_another_order_are_one_url() -> None:
    shows = {
        f"http://s/view?{query}": f"view {i} {j}" for i, j in product(range(12), range(4)) for query in (f"a={i}&b={j}", f"b={j}&a={i}")
    }
    assert joined(listed(shows), "http://s/view?a=77&b=5", "http://s/view?b=5&a=77")


def test_a_rule_crosses_hosts_and_holds_for_sections_never_seen() -> None:
    shows = {}
    for i, section in enumerate(("money", "sport", "arts", "food", "cars") * 6):
        shows[f"http://x.com/{section}/a{i}"] = shows[f"http://{section}.x.com/a{i}"] = f"text {i}"
    assert joined(listed(shows), "http://x.com/weather/new", "http://weather.x.com/new")


def test_one_cluster_of_many_members_shows_a_rule() -> None:
    """A wiki's recent changes are the same for all pages of one namespace. Mutation: clusters are counted, not their members."""
    shows = {f"http://s/wiki?id=p{i}-q{i}&do=recent": "the changes" for i in range(30)}
    shows |= {f"http://s/wiki?id=n:p{i}&do=recent": f"changes {i}" for i in range(30)}
    known = listed(shows)
    assert joined(known, "http://s/wiki?id=new-page&do=recent", "http://s/wiki?id=other-page&do=recent")
    assert not joined(known, "http://s/wiki?id=n:new&do=recent", "http://s/wiki?id=n:other&do=recent")


def test_translations_that_are_copies_are_joined_and_real_ones_are_not() -> None:
    shows = {}
    for i in range(40):
        for language in ("en", "de", "fr"):
            shows[f"http://s/{language}/mod/{i}.html"] = f"module {i}"
            shows[f"http://s/{language}/faq/{i}.html"] = f"faq {i} {language}"
    known = listed(shows)
    assert joined(known, "http://s/de/mod/x.html", "http://s/fr/mod/x.html")
    assert not joined(known, "http://s/de/faq/x.html", "http://s/fr/faq/x.html")


def test_numbers_and_names_of_equal_length_are_no_rule_even_by_size() -> None:
    """The paper's decoys: pages that differ though their sizes do not."""
    sightings = [Sighting(f"http://s/lect{n}/notes-{i}", size=(5000, 5000), fingerprint=f"{n} {i}") for n in (1, 2) for i in range(60)]
    known = UrlList.of(sightings)
    assert not valid(known)
    assert not joined(known, "http://s/lect1/notes-3", "http://s/lect2/notes-3")


def test_nothing_is_learnt_while_a_site_shows_one_page_for_everything() -> None:
    shows = {f"http://s/{section}/{i}{mark}": "We use cookies" for section in "ab" for i in range(60) for mark in ("", "?x=1")}
    assert not valid(listed(shows))


def test_a_rule_that_leads_to_errors_is_bound_to_where_it_does_not() -> None:
    shows = {f"http://s/topic/{i}{slash}": f"topic {i}" for i in range(40) for slash in ("", "/")}
    shows |= {f"http://s/manual/{i}/": f"manual {i}" for i in range(40)} | {f"http://s/manual/{i}": "" for i in range(40)}
    canonical = Canonizer(valid(listed(shows)))
    assert canonical("http://s/topic/77/") == canonical("http://s/topic/77")
    assert canonical("http://s/manual/77/") == "http://s/manual/77/"


def test_a_rule_leads_to_the_host_with_more_urls() -> None:
    shows = {f"http://www.s.com/{i}": f"text {i}" for i in range(90)} | {f"http://s.com/{i}": f"text {i}" for i in range(40)}
    assert Canonizer(valid(listed(shows)))("http://s.com/new") == "http://www.s.com/new"


def test_a_rule_leads_to_the_host_that_the_site_links_to_whatever_was_fetched_so_far() -> None:
    sightings = [Sighting(f"http://{host}s.com/{i}", fingerprint=f"text {i}") for i in range(60) for host in ("m.", "www.")]
    known = UrlList.of(sightings, {"http://m.s.com": 20, "http://www.s.com": 900})
    assert Canonizer(valid(known))("http://m.s.com/new") == "http://www.s.com/new"


def test_a_context_without_a_known_target_is_not_taken_in() -> None:
    rule = Substitution(source="/$", target="$")
    seen: list[tuple[str, bool | None]] = [(f"http://s/a/{i}/", True) for i in range(20)]
    assert narrowed(rule, seen) == [rule]
    assert narrowed(rule, [*seen, *((f"http://s/b/{i}/", None) for i in range(20))]) == [Substitution(source="/$", target="$", path="/a/")]
    assert narrowed(rule, [(f"http://s/a/{i}/", i % 2 == 0) for i in range(40)]) == []


def test_a_context_may_be_a_parameter_beside_the_change() -> None:
    rule = Substitution(source="?id={w1}&", target="?")
    seen: list[tuple[str, bool | None]] = [(f"http://s/x?id=p{i}&do={do}", do == "login") for i in range(9) for do in ("login", "edit")]
    assert narrowed(rule, seen) == [Substitution(source="?id={w1}&", target="?", having=("do=login",))]


def test_a_rule_waits_until_each_large_part_of_its_urls_was_looked_at() -> None:
    """All forms to log in are one; no form to edit is known under the URL that the rule leads to: that is asked for, and disagrees.

    Mutation: `_judged` did not ask for `uncharted`.
    """
    shows = {f"http://s/x?id=p{i}&do=login": "the form" for i in range(60)} | {"http://s/x?do=login": "the form"}
    shows |= {f"http://s/x?id=p{i}&do=edit": f"text {i}" for i in range(20)}
    wide = LearnedRule(rule=Substitution(source="?id={w1}&do", target="?do"))
    first = judge([wide], listed(shows))
    assert [learned.standing for learned in first.rules] == ["undecided"]
    assert list(first.wanted) == ["http://s/x?do=edit"]
    second = judge([wide], listed(shows | {"http://s/x?do=edit": "a new page"}))
    assert [(learned.standing, learned.rule.having) for learned in second.rules] == [("valid", ("do=login",))]


def test_a_generated_site_gives_its_five_rules() -> None:
    """Short form of benchmarks/speed/dust_mining.py."""
    found = {learned.rule.readable for learned in mine(UrlList.of(site(2_000, with_texts=True)), Mining(at_most=5))}
    assert found >= {'"story?id=" → "story_"', '"/index.html$" → "/$"', '"[?&]sid=*" → ""', '"/m." → "/www."'}


def test_a_rule_comes_back_from_json_as_it_was() -> None:
    for rule in (Substitution(source="^a\\$", target="^b", path="/x/"), Parameter(name_="h", when="", having=("a=1",), host="s")):
        learned = LearnedRule(rule=rule, support=3, agree=2, standing="valid", examples=(("u", "v"),))
        assert from_json(to_json(learned, rank=1, interval=(0.1, 1.0))) == learned


def test_pairs_of_which_one_refines_another_have_one_core() -> None:
    """Mutation: `core` does not turn inserted parts to their least rotation."""
    rng = random.Random(2)
    for _ in range(3000):
        alphabet = Alphabet()
        gamma, one, other, delta = ("".join(rng.choice("ab/") for _ in range(rng.randrange(4))) for _ in range(4))
        if one == other:
            continue
        texts = ["-".join(text) for text in (one, other, gamma + one + delta, gamma + other + delta)]
        wide, narrow = alphabet.pair(texts[0], texts[1]), alphabet.pair(texts[2], texts[3])
        if refines(narrow, wide):
            assert core(narrow) == core(wide)


def test_elimination_within_families_is_elimination_among_all() -> None:
    rng = random.Random(3)
    for _ in range(50):
        pairs = []
        for _ in range(30):
            gamma, delta = ("".join(rng.choice("ab/") for _ in range(rng.randrange(3))) for _ in range(2))
            one, other = rng.choice([("1", "2"), ("a", ""), ("b/", "/")])
            pairs.append(LikelyPair("/".join(gamma + one + delta), "/".join(gamma + other + delta), 3, rng.choice((20, 21, 30))))
        pairs.sort(key=lambda pair: -pair.size)
        assert eliminate(pairs) == _eliminated_plainly(pairs)


def _eliminated_plainly(pairs: list[LikelyPair]) -> list[LikelyPair]:
    alphabet = Alphabet()
    coded, gone = [alphabet.pair(pair.one, pair.other) for pair in pairs], set()
    for i, pair in enumerate(pairs):
        if i in gone:
            continue
        for j in range(i + 1, len(pairs)):
            if pair.size - pairs[j].size > max(0.05 * pair.size, 1):
                break
            if j in gone:
                continue
            if refines(coded[i], coded[j]):
                gone.add(j)
            elif refines(coded[j], coded[i]):
                gone.add(i)
                break
    return [pair for i, pair in enumerate(pairs) if i not in gone]


def _noisy_site(n: int) -> dict[str, str]:
    """Return a site with five rules, pages that look like aliases by their URLs, and a tenth of the copies changed."""
    rng = random.Random(7)
    shows: dict[str, str] = {}
    for i in range(n):
        forms = [
            (f"http://s.com/story?id={i}", f"http://s.com/story_{i}"),
            (f"http://s.com/thread?rep={i}", f"http://s.com/thread_{i}"),
            (f"http://s.com/d{i}/index.html", f"http://s.com/d{i}/"),
            (f"http://s.com/text/{i}?print=1", f"http://s.com/text/{i}"),
            (f"http://www.s.com/old/{i}", f"http://s.com/old/{i}"),
        ]
        for kind, pair in enumerate(forms):
            for url in pair:
                shows[url] = f"{kind} {i}" + (f" changed {url}" if rng.random() < 0.1 else "")
        decoys = [f"http://s.com/lect{k}/notes-{i}" for k in range(1, 5)]
        decoys += [f"http://{host}.s.com/news/{i}" for host in ("north", "south", "east")]
        decoys += [f"http://s.com/list/{i}?page={page}" for page in range(1, 5)]
        shows |= {url: url for url in decoys}
    return shows


def _is_right(rule: Substitution) -> bool:
    """Return whether a rule is one of the five, or one of them with more around it."""
    source, target = f"/{rule.source}", f"/{rule.target}"
    planted = (("story?id=", "story_"), ("thread?rep=", "thread_"), ("index.html", ""), ("?print=1", ""), ("www.", ""))
    return any(one in source and source.replace(one, other, 1) == target for one, other in planted)


def test_the_best_pairs_are_right_by_texts_and_many_are_not_without() -> None:
    """Matrix row 7: precision of the ten best, with a tenth of noise, 4,000 URLs, two thirds of them decoys."""
    shows = _noisy_site(200)
    with_texts = listed(shows)
    without = UrlList.of(Sighting(url) for url in shows)
    best, blind = (
        [learned.rule for learned in substring_rules(known, limits)[:10]]
        for known, limits in ((with_texts, OF_TEXTS), (without, SubstringLimits()))
    )
    right, right_blind = (sum(isinstance(rule, Substitution) and _is_right(rule) for rule in rules) / len(rules) for rules in (best, blind))
    assert right >= 0.9
    assert right - right_blind >= 0.2


def test_more_urls_give_the_same_rules_in_another_order_of_the_list() -> None:
    shows = {f"http://s/story{mark}{i}": f"text {i}" for i in range(60) for mark in ("?id=", "_")}
    urls = list(shows)
    np.random.default_rng(1).shuffle(urls)
    assert mine(listed({url: shows[url] for url in urls}), Mining(at_most=5)) == mine(listed(shows), Mining(at_most=5))
