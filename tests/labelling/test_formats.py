"""Files of other labelling tools, and what remains of a label on the way there and back."""

import json

import pytest

from cordwood.datasets.options import ReadOptions
from cordwood.exceptions import DataError
from cordwood.labelling.export import EXPORT_FORMATS, export_labels
from cordwood.labelling.reading import read_rows
from cordwood.labelling.samples import digest
from label_projects import opened, read_csv, write_csv

RESULT = {
    "id": "a1",
    "from_name": "label",
    "to_name": "text",
    "type": "choices",
    "origin": "manual",
    "value": {"choices": ["delivery"]},
}
# As Label Studio 1.23 exports it.
TASKS = [
    {
        "id": 1,
        "data": {"text": "Arrived late", "stars": 2},
        "annotations": [
            {
                "id": 9,
                "completed_by": 1,
                "was_cancelled": False,
                "ground_truth": False,
                "lead_time": 3.2,
                "created_at": "2026-11-17T10:00:00Z",
                "updated_at": "2026-11-17T10:00:00Z",
                "result": [RESULT],
            },
            {"completed_by": {"id": 2, "email": "bob@example.org"}, "was_cancelled": True},
        ],
        "predictions": [{"model_version": "m1", "score": 0.91, "result": [RESULT]}],
    },
    {"id": 2, "data": {"text": "Too dear"}, "annotations": [], "predictions": [7]},
]


def read(path, *, is_multilabel=False, suggestions=(), **options):
    return read_rows(
        [str(path)], ReadOptions(**options), is_multilabel=is_multilabel, suggestions=suggestions
    )


def test_label_studio(tmp_path):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(TASKS))
    first, second = read(path).rows
    assert (first.text, first.columns, first.labels) == ("Arrived late", {"stars": 2}, None)
    own, skipped = first.annotations
    assert (own.annotator, own.action, own.labels) == ("1", "label", ("delivery",))
    assert own.time == "2026-11-17T10:00:00+00:00" and own.seconds == 3.2
    assert (skipped.annotator, skipped.action) == ("bob@example.org", "skip")
    assert first.votes == (("m1", "delivery", 0.91),)
    assert second.text == "Too dear" and not second.annotations and not second.votes


def test_short_export_of_label_studio_is_a_table(tmp_path):
    # JSON_MIN, with one and with several choices.
    path = tmp_path / "min.json"
    one = {"text": "Arrived late", "id": 1, "label": "delivery", "annotator": 1, "lead_time": 3.2}
    path.write_text(json.dumps([one, {**one, "label": {"choices": ["delivery", "price"]}}]))
    labels = [row.labels for row in read(path, is_multilabel=True).rows]
    assert labels == [("delivery",), ("delivery", "price")]


def test_prodigy(tmp_path):
    path = tmp_path / "tasks.jsonl"
    tasks = [
        {"text": "a", "label": "X", "answer": "accept", "_annotator_id": "ann", "_timestamp": 1e9},
        {"text": "b", "label": "X", "answer": "reject", "_annotator_id": "ann"},
        {"text": "c", "label": "X", "answer": "ignore", "_session_id": "bob", "score": 0.5},
        {
            "text": "d",
            "options": [{"id": "X", "text": "X"}, {"id": "Y", "text": "Y"}],
            "accept": ["Y"],
            "config": {"choice_style": "single"},
            "_view_id": "choice",
            "meta": {"source": "mail"},
            "_input_hash": 5,
            "_task_hash": -6,
        },
    ]
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    a, b, c, d = read(path).rows
    (own,) = a.annotations
    assert (own.annotator, own.action, own.labels) == ("ann", "label", ("X",))
    assert own.time == "2001-09-09T01:46:40+00:00"
    assert not b.annotations and b.votes == (("rejected by ann", "X", 0.0),)
    assert [(each.annotator, each.action) for each in c.annotations] == [("bob", "skip")]
    # Without a decision, it counts as accepted.
    assert [each.labels for each in d.annotations] == [("Y",)]
    assert d.columns == {"source": "mail"} and c.columns == {}


def test_doccano(tmp_path):
    path = tmp_path / "all.jsonl"
    path.write_text(
        '{"id": 1, "text": "a", "label": ["X"], "Comments": [], "author": "me"}\n'
        '{"id": 2, "text": "b", "label": [], "Comments": []}\n'
    )
    first, second = read(path).rows
    assert first.labels == ("X",) and second.labels is None
    assert first.columns["author"] == "me"


