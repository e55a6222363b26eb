"""A deterministic web on loopback: for `thresher demo`, for tests with planted truth, for the throughput benchmark."""
