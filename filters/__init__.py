"""Judgements about URLs and pages: pure functions of a subject and a memory."""
