"""The short form of `benchmarks.proofs.finite_sites`: a generated web whose wall is the form to log in that its own links lead to."""

from __future__ import annotations

from pathlib import Path

from benchmarks.proofs.finite_sites import run


async def test_with_all_filters_a_wall_and_a_resume_no_document_of_a_generated_web_is_lost(tmp_path: Path) -> None:
    """Mutation: a form that was found honest at its own URL was taken for honest at the pages' own."""
    (found,) = await run(1, 2, tmp_path, n=60)
    assert (found.wall, found.lost, found.n_held) == ("form", [], 0)
    assert found.n_documents > 40
    assert found.n_walled > 0
    assert found.n_lives > 1
