"""How much the garbage collector looks at while an agent runs: the loop stands still meanwhile."""

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
print(json.dumps(looked_at))
"""


def test_a_collection_looks_at_new_objects_alone() -> None:
    found = subprocess.run(python.code(_GROWS), env=python.environment(), check=True, capture_output=True)
    looked_at = json.loads(found.stdout)
    assert len(looked_at) >= 10, "it does look: a page may leave cycles"
    assert max(looked_at) < 50_000, "not at all that was ever made"
