"""Code for agents that signal themselves."""

# Code for an agent: at its n-th page it reports, so that its start is over, and sends itself a signal; only once over all its lives.
SIGNALS_ITSELF = """
import os, signal
from pathlib import Path
from thresher.crawler.process import agent_process
from thresher.crawler.settlement.pages import PageSettlement
from thresher.crawler.status import Status
settle, left = PageSettlement.on_learned, [{n}]
def counted(self, *of):
    settle(self, *of)
    left[0] -= 1
    if left[0] == 0 and not Path(once).exists():
        Path(once).touch()
        agent_process._report(Status())
        os.kill(os.getpid(), signal.{number})
PageSettlement.on_learned = counted
"""
