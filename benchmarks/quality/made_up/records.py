"""Kinds of sites that show records of a data base: a family tree, a data portal, a league, a library's catalogue."""

from __future__ import annotations

from benchmarks.quality.made_up.web import LOGIN, MadeUpSite, dice, slug, words


def family(site: MadeUpSite) -> None:
    """A family tree: persons of whom half are a name only, families, charts of each person that repeat names, sources that many cite."""
    n, n_sources = 360, 50
    names = [f"{words(1, 'given', i)} {words(1, 'surname', i % 40)}" for i in range(n)]
    person, sources = [f"/person/I{i:04}" for i in range(n)], [f"/source/S{i}" for i in range(n_sources)]
    children = {i: [k for k in (3 * i + 1, 3 * i + 2, 3 * i + 3) if k < n] for i in range(n)}
    site.page("/", "Our family", links=[person[0], "/surnames", "/sources"])
    site.page("/surnames", "Surnames", links=[f"/surname/{words(1, 'surname', i)}" for i in range(40)])
    for i in range(40):
        site.page(f"/surname/{words(1, 'surname', i)}", words(1, "surname", i), links=person[i::40])
    site.page("/sources", "Sources", links=sources)
    for i, path in enumerate(sources):
        site.document(path, f"Source {i}", f"<p>{words(18, path)}</p>")
    for i, path in enumerate(person):
        parent = (i - 1) // 3
        kin = [person[k] for k in children[i]] + ([person[parent]] if i else [])
        charts = [f"/chart/{view}/I{i:04}" for view in ("ancestors", "descendants", "fan")]
        rng = dice("born", i)
        if rng.random() < 0.5:
            born = f"<p>Born {rng.randint(1, 28)}.{rng.randint(1, 12)}.{rng.randint(1650, 1990)}.</p>"
            text = f"{born}<p>{words(rng.randint(5, 60), 'life', i)}</p>"
            site.document(path, names[i], text, [*kin, f"/family/F{i:04}", *charts, rng.choice(sources)])
        else:
            site.page(path, names[i], "<p>Living. Details withheld.</p>", [*kin, f"/family/F{i:04}", *charts])
        site.page(f"/family/F{i:04}", f"Family of {names[i]}", links=kin)
        below = [names[k] for k in children[i]]
        for chart, shown in zip(charts, ([names[i], names[max(0, parent)]], [names[i], *below], [names[i]]), strict=True):
            site.page(chart, "Chart", f"<p>{' '.join(shown)}</p>", kin)


def portal(site: MadeUpSite) -> None:
    """A data portal: sets with versions whose notes differ, previews of files that say numbers, and one set in many formats."""
    n, groups = 90, [slug(1, "group", i) for i in range(9)]
    sets = [f"/dataset/{slug(3, 'set', i)}" for i in range(n)]
    site.page("/", "Open data", links=[*[f"/group/{group}" for group in groups], "/dataset?page=1"])
    for page in range(1, 10):
        more = [f"/dataset?page={page + 1}"] if page < 9 else []
        orders = [f"/dataset?page={page}&sort={order}" for order in ("name", "modified")]
        here = sets[10 * page - 10 : 10 * page]
        for path in (f"/dataset?page={page}", *orders):
            site.page(path, "Datasets", links=[*(here if path != orders[0] else sorted(here)), *more, *orders])
    for i, group in enumerate(groups):
        site.page(f"/group/{group}", group, links=sets[i::9])
    for i, path in enumerate(sets):
        formats = [f"{path}/export.{form}" for form in ("rdf", "jsonld", "ttl", "xml")]
        versions = [f"{path}/v/{v}" for v in range(1, dice("versions", i).randint(2, 7))]
        files = [f"/resource/{dice('file', i, k).getrandbits(48):012x}" for k in range(3)]
        about = f"<p>{words(35, 'about', i)}</p>"
        site.document(path, words(3, "set", i), about, [*formats, *versions, *files, f"{path}/activity"])
        for k, form in enumerate(formats):
            site.page(form, words(3, "set", i), f"<pre>{about} {form[-3:]} {k}</pre>")
        for v, version in enumerate(versions):
            if v and dice("same", i, v).random() < 0.3:
                site.page(version, words(3, "set", i), f"<p>Version {v + 1}: unchanged.</p>", [path])
            else:
                site.document(version, words(3, "set", i), f"<p>Version {v + 1}.</p><p>{words(12, 'notes', i, v)}</p>", [path])
        for k, file in enumerate(files):
            if k < 2:
                text = f"<p>{words(6, 'columns', i, k)}</p><p>{' '.join(str(dice(file, r).randint(0, 9999)) for r in range(30))}</p>"
                site.document(file, f"Table {k + 1}", text, [f"{file}/preview", path])
            else:
                site.page(file, "Archive", "<p>This file has no preview.</p>", [f"{file}/preview", path])
            site.page(f"{file}/preview", "Preview", "<p>Loading the preview.</p>", [file])
        site.page(f"{path}/activity", "Activity", "<p>Log in to see what has changed.</p>" + LOGIN)


