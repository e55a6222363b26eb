"""Python imports this file at its start when its folder is on the PYTHONPATH: so a test's faults come into every process of a crawl."""

import faults

faults.install()
