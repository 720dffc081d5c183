"""Protocols of existing clients: each maps its requests to one call of `Service`."""
