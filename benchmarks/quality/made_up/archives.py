"""Kinds of sites that keep records: minutes, a journal, a land register, manuals, package versions, laws."""

from __future__ import annotations

from benchmarks.quality.made_up.web import LOGIN, MadeUpSite, dice, slug, words


def minutes(site: MadeUpSite) -> None:
    """A parliament's minutes: each item below the same long header, with a print view and a page of votes that never says anything."""
    head, years, speakers = f"<p>{words(160, 'head')}</p>", range(1998, 2004), [f"/speakers/{i}" for i in range(60)]
    site.page("/", "Minutes", links=[*[f"/{year}/" for year in years], "/speakers/"])
    site.page("/speakers/", "Speakers", links=speakers)
    for path in speakers:
        site.document(path, words(1, path), f"<p>Member for {words(2, path)} since {dice(path).randint(1980, 2005)}.</p>")
    for year in years:
        site.page(f"/{year}/", f"Session {year}", links=[f"/{year}/{day:02}/" for day in range(1, 11)])
        for day in range(1, 11):
            at = f"/{year}/{day:02}/"
            items = [f"{at}item{i}" for i in range(1, 8)]
            site.page(at, f"Sitting {day} of {year}", head, [*[item + ".html" for item in items], at + "all.html"])
            said = {item: f"<p>{words(dice(item).randint(8, 40), item)}</p>" for item in items}
            site.page(at + "all.html", "Whole sitting", head + "".join(said.values()))
            for i, item in enumerate(items):
                views = [f"{item}_print.html", f"{item}_votes.html", dice(item).choice(speakers)]
                text = f"{head}<p>Item {i + 1}.</p>{said[item]}"
                site.document(item + ".html", "Minutes", text, [*views, *[one + ".html" for one in items[i + 1 : i + 2]]], of=item)
                site.document(views[0], "Minutes", text, of=item)
                site.page(views[1], "Votes", head + "<p>No vote was taken on this item.</p>")


