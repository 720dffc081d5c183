import csv
import gzip
import json
import os
import zipfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from cordwood.datasets import registry as datasets
from cordwood.datasets.corpus import Corpus, FeatureMatrix, with_groups
from cordwood.datasets.registry import DatasetInfo, list_datasets, load_dataset
from cordwood.exceptions import DataError

BUILT_IN = [
    "docstrings",
    "sklearn:20newsgroups",
    "sklearn:breast_cancer",
    "sklearn:digits",
    "sklearn:iris",
    "sklearn:wine",
]


@pytest.fixture(autouse=True)
def no_variable(monkeypatch):
    monkeypatch.delenv("CORDWOOD_DATA", raising=False)


def find_real_data() -> Path | None:
    named = os.environ.get("CORDWOOD_DATA")
    beside = Path(__file__).parents[3] / "shared" / "datasets"
    return Path(named) if named else beside if beside.is_dir() else None


# Found on import: the fixture above hides the variable from the tests.
REAL_DATA = find_real_data()


def load_real(name: str, **options) -> Corpus | FeatureMatrix:
    if REAL_DATA is None or not any(REAL_DATA.glob(f"{name}.*")):
        pytest.skip(f"{name} is not here: name its folder with CORDWOOD_DATA")
    return load_dataset(name, data_dir=REAL_DATA, **options)


