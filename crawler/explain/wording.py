"""The answer of `explain` as a sentence: what the store says about a URL."""

from __future__ import annotations

from thresher.crawler.core.governing import governed
from thresher.crawler.core.model import Reason
from thresher.crawler.explain.story import Story

_OF_ITS_LINK = frozenset((Reason.NOFOLLOW, Reason.ANNOUNCED_TYPE))  # what is wrong with the link, not with the URL


def recorded(story: Story) -> str:
    """Return a sentence: what the store says about a URL."""
    match story.state:
        case "bad_url":
            return f"It is no URL that this crawl may request: {governed(story.reason or '', story.detail or '')}."
        case "unknown":
            return _never_known(story)
        case "queued":
            crawl = f" The crawl is {story.crawl}." if story.crawl else ""
            return f"It waits to be fetched: {story.waiting.why}.{crawl}" if story.waiting else f"It is just being fetched.{crawl}"
        case "held":
            return f"It is held by {', '.join(story.holders) or 'nobody'}.{_its_class(story)}"
        case "alias":
            alias = story.alias_of or {"url": "another URL", "rule": "that is gone"}
            return f"It was not fetched, as an alias of {alias['url']} (rule {alias['rule']})."
        case "refused":
            by = f" by {story.skips[0]['by']}" if story.skips and story.skips[0]["by"] else ""
            return f"It was found and not fetched: {governed(story.reason or '')}{by}."
        case "outbox":
            return "It belongs to another agent, which has not taken it over yet."
        case _:
            return _done(story)


def found_today(story: Story) -> str:
    """Return the beginning of the sentence on what would be decided today, which asks about the URL alone, not about what names it."""
    if story.state == "held":
        return "Found today by a page outside its class"
    if story.state == "unknown" and story.skips and story.skips[0]["reason"] in _OF_ITS_LINK:
        return f"Found today by a link without {story.skips[0]['reason']}"
    return "Found today"


def _never_known(story: Story) -> str:
    if story.requisite is not None:
        return story.requisite.words
    if not story.skips:
        return "It is not known to this crawl: no page that was read names it, or it was refused by a rule beyond what the log keeps."
    first = story.skips[0]
    by = f" by {first['by']}" if first["by"] else ""
    return f"It was found and not taken up: {governed(first['reason'])}{by}."


def _later(story: Story) -> str:
    """Return a text about later verdicts on the URL: the last one of each filter."""
    last = {verdict["filter"]: verdict for verdict in story.verdicts if "revised_at" in verdict}
    words = []
    for name, verdict in last.items():
        kind = f", {verdict['evidence']['kind']}" if "kind" in verdict["evidence"] else ""
        if "canonical" in verdict["evidence"]:
            words.append(f" At {verdict['revised_at']} it was found by {name} to be an alias of {verdict['evidence']['canonical']}.")
            continue
        word = f"judged {verdict['reason'] or 'no good'}{kind}" if not verdict["keep"] else "cleared"
        words.append(f" At {verdict['revised_at']} it was {word} by {name}.")
    return "".join(words)


def _done(story: Story) -> str:
    if story.redirect is not None:
        to, end = story.redirect, story.end_of_chain
        came_to = f"; the target is {to['state']}"
        if to["refused"] is not None:
            came_to = f"; target refused: {governed(to['refused'])}"
        elif end is not None and end["end"] == "loop":
            came_to = f"; that is a loop: after {end['hops']} hop(s) it comes back to a URL of its own"
            if story.option == "fetch.cookies":
                came_to += ", as sites do that want back a cookie which they set (fetch.cookies)"
        elif end is not None and end["end"] == "too_long":
            came_to += f"; its chain of {end['hops']} hops is too long to be followed to an end"
        elif end is not None and end["url"] is not None:
            came_to = f", which came to {end['url']} in {end['hops']} hops" if end["url"] != to["to"] else ", where the chain ends"
        why = f"; not followed: {story.reason}" if story.reason else ""
        return f"It was fetched at {to['at']} and redirected ({to['status']}) to {to['to']}{came_to}{why}.{_later(story)}"
    failure, page = story.failure, story.page
    if page is not None and not page["failed"]:
        dropped = [verdict["filter"] for verdict in page["verdicts"] if not verdict["keep"]]
        fate = "kept" if page["keep"] else f"not kept ({', '.join(dropped) or 'by a filter'})"
        return f"It was fetched at {page['fetched_at']} with status {page['status']}, and {fate}.{_later(story)}"
    if failure is not None and story.reason is not None:
        return f"It was requested at {failure['at']} and its body refused: {governed(story.reason, failure['detail'])}."
    if failure is not None:
        tries = f"after {failure['attempts']} tries" if failure["attempts"] > 1 else "at the first try"
        return f"It could not be fetched, {tries}: {governed(failure['reason'], failure['detail'])}."
    return f"It is done: {story.reason or 'its record is of a later visit'}."


def _its_class(story: Story) -> str:
    """Return a text about the class in which a held URL waits."""
    of = story.held_class
    if of is None:
        return ""
    said = f" Of {of['known']:,} URLs of its class {of['drawn']:,} were fetched, {of['new']:,} of them gave something new"
    if of["left_alone"]:
        return f"{said}: the rest is left alone. `thresher resume DIR --set filters.tail_yield=0` fetches it."
    return f"{said}. It is fetched when its host has nothing better."
