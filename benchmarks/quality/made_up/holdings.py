"""Kinds of sites that show what they hold in several ways: a court's decisions, a mailing list with three indexes, a shop of parts."""

from __future__ import annotations

from benchmarks.quality.made_up.web import LOGIN, MadeUpSite, dice, slug, words


def court(site: MadeUpSite) -> None:
    """A court: decisions by year, month and judge, with print views, citations, summaries of some, and a search of their like."""
    years, judges = range(2001, 2013), [f"/judges/{slug(1, 'judge', i)}" for i in range(14)]
    site.page("/", "Decisions", links=[*[f"/decisions/{year}/" for year in years], "/judges/", "/search"])
    site.page("/search", "Search", "<form method=get action=/find><input name=q></form>")
    site.page("/judges/", "Judges", links=judges)
    decided: dict[str, list[str]] = {judge: [] for judge in judges}
    for year in years:
        n = dice("n", year).randint(18, 40)
        here = [f"/decisions/{year}/{slug(1, 'court', year, i)}-{i + 1}" for i in range(n)]
        months = [f"/decisions/{year}/?month={month}" for month in range(1, 13)]
        site.page(
            f"/decisions/{year}/", f"Decisions of {year}", links=[*here[:20], *([f"/decisions/{year}/?page=2"] if n > 20 else []), *months]
        )
        site.page(f"/decisions/{year}/?page=2", f"Decisions of {year}", links=here[20:])
        for month, path in enumerate(months):
            site.page(path, f"Decisions of {year}", "" if here[month::12] else "<p>No decisions.</p>", here[month::12])
        for i, path in enumerate(here):
            rng = dice("decision", path)
            judge = rng.choice(judges)
            decided[judge].append(path)
            title, number = f"{words(1, 'party', path)} v. {words(1, 'other', path)}", f"{i + 1} C {rng.randint(1, 400)}/{year}"
            text = f"<p>{number}. {words(rng.choice((9, 140)), 'held', path)}</p>"
            views = [f"{path}/print", f"{path}/cite", f"/find?like={year}-{i + 1}", f"{path}/summary"]
            site.document(path, title, text, [*views, judge, *here[i + 1 : i + 2]])
            site.document(views[0], title, text, of=path)
            site.page(views[1], "Cite", f"<pre>{title}, {number}</pre>")
            site.page(views[2], "Search", "<p>Nothing was found.</p>" if rng.random() < 0.6 else "", here[i - 3 : i] if i > 3 else [])
            if rng.random() < 0.35:
                site.document(views[3], title, f"<p>{words(30, 'summary', path)}</p>", [path])
            else:
                site.page(views[3], title, "<p>There is no summary of this decision.</p>", [path])
    for judge in judges:
        site.document(judge, words(1, judge), f"<p>Judge since {dice(judge).randint(1980, 2001)}. {words(8, judge)}</p>", decided[judge])


def postings(site: MadeUpSite) -> None:
    """A mailing list's archive: each month by thread, date and author; messages that quote what they answer, and their sources."""
    months = [f"/{year}-{month:02}" for year in (2010, 2011) for month in range(1, 13)]
    site.page("/", "Archive", links=[f"{month}/{index}.html" for month in months for index in ("thread", "date", "author")])
    authors = [words(2, "author", i) for i in range(25)]
    for month in months:
        n = dice("n", month).randint(12, 30)
        paths = [f"{month}/{i:06}.html" for i in range(n)]
        after = [max(-1, i - dice("re", month, i).randint(1, 5)) if dice("reply", month, i).random() < 0.7 else -1 for i in range(n)]
        by = [dice("by", month, i).randrange(25) for i in range(n)]
        orders = {
            "thread": sorted(range(n), key=lambda i: (after[i], i)),
            "date": range(n),
            "author": sorted(range(n), key=lambda i: by[i]),
        }
        for index, order in orders.items():
            site.page(f"{month}/{index}.html", f"{month[1:]} by {index}", links=[paths[i] for i in order])
        said = [f"<p>{words(dice('long', month, i).choice((4, 25, 90)), 'said', month, i)}</p>" for i in range(n)]
        for i, path in enumerate(paths):
            quoted = f"<blockquote>{said[after[i]]}</blockquote>" if after[i] >= 0 else ""
            near = [paths[k] for k in (i - 1, i + 1, after[i]) if 0 <= k < n]
            text = f"<p>{authors[by[i]]}, {i % 28 + 1} {month[1:]}</p>{quoted}{said[i]}"
            mail = [f"{month}/raw/{i:06}.txt", f"/post?re={month[1:]}-{i:06}"]
            site.document(path, words(3, "subject", month, after[i] if after[i] >= 0 else i), text, [*near, *mail])
            site.document(mail[0], "", f"<pre>{text}</pre>", of=path)
            site.page(mail[1], "Post", LOGIN)


