"""Statistics that all learning filters share: bounds that hold at every look, decay, audits, expected yields."""
