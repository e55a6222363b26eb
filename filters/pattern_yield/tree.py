"""The tree of a site's patterns over a filter's memory: what each has yielded, and which are barren.

A fetch is counted for the most specific pattern of its URL (filters/pattern_yield/patterns.py). The first 16 fetches of each pattern are
also counted for the next coarser one, which so describes what a new pattern below it may yield; it becomes barren only by several of them.
A URL is held by the first barren pattern on the way from its most specific pattern to the coarser ones, unless a pattern before that one
has enough good fetches of its own. A most specific pattern that yields less than the rest of its site is held too.

**A fetch was worth it** if the panel kept its page as new, or if a link of the page led to such a page (a `LinkSource` is kept until its
links are settled). A redirect was worth it if its last page is new and was first found through it. Until its links decide, a page counts as
one that is a little more likely worth it than not: of a log without an end, whose pages are alike and name what is fetched much later, only
those would count that are new.

**Kinds.** A `<w>` stands for words that were not seen often, and one of them may name another kind of page. So the URLs of a pattern
that is held wait in classes by those words that came back at least once: the tail then serves the kind that yields most.

**Words become literals** by fetches that count for the pattern without them. If these were all barren, and the last showed what the new
pattern shows, that goes on from there; else a dead tree would be tried eight times for each word of its paths. And the last URLs with the
word that were not worth their fetches (word_runs.py) count for it, so that two more are enough.

**One text for all.** If one URL after another shows the same text, that may be an outage or a consent page. So a barren fetch is learned
from only after another text was shown. A run of 32 URLs with one text is not learned from, unless the site had shown other texts and either
the pattern had shown this text then, or all URLs of the run share a pattern that never showed anything new: a calendar which is all that is
left to fetch. Which patterns these are is then asked anew: the run itself may have made words literals.

**The first pages.** As long as all pages of a site were new, none shows what another showed, and nothing was redirected, no pattern can be
barren. So the first of them are only listed, in the site's head, until the tree is needed (filters/evidence/early.py).

Memory: at most `filters.site_bytes` a site; records with the least evidence are dropped first: sources, texts and patterns fetched once,
but no barren ones. Time: 15 to 60 µs per answer, two or three records written; 5 for each of the first pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thresher.crawler.core.ports import Memory
from thresher.crawler.core.url import origin_of
from thresher.filters.evidence.cost import counts_for
from thresher.filters.evidence.standing import Standing
from thresher.filters.pattern_yield.evidence import HoldRule, YieldEvidence
from thresher.filters.pattern_yield.patterns import LITERAL, WORD, Parts, forms, more_general, parse, parts_of, spelled
from thresher.filters.pattern_yield.records import (
    BARREN_WEIGHT,
    GOOD_RUN,
    HEAD_WEIGHT,
    MOST_KINDS,
    PATTERN,
    SAMPLE,
    LinkSource,
    Pattern,
    PatternFetch,
    PendingFetch,
    encode,
    first_pages,
    head_key,
    pattern_key,
    put_source,
    source_key,
    source_of,
)
from thresher.filters.pattern_yield.vocabulary import Vocabulary
from thresher.filters.pattern_yield.word_runs import WordRuns

RUN = 32  # a run of so many URLs of one text is not learned from
OTHERS = 8  # fetches of a site that must have been worth it for such a run to be a pattern's usual answer
TEMPLATE = 20  # times shown by one pattern from which a text is a template: its first page hardly counts then
TAUGHT = 16  # fetches of a pattern that are also counted for the coarser one
_OUTAGE = 5  # barren fetches of good patterns from which a run of one text over several patterns is an outage; fewer are dead links
REPEATED = 2  # times that a word was seen from which it may name a kind
_OPEN = 0.6  # what a page counts in comparisons while it may still be worth its fetch, by links that are not fetched yet
_MOST_CREDITED = 6  # redirects in a row that lead to one page


class Tree:
    """One site's patterns: read from a memory, changed, and written back by `save`."""

    def __init__(self, memory: Memory, site: bytes, rule: HoldRule) -> None:
        """Read what a site's patterns share; the site is given by 8 bytes, and the rule decides when a pattern is barren."""
        self._memory, self.site, self._rule = memory, site, rule
        first = first_pages(memory, site)
        self.head = first.head
        self.vocabulary = Vocabulary(self.head.n_counted, self.head.counters)
        self._runs = WordRuns(self.head.runs, len(self.vocabulary.counters))
        self._known: dict[str, Pattern] = {}
        self._changed: dict[str, Pattern] = {}
        self._leading = b""  # key of the page learned from, if it was barren and its links are followed
        self.released: list[str] = []  # classes whose URLs are to be released
        if early := first.take():
            self._learn_early(early)

    def _learn_early(self, early: list[tuple[str, int]]) -> None:
        """Learn from the site's first pages, all of which were new."""
        self.head.good_run = 0
        for url, news in early:
            parts = parse(url, origin_of(url))
            self.on_page(parts, news, is_kept=True)
            self.learn(PatternFetch(b"", parts, 0, True))

    # -- asking

    def all_patterns(self) -> list[Pattern]:
        """Return all that the memory holds, and what has changed."""
        stored = {key: PATTERN.decode(value) for key, value in self._memory.scan(self.site + b"p")}
        return [*{**stored, **{pattern_key(self.site, form): pattern for form, pattern in self._changed.items()}}.values()]

    def forms(self, parts: Parts) -> list[str]:
        """Return a URL's patterns by the site's present vocabulary, the most specific first."""
        return forms(parts, self.vocabulary.count)

    def load(self, texts: Iterable[str]) -> None:
        """Read patterns that were not read yet; one by one, since those written lately are in the cache."""
        for text in texts:
            if text not in self._known:
                value = self._memory.get(pattern_key(self.site, text))
                self._known[text] = PATTERN.decode(value) if value is not None else Pattern(text, YieldEvidence())

    def barren(self, texts: Sequence[str]) -> Pattern | None:
        """Return the barren pattern that holds a URL of these patterns (`load` must have read them), None if there is none."""
        for text in texts:
            pattern = self._known[text]
            if pattern.evidence.barren:
                return pattern
            if self._rule.yields(pattern.evidence):
                return None
        return None

    def kind(self, parts: Parts, texts: Sequence[str], pattern: Pattern) -> str:
        """Return the form of a URL, of patterns `texts`, held by a pattern, with words that came back; a coarser pattern has its own."""
        if pattern.form != texts[0] or WORD not in pattern.form:
            return pattern.form
        return forms(parts, self.vocabulary.count, literal=REPEATED)[0]

    def note_kinds(self, kinds: Iterable[tuple[str, str]]) -> None:
        """Note kinds of patterns, each by the pattern's form and its own, so that their URLs are released with the pattern's."""
        for form, kind in kinds:
            self.load((form,))
            pattern = self._known[form]
            if kind not in pattern.classes:
                pattern.kinds = [*pattern.kinds, kind]
                self._changed[form] = pattern

    # -- learning

    def on_page(self, parts: Parts, news: int, *, is_kept: bool) -> bool:
        """Record what a page shows apart from what its URL repeats; return whether its pattern or the next coarser one showed that lately.

        The next coarser pattern is checked too: when a word becomes a literal, a new pattern begins, which has shown nothing yet. A text
        that a pattern shows for the twentieth time is an empty form: its first page, if the panel kept it, was not worth its fetch either.
        """
        texts = self.forms(parts)[:2]
        self.load(texts)
        self._changed |= {text: self._known[text] for text in texts}
        found = [self._known[text].on_page(news, is_kept=is_kept) for text in texts]
        if found[0] is not None and found[0].times == TEMPLATE and found[0].is_kept:
            self._rule.take_back(self._known[texts[0]].evidence)
        return any(found)

    def learn(self, fetch: PatternFetch) -> None:
        """Learn from an answered request."""
        texts, words = self.forms(fetch.parts), fetch.parts.hashes
        self.vocabulary.add(words)
        self.load(texts)
        specific = self._known[texts[0]]
        if WORD in specific.form and len(specific.kinds) < MOST_KINDS:
            self.note_kinds([(specific.form, self.kind(fetch.parts, texts, specific))])
        self.head.leading, self._leading = [], b""
        if self.barren(texts) is not None:
            self.vocabulary.pin(words, LITERAL)
        if fetch.worth is not False:
            self._runs.learn(words, is_barren=False)
        if fetch.worth is None:
            return
        if fetch.worth:
            self.head.on_worth(fetch.n_bytes)
            self._end_run()
            self._teach(texts, True)
        else:
            self.head.good_run = 0
            if fetch.may_lead:
                self.head.leading, self._leading = texts, fetch.key[8:]
            self._wait(fetch, texts)

    def _wait(self, fetch: PatternFetch, texts: list[str]) -> None:
        """Keep a barren fetch until another text is shown, unless its pattern is known to show this one."""
        head, specific = self.head, self._known[texts[0]]
        if fetch.text != head.run_text:
            self._end_run()
            head.run_text, head.run_forms = fetch.text, texts
        head.run_length += 1
        head.run_forms = [form for form in head.run_forms if form in texts]
        if specific.text == fetch.text:
            self._teach(texts, False, cost=counts_for(head.usual.cost(fetch.n_bytes)), is_sure=not fetch.may_lead)
            return
        head.pending.append(PendingFetch(fetch.key[8:], texts, spelled(fetch.parts), head.usual.cost(fetch.n_bytes)))
        if head.run_length >= RUN:
            for entry in head.pending:
                entry.forms = self.forms(parts_of(entry.spelled)) if entry.spelled else entry.forms
            self.load(entry.forms[0] for entry in head.pending)
            yielded = [entry for entry in head.pending if self._known[entry.forms[0]].evidence.worth > 1]
            if self._is_their_way(yielded):
                self._believe()
            head.pending = yielded[:_OUTAGE]

    def _is_their_way(self, yielded: list[PendingFetch]) -> bool:
        """Return whether a long run of one text is the usual answer of its patterns and no outage: other URLs showed other texts.

        Either one pattern that has yielded nothing has all URLs of the run; or each is of such a pattern, but for a few: `yielded`.
        """
        self.load(self.head.run_forms)
        is_one = any(self._known[form].evidence.worth <= 1 for form in self.head.run_forms)
        return self.head.n_worth >= OTHERS and (is_one or len(yielded) < _OUTAGE)

    def _end_run(self) -> None:
        """End the run, since another text is shown: its barren fetches count from now on."""
        self._believe()
        self.head.run_text, self.head.run_length, self.head.run_forms = 0, 0, []

    def _believe(self) -> None:
        """Learn from the run."""
        pending, self.head.pending = self.head.pending, []
        for entry in pending:
            self.load(entry.forms)
            self._known[entry.forms[0]].text = self.head.run_text
            n_named = source.n_waiting if (source := source_of(self._memory, self.site + entry.key)) else 0
            self._teach(entry.forms, False, is_open=n_named > 0, cost=counts_for(entry.cost, n_named), is_sure=not n_named)
            if entry.spelled:
                self._runs.learn(parts_of(entry.spelled).hashes, is_barren=not n_named)

    def _begin(self, pattern: Pattern) -> None:
        """Let a pattern without fetches go on from the one without its newest literal, or with the barren fetches of that word."""
        for form in more_general(pattern.form, self.vocabulary.count):
            self.load((form,))
            if (general := self._known[form]).evidence.fetched:
                if general.text == pattern.text:
                    self._rule.begin(pattern.evidence, general.evidence)
                break
        new = [word for word in parts_of(pattern.form).hashes if LITERAL <= self.vocabulary.count(word) < 2 * LITERAL]
        if new:
            self._rule.begin_as_word(pattern.evidence, max(map(self._runs.of, new)), LITERAL - 1)

    def _teach(self, texts: Sequence[str], worth: bool, *, is_open: bool = False, cost: int = 1, is_sure: bool = False) -> None:
        """Count for the patterns of a URL whether a fetch was worth it.

        Args:
            is_open: Whether a URL that the page named may still be worth its fetch.
            cost: Number of barren fetches that a barren one counts for.
            is_sure: Whether a barren one can lead nowhere: the page named nothing new that is let in.
        """
        if not worth and not self._known[texts[0]].evidence.fetched:
            self._begin(self._known[texts[0]])
        self._compare(self._known[texts[0]])
        share = _OPEN if is_open else float(worth)
        self._count(texts, share=share, weight=SAMPLE if worth and self._is_sampled() else 1)
        taught, spoke = True, False
        for i, text in enumerate(texts):
            pattern = self._known[text]
            before = pattern.evidence.barren
            if spoke and before:  # the pattern's own counts decided: the fetch was not one that the coarser pattern holds
                return
            if not taught and not (worth and before):  # a barren pattern always counts fetches that were worth it
                return
            spoke = spoke or self._rule.yields(pattern.evidence)
            n_words = pattern.form.count(WORD)
            is_wrong = self._rule.learn(pattern.evidence, worth, is_coarse=i > 0, cost=cost, is_sure=is_sure, n_words=n_words)
            self._changed[text] = pattern
            self._judged(pattern, before, is_wrong=is_wrong)
            taught = pattern.n_taught < TAUGHT
            pattern.n_taught += taught

    def _count(self, texts: Sequence[str], *, share: float, weight: int = 1) -> None:
        """Count a fetch that nothing held, for its site and for its most specific pattern.

        Args:
            texts: The patterns of its URL, the most specific first.
            share: 1 if the fetch was worth it, 0 if it was barren, `_OPEN` while its links decide.
            weight: Number of fetches that it represents.
        """
        clock = self.head.fresh.at + 1
        for standing in self._standings(texts):
            standing.learn(weight, share, clock)

    def _recount(self, texts: Sequence[str], change: float, counted_at: int) -> None:
        """Change the share that a fetch was counted with at this time (0: it was not), now that more is known of it."""
        for standing in self._standings(texts, is_counted=True) if counted_at else ():
            standing.revise(change, counted_at, self.head.fresh.at)

    def _standings(self, texts: Sequence[str], *, is_counted: bool = False) -> tuple[Standing, ...]:
        """Return the counts of the site and of a most specific pattern, to be changed; none for a new fetch of what is held."""
        self.load(texts)
        if not texts or (self.barren(texts) is not None and not is_counted):
            return ()
        self._changed[texts[0]] = pattern = self._known[texts[0]]
        return self.head.fresh, pattern.evidence.standing

    def _is_sampled(self) -> bool:
        """Return whether the filter learns only from a sample of the fetches that were worth it."""
        return self.head.good_run > GOOD_RUN and not self.head.n_barren

    def _compare(self, pattern: Pattern, *, is_credited: bool = False) -> None:
        """Compare a pattern with the rest of its site, before its next fetch is learned from and once an earlier one counts more."""
        of, fresh = pattern.evidence, self.head.fresh
        before = of.barren
        is_wrong = self._rule.compare(of, fresh.without(of.standing), pattern.form.count(WORD), is_credited=is_credited)
        self._judged(pattern, before, is_wrong=is_wrong)

    def _judged(self, pattern: Pattern, was_barren: bool, *, is_wrong: bool) -> None:
        """Count the pattern if it has become barren; release its URLs if the opinion was wrong."""
        self.head.n_barren = max(0, self.head.n_barren + pattern.evidence.barren - was_barren)
        if is_wrong:
            self.released += pattern.classes

    # -- what links lead to

    def led_on(self, key: bytes, via: bytes, n_links: int, *, is_redirect: bool) -> None:
        """Record that a page or redirect named `n_links` URLs first that will be fetched: their pages decide whether it was worth it."""
        if is_redirect:
            put_source(self._memory, key, LinkSource([], via, n_links))
        elif self.head.leading:
            counted_at = max(1, self.head.fresh.at) if self._standings(self.head.leading) else 0
            put_source(self._memory, key, LinkSource(self.head.leading, via, n_links, counted_at=counted_at))
            if not self._is_pending(key):
                self._recount(self.head.leading, _OPEN, counted_at)
        else:
            return
        self.head.n_sources += 1

    def on_settled(self, via: bytes, worth: bool) -> None:
        """Count one settled URL for the page `via` of this site that named it first."""
        for _ in range(_MOST_CREDITED):
            source = source_of(self._memory, via)
            if source is None:
                return
            if not source.forms:
                if not worth or source.worth:
                    return
                source.worth = True
                put_source(self._memory, via, source)
                if source.via[:8] != self.site:
                    return
                via = source.via
                continue
            self._on_page_settled(via, source, worth)
            return

    def _on_page_settled(self, key: bytes, source: LinkSource, worth: bool) -> None:
        source.n_waiting -= 1
        if not worth and source.n_waiting > 0:
            put_source(self._memory, key, source)
            return
        self._forget(key)
        if worth:
            self._credit(key[8:], source.forms, source.counted_at)
        elif not self._is_pending(key):
            self._recount(source.forms, -_OPEN, source.counted_at)

    def _credit(self, key: bytes, texts: list[str], counted_at: int) -> None:
        """Count a barren page as worth its fetch, since it has led to something new."""
        self.load(texts)
        waits = [entry for entry in self.head.pending if entry.key == key]
        if waits:
            self.head.pending.remove(waits[0])
            self._teach(texts, True)
            return
        self._recount(texts, 1 - _OPEN, counted_at)
        self._compare(self._known[texts[0]], is_credited=True)
        for i, text in enumerate(texts):
            pattern = self._known[text]
            if pattern.evidence.fetched:
                self._changed[text], before = pattern, pattern.evidence.barren
                is_wrong = self._rule.credit(pattern.evidence, is_coarse=i > 0)
                self._judged(pattern, before, is_wrong=is_wrong)

    def _is_pending(self, key: bytes) -> bool:
        """Return whether a page, given by its key of 16 bytes, waits for another text."""
        return any(entry.key == key[8:] for entry in self.head.pending)

    def take(self, key: bytes) -> LinkSource | None:
        """Return the record of a redirect whose last page is settled, and delete it."""
        source = source_of(self._memory, key) if self.head.n_sources else None
        if source is not None:
            self._forget(key)
        return source

    def _forget(self, key: bytes) -> None:
        self._memory.delete(source_key(key))
        self.head.n_sources = max(0, self.head.n_sources - 1)

    # -- records

    def save(self) -> None:
        """Write what has changed."""
        head = self.head
        head.n_counted, head.counters = self.vocabulary.n_counted, self.vocabulary.counters
        head.runs = self._runs.counters
        head.awaits = self._leading
        for text, pattern in self._changed.items():
            of = pattern.evidence
            self._memory.put(pattern_key(self.site, text), encode(pattern), BARREN_WEIGHT if of.barren else float(of.fetched))
        self._changed.clear()
        self._memory.put(head_key(self.site), encode(head), HEAD_WEIGHT)
