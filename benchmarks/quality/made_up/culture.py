"""Kinds of sites that show and broadcast: a museum's collection, a radio station."""

from __future__ import annotations

from datetime import date, timedelta

from benchmarks.quality.made_up.web import MadeUpSite, dice, slug, words


def museum(site: MadeUpSite) -> None:
    """A museum: objects with a viewer, a form, what is known of their owners; lists by department, gallery and maker, in two views."""
    n, departments, media = 260, [slug(1, "department", i) for i in range(6)], ["oil on canvas", "bronze", "etching", "stoneware", "silk"]
    paths = [f"/object/{1000 + 7 * i}" for i in range(n)]
    site.page("/", "Collection", links=[*[f"/department/{name}" for name in departments], "/makers", "/highlights"])
    site.page("/highlights", "Highlights", links=dice("highlights").sample(paths, 12))
    site.page("/makers", "Makers", links=[f"/maker/{k}" for k in range(45)])
    for k in range(45):
        site.document(f"/maker/{k}", words(2, "maker", k), f"<p>{words(dice('life', k).randint(6, 30), 'life', k)}</p>", paths[k::45])
    for d, name in enumerate(departments):
        own, galleries = paths[d::6], [f"/gallery/{10 * d + g}" for g in range(4)]
        searches = [f"/search?department={name}&page={k}" for k in range(1, len(own) // 12 + 2)]
        site.page(f"/department/{name}", name, f"<p>{words(30, 'about', name)}</p>", [*galleries, searches[0]])
        for g, gallery in enumerate(galleries):
            site.page(gallery, f"Gallery {10 * d + g}", "<p>This gallery is open daily.</p>", own[g : len(own) // 2 : 4])
        for k, path in enumerate(searches):
            for view in ("", "&view=grid"):
                links = [*own[12 * k : 12 * k + 12], *[other + view for other in searches[k + 1 : k + 2]], path + "&view=grid"]
                site.page(path + view, "Search", links=links)
    for i, path in enumerate(paths):
        rng, title, maker = dice("object", i), words(3, "title", i), i % 45
        label = f"<p>{words(2, 'maker', maker)}. {rng.choice(media)}, {rng.randint(1400, 1950)}. {rng.randint(5, 300)} cm.</p>"
        story = f"<p>{words(40, 'story', i)}</p>" if rng.random() < 0.6 else "<p>No description is available yet.</p>"
        views = [f"{path}/{view}" for view in ("zoom", "provenance", "related")]
        links = [*views, path + "?lang=fr", f"/request-image?object={1000 + 7 * i}", f"/maker/{maker}"]
        site.document(path, title, label + story, links)
        if rng.random() < 0.25:
            site.document(path + "?lang=fr", title, f"{label}<p>{words(40, 'histoire', i)}</p>", links)
        else:
            site.page(path + "?lang=fr", title, label + story, links)
        site.page(views[0], "Viewer", "<p>Loading the viewer.</p>", [path])
        if rng.random() < 0.4:
            site.document(views[1], title, f"<p>{words(25, 'owners', i)}</p>", [path])
        else:
            site.page(views[1], title, "<p>The provenance of this object is being researched.</p>", [path])
        site.page(views[2], "Related objects", links=[paths[(11 * i + k) % n] for k in (1, 2, 3, 4)])
        site.page(f"/request-image?object={1000 + 7 * i}", "Request an image", "<form method=post><input name=purpose></form>")


def radio(site: MadeUpSite) -> None:
    """A radio station: programmes with their episodes, transcripts of most, players, schedules of each day and region."""
    n_programmes, first, n_days = 14, date(2024, 1, 1), 90
    episodes = {p: [f"/e/{dice('pid', p, i).getrandbits(32):08x}" for i in range(dice("n", p).randint(6, 24))] for p in range(n_programmes)}
    programmes = [f"/programmes/{slug(2, 'programme', p)}" for p in range(n_programmes)]
    days = [f"/schedule/{first + timedelta(days=i):%Y/%m/%d}" for i in range(n_days)]
    site.page("/", "Radio", links=[*programmes, "/schedule/", "/people/"])
    site.page("/schedule/", "Schedule", links=days[-1:])
    site.page("/people/", "People", links=[f"/people/{k}" for k in range(25)])
    for k in range(25):
        site.document(f"/people/{k}", words(2, "person", k), f"<p>{words(18, 'person', k)}</p>", programmes[k % n_programmes :][:1])
    for p, programme in enumerate(programmes):
        own, title = episodes[p], words(2, "programme", p)
        lists = [f"{programme}/episodes?page={k}" for k in range(1, len(own) // 8 + 2)]
        site.document(programme, title, f"<p>{words(25, 'about', p)}</p>", [*own[-2:], lists[0], programme + "/contact"])
        site.page(programme + "/contact", "Contact", f"<p>Write to {title}.</p><form method=post><textarea name=t></textarea></form>")
        for k, path in enumerate(lists):
            site.page(path, title, links=[*own[8 * k : 8 * k + 8], *lists[k + 1 : k + 2]])
        for i, path in enumerate(own):
            rng = dice("episode", path)
            views = [f"{path}/{view}" for view in ("transcript", "segments", "player", "share")]
            text = f"<p>{words(rng.randint(6, 30), 'episode', path)}</p>"
            site.document(path, words(3, "episode", path), text, [*views, *own[i + 1 : i + 2], programme, f"/people/{rng.randint(0, 24)}"])
            if rng.random() < 0.7:
                site.document(views[0], "Transcript", f"<p>{words(200, 'said', path)}</p>", [path])
            else:
                site.page(views[0], "Transcript", "<p>There is no transcript of this episode.</p>", [path])
            site.page(views[1], "Segments", "".join(f"<li>{rng.randint(0, 59):02}:{rng.randint(0, 59):02}</li>" for _ in range(4)), [path])
            site.page(views[2], "Player", "<p>Your browser cannot play this programme.</p>", [path])
            site.page(views[3], "Share", "<p>Copy the address of this page to share it.</p>", [path])
    for i, day in enumerate(days):
        rng = dice("day", i)
        shown = [rng.choice(episodes[rng.randrange(n_programmes)]) for _ in range(8)]
        for region in ("", "?region=north", "?region=south"):
            links = [*shown, *[other + region for other in days[max(0, i - 1) : i]], *[f"{day}?region={at}" for at in ("north", "south")]]
            site.page(day + region, f"{first + timedelta(days=i):%d %B %Y}", links=links)
