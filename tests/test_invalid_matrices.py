"""Sparse matrices whose arrays are invalid raise ValueError wherever an estimator takes samples.

Compiled code indexes without bounds checks, so that an invalid matrix may end the process. The
cases therefore run in a child process, which is started again after a crash.
"""

import faulthandler
import inspect
import json
import subprocess
import sys
import warnings
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import cordwood
from cordwood._base.csr import check_sparse
from cordwood.naive_bayes import NaiveBayesClassifier

N_SAMPLES, N_FEATURES = 60, 12

# Seconds after which a case counts as a hang, on a slow computer that compiles the kernels first.
TIMEOUT = 300


def make_data():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (N_SAMPLES, N_FEATURES)).astype(np.float64)
    X[:, 0] = 1  # every sample, and therefore every list of indices, has entries
    return sp.csr_matrix(X), np.arange(N_SAMPLES) % 3


def replace(X, name, position, value):
    array = getattr(X, name).astype(np.result_type(getattr(X, name), np.min_scalar_type(value)))
    array[position] = value
    setattr(X, name, array)


def change(name, function):
    """Return the function that replaces an array of a matrix."""
    return lambda X: setattr(X, name, function(getattr(X, name)))


COMPRESSED = {
    "negative index": lambda X: replace(X, "indices", 3, -1),
    "very negative index": lambda X: replace(X, "indices", 3, -(2**31) + 1),
    "index of one too many": lambda X: replace(X, "indices", 3, X.shape["csr" == X.format]),
    "large index": lambda X: replace(X, "indices", 3, 2**31 - 1),
    "index that is valid modulo 2**32": lambda X: replace(X, "indices", 3, 2**32 + 1),
    "decreasing indptr": lambda X: replace(X, "indptr", 2, X.indptr[-1] + 5),
    "negative indptr": lambda X: replace(X, "indptr", 2, -7),
    "indptr that does not start at 0": lambda X: replace(X, "indptr", 0, 1),
    "indptr beyond the entries": lambda X: replace(X, "indptr", -1, X.indptr[-1] + 100_000),
    "indptr too short": change("indptr", lambda array: array[:-1]),
    "indptr too long": change("indptr", lambda array: np.append(array, array[-1])),
    "data too short": change("data", lambda array: array[:-5]),
    "indices too short": change("indices", lambda array: array[:-5]),
    "indices of floats": change("indices", lambda array: array.astype(np.float64)),
    "indices of two dimensions": change("indices", lambda array: array[:, None]),
    "indptr of floats": change("indptr", lambda array: array.astype(np.float64)),
    "data of two dimensions": change("data", lambda array: array[:, None]),
}
COORDINATES = {
    "negative row": lambda X: X.row.__setitem__(3, -1),
    "row of one too many": lambda X: X.row.__setitem__(3, X.shape[0]),
    "column of one too many": lambda X: X.col.__setitem__(3, X.shape[1]),
    "large column": lambda X: X.col.__setitem__(3, 2**31 - 1),
    "data too short": change("data", lambda array: array[:-5]),
}
BLOCKS = {
    "block of one too many": lambda X: replace(X, "indices", 0, X.shape[1] // 2),
    "decreasing indptr": lambda X: replace(X, "indptr", 2, X.indptr[-1] + 5),
}
CASES = [
    *(("csr", name) for name in COMPRESSED),
    *(("csc", name) for name in COMPRESSED),
    *(("coo", name) for name in COORDINATES),
    *(("bsr", name) for name in BLOCKS),
]

PARAMS = {
    "AdaBoostM2Classifier": {"n_estimators": 2},
    "AdaUBoostClassifier": {"max_iter": 2},
    "BoostedForestClassifier": {"n_estimators": 2, "trees_per_round": 2},
    "ExtraTreesClassifier": {"n_estimators": 2},
    "LazyForestClassifier": {"n_neighbors": 5, "n_estimators": 2},
    "LPUBoostClassifier": {"keep_stages": True},
    "LinearSVMClassifier": {"temperature": 1.0},
    "NeighborsClassifier": {"n_neighbors": 5},
    "OOBStackingClassifier": {
        "estimators": [
            ("nb", NaiveBayesClassifier()),
            ("svm", cordwood.LinearSVMClassifier(temperature=1.0, random_state=0)),
        ],
        "passthrough": True,
    },
    "RandomForestClassifier": {"n_estimators": 2},
}


def make_estimators():
    public = [getattr(cordwood, name) for name in cordwood.__all__]
    classes = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    classes |= {NaiveBayesClassifier}
    # Vectorizers take texts, and classifiers of several labels other targets.
    classes -= {cordwood.EmbeddingVectorizer, cordwood.LexiconVectorizer, cordwood.TextVectorizer}
    classes -= {cordwood.MultiLabelClassifier}
    return {cls.__name__: cls(**PARAMS.get(cls.__name__, {})) for cls in classes}


def find_methods(estimator):
    """Return the methods that take samples and no labels."""
    functions = inspect.getmembers(type(estimator), inspect.isfunction)
    return [
        name
        for name, function in functions
        if not name.startswith("_")
        and list(inspect.signature(function).parameters)[1:2] == ["X"]
        and not {"y", "rule"} & inspect.signature(function).parameters.keys()
    ]


def make_invalid(kind, case):
    X = make_data()[0]
    if kind == "bsr":
        X = sp.bsr_matrix(X, blocksize=(2, 2))
        BLOCKS[case](X)
        return X
    X = X.asformat(kind)
    (COORDINATES if kind == "coo" else COMPRESSED)[case](X)
    return X


def list_cases():
    for name, estimator in sorted(make_estimators().items()):
        for method in ["fit", "score", *find_methods(estimator)]:
            for kind, case in CASES:
                yield name, method, kind, case


def run_cases(first):
    """Run all cases from one on, in the child process; print what each raises."""
    warnings.simplefilter("ignore")
    estimators, (X, y) = make_estimators(), make_data()
    fitted = {}
    for name, method, kind, case in list(list_cases())[first:]:
        faulthandler.dump_traceback_later(TIMEOUT, exit=True)
        if method != "fit" and name not in fitted:
            fitted[name] = clone(estimators[name]).fit(X, y)
        try:
            invalid = make_invalid(kind, case)
            if method == "fit":
                clone(estimators[name]).fit(invalid, y)
            elif method == "score":
                fitted[name].score(invalid, y)
            else:
                result = getattr(fitted[name], method)(invalid)
                if inspect.isgenerator(result):
                    list(result)
            message = "nothing"
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


@cache
def collect_messages():
    cases, messages = list(list_cases()), []
    while len(messages) < len(cases):
        child = subprocess.run(
            [sys.executable, __file__, str(len(messages))], capture_output=True, text=True
        )
        messages += [json.loads(line) for line in child.stdout.splitlines()]
        if len(messages) < len(cases):
            messages.append(f"exit status {child.returncode}: {child.stderr[-300:]}")
    return dict(zip(cases, messages, strict=True))


@pytest.mark.parametrize("name", sorted(make_estimators()))
def test_invalid_matrices_raise_value_error_everywhere(name):
    wrong = {
        case: message
        for case, message in collect_messages().items()
        if case[0] == name
        and not message.startswith(f"ValueError: X is not a valid {case[2].upper()} matrix")
    }
    assert not wrong


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_check_sparse_rejects(kind, case):
    with pytest.raises(ValueError, match="X is not a valid"):
        check_sparse(make_invalid(kind, case))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("container", ["matrix", "array"])
def test_check_sparse_accepts_valid_matrices(kind, container):
    X = getattr(sp, f"{kind}_{container}")(make_data()[0])
    checked = check_sparse(X)
    assert (checked != make_data()[0]).nnz == 0
    if kind in ("csr", "csc"):
        assert np.shares_memory(checked.data, X.data)


def test_check_sparse_returns_other_input():
    for X in (np.eye(2), [[1, 2]], "text", None):
        assert check_sparse(X) is X


def shuffle_entries(X):
    """Reverse the entries of each row or column, and set flags that deny it."""
    for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        X.indices[start:stop] = X.indices[start:stop][::-1].copy()
        X.data[start:stop] = X.data[start:stop][::-1].copy()
    X.has_sorted_indices = True
    X.has_canonical_format = True
    return X


def repeat_entries(X):
    """Store each value as two entries, and set a flag that denies it."""
    X = type(X)((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    X.has_canonical_format = True
    return X


@pytest.mark.parametrize("name", sorted(make_estimators()))
@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize("disguise", [shuffle_entries, repeat_entries])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_wrong_flags_do_not_matter(name, kind, disguise):
    X, y = make_data()
    estimator = make_estimators()[name]
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    disguised = disguise(X.asformat(kind).copy())
    arrays = [array.copy() for array in (disguised.data, disguised.indices, disguised.indptr)]
    expected = clone(estimator).fit(X, y).predict_proba(X)
    actual = clone(estimator).fit(disguised, y).predict_proba(disguised)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-9)
    for before, after in zip(
        arrays, (disguised.data, disguised.indices, disguised.indptr), strict=True
    ):
        assert np.array_equal(before, after)  # The caller's matrix is not changed.


if __name__ == "__main__":
    run_cases(int(sys.argv[1]))
