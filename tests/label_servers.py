"""Servers of labelling projects, for the tests."""

import threading
from contextlib import contextmanager

from cordwood.serve.server import Settings, make_label_server
from serve_client import Client


@contextmanager
def running(project, **settings):
    """Run the server of a project in a thread."""
    started, addresses = threading.Event(), []

    def on_start(address):
        addresses.append(address)
        started.set()

    server = make_label_server(project, Settings(port=0, **settings), on_start)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(60)
    try:
        yield Client(addresses[0])
    finally:
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
