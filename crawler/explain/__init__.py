"""Why a URL was or was not fetched, and what would become of it today."""
