"""`thresher dust` as its user meets it: lists of pages in, rules out; rules into a store and out of it."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thresher.crawler.demo.labelled import LabelledWeb
from thresher.crawler.demo.process import ServerProcess

LOGS = Path(__file__).parents[2].parent / "shared" / "data" / "logs"


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    """A forum whose stories have two names."""
    path = tmp_path / "pages.jsonl"
    shows = [
        {"url": f"http://forum.example/story{mark}{i}", "status": 200, "size": 900 + i, "sketch": f"story {i}"}
        for i in range(60)
        for mark in ("?id=", "_")
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in shows))
    return path


@pytest.fixture
def mined(thresher: Callable[..., Any], pages: Path, tmp_path: Path) -> Path:
    path = tmp_path / "rules.jsonl"
    path.write_text(thresher("dust", "mine", pages).out)
    return path


def test_a_mined_rule_is_readable_and_ranked(thresher: Callable[..., Any], pages: Path) -> None:
    ran = thresher("dust", "mine", pages)
    assert ran.code == 0
    best = lines(ran.out)[0]
    assert best["rule"] == '"story?id=" → "story_"'
    assert (best["site"], best["rank"], best["support"], best["agree"]) == ("forum.example", 1, 60, 60)
    assert best["context"] == {"before": "^http://forum.example/"}
    assert best["interval"][0] > 0.9
    assert "120 URLs" in ran.err


def test_rules_are_validated_and_applied(thresher: Callable[..., Any], pages: Path, mined: Path, tmp_path: Path) -> None:
    ran = thresher("dust", "validate", mined, pages)
    assert [line["standing"] for line in lines(ran.out)] == ["valid"]
    assert "1 valid" in ran.err
    judged, urls = tmp_path / "judged.jsonl", tmp_path / "urls.txt"
    judged.write_text(ran.out)
    urls.write_text("http://forum.example/story?id=7\n\nhttp://other.example/story?id=7\n")
    assert thresher("dust", "canonize", "--rules", judged, urls).out == "http://forum.example/story_7\nhttp://other.example/story?id=7\n"
    first = lines(thresher("dust", "canonize", "--rules", judged, urls, "--json").out)[0]
    assert first == {
        "url": "http://forum.example/story?id=7",
        "canonical": "http://forum.example/story_7",
        "rules": ['"story?id=" → "story_"'],
    }


def test_a_rule_that_the_pages_contradict_is_invalid_and_no_longer_applied(
    thresher: Callable[..., Any], pages: Path, mined: Path, tmp_path: Path
) -> None:
    liars = tmp_path / "liars.jsonl"
    liars.write_text("".join(json.dumps(line | {"sketch": line["url"]}) + "\n" for line in lines(pages.read_text())))
    judged = tmp_path / "judged.jsonl"
    judged.write_text(thresher("dust", "validate", mined, liars).out)
    assert {line["standing"] for line in lines(judged.read_text())} == {"invalid"}
    urls = tmp_path / "urls.txt"
    urls.write_text("http://forum.example/story?id=7\n")
    assert thresher("dust", "canonize", "--rules", judged, urls).out == urls.read_text()


def test_rules_that_nobody_has_judged_are_refused_but_for_the_flag(thresher: Callable[..., Any], mined: Path, tmp_path: Path) -> None:
    """Mutation: rules as mined were applied where none was judged."""
    urls = tmp_path / "urls.txt"
    urls.write_text("http://forum.example/story?id=7\n")
    refused = thresher("dust", "canonize", "--rules", mined, urls)
    assert (refused.code, refused.out) == (2, "")
    assert "1 that nobody has judged" in refused.err
    assert "--unproven" in refused.err
    assert "dust validate" in refused.err
    assert thresher("dust", "canonize", "--rules", mined, urls, "--unproven").out == "http://forum.example/story_7\n"


def test_of_a_file_where_some_are_judged_only_these_are_applied_and_it_is_said(
    thresher: Callable[..., Any], pages: Path, mined: Path, tmp_path: Path
) -> None:
    judged = thresher("dust", "validate", mined, pages).out
    guess = {"definition": {"type": "substitution", "from": "/x", "to": "/y"}}
    both, urls = tmp_path / "both.jsonl", tmp_path / "urls.txt"
    both.write_text(judged + json.dumps(guess) + "\n")
    urls.write_text("http://forum.example/story?id=7\nhttp://forum.example/x\n")
    ran = thresher("dust", "canonize", "--rules", both, urls)
    assert ran.out == "http://forum.example/story_7\nhttp://forum.example/x\n"
    assert "1 rules that nobody has judged are left out" in ran.err
    assert thresher("dust", "canonize", "--rules", both, urls, "--unproven").out.endswith("http://forum.example/y\n")


def test_what_the_list_refutes_is_left_out_and_what_no_pair_shows_comes_last_and_says_so(
    thresher: Callable[..., Any], tmp_path: Path
) -> None:
    """A server's listings: sorted by size and by date they mostly differ from that by name. No page is known under both hosts. Mutation:
    both kinds of rules were ranked by their URLs.
    """
    shown = {f"http://s.example/d{i}/": f"listing {i}" for i in range(60)}
    shown |= {f"http://s.example/d{i}/?C=S;O=A": f"listing {i}" if i < 20 else f"by size {i}" for i in range(60)}
    shown |= {f"http://s.example/e{i}/{file}": f"index {i}" for i in range(9) for file in ("", "index.html")}
    shown |= {f"http://m.s.example/m{i}": f"mobile {i}" for i in range(30)}
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps({"url": url, "sketch": text}) + "\n" for url, text in shown.items()))
    ran = thresher("dust", "mine", path)
    rules = lines(ran.out)
    proven = [rule for rule in rules if rule["agree"] + rule["disagree"]]
    assert [rule["rule"] for rule in proven] == ['"/index.html$" → "/$"']
    assert all(rule["interval"][1] >= 0.95 for rule in proven)
    assert [rule["standing"] for rule in rules] == ["likely"] * len(proven) + ["unproven"] * (len(rules) - len(proven))
    assert '"/m.s" → "/s"' in {rule["rule"] for rule in rules[len(proven) :]}
    assert f"likely rules: {len(proven)}, unproven: {len(rules) - len(proven)}" in ran.err


def test_a_rule_of_which_more_pairs_differ_than_may_is_unproven_until_the_list_refutes_it(
    thresher: Callable[..., Any], tmp_path: Path
) -> None:
    """19 of 20 pairs must agree. Here 14 of 16 do, which is less, but of too few pairs to be sure. Mutation: any pair that agrees made a
    rule likely.
    """
    shown = {f"http://s.example/{name}{i}/{file}": f"{name} {i}" for name in "de" for i in range(16) for file in ("", "index.html")}
    shown |= {f"http://s.example/{name}{i}.php{query}": f"{name} {i} php" for name in "fg" for i in range(8) for query in ("", "?sid=1")}
    shown |= {f"http://s.example/{name}7.php?sid=1": f"of session {name}" for name in "fg"}
    path = tmp_path / "pages.jsonl"
    path.write_text("".join(json.dumps({"url": url, "sketch": text}) + "\n" for url, text in shown.items()))
    standing = {(rule["agree"], rule["disagree"]): rule["standing"] for rule in lines(thresher("dust", "mine", path).out)}
    assert standing == {(32, 0): "likely", (14, 2): "unproven", (0, 0): "unproven"}


def test_an_access_log_is_mined_by_sizes_without_robots_and_attacks(thresher: Callable[..., Any], tmp_path: Path) -> None:
    def request(client: int, target: str, agent: str, status: int = 200, size: int = 900) -> str:
        head = f"10.0.0.{client} - - [17/May/2015:10:05:03 +0000]"
        return f'{head} "GET {target} HTTP/1.1" {status} {size} "http://forum.example/" "{agent}"\n'

    log = tmp_path / "access.log.gz"
    with gzip.open(log, "wt") as file:
        for i in range(30):
            file.write(request(i, f"/story?id={i}", "Mozilla", size=1000 + 50 * i))
            file.write(request(i, f"/story_{i}", "Mozilla", size=1000 + 50 * i))
            file.write(request(100, f"/robot{i}", "NiceBot/1.0"))
        file.write(request(7, "/../../etc/passwd", "Mozilla", 404))
        silent = '10.0.0.3 - - [17/May/2015:10:05:03 +0000] "-" 408 0 "-" "-"\n'  # a browser's spare connection, not a failure of a scanner
        file.write(20 * silent + "torn\n")
    ran = thresher("dust", "mine", log)
    assert lines(ran.out)[0]["rule"] == '"story?id=" → "story_"'
    assert lines(ran.out)[0]["site"] == "forum.example"
    assert lines(ran.out)[0]["support"] == 30
    assert "30 by robots, 1 attacks, 20 others" in ran.err
    assert "1 of 112 lines left out" in ran.err


def test_torn_lines_are_counted_and_left_out(thresher: Callable[..., Any], pages: Path) -> None:
    pages.write_text(pages.read_text() + '{"url": "http://for\n{"url": 7}\n{"url": "nowhere"}\n')
    ran = thresher("dust", "mine", pages)
    assert ran.code == 0
    assert "3 of 123 lines left out" in ran.err
    assert f"{pages}:121" in ran.err


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("", "found none in 0 lines"), ("no log\n", "no line of an access log"), ('{"url": 1}\n', "Expected `str`, got `int`")],
)
def test_what_is_no_list_is_one_clear_error(thresher: Callable[..., Any], tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "bad"
    path.write_text(content)
    ran = thresher("dust", "mine", path)
    assert ran.code == 2
    assert complaint in ran.err
    assert ran.out == ""


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "found nothing"),
        ("{}\n", "definition"),
        ("[1]\n", "expected an object"),
        ("{\n", "truncated"),
        ('{"definition": {"type": "substitution", "from": "a", "to": "a"}}\n', "two different parts"),
        ('{"definition": {"type": "substitution", "from": "a{", "to": "b"}}\n', "backslash"),
        ('{"definition": {"type": "parameter", "name": "a", "colour": 1}}\n', "colour"),
    ],
)
def test_what_is_no_rule_is_one_clear_error(thresher: Callable[..., Any], tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    ran = thresher("dust", "canonize", "--rules", path, "-")
    assert ran.code == 2
    assert complaint in ran.err


def test_a_store_keeps_rules_that_are_imported_listed_disabled_and_exported(
    thresher: Callable[..., Any], crawl: Path, mined: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    shutil.copytree(crawl, store)
    assert thresher("dust", "export", store).out == ""
    assert thresher("dust", "import", store, mined).code == 0
    name = lines(mined.read_text())[0]["name"]
    listed = thresher("dust", "list", store).out
    assert name in listed
    assert '"story?id=" → "story_"' in listed
    assert thresher("dust", "disable", store, name).code == 0
    assert "disabled" in thresher("dust", "list", store).out
    again = thresher("dust", "import", store, mined)
    assert again.code == 0
    assert lines(thresher("dust", "export", store).out)[0]["disabled"] is True
    assert thresher("dust", "disable", store, name, "--again").code == 0
    assert lines(thresher("dust", "export", store).out) == lines(mined.read_text())
    assert thresher("verify", store).code == 0
    missing = thresher("dust", "disable", store, "nosuchrule")
    assert missing.code == 2
    assert "nosuchrule" in missing.err


def test_a_crawl_s_pages_can_be_mined(thresher: Callable[..., Any], crawl: Path) -> None:
    ran = thresher("dust", "mine", crawl)
    assert ran.code == 0
    assert "a.example" in ran.err
    nothing = thresher("dust", "mine", crawl, "--site", "elsewhere.example")
    assert nothing.code == 2
    assert "elsewhere.example" in nothing.err


def test_live_validation_wants_a_contact(thresher: Callable[..., Any], mined: Path, pages: Path, tmp_path: Path) -> None:
    half = tmp_path / "half.jsonl"
    half.write_text("".join(line + "\n" for line in pages.read_text().splitlines() if "?id=" in line))
    ran = thresher("dust", "validate", mined, half, "--live")
    assert ran.code == 2
    assert "contact" in ran.err


def test_a_real_log_gives_rules(thresher: Callable[..., Any]) -> None:
    if not (LOGS / "semicomplete-2015.log.gz").exists():
        pytest.skip("the shared log is not here")
    ran = thresher("dust", "mine", LOGS / "semicomplete-2015.log.gz")
    rules = lines(ran.out)
    assert len(rules) >= 20
    assert "/presentations/logstash-scale11x/" in rules[0]["definition"]["to"]
    assert all(rule["support"] == 0 or rule["examples"] for rule in rules)


def test_what_a_list_lacks_is_fetched_politely_from_the_living_site(thresher: Callable[..., Any], tmp_path: Path) -> None:
    """A list of URLs without texts, one rule that holds and one that only seems to."""
    with ServerProcess("aliases", changes={"part_pages": 100, "part_sites": 1}) as server:
        assert isinstance(server.web, LabelledWeb)
        (www, *_) = [host for host in server.web.hosts() if host.startswith("www.")]
        paths = [f"/story?id={i}" for i in range(22)] + [f"/courses/lect1/notes-{i}" for i in range(3)]
        pages, rules, config = (tmp_path / name for name in ("pages.jsonl", "rules.jsonl", "crawl.yaml"))
        pages.write_text("".join(json.dumps({"url": f"http://{www}:{server.port}{path}"}) + "\n" for path in paths))
        pairs = (("story?id=", "story_"), ("lect1/", "lect2/"))
        lines_of_rules = [{"definition": {"type": "substitution", "from": source, "to": target}} for source, target in pairs]
        rules.write_text("".join(json.dumps(line) + "\n" for line in lines_of_rules))
        settings = {
            "identity": {"contact": "https://example.org/bot"},
            "fetch": {"allow_addresses": ["127.0.0.0/8"], "allow_ports": [server.port]},
            "dns": {"static": server.web.static_dns()},
            "sitemaps": "off",
            "politeness": {"min_delay": 0, "delay_factor": 0, "jitter": 0, "address_delay": 0},
        }
        config.write_text(json.dumps(settings))
        ran = thresher("dust", "validate", rules, pages, "--live", "-c", config)
    assert ran.code == 0
    assert [(line["rule"], line["standing"]) for line in lines(ran.out)] == [
        ('"story?id=" → "story_"', "valid"),
        ('"lect1/" → "lect2/"', "invalid"),
    ]
    assert lines(ran.out)[0]["agree"] >= 20
    assert "pages asked for" in ran.err


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (("dust", "mine"), "a crawl's directory, JSON lines"),
        (("dust", "canonize", "--rules"), "rules"),
        (("depth", "fit"), "an access log"),
    ],
)
def test_a_file_that_is_not_there_is_said_in_words_with_what_it_might_have_been(
    thresher: Callable[..., Any], command: tuple[str, ...], named: str
) -> None:
    done = thresher(*command, "nosuch", *(["-"] if "--rules" in command else []))
    assert done.code == 2
    assert f"nosuch: cannot be read: No such file or directory. Expected {named}" in done.err
