"""Kinds of sites that serve visitors: timetables, offers of work, a status page, a town, a directory of persons, recipes."""

from __future__ import annotations

from datetime import date, timedelta

from benchmarks.quality.made_up.web import LOGIN, MadeUpSite, dice, slug, words


def timetable(site: MadeUpSite) -> None:
    """Departures by stop and kind of day; any date is one of the kinds, and a line's link shows a part of a stop's page."""
    kinds, lines, n = ["weekday", "saturday", "sunday"], range(1, 11), 70
    stops = {line: dice("line", line).sample(range(n), 12) for line in lines}
    site.page("/", "Timetables", links=[*[f"/line/{line}" for line in lines], "/stops"])
    site.page("/stops", "Stops", links=[f"/stop/{stop}" for stop in range(n)])
    site.page("/map", "Map", "<p>The map needs scripts.</p>")
    for line in lines:
        names = " - ".join(words(2, "stop", stop) for stop in stops[line])
        site.document(f"/line/{line}", f"Line {line}", f"<p>{names}</p>", [f"/stop/{stop}?line={line}" for stop in stops[line]])
    for stop in range(n):
        here = [line for line in lines if stop in stops[line]]
        days = [date(2024, 1, 1) + timedelta(i) for i in range(60)] if stop % 9 == 0 else []
        views = {"": ("weekday", here), **{f"?day={kind}": (kind, here) for kind in kinds}}
        views |= {f"?line={line}": ("weekday", [line]) for line in here}
        views |= {f"?date={day}": (kinds[max(0, day.weekday() - 4)], here) for day in days}
        for query, (kind, shown) in views.items():
            rows = "".join(f"<tr><td>Line {line}</td>{_row(stop, line, kind)}</tr>" for line in shown)
            at = days.index(date.fromisoformat(query[6:])) if query.startswith("?date=") else 7
            near = [f"/stop/{stop}?date={day}" for day in (days[max(0, at - 1)], days[min(59, at + 1)])] if days else []
            links = [*[f"/stop/{stop}?day={kind}" for kind in kinds], *near, f"/map?stop={stop}"]
            text, title = f"<p>{kind}</p><table>{rows}</table>", words(2, "stop", stop)
            if rows:
                site.document(f"/stop/{stop}{query}", title, text, links, of=f"{stop} {kind} {shown}")
            else:
                site.page(f"/stop/{stop}{query}", title, "<p>No departures.</p>", links)
        site.page(f"/map?stop={stop}", "Map", "<p>The map needs scripts.</p>")


def _row(stop: int, line: int, kind: str) -> str:
    rng = dice("times", stop, line, kind)
    return "".join(f"<td>{hour:02}:{rng.randint(0, 59):02}</td>" for hour in range(6, 23))


