"""What an agent does before its first request.

In order: count the work that killed the last process; judge left-alone URLs anew if the threshold has changed; try quarantined work that
the operator offers again; learn what earlier archives hold; admit the seeds; apply what a resume changed; queue the URLs of a round of
revisits.
"""

from __future__ import annotations

from collections.abc import Callable

from thresher.crawler.agent.offered_again import OfferedAgain
from thresher.crawler.agent.seeder import Seeder
from thresher.crawler.cluster.inbox import Inbox
from thresher.crawler.core.frontier import Frontier
from thresher.crawler.settlement.collecting import Collection
from thresher.crawler.settlement.earlier_archives import learn_earlier
from thresher.crawler.settlement.group_commit import Committer
from thresher.crawler.settlement.readmission import Readmission
from thresher.crawler.settlement.settler import Settler
from thresher.crawler.visit import VisitContext
from thresher.storage.store import Store


async def prepare(
    store: Store,
    context: VisitContext,
    settler: Settler,
    inbox: Inbox,
    committer: Committer,
    frontier: Frontier,
    *,
    stopping: Callable[[], bool],
) -> None:
    """Prepare the agent, in groups that are committed. Once `stopping` returns True, seeds and changes are left to the next process."""
    if context.suspects.accuse():
        store.end_visit()
        await committer.drain()
        context.suspects.acquit()
    committer.whole(settler.tail_service.reopen, context.clock())
    committer.whole(OfferedAgain(store, context, settler, inbox).carry_out, context.clock())
    await learn_earlier(store, context.settings.archive.dedup, committer, stopping=stopping)
    await Seeder(store, settler.admission, context.urls, context.ownership).run(
        committer, context.settings.seeds, context.clock(), stopping=stopping
    )
    await Readmission(store, settler, context).run(committer, context.clock, stopping=stopping)
    await Collection(store, frontier, context).run(committer, context.clock, stopping=stopping)
