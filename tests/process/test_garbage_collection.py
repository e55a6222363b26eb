"""When the garbage collector looks at objects while an agent runs: the loop stands still meanwhile."""

from __future__ import annotations

import json
import subprocess

from thresher.crawler.children import python

_GROWS = """
import gc, json
from thresher.crawler.process.agent_process import tune_interpreter
looked_at = []
def note(phase, info):
    if phase == "start":
        looked_at.append(sum(len(gc.get_objects(n)) for n in range(info["generation"] + 1)))
tune_interpreter()
gc.callbacks.append(note)
kept = [[] for _ in range(300_000)]
of_a_crawl = list(looked_at)
for _ in range(1_000_000):
    cycle = []
    cycle.append(cycle)
left = sum(type(one) is list and one is not kept and one[:1] == [one] for one in gc.get_objects())
print(json.dumps([of_a_crawl, looked_at, left]))
"""


def test_nothing_is_looked_at_while_a_crawl_keeps_its_objects_but_what_leaks_is_found() -> None:
    """Mutations: the collector is off; it looks at every few thousand new objects."""
    found = subprocess.run(python.code(_GROWS), env=python.environment(), check=True, capture_output=True)
    of_a_crawl, of_a_leak, left = json.loads(found.stdout)
    assert of_a_crawl == []
    assert len(of_a_leak) == 1
    assert left < 400_000