def parts(site: MadeUpSite) -> None:
    """A shop of parts: variants by parameter of which some differ, stock, data sheets of half, categories in orders and pages."""
    n, kinds = 150, [slug(1, "kind", i) for i in range(10)]
    part = [f"/part/{slug(2, 'part', i)}-{1000 + i}" for i in range(n)]
    site.page("/", "Parts", links=[*[f"/c/{kind}" for kind in kinds], "/brands"])
    site.page("/brands", "Brands", links=[f"/brand/{i}" for i in range(20)])
    for i in range(20):
        site.document(f"/brand/{i}", words(1, "brand", i), f"<p>{words(15, 'brand', i)}</p>", part[i::20])
    for k, kind in enumerate(kinds):
        own = part[k::10]
        for page in (1, 2):
            base = f"/c/{kind}" if page == 1 else f"/c/{kind}?page=2"
            views = [f"/c/{kind}?page={page}&sort={order}" for order in ("price", "name")]
            for path in (base, *views):
                shown = own[8 * page - 8 : 8 * page] if path == base else sorted(own)[8 * page - 8 : 8 * page]
                site.page(path, kind, links=[*shown, *views, *([f"/c/{kind}?page=2"] if page == 1 else [])])
    for i, path in enumerate(part):
        rng = dice("part", i)
        sizes, colours = ["M4", "M5", "M6", "M8"][: rng.randint(1, 4)], ["zinc", "black", "steel"][: rng.randint(1, 3)]
        about = f"<p>{words(20, 'about', i)}</p>"
        variants = [f"{path}?size={size}" for size in sizes] + [f"{path}?colour={colour}" for colour in colours]
        tabs = [f"{path}/stock", f"{path}/datasheet", f"{path}/reviews", f"/cart/add-{1000 + i}"]
        site.document(path, words(2, "part", i), about, [*variants, *tabs, f"/brand/{i % 20}", part[(7 * i + 1) % n]])
        for size in sizes:
            held = f"<p>{size}: holds {rng.randint(2, 90)} kN, {rng.randint(10, 400)} g, {rng.randint(1, 60)} Nm.</p>"
            site.document(f"{path}?size={size}", words(2, "part", i), about + held + f"<p>{words(6, 'use', i, size)}</p>", variants)
        for colour in colours:
            site.page(f"{path}?colour={colour}", words(2, "part", i), about, variants)
        site.page(tabs[0], "Stock", f"<p>{rng.randint(0, 99)} pieces.</p>", [path])
        if rng.random() < 0.5:
            site.document(tabs[1], words(2, "part", i), f"<p>{words(45, 'sheet', i)}</p>", [path])
        else:
            site.page(tabs[1], "Data sheet", "<p>The data sheet of this part is not available.</p>", [path])
        site.page(tabs[2], "Reviews", "<p>Be the first to review this part.</p>" + LOGIN, [path])
        site.page(tabs[3], "Cart", LOGIN)
