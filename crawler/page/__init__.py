"""From an answer's bytes to a page that was read, a batch at a time; a step that blocks the event loop is logged."""