def league(site: MadeUpSite) -> None:
    """A league: seasons with a table after each round, matches of which the older have no report, players, tips that nobody gave."""
    teams, seasons, n_rounds = [words(2, "team", i) for i in range(12)], range(2012, 2020), 11
    site.page("/", "League", links=[*[f"/season/{year}" for year in seasons], *[f"/team/{i}" for i in range(12)]])
    for i, team in enumerate(teams):
        squad = [f"/player/{words(1, 'player', i, k)}-{100 * i + k}" for k in range(14)]
        site.document(f"/team/{i}", team, f"<p>{words(30, 'about', team)}</p>", squad)
        for k, path in enumerate(squad):
            goals = dice(path).randint(0, 99)
            site.document(
                path,
                words(1, "player", i, k),
                f"<p>{team}. Born {dice(path, 1).randint(1980, 2002)}. {goals} goals.</p>",
                [path + "/goals"],
            )
            site.page(path + "/goals", "Goals", f"<p>{goals}</p>")
    for year in seasons:
        rounds = [f"/season/{year}/round/{r}" for r in range(1, n_rounds + 1)]
        site.page(f"/season/{year}", f"Season {year}", links=rounds)
        for r, path in enumerate(rounds, 1):
            order = dice("order", year, r).sample(range(12), 12)
            matches = [f"/match/{year}{r:02}{m}" for m in range(6)]
            rows = "".join(f"<p>{teams[t]} {3 * r - k}</p>" for k, t in enumerate(order))
            site.document(path, f"Round {r}", rows, [*matches, *rounds[r : r + 1], *[f"/team/{t}" for t in order]])
            for m, match in enumerate(matches):
                home, away = teams[order[2 * m]], teams[order[2 * m + 1]]
                score = f"<p>{home} {dice(match).randint(0, 5)}:{dice(match, 1).randint(0, 5)} {away}</p>"
                views = [f"{match}/lineup", f"{match}/tips", f"{match}/ticker"]
                if year >= 2016:
                    site.document(match, f"{home} {away}", f"{score}<p>{words(45, 'report', match)}</p>", views)
                    site.document(views[0], "Lineup", f"<p>{words(22, 'line', match)}</p>", [match])
                    site.document(views[2], "Ticker", f"<p>{words(70, 'ticker', match)}</p>", [match])
                else:
                    site.page(match, f"{home} {away}", score, views)
                    site.page(views[0], "Lineup", "<p>Not known.</p>", [match])
                    site.page(views[2], "Ticker", "<p>There was no ticker of this match.</p>", [match])
                site.page(views[1], "Tips", "<p>Nobody gave a tip.</p>" + LOGIN, [match])


def catalogue(site: MadeUpSite) -> None:
    """A library's catalogue: subjects in three orders, records in short, full and MARC, authors by a number, lists that ask to log in."""
    n, subjects = 220, [slug(1, "subject", i) for i in range(16)]
    record = [f"/record/{b:06}" for b in (1000 + 37 * i for i in range(n))]
    site.page("/", "Catalogue", links=[*[f"/subject/{subject}" for subject in subjects], "/new", "/authors?from=a"])
    site.page("/new", "New", links=record[-20:])
    for k, letter in enumerate("abcdefghijklmnopqrst"):
        more = [f"/authors?from={'abcdefghijklmnopqrst'[k + 1]}"] if k < 19 else []
        site.page(f"/authors?from={letter}", "Authors", links=[*[f"/author/{i}" for i in range(4 * k, 4 * k + 4)], *more])
    for i in range(80):
        own = record[i::80]
        if dice("life", i).random() < 0.4:
            site.document(f"/author/{i}", words(2, "author", i), f"<p>{words(25, 'life', i)}</p>", own)
        else:
            site.page(f"/author/{i}", words(2, "author", i), links=own)
    for i, subject in enumerate(subjects):
        own = record[i::16]
        orders = [f"/subject/{subject}?order={order}" for order in ("year", "title", "author")]
        for k, path in enumerate((f"/subject/{subject}", *orders)):
            site.page(path, subject, links=[*dice(path).sample(own, len(own)), *(orders if not k else orders[:0])])
    for i, path in enumerate(record):
        title, rng = words(4, "title", i), dice("record", i)
        head = f"<p>{title}. {words(2, 'author', i % 80)}. {rng.randint(1800, 2020)}. {rng.randint(40, 900)} p.</p>"
        note = f"<p>{words(rng.randint(0, 30), 'note', i)}</p>"
        views = [f"{path}?view=full", f"{path}?view=marc", f"{path}/holdings", f"{path}/cite", f"/list/add-{i}", f"/hold/{i}"]
        site.document(path, title, head + note, [*views, f"/author/{i % 80}", record[(7 * i + 3) % n]])
        site.document(views[0], title, f"{head}{note}<p>{words(8, 'isbd', i)}</p>", views, of=path if rng.random() < 0.5 else "")
        site.page(views[1], title, f"<pre>245 $a {title} 100 $a {words(2, 'author', i % 80)}</pre>")
        site.page(views[2], "Holdings", f"<p>{rng.choice(['Main library', 'Branch', 'Stacks'])}: {rng.randint(1, 3)} copies.</p>")
        site.page(views[3], "Cite", head)
        site.page(views[4], "Lists", LOGIN)
        site.page(views[5], "Hold", LOGIN)
