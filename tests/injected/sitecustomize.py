"""Python imports this file at its start if its folder is on the PYTHONPATH; so a test's faults get into every process of a crawl."""

import faults

faults.install()