def write_jsonl_gz(path: Path, rows: list[dict[str, object]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def write_csv(path: Path, *rows: tuple[str, ...]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


CATS_AND_DOGS = (("it purrs", "cat"), ("it barks", "dog"))


def test_lists_built_in_data_sets_first():
    infos = list_datasets()
    assert [info.name for info in infos] == BUILT_IN
    assert [info.name for info in infos if info.kind == "text"] == BUILT_IN[:2]
    assert [info.name for info in infos if info.needs_download] == ["sklearn:20newsgroups"]
    assert [info.source for info in infos] == ["embedded"] + 5 * ["scikit-learn"]


def test_lists_files_of_a_folder_by_name(tmp_path):
    for name in [
        "b.csv",
        "a.jsonl.gz",
        "c.npz",
        "D.TSV",
        "e.svm.gz",
        "README.md",
        ".h.csv",
        "f.npz.gz",
    ]:
        (tmp_path / name).write_bytes(b"x" * 1_249_001)
    (tmp_path / "folder.csv").mkdir()
    infos = list_datasets(tmp_path)[len(BUILT_IN) :]
    assert [(info.name, info.kind) for info in infos] == [
        ("D", "text"),
        ("a", "text"),
        ("b", "text"),
        ("c", "numeric"),
        ("e", "numeric"),
    ]
    assert infos[2] == DatasetInfo(
        name="b",
        kind="text",
        source="folder",
        description="b.csv, 1,250 kB",
        path=tmp_path / "b.csv",
    )


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("sklearn:breast_cancer", load_breast_cancer),
        ("sklearn:digits", load_digits),
        ("sklearn:iris", load_iris),
        ("sklearn:wine", load_wine),
    ],
)
def test_numeric_data_sets_of_scikit_learn(name, load):
    matrix = load_dataset(name)
    X, y = load(return_X_y=True)
    names = load(return_X_y=False).target_names
    np.testing.assert_array_equal(matrix.X, X)
    assert matrix.labels == tuple(str(names[code]) for code in y)
    assert matrix.ids[0] == "1"
    assert matrix.ids[-1] == str(len(X))


def test_docstrings_by_name(monkeypatch):
    calls = []
    monkeypatch.setattr(
        datasets, "collect_docstrings", lambda *, progress: calls.append(progress) or "corpus"
    )
    assert load_dataset("docstrings", progress=print) == "corpus"
    assert calls == [print]


def fake_newsgroups(*, subset: str, shuffle: bool):
    assert not shuffle
    return SimpleNamespace(
        data=[f"{subset} a", f"{subset} b"],
        filenames=[f"/home/{subset}/sci.med/7", f"/home/{subset}/alt.atheism/7"],
        target=np.array([1, 0]),
        target_names=["alt.atheism", "sci.med"],
    )


def test_newsgroups_have_a_split(monkeypatch):
    monkeypatch.setattr(datasets, "fetch_20newsgroups", fake_newsgroups)
    calls = []
    corpus = load_dataset(
        "sklearn:20newsgroups", progress=lambda done, total: calls.append((done, total))
    )
    assert corpus == Corpus(
        texts=("train a", "train b", "test a", "test b"),
        ids=(
            "train/sci.med/7",
            "train/alt.atheism/7",
            "test/sci.med/7",
            "test/alt.atheism/7",
        ),
        labels=("sci.med", "alt.atheism", "sci.med", "alt.atheism"),
        split=("train", "train", "test", "test"),
    )
    assert calls == [(1, 2), (2, 2)]


def test_newsgroups_without_network_raise(monkeypatch):
    def fail(**options):
        raise URLError("no route to host")

    monkeypatch.setattr(datasets, "fetch_20newsgroups", fail)
    with pytest.raises(DataError, match=r"download of .* failed .*no route to host"):
        load_dataset("sklearn:20newsgroups")


def test_multilabel_text_with_split(tmp_path):
    rows = [
        {"id": "a", "text": "wheat prices", "labels": ["grain", "wheat"], "split": "train"},
        {"id": "b", "text": "", "labels": [], "split": "test"},
        {"id": "c", "text": "crude", "labels": ["oil"], "split": "unused", "lewissplit": "X"},
    ]
    write_jsonl_gz(tmp_path / "stories.jsonl.gz", rows)
    assert load_dataset("stories", data_dir=tmp_path) == Corpus(
        texts=("wheat prices", "", "crude"),
        ids=("a", "b", "c"),
        labels=(("grain", "wheat"), (), ("oil",)),
        split=("train", "test", "unused"),
    )


def test_names_of_files_do_not_change_groups(tmp_path):
    rows = [
        {"id": "1:cocoa", "text": "beans", "label": "cocoa", "story": "x"},
        {"id": "1:coffee", "text": "beans", "label": "coffee", "story": "y"},
    ]
    write_jsonl_gz(tmp_path / "reut90.jsonl.gz", rows)
    assert load_dataset("reut90", data_dir=tmp_path).groups is None


def test_group_column(tmp_path):
    rows = [
        {"text": "beans", "label": "cocoa", "group": "x", "story": 1},
        {"text": "roast", "label": "coffee", "group": "y", "story": 1},
    ]
    write_jsonl_gz(tmp_path / "stories.jsonl.gz", rows)
    assert load_dataset("stories", data_dir=tmp_path).groups == ("x", "y")
    assert load_dataset("stories", data_dir=tmp_path, group="story").groups == ("1", "1")
    with pytest.raises(DataError, match=r'has no key "author".*name the group key with group='):
        load_dataset("stories", data_dir=tmp_path, group="author")
    with pytest.raises(DataError, match="'sklearn:iris' has no columns to use as group"):
        load_dataset("sklearn:iris", group="story")


def test_progress_ends_at_the_file_size(tmp_path):
    path = tmp_path / "pets.csv"
    write_csv(path, *CATS_AND_DOGS)
    calls = []
    load_dataset("pets", data_dir=tmp_path, progress=lambda *call: calls.append(call))
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_svmlight_file(tmp_path):
    (tmp_path / "sparse.svm").write_text("1 0:0.5 2:2\n-1 1:1\n", encoding="ascii")
    matrix = load_dataset("sparse", data_dir=tmp_path)
    np.testing.assert_array_equal(matrix.X.toarray(), [[0.5, 0, 2], [0, 1, 0]])
    assert matrix.labels == ("1", "-1")


def test_data_dir_takes_precedence_over_environment_variable(tmp_path, monkeypatch):
    for folder, label in [("one", "cat"), ("two", "kitten")]:
        (tmp_path / folder).mkdir()
        write_csv(tmp_path / folder / "pets.csv", ("it purrs", label), ("it barks", "dog"))
    monkeypatch.setenv("CORDWOOD_DATA", str(tmp_path / "one"))
    assert load_dataset("pets").labels == ("cat", "dog")
    assert load_dataset("pets", data_dir=str(tmp_path / "two")).labels == ("kitten", "dog")
    assert list_datasets()[-1].path == tmp_path / "one" / "pets.csv"
    monkeypatch.setenv("CORDWOOD_DATA", "")
    assert len(list_datasets()) == len(BUILT_IN)


def test_invalid_data_dir_raises(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"absent does not exist; correct data_dir= / --data-dir$"):
        list_datasets(tmp_path / "absent")
    with pytest.raises(
        DataError, match=r"has no data sets, .* \.csv, .*\.npz \(those of .* \.gz\); correct"
    ):
        list_datasets(tmp_path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("CORDWOOD_DATA", str(tmp_path / "file"))
    with pytest.raises(DataError, match=r"is not a folder; .* environment variable CORDWOOD_DATA"):
        load_dataset("sklearn:iris")


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("docstring", "docstrings"),
        ("Wine", "sklearn:wine"),
        ("sklearn:digit", "sklearn:digits"),
        ("pest", "pets"),
    ],
)
def test_unknown_name_suggests_similar_names(tmp_path, name, nearest):
    write_csv(tmp_path / "pets.csv", *CATS_AND_DOGS)
    with pytest.raises(DataError) as error:
        load_dataset(name, data_dir=tmp_path)
    message = str(error.value)
    assert message.startswith(f"there is no data set {name!r}; similar names: {nearest}")
    assert "--data-dir or the environment variable CORDWOOD_DATA" in message


