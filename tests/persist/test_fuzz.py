"""A slice of ``benchmarks/fuzz_model_files.py``."""

import os
import signal
from importlib.util import find_spec

import pytest

import fuzz_model_files
from cordwood import load
from fuzz_model_files import OK, Case, draw_cases, make_models, run
from model_file_mutations import KINDS, pack, unpack

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def models():
    names = ["svm decision", "nb", "rf", "lpuboost", "stack_sigir17 mlr", "svm columns"]
    names += ["nb multilabel", "nb binary", "quick numeric", "ovr", "union", "trusted"]
    if find_spec("tokenizers") is not None:
        names.append("embeddings static")
    return make_models(names)


@needs_fork
def test_mutated_files_are_rejected_or_valid(models):
    cases = draw_cases(models, KINDS, 300, seed=7)
    outcomes = [(case.describe(), outcome) for case, outcome in run(cases)]
    assert len(outcomes) == len(cases)
    assert [each for each in outcomes if each[1] not in OK] == []


@needs_fork
def test_signals_memory_and_time_are_failures(models, monkeypatch):
    def crash(case):
        if case.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if case.seed == 2:
            bytearray(2 * fuzz_model_files.MEMORY)
        while case.seed == 3:
            pass
        return "rejected"

    monkeypatch.setattr(fuzz_model_files, "CPU_SECONDS", 1)
    monkeypatch.setattr(fuzz_model_files, "_classify", crash)
    cases = [Case(models[0], "damaged", seed) for seed in range(5)]
    assert [outcome for _, outcome in run(cases)] == [
        "rejected",
        "signal SIGKILL",
        "child ended with status 1",
        "more than 1 s of CPU time",
        "rejected",
    ]


def test_members_are_packed_as_they_were(models, tmp_path):
    file = tmp_path / "model.cordwood"
    file.write_bytes(pack(unpack(models[0].data)))
    assert load(file).predict(models[0].inputs) is not None
