"""One request and its answer: address guard, name look-ups, clients, time limits, content coding, causes of failure."""