def journal(site: MadeUpSite) -> None:
    """A journal: abstracts, full texts (of the oldest only for subscribers), exports, metrics."""
    n, an_issue, free_from = 168, 7, 63
    issues = [f"/vol/{i // 3 + 1}/issue/{i % 3 + 1}" for i in range(n // an_issue)]
    site.page("/", "Journal", links=[*issues, "/authors"])
    site.page("/authors", "Authors", links=[f"/author/{i}" for i in range(60)])
    for i in range(60):
        site.page(f"/author/{i}", words(2, "author", i), links=[f"/article/{k}/abstract" for k in range(i, n, 60)])
    for i, issue in enumerate(issues):
        here = range(i * an_issue, (i + 1) * an_issue)
        site.page(issue, f"Issue {i + 1}", links=[f"/article/{k}/{view}" for k in here for view in ("abstract", "full", "pdf")])
    for k in range(n):
        at, title, abstract = f"/article/{k}/", words(5, "title", k), f"<p>{words(50, 'abstract', k)}</p>"
        cites = [f"/cite?id={k}&format={form}" for form in ("bib", "ris", "endnote")]
        views = [at + view for view in ("abstract", "full", "pdf", "cite", "metrics", "refs")]
        links = [*views, *cites, f"/author/{k % 60}", f"/article/{(k * 3 + 1) % n}/abstract"]
        site.document(views[0], title, abstract, links)
        if k >= free_from or k % 2:
            site.document(views[1], title, f"{abstract}<p>{words(250, 'full', k)}</p>", links)
        else:
            site.page(views[1], "Subscribers only", "<p>You do not have access to the full text of this article.</p>" + LOGIN, links)
        site.page(views[2], "PDF", "<p>You do not have access to this file.</p>" + LOGIN)
        site.page(views[3], "Cite", f"<p>{words(2, 'author', k % 60)}. {title}. Journal ({k}).</p>")
        site.page(views[4], "Metrics", f"<p>Views {dice(k).randint(1, 9999)}, downloads {dice(k, 2).randint(1, 999)}.</p>")
        site.document(views[5], "References", "".join(f"<p>{words(8, 'ref', dice(k, j).randint(0, 300))}</p>" for j in range(12)))
        for cite in cites:
            site.page(cite, "Citation", f"<pre>@article {words(2, 'author', k % 60)} {title} {cite[-3:]}</pre>")


def register(site: MadeUpSite) -> None:
    """A land register: its records differ in numbers only, and the lists of all parishes say the same."""
    uses = ["arable", "meadow", "forest", "building", "road"]
    site.page("/", "Register", links=[f"/m/{m}/" for m in range(5)])
    for m in range(5):
        site.page(f"/m/{m}/", words(1, "parish", m), links=[f"/m/{m}/{section}/" for section in "ABCD"])
        for section in "ABCD":
            at = f"/m/{m}/{section}/"
            site.page(at, f"Section {section}", links=[f"{at}{k}" for k in range(1, 27)])
            for k in range(1, 27):
                rng, views = dice(at, k), [f"{at}{k}/{view}" for view in ("history", "map", "extract")]
                text = f"Area {rng.randint(50, 90000)} m2. Use: {rng.choice(uses)}. Value {rng.randint(100, 99000)}."
                links = [*views, *([f"{at}{k + 1}"] if k < 26 else [])]
                site.document(f"{at}{k}", f"Parcel {k}", f"<p>Parcel {k}, section {section}. {text}</p>", links)
                site.page(views[0], "History", f"<p>No changes are recorded for parcel {k}.</p>")
                site.page(views[1], "Map", f"<p>Map sheet {rng.randint(1, 40)}.</p>")
                site.page(views[2], "Extract", LOGIN)


def manuals(site: MadeUpSite) -> None:
    """A manual in five versions and five languages: what is not translated is English, most topics change in few versions."""
    languages, versions, n = {"en": 1.0, "de": 0.5, "ja": 0.3, "fr": 0.15, "pt-br": 0.05}, ["5.1", "5.0", "4.2", "3.2", "2.2"], 40
    site.redirect("/", "/en/latest/")
    for language in languages:
        for name in ("latest", "stable"):
            site.redirect(f"/{language}/{name}/", f"/{language}/5.1/")
    for language, share in languages.items():
        for age, version in enumerate(versions):
            at, there = f"/{language}/{version}/", range(n - 5 * age)
            menu = [f"{at}{page}" for page in ("genindex.html", "search.html")]
            topics = [f"{at}topic/{i}.html" for i in there]
            site.page(at, f"Documentation {version}", links=[*topics, *menu, *_other_editions(at, "", languages, versions)])
            site.page(menu[0], f"Index {version}", links=[*topics, *menu])
            site.page(menu[1], "Search", "<p>Please activate JavaScript to enable the search functionality.</p>", menu)
            for i in there:
                edition = max((e for e in range(age, 5) if dice("change", i, e).random() < 0.35), default=4)
                spoken = language if dice("translated", language, i).random() < share else "en"
                text = f"<p>{words(80, 'topic', spoken, i)} {words(40, 'edition', spoken, i, edition)}</p>"
                see = [topics[(3 * i + k) % len(topics)] for k in range(3)]
                source, others = f"{at}_sources/topic/{i}.txt", _other_editions(at, f"topic/{i}.html", languages, versions)
                site.document(topics[i], words(2, "title", i), text, [*see, source, *menu, *others], of=f"{spoken} {edition} {i}")
                site.page(source, "Source", text)


def _other_editions(at: str, rest: str, languages: dict[str, float], versions: list[str]) -> list[str]:
    _, language, version, _ = at.split("/")
    return [*[f"/{language}/{one}/{rest}" for one in versions], *[f"/{one}/{version}/{rest}" for one in languages]]


def packages(site: MadeUpSite) -> None:
    """Packages: the pages of their versions say hardly more than numbers, those of dependencies nothing."""
    names = [f"{slug(1, 'package', i)}{i}" for i in range(60)]
    site.page("/", "Packages", links=[*[f"/packages?letter={letter}" for letter in "abcdefghijklmnopqrstuvwxyz"], "/stats"])
    for letter in "abcdefghijklmnopqrstuvwxyz":
        found = [f"/packages/{name}" for name in names if name[0] == letter]
        site.page(f"/packages?letter={letter}", letter, "" if found else "<p>No packages.</p>", found)
    site.page("/stats", "Stats", links=[f"/packages/{name}" for name in dice("top").sample(names, 10)])
    for name in names:
        at, n = f"/packages/{name}", dice(name).randint(2, 12)
        numbers = [f"{at}/versions/{v // 3}.{v % 3}.0" for v in range(n)]
        site.document(at, name, f"<p>{words(14, name)}</p>", [f"{at}/{view}" for view in ("versions", "reverse_dependencies", "subscribe")])
        site.page(f"{at}/versions", "Versions", links=numbers)
        users = [f"/packages/{other}" for other in names if dice(name, other).random() < 0.02]
        site.page(f"{at}/reverse_dependencies", "Reverse dependencies", "" if users else "<p>No packages depend on this.</p>", users)
        site.page(f"{at}/subscribe", "Sign in", LOGIN)
        for path in numbers:
            rng = dice(path)
            text = f"<p>{rng.randint(1, 28)} June {rng.randint(2009, 2022)} ({rng.randint(4, 900)} KB). SHA {rng.getrandbits(128):032x}</p>"
            site.document(path, path.rpartition("/")[2], text, [f"{path}/deps", at])
            site.page(f"{path}/deps", "Dependencies", "<p>This version has no runtime dependencies.</p>")


def laws(site: MadeUpSite) -> None:
    """A code of laws of which four sections in five are repealed."""
    site.page("/", "Code", links=[f"/title/{title}" for title in range(1, 26)])
    for title in range(1, 26):
        sections = [f"/title/{title}/sec/{i}" for i in range(1, 41)]
        site.page(f"/title/{title}", f"Title {title}", links=sections)
        for i, path in enumerate(sections):
            if dice(path).random() < 0.2:
                site.document(path, f"Section {i + 1}", f"<p>{words(dice(path, 2).randint(15, 60), path)}</p>")
            else:
                site.page(path, f"Section {i + 1}", "<p>Repealed.</p>")