def offers(site: MadeUpSite) -> None:
    """Offers of work: every second one has expired, and redirects to the list of its trade."""
    trades, n = [slug(1, "trade", i) for i in range(12)], 420
    offer = [f"/offer/{slug(2, 'offer', i)}_{10_000 + 37 * i}" for i in range(n)]
    site.page("/", "Offers", links=[f"/trade/{trade}/" for trade in trades])
    for t, trade in enumerate(trades):
        own = offer[t::12]
        lists = [f"/trade/{trade}/", *[f"/trade/{trade}/p{i}/" for i in range(2, (len(own) + 19) // 10)]]
        for i, path in enumerate(lists):
            site.page(path, trade, links=[*own[10 * i : 10 * i + 10], *lists[i + 1 : i + 2]])
        for i in range(3):
            site.page(f"{lists[0]}?expired={i}", trade, "<p>The offer has expired.</p>", [*own[:10], *lists[1:2]])
    for i, path in enumerate(offer):
        if dice("expired", i).random() < 0.5:
            site.redirect(path, f"/trade/{trades[i % 12]}/?expired={i // 12 % 3}")
            continue
        text = f"<p>{words(25, 'text', i)}. Salary {dice(i).randint(20, 90)}000.</p>"
        links = [path + "/apply", offer[(i + 12) % n], offer[(5 * i + 7) % n], f"/share?u={i}"]
        site.document(path, words(2, "offer", i), text, links)
        site.page(path + "/apply", "Apply", LOGIN)
        site.redirect(f"/share?u={i}", "/")


def status(site: MadeUpSite) -> None:
    """A status page: incidents in nearly the same words, empty pages of history, uptime month by month."""
    parts, n = [words(1, "component", i) for i in range(8)], 120
    incidents = [f"/incidents/{dice('id', i).getrandbits(48):012x}" for i in range(n)]
    site.page("/", "Status", links=[*[f"/component/{i}" for i in range(8)], "/history?page=1", "/changelog/", "/subscribe"])
    for page in range(1, 51):
        here = incidents[5 * page - 5 : 5 * page]
        text = "" if here else "<p>No incidents reported.</p>"
        site.page(f"/history?page={page}", f"History {page}", text, [*here, *([f"/history?page={page + 1}"] if page < 50 else [])])
    for i, path in enumerate(incidents):
        rng = dice("incident", i)
        part, at = (
            rng.choice(parts),
            f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02} UTC {rng.randint(1, 28)} May {rng.randint(2015, 2023)}",
        )
        text = f"<p>We are investigating elevated error rates of {part}. {at}.</p><p>Resolved after {rng.randint(3, 400)} minutes.</p>"
        site.document(path, f"Errors of {part}", text, ["/subscribe", path + "/share"])
        site.page(path + "/share", "Share", "<p>Copy the address of this page to share it.</p>")
    for i, part in enumerate(parts):
        months = [f"/component/{i}/uptime?month={year}-{month:02}" for year in range(2023, 2016, -1) for month in range(12, 0, -1)]
        site.document(f"/component/{i}", part, f"<p>{words(10, 'part', i)}</p>", months[:1])
        for k, month in enumerate(months):
            site.page(month, "Uptime", f"<p>{100 - dice(month).randint(0, 9) / 100} %</p>", months[k + 1 : k + 2])
    changes = [f"/changelog/v{i // 10}.{i % 10}" for i in range(10, 110)]
    site.page("/changelog/", "Changelog", links=changes)
    for path in changes:
        site.document(path, path.rpartition("/")[2], f"<p>Fixed: {words(6, path)}.</p>", [path + "?diff=1"])
        site.page(path + "?diff=1", path.rpartition("/")[2], f"<p>Fixed: {words(6, path)}.</p>")
    site.page("/subscribe", "Subscribe", "<form method=post><input name=mail></form>")


def town(site: MadeUpSite) -> None:
    """A town in two languages, of which the second has half of the pages; larger letters, forms."""
    n, n_news = 150, 60
    site.redirect("/", "/en/")
    for language, other in (("en", "cy"), ("cy", "en")):
        site.page(f"/{language}/", "Town", links=[*[f"/{language}/page/{i}" for i in range(0, n, 10)], f"/{language}/news/0", f"/{other}/"])
        for i in range(n_news):
            at, links = f"/{language}/news/{i}", [f"/{other}/news/{i}", *([f"/{language}/news/{i + 1}"] if i + 1 < n_news else [])]
            if language == "en" or dice("news", i).random() < 0.3:
                site.document(at, words(4, at), f"<p>{words(20, at, 'text')}</p>", links)
            else:
                site.page(at, "News", "<p>Nid yw'r dudalen hon ar gael.</p>", links)
        for i in range(n):
            at, spoken = f"/{language}/page/{i}", language if dice("page", i).random() < 0.5 else "en"
            title, text = words(3, "title", spoken, i), f"<p>{words(45, 'text', spoken, i)}</p>"
            see = [f"/{language}/page/{(3 * i + k) % n}" for k in (1, 2, 3)]
            links = [*see, f"/{other}/page/{i}", at + "?text=large", f"/{language}/contact?about={i}"]
            site.document(at, title, text, links, of=f"{spoken} {i}")
            site.document(at + "?text=large", title, text, links, of=f"{spoken} {i}")
            site.page(
                f"/{language}/contact?about={i}", "Contact", "<p>Write to us.</p><form method=post><textarea name=t></textarea></form>"
            )


def staff(site: MadeUpSite) -> None:
    """A directory of persons: lists by letter, department and in orders; tabs of which most are empty; cards."""
    n, letters = 200, "abcdefghijklmnopqrstuvwxyz"
    names = [f"{words(1, 'last', i)} {words(1, 'given', i)}" for i in range(n)]
    paths = [f"/people/{name.replace(' ', '.')}.{i}" for i, name in enumerate(names)]
    site.page("/", "People", links=[*[f"/people?letter={letter}" for letter in letters], *[f"/dept/{i}" for i in range(12)]])
    for letter in letters:
        at, own = f"/people?letter={letter}", [i for i in range(n) if names[i][0] == letter]
        orders = [f"{at}&sort={order}" for order in ("dept", "mail")]
        for k, path in enumerate([at, *orders]):
            found = dice(path).sample(own, len(own)) if k else own
            site.page(path, f"People {letter}", "" if own else "<p>Nobody.</p>", [*[paths[i] for i in found], *orders])
    for i in range(12):
        site.document(f"/dept/{i}", words(2, "dept", i), f"<p>{words(30, 'about', i)}</p>", paths[i::12])
    for i, path in enumerate(paths):
        tabs = [f"{path}/{tab}" for tab in ("publications", "teaching", "vcard", "cv")]
        head = f"<p>{names[i]}, {words(2, 'dept', i % 12)}. Room {dice(i).randint(100, 999)}, phone {dice(i, 2).randint(1000, 9999)}.</p>"
        site.document(path, names[i], head, tabs)
        if dice("wrote", i).random() < 0.4:
            wrote = "".join(f"<p>{words(9, 'work', i, k)}</p>" for k in range(dice("n", i).randint(1, 9)))
            site.document(tabs[0], names[i], head + wrote, tabs)
        else:
            site.page(tabs[0], names[i], head + "<p>No publications.</p>", tabs)
        site.page(tabs[1], names[i], head + "<p>No courses this term.</p>", tabs)
        site.page(tabs[2], "vcard", f"<pre>{names[i]}</pre>")
        site.page(tabs[3], names[i], head + "<p>Not available.</p>", tabs)


def recipes(site: MadeUpSite) -> None:
    """Recipes: for two, four and eight, to print and to cook by, with pages of reviews; lists in orders."""
    n, tags = 140, ["soup", "cake", "stew", "salad", "bread", "sauce"]
    paths = [f"/recipe/{i}-{slug(2, 'recipe', i)}" for i in range(n)]
    site.page("/", "Recipes", links=[*[f"/tag/{tag}" for tag in tags], "/new"])
    for at, own in [("/new", paths), *[(f"/tag/{tag}", paths[i::6]) for i, tag in enumerate(tags)]]:
        for order in ("", "rating", "time"):
            found = dice(at, order).sample(own, len(own)) if order else own
            first = f"{at}?order={order}" if order else at
            lists = [first, *[f"{at}?{f'order={order}&' if order else ''}page={k}" for k in range(2, (len(own) + 23) // 12)]]
            for k, path in enumerate(lists):
                links = [*found[12 * k : 12 * k + 12], *lists[k + 1 : k + 2], f"{at}?order=rating", f"{at}?order=time"]
                site.page(path, at.rpartition("/")[2], links=links)
    for i, path in enumerate(paths):
        title, how = words(2, "recipe", i), f"<p>{words(35, 'how', i)}</p>"
        amounts = {
            k: "".join(f"<li>{dice(i, j).randint(1, 20) * 5 * k} g {words(1, 'part', i, j)}</li>" for j in range(6)) for k in (2, 4, 8)
        }
        reviews = [f"<p>{words(1, 'who', i, k)}: {words(12, 'said', i, k)}</p>" for k in range(max(0, dice("n", i).randint(-6, 14)))]
        more = [f"{path}?reviews={k}" for k in range(2, 2 + -(-len(reviews) // 5))]
        views = [f"{path}?servings=2", f"{path}?servings=8", *[f"{path}/{view}" for view in ("print", "cook", "save")]]
        like = [paths[(3 * i + 1) % n], paths[(5 * i + 2) % n]]
        site.document(path, title, amounts[4] + how + "".join(reviews[:5]), [*more[:1], *views, *like])
        for k, page in enumerate(more):
            shown = reviews[5 * k + 5 : 5 * k + 10]
            if shown:
                site.document(page, title, "".join(shown), [*more[k + 1 : k + 2], *views])
            else:
                site.page(page, title, "<p>No more reviews.</p>", views)
        for view, servings in ((views[0], 2), (views[1], 8)):
            site.document(view, title, amounts[servings] + how + "".join(reviews[:5]), [*more[:1], *views, *like], of=path)
        site.document(views[2], title, amounts[4] + how, of=path)
        site.page(views[3], title, how)
        site.page(views[4], "Log in", LOGIN)
