"""What an agent does before its first request.

It counts what the last life died of, tries again what the operator offers, admits the seeds, and carries out what a resume changed.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.agent.offered_again import Offered
from thresher.crawler.agent.seeder import Seeder
from thresher.crawler.cluster.inbox import Arrivals
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.readmission import Readmission
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import Tools
from thresher.storage.store import Store


async def prepare(
    store: Store, tools: Tools, settler: Settler, arrivals: Arrivals, committer: Committer, *, stopping: Callable[[], bool]
) -> None:
    """Do all of it, in groups that are committed. Once `stopping`, seeds and changes are left to the next life."""
    if tools.suspects.accuse():
        store.end_visit()
        await committer.drain()
        tools.suspects.acquit()
    committer.whole(Offered(store, tools, settler, arrivals).carry_out, tools.clock())
    await Seeder(store, settler.admission, tools.urls, tools.ownership).run(
        committer, tools.settings.seeds, tools.clock(), stopping=stopping
    )
    await Readmission(store, settler, tools).run(committer, tools.clock, stopping=stopping)
