"""Values only: every option with its unit and default, and the loader that turns YAML into them."""
