"""Server of models over HTTP: `cordwood serve`, its protocols and its page."""
