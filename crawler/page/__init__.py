"""From an answer's bytes to a judged page, a batch at a time; what holds the event loop is logged."""