@pytest.mark.parametrize("name", ["zzzz", ""])
def test_unknown_name_lists_all_names(name):
    with pytest.raises(DataError, match=f"; the names: {', '.join(BUILT_IN)} "):
        load_dataset(name)


def test_ambiguous_name_raises(tmp_path):
    write_csv(tmp_path / "pets.csv", *CATS_AND_DOGS)
    write_csv(tmp_path / "pets.csv.gz", *CATS_AND_DOGS)
    write_csv(tmp_path / "docstrings.csv", *CATS_AND_DOGS)
    with pytest.raises(
        DataError, match=r"'pets' is shared by .*pets\.csv and .*pets\.csv\.gz; rename"
    ):
        load_dataset("pets", data_dir=tmp_path)
    with pytest.raises(
        DataError, match=r"'docstrings' is shared by a built-in \(embedded\) and .*\.csv;"
    ):
        load_dataset("docstrings", data_dir=tmp_path)
    assert len(load_dataset("sklearn:iris", data_dir=tmp_path)) == 150


GOOD = {
    "X": np.arange(6, dtype=np.float32).reshape(3, 2),
    "y": np.array(["a", "b", "a"]),
}


def test_npz(tmp_path):
    np.savez_compressed(tmp_path / "table.npz", **GOOD)
    matrix = load_dataset("table", data_dir=tmp_path)
    np.testing.assert_array_equal(matrix.X, GOOD["X"])
    assert matrix.X.dtype == np.float32
    assert matrix.ids == ("1", "2", "3")
    assert matrix.labels == ("a", "b", "a")


