"""Processes that do what an agent must not die of: they parse large pages and study sites; and what crashes are laid to."""
