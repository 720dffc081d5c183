"""Models, and servers of them in a thread."""

import threading
import warnings
from contextlib import contextmanager
from importlib import import_module

import pytest

from cordwood import TextClassifier, load
from matrix import LISTS, TABLE, TEXTS, WAYS
from serve_client import Client

pytest.importorskip("starlette", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")

WAY_OF = {
    "reviews": "quick",
    "table": "table",
    "topics": "several labels, svm",
    "numbers": "numeric",
}


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Paths of model files by name."""
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, way in WAY_OF.items():
            model = TextClassifier(**WAYS[way].params).fit(WAYS[way].X, WAYS[way].y)
            model.save(folder / f"{name}.cordwood")
    return {name: folder / f"{name}.cordwood" for name in WAY_OF}


@pytest.fixture(scope="session")
def models(files):
    """The models, loaded as users load them."""
    return {name: load(path) for name, path in files.items()}


@contextmanager
def running(paths, **settings):
    server_module = import_module("cordwood.serve.server")
    started, found = threading.Event(), []

    def on_start(address, models):
        found.append(address)
        started.set()

    server = server_module.make_server(
        list(paths), server_module.Settings(port=0, **settings), on_start
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(30)
    try:
        yield Client(found[0])
    finally:
        server.should_exit = True
        thread.join(40)
        assert not thread.is_alive()


@pytest.fixture(scope="session")
def client(files):
    with running(files.values()) as client:
        yield client


@pytest.fixture
def serve():
    return running


def rows_of(table, n):
    return [{name: values[i] for name, values in table.items()} for i in range(n)]


@pytest.fixture(scope="session")
def samples():
    """Samples of each model, as JSON has them."""
    return {
        "reviews": TEXTS[:9],
        "table": rows_of(TABLE, 9),
        "topics": TEXTS[: len(LISTS)][:9],
        "numbers": WAYS["numeric"].X[:9].tolist(),
    }


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A browser."""
    with import_module("browser").open_browser(tmp_path_factory.mktemp) as driver:
        yield driver
