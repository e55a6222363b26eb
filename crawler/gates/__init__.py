"""Decisions before a request: the gates that links pass, the rules of robots.txt, and preferences about AI."""