@pytest.mark.parametrize("is_multilabel", [False, True])
@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_round_trip(tmp_path, format, is_multilabel):
    texts = ["plain", 'quo"ted, comma', "line\nbreak", "Ü 漢字 👍", "=1+1", "skipped", "open"]
    data = write_csv(
        tmp_path / "d.csv", [(text, "", "x") for text in texts], ["text", "label", "k"]
    )
    labels = {text: ["a"] for text in texts[:3]} | {text: ["b, ü"] for text in texts[3:5]}
    if is_multilabel:
        labels["plain"] = ["b, ü", "a"]
    settings = {"is_multilabel": is_multilabel, "descriptions": {"a": None, "b, ü": None}}
    with opened(data, tmp_path / "out.csv", **settings) as project:
        for text, given in labels.items():
            project.decide("ann", digest(text), "label", given, seconds=2.5)
        project.decide("ann", digest("skipped"), "skip", [])
        exported = export_labels(project, format)
    assert exported.name.startswith("out")
    path = tmp_path / f"again-{exported.name}"
    path.write_bytes(exported.content)
    with opened(path, tmp_path / "out2.csv", is_multilabel=is_multilabel) as again:
        found = {
            again.samples[index].text: sorted(each) for index, each in again.state.decided.items()
        }
        assert found == {text: sorted(each) for text, each in labels.items()}
        row = again.data.rows[0]
        assert row.columns["k"] == "x"
        if format in ("label-studio", "prodigy"):
            assert again.state.annotators == ["ann"]
            skipped = again.state.find(again.find(digest("skipped")), "ann")
            assert skipped.action == "skip"
        if format == "label-studio":
            assert row.annotations[0].seconds == 2.5
            content = json.loads(exported.content)
            result = content[1]["annotations"][0]["result"][0]
            assert {name: result[name] for name in ("from_name", "to_name", "type", "value")} == {
                "from_name": "label",
                "to_name": "text",
                "type": "choices",
                "value": {"choices": ["a"]},
            }
            # An import is rejected if it names somebody who is no user of Label Studio.
            assert "completed_by" not in content[1]["annotations"][0]


def test_several_annotators_are_kept_apart_in_exports(tmp_path):
    data = write_csv(tmp_path / "d.csv", [("one", ""), ("two", "")])
    with opened(data, tmp_path / "out.csv", descriptions={"a": None, "b": None}) as project:
        for name, label in (("ann", "a"), ("bob", "b")):
            project.decide(name, digest("one"), "label", [label])
        for format in ("label-studio", "prodigy"):
            exported = export_labels(project, format)
            path = tmp_path / exported.name
            path.write_bytes(exported.content)
            found = [each for row in read(path).rows for each in row.annotations]
            assert {(each.annotator, each.labels) for each in found} == {
                ("ann", ("a",)),
                ("bob", ("b",)),
            }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([{"data": {"a": "x", "b": "y"}, "annotations": []}], "name the key of the text"),
        ([{"data": {"text": 5}, "annotations": []}], "name the key of the text"),
        ([{"data": {"text": "x"}, "annotations": [3]}], "no valid task of Label Studio"),
        ([{"data": {"text": "x"}, "annotations": [{"result": "x"}]}], "annotations.0.result"),
        (
            [{"data": {"text": "x"}, "annotations": [{"lead_time": -1}]}],
            "annotations.0.lead_time",
        ),
        ([{"text": "x", "answer": "maybe"}], "no valid task of Prodigy"),
        ([{"text": "x", "answer": "accept", "accept": [{}]}], "no valid task of Prodigy"),
        (
            [{"text": "x", "accept": ["a", "b"], "answer": "accept"}],
            "has 2 labels for the text 'x'; give --multilabel",
        ),
        ([{"text": "x", "label": ["a", "b"]}], "has 2 labels; give --multilabel"),
    ],
)
def test_hostile_files_are_rejected_with_a_sentence(tmp_path, content, message):
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        read(path)


def test_suggestions_of_columns(tmp_path):
    rows = [("a", "spam", "0.9", "0.2", "0.8"), ("b", "", "", "", "")]
    columns = ["text", "llm", "llm_confidence", "p:ham", "p:spam"]
    path = write_csv(tmp_path / "d.csv", rows, columns)
    first, second = read(path, suggestions=["llm", "p"]).rows
    assert first.votes == (
        ("column llm", "spam", 0.9),
        ("column p", "spam", 0.8),
        ("column p", "ham", 0.2),
    )
    assert [vote.label for vote in second.votes] == []
    write_csv(path, [("a", "spam", "high")], columns[:3])
    with pytest.raises(DataError, match=r"row 1: the confidence 'high' .* is no number"):
        read(path, suggestions=["llm"])


def test_undecided_predictions_are_joined_to_the_training_file(tmp_path):
    training = write_csv(tmp_path / "train.csv", [("old", "a"), ("older", "b")])
    predicted = write_csv(
        tmp_path / "predicted.csv",
        [("sure", "a", "0.99"), ("unsure", "__undecided__", "0.4"), ("odd", "__unknown__", "0.9")],
        ["text", "label", "probability"],
    )
    with opened([training, predicted], tmp_path / "out.csv") as project:
        assert project.data.notes == (
            f"{predicted}: 2 undecided texts; the predicted labels of 1 other row are left out",
        )
        project.decide("ann", digest("unsure"), "label", ["b"])
    found = [(row["text"], row["label"]) for row in read_csv(tmp_path / "out.csv")]
    assert found == [("old", "a"), ("older", "b"), ("unsure", "b")]


def test_missing_column_of_suggestions(tmp_path):
    path = write_csv(tmp_path / "d.csv", [("a", "")])
    with pytest.raises(DataError, match="no column 'llm'"):
        read(path, suggestions=["llm"])
