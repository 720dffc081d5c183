import pytest

from cordwood.cli.corrected_copy import Correction, write_corrected_copy
from cordwood.exceptions import CordwoodError, DataError


def copy(tmp_path, content, correction, name="data.csv", **options):
    source, target = tmp_path / name, tmp_path / f"copy-{name}"
    source.write_bytes(content)
    options = {"format": name.rpartition(".")[2], "column": "label", **options}
    n_copied = write_corrected_copy(str(source), target, correction, **options)
    return n_copied, target.read_bytes()


def test_rows_are_dropped_and_relabelled(tmp_path):
    content = b'\xef\xbb\xbftext, label \n\na,x\n\nb,y\n"c\r\nd",x\n'
    correction = Correction(["x", "y", "x"], {0}, {2: "y"})
    n_copied, copied = copy(tmp_path, content, correction)
    assert n_copied == 2
    assert copied == b'text, label \nb,y\n"c\r\nd","y"\n'


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_delimiter_is_detected(tmp_path, delimiter):
    content = f"text{delimiter}label\na, b{delimiter}x\nc{delimiter}y\n".encode()
    assert copy(tmp_path, content, Correction(["x", "y"], {1}, {})) == (
        1,
        f"text{delimiter}label\na, b{delimiter}x\n".encode(),
    )


def test_file_without_the_label_column(tmp_path):
    with pytest.raises(DataError, match='has no column "label" in its first line'):
        copy(tmp_path, b"text,topic\na,x\n", Correction(["x"], set(), {}))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x", "x"], "row 2 has another label"),
        (["x"], "row 2 has another label"),
        (["x", "y", "x"], "it has 2 rows instead of 3"),
    ],
)
@pytest.mark.parametrize("name", ["data.csv", "data.jsonl"])
def test_file_that_changed_is_not_copied(tmp_path, labels, message, name):
    content = b"text,label\na,x\nb,y\n"
    if name.endswith("jsonl"):
        content = b'{"text": "a", "label": "x"}\n{"text": "b", "label": "y"}\n'
    with pytest.raises(CordwoodError, match=message):
        copy(tmp_path, content, Correction(labels, set(), {}), name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_numbers_as_labels_of_json_lines(tmp_path):
    content = b'{"text": "a", "label": 1}\n{"text": "b", "label": 2.5}\n'
    correction = Correction(["1", "2.5"], {0}, {})
    assert copy(tmp_path, content, correction, "data.jsonl")[0] == 1
