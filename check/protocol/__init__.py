"""How the judge and a runtime in another process talk: text headers, then announced raw bytes."""
