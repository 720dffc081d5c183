"""Fits on a Dask cluster: a real scheduler and worker processes, on loopback."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
import zipfile
from contextlib import ExitStack

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_limits

import cordwood
from cordwood import (
    BoostedForestClassifier,
    CordwoodError,
    LazyForestClassifier,
    RandomForestClassifier,
    TextClassifier,
)
from cordwood._base import cluster as module
from cordwood._base import cluster_worker
from cordwood._base.cluster import Call
from cordwood._base.content_pickle import ContentUnpickler, Pickled, dump
from cordwood.cli.main import main
from local_cluster import LocalCluster
from matrix import LABELS, TEXTS, WAYS

dask = pytest.importorskip("dask", reason="the extra 'cluster' is not installed")

X = np.random.default_rng(0).poisson(0.5, (400, 60)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] > X[:, 2]).astype(int) + (X[:, 3] > 1)


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    with ExitStack() as stack:
        local = LocalCluster(tmp_path_factory.mktemp("workers"), stack)
        local.scale(2)
        yield local


@pytest.fixture(autouse=True)
def user_dirs(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "user-cache"))


def fit(way):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # duplicates among few short texts
        return TextClassifier(**way.params).fit(way.X, way.y)


def save(model, path):
    """Return what a model file contains beside the date, without the seconds that fits took."""
    for _, step in model.estimator_.steps:
        if hasattr(step, "fit_times_"):
            step.fit_times_ = dict.fromkeys(step.fit_times_, 0.0)
    model.save(path, precision="full")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name not in ("cordwood.json", "sha256")]
        return {name: archive.read(name) for name in names}


# One of each kind, because starting all of them takes long.
@pytest.mark.parametrize(
    "name",
    [
        *("quick with an encoder", "calibrated rf", "svm with scores", "class weights"),
        *("table with a decision", "several labels, svm", "several labels, table", "numeric"),
    ],
)
def test_models_are_the_same_to_the_bit(name, workers, tmp_path):
    way = WAYS[name]
    with threadpool_limits(1):
        here = fit(way)
    with cordwood.cluster(workers.address) as connection:
        there = fit(way)
    if name != "calibrated rf":  # a forest of 20 short trees, which are not sent
        assert connection.traffic.n_calls > 0
    np.testing.assert_array_equal(there.predict_proba(way.X), here.predict_proba(way.X))
    np.testing.assert_array_equal(there.oof_.proba, here.oof_.proba)
    files = [save(model, tmp_path / "model.cordwood") for model in (here, there)]
    assert len(files[0]) > 1 and files[0] == files[1]


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(30, oob_score=True, random_state=0),
        BoostedForestClassifier(12, cross_fit=3, random_state=0),
        LazyForestClassifier(30, 20, random_state=0),
    ],
    ids=["blocks of trees", "cross-fitted runs", "blocks of lazy queries"],
)
def test_estimators_use_the_cluster_themselves(model, workers, monkeypatch):
    monkeypatch.setattr(module, "_MIN_TASK", 0.0)
    name = "oob" if hasattr(model, "oob_is_unbiased_") else "loo"
    found = []
    for address in (None, workers.address):
        with ExitStack() as stack:
            connection = address and stack.enter_context(cordwood.cluster(address))
            model.fit(X, Y)
            oof = model.oob_decision_function_ if name == "oob" else model.loo_decision_function()
            found.append((model.predict_proba(X), oof))
    for here, there in zip(*found, strict=True):
        np.testing.assert_array_equal(here, there)
    assert connection.traffic.n_calls >= 3


def test_short_blocks_stay_here(workers):
    with cordwood.cluster(workers.address) as connection:
        RandomForestClassifier(3, random_state=0).fit(X[:50], Y[:50])
    assert connection.traffic.n_calls == 0


def test_other_threads_do_not_use_the_cluster(workers):
    found = []
    with cordwood.cluster(workers.address) as connection:
        assert module.active_cluster() is connection
        thread = threading.Thread(target=lambda: found.append(module.active_cluster()))
        thread.start()
        thread.join()
    assert found == [None] and module.active_cluster() is None


def sum_and_wait(array, folder, number):
    """Append the process to a file and wait, so that there is time to kill it."""
    with open(os.path.join(folder, "started"), "a") as file:
        print(number, os.getpid(), file=file)
    time.sleep(0.3)
    return float(array.sum()) + number


def make_calls(array, folder, n):
    # Pickled by value: workers cannot import this module.
    function = type(sum_and_wait)(sum_and_wait.__code__, {"os": os, "time": time, "print": print})
    function.__module__ = "__main__"
    return [Call(str(i), lambda i=i: function(array, str(folder), i)) for i in range(n)]


def test_data_are_sent_to_each_worker_once_by_content(workers, tmp_path):
    array = np.arange(100_000.0)
    with cordwood.cluster(workers.address) as connection:
        for same in (array, array.copy()):
            found = list(connection.run_in_order(make_calls(same, tmp_path, 5)))
            assert found == [array.sum() + i for i in range(5)]
    assert 2 * array.nbytes < connection.traffic.sent < 2.1 * array.nbytes
    assert workers.client.run(lambda: len(cluster_worker._kept)) == dict.fromkeys(
        workers.processes(), 0
    )


def test_killed_worker_costs_its_tasks_only(workers, tmp_path):
    workers.scale(2)
    results = []
    with cordwood.cluster(workers.address) as connection:
        calls = make_calls(np.arange(10_000.0), tmp_path, 8)
        for number, result in connection.run(calls):
            if not results:
                workers.kill(next(iter(workers.client.nthreads())))  # busy, or about to be
            results.append((number, result))
    assert sorted(results) == [(i, np.arange(10_000.0).sum() + i) for i in range(8)]
    started = (tmp_path / "started").read_text().splitlines()
    assert 8 <= len(started) <= 9 and len(workers.client.nthreads()) == 1
    workers.scale(2)


def test_exceptions_and_warnings_of_workers_are_raised_here(workers):
    def fail():
        raise ValueError("no such class")

    with cordwood.cluster(workers.address) as connection:
        with pytest.raises(ValueError, match="no such class"):
            list(connection.run([Call("fail", fail)]))
        with pytest.warns(UserWarning, match="of a worker"):
            list(connection.run([Call("warn", lambda: warnings.warn("of a worker", stacklevel=1))]))
        assert module.active_cluster() is connection


class Unknown(ClassifierMixin, BaseEstimator):
    """An estimator of a module that workers do not have."""

    def fit(self, X, y):
        return self


def test_class_that_workers_cannot_import_is_named(workers):
    model = TextClassifier(Unknown(), oof=True)
    with (
        cordwood.cluster(workers.address),
        pytest.raises(CordwoodError, match="cannot import .*No module named.*; install it on all"),
    ):
        model.fit(np.abs(X), Y)


def test_arrays_stay_read_only_and_in_order():
    arrays = [np.asfortranarray(np.ones((300, 30))), np.arange(5), np.arange(9000)]
    for array in arrays[1:]:
        array.flags.writeable = False
    sent = {}
    payload, needed = dump(arrays, sent)
    kept = {d: Pickled(dump(s.content, sent, s.content)[0]) for d, s in needed.items()}
    assert len(kept) == 2
    for array, found in zip(arrays, ContentUnpickler(payload, kept).load(), strict=True):
        np.testing.assert_array_equal(array, found)
        assert array.flags.writeable == found.flags.writeable
        assert array.flags.f_contiguous == found.flags.f_contiguous


@pytest.fixture
def data_file(tmp_path):
    path = tmp_path / "data.csv"
    rows = [f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True)]
    path.write_text("\n".join(["text,label", *rows]) + "\n")
    return path


def test_train_command_on_a_cluster(workers, data_file, tmp_path, capsys):
    target = tmp_path / "model.cordwood"
    command = ["train", str(data_file), "-o", str(target), "--encoder", "none", "--no-baseline"]
    assert main([*command, "--cluster", workers.address]) == 0
    assert " on 2 workers" in capsys.readouterr().out
    there = cordwood.load(target).predict_proba(TEXTS)
    assert main(command) == 0
    np.testing.assert_array_equal(cordwood.load(target).predict_proba(TEXTS), there)


def test_missing_scheduler_is_reported_before_the_data_are_read(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(module, "_CONNECT_TIMEOUT", 0.5)
    data = tmp_path / "data.csv"
    data.write_text("text,label\n" + "a,b\n" * 2000 + "c,\n")  # whose last row is bad
    command = ["train", str(data), "-o", str(tmp_path / "m.cordwood")]
    assert main([*command, "--cluster", "tcp://127.0.0.1:1"]) == 1
    assert "there is no Dask scheduler at tcp://127.0.0.1:1" in capsys.readouterr().err


CLIENT = """
import sys, time
from cordwood._base.cluster import Call, cluster
with cluster(sys.argv[1]) as workers:
    print("connected", flush=True)
    list(workers.run(Call(str(i), lambda: time.sleep(1.5)) for i in range(6)))
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
def test_interrupt_cancels_the_tasks(workers):
    command = [sys.executable, "-c", CLIENT, workers.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
        assert client.stdout.readline()
        deadline = time.monotonic() + 60
        while not any(workers.client.processing().values()):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        client.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in client.stderr.read()
    while any(workers.client.processing().values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_lost_scheduler_leaves_the_old_model_file(tmp_path, data_file, capsys, monkeypatch):
    target = tmp_path / "model.cordwood"
    target.write_bytes(b"an older model")
    with ExitStack() as stack:
        local = LocalCluster(tmp_path, stack)
        local.scale(1)
        original = module.Cluster._submit

        def submit(self, assigned):
            original(self, assigned)
            if self._running and local.scheduler.poll() is None:
                local.kill_scheduler()

        monkeypatch.setattr(module.Cluster, "_submit", submit)
        command = ["train", str(data_file), "-o", str(target), "--encoder", "none", "--cluster"]
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            assert main([*command, local.address]) == 1
    error = capsys.readouterr().err
    assert "was lost; nothing was saved: run it again" in error
    assert target.read_bytes() == b"an older model"
    assert not list(tmp_path.glob("*.tmp"))
