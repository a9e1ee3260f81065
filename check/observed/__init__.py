"""Where observed outputs come from: a runtime that is run now, or outputs made elsewhere."""
