"""A client of the servers of the tests."""

import http.client
import json
from types import SimpleNamespace


class Client:
    """Sends requests, each on a connection of its own."""

    def __init__(self, address):
        self.address = address
        self.host, _, port = address.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        return SimpleNamespace(status=response.status, headers=response.headers, body=content)

    def get(self, path, **headers):
        return self.request("GET", path, headers=headers)

    def post(self, path, values, **headers):
        """Send JSON; return the status and the parsed response."""
        response = self.request("POST", path, json.dumps(values), headers)
        return response.status, json.loads(response.body)
