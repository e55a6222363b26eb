"""Filters: judgements about URLs and pages, as pure functions of a subject and a memory."""
