import pytest

from cordwood.cli.corrected_copy import Correction, write_corrected_copy
from cordwood.datasets.options import ReadOptions
from cordwood.exceptions import CordwoodError, DataError


def copy(tmp_path, content, correction, name="data.csv", **options):
    source, target = tmp_path / name, tmp_path / f"copy-{name}"
    source.write_bytes(content)
    format = name.rpartition(".")[2]
    correction = correction._replace(dropped=dict.fromkeys(correction.dropped, "bad"))
    n_copied, _ = write_corrected_copy(
        str(source), target, correction, format, ReadOptions(**options)
    )
    return n_copied, target.read_bytes()


def test_rows_are_dropped_and_relabelled(tmp_path):
    content = b'\xef\xbb\xbftext, label \n\na,x\n\nb,y\n"c\r\nd",x\n'
    correction = Correction(["x", "y", "x"], {0}, {2: "y"})
    n_copied, copied = copy(tmp_path, content, correction)
    assert n_copied == 2
    assert copied == b'\xef\xbb\xbftext, label \nb,y\n"c\r\nd","y"\n'


@pytest.mark.parametrize(
    ("name", "content", "copied"),
    [
        (
            "data.csv",
            b'text,label\r\n"a",x\r\nb,x \r\n"c ""d""",y',
            b'text,label\r\n"a",x\r\n"c ""d""",y',
        ),
        (
            "data.jsonl",
            b'{"label":"x","text":"\\u00e4"}\r\n{"label": "x "}\n{"text" :"c","label":"y"}',
            b'{"label":"x","text":"\\u00e4"}\r\n{"text" :"c","label":"y"}',
        ),
    ],
)
def test_other_rows_are_copied_byte_for_byte(tmp_path, name, content, copied):
    correction = Correction(["x", "x", "y"], {1}, {})
    assert copy(tmp_path, content, correction, name) == (2, copied)


def test_new_labels_keep_the_line_end(tmp_path):
    correction = Correction(["x", "y"], (), {0: "y", 1: "x"})
    assert copy(tmp_path, b"text,label\r\na,x\r\nb,y", correction) == (
        2,
        b"text,label\r\na,y\r\nb,x",
    )


def test_columns_without_names(tmp_path):
    correction = Correction(["x", "y"], {0}, {1: "z"})
    found = copy(tmp_path, b"a,x\nb,y\n", correction, label="2", text="1", header=False)
    assert found == (1, b"b,z\n")


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