def test_npz_with_integer_labels(tmp_path):
    np.savez(tmp_path / "table.npz", X=GOOD["X"], y=np.array([10, 2, 10]))
    matrix = load_dataset("table", data_dir=tmp_path)
    assert matrix.labels == ("10", "2", "10")


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"y": None}, r"has no array 'y' among its arrays \(X\); save"),
        ({"X": GOOD["X"].ravel()}, r"X must be .*; got an array of float32 of shape \(6,\)"),
        ({"X": np.empty((3, 0))}, r"X must be .*; got an array of float64 of shape \(3, 0\)"),
        ({"X": GOOD["X"].astype(str)}, r"X must be .*; got an array of <U\d+ of shape \(3, 2\)"),
        ({"X": GOOD["X"].astype(object)}, r"cannot be read: Object arrays"),
        ({"y": GOOD["y"].astype(object)}, r"cannot be read: Object arrays"),
        ({"y": GOOD["y"][:2]}, r"y must .* of the 3 rows of X; got .* <U1 of shape \(2,\)"),
        ({"y": GOOD["y"][:, None]}, r"y must be .*; got an array of <U1 of shape \(3, 1\)"),
        ({"y": np.array([0.5, 1, 2])}, r"y must be an array of strings or integers.*float64"),
        ({"y": np.array(["a", "", "b"])}, r"the label in row 2 of y is empty"),
        ({"y": np.array(["a", "a", "a"])}, r"have the label 'a'"),
        (
            {"X": np.array([[0, 1], [2, np.nan], [np.inf, 3]])},
            r"X is nan in row 2, column 2",
        ),
    ],
)
def test_invalid_arrays_raise(tmp_path, arrays, sentence):
    merged = {name: value for name, value in (GOOD | arrays).items() if value is not None}
    np.savez(tmp_path / "table.npz", **merged)
    with pytest.raises(DataError, match=rf"table\.npz.*{sentence}"):
        load_dataset("table", data_dir=tmp_path)


def test_npz_that_is_no_archive_raises(tmp_path):
    path = tmp_path / "table.npz"
    np.savez_compressed(path, **GOOD)
    half = path.read_bytes()[: path.stat().st_size // 2]
    with (tmp_path / "single").open("wb") as file:
        np.save(file, GOOD["X"])
    pickled = b"\x80\x04N."
    for content in [b"", b"nonsense", pickled, half, (tmp_path / "single").read_bytes()]:
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"table\.npz is not an archive of numpy arrays; save"):
            load_dataset("table", data_dir=tmp_path)


def test_corrupt_npz_raises(tmp_path):
    path = tmp_path / "table.npz"
    np.savez_compressed(path, X=np.random.default_rng(0).random((50, 50)), y=np.arange(50))
    content = bytearray(path.read_bytes())
    content[200:1200] = bytes(1000)
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"table\.npz cannot be read: "):
        load_dataset("table", data_dir=tmp_path)


@pytest.mark.parametrize("shape", ["(9, 9)", "(99999999999, 99999999)", "(-1, 2)", "(2,", "[3]"])
def test_npz_with_wrong_header_raises(tmp_path, shape):
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    with zipfile.ZipFile(tmp_path / "table.npz", "w") as file:
        file.writestr("X.npy", b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + bytes(48))
        file.writestr("y.npy", b"")
    with pytest.raises(DataError, match=r"table\.npz cannot be read: "):
        load_dataset("table", data_dir=tmp_path)


def test_npz_members_that_are_no_arrays_raise(tmp_path):
    with zipfile.ZipFile(tmp_path / "table.npz", "w") as file:
        file.writestr("X", "1,2,3")
        file.writestr("y", "a")
    with pytest.raises(
        DataError, match=r"table\.npz: X must be .*; got an array of \|S5 of shape \(\)"
    ):
        load_dataset("table", data_dir=tmp_path)


def test_reuters_is_multilabel_with_split():
    corpus = load_real("reuters21578")
    assert len(corpus) == 21_578
    assert corpus.multilabel
    assert Counter(corpus.split) == {"train": 9603, "test": 3299, "unused": 8676}
    assert len({topic for topics in corpus.labels for topic in topics}) == 120


def test_groups_of_reut90_by_story():
    corpus = with_groups(load_real("reut90"), "^[^:]*")
    assert len(corpus) == 13_329
    assert len(set(corpus.groups)) == 10_789
    assert Counter(corpus.split) == {"train": 9585, "test": 3744}
    assert set(corpus.subset("train").groups).isdisjoint(corpus.subset("test").groups)


def test_spambase_is_a_matrix():
    matrix = load_real("spambase")
    assert matrix.X.shape == (4601, 57)
    assert Counter(matrix.labels) == {"nonspam": 2788, "spam": 1813}
