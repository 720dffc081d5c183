"""Labels, classes and annotators of a project, and the model that learns from them."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import label_projects
from cordwood import TextClassifier
from cordwood.exceptions import CordwoodError, DataError
from cordwood.labelling import learner as learner_module
from cordwood.labelling import project as project_module
from cordwood.labelling.project import Filter
from cordwood.labelling.samples import digest
from label_projects import make_project, opened, read_csv, wait_for, write_csv
from matrix import LABELS, LISTS, TEXTS

CLASSES = {label: None for label in sorted(set(LABELS))}
ANY = Filter()
# The first one of equal texts.
TRUTH = dict(reversed(list(zip(TEXTS, LABELS, strict=True))))


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path / "d.csv", [(text, "", i) for i, text in enumerate(TRUTH)], COLUMNS)


COLUMNS = ["text", "label", "number"]


def label(project, text, *labels, annotator="ann", action="label"):
    return project.decide(annotator, digest(text), action, labels)


def labels_of(project):
    return {project.samples[index].text: each for index, each in project.state.decided.items()}


def test_labels_resume_with_other_data(tmp_path, data):
    texts = list(TRUTH)
    output = tmp_path / "out.csv"
    with opened(data, output, descriptions=CLASSES) as project:
        for text in texts[:5]:
            label(project, text, TRUTH[text])
        label(project, texts[5], action="skip")
    assert [row["text"] for row in read_csv(output)] == texts[:5]
    # In another order, with further texts, and without one.
    rows = [("new", "", 0)] + [(text, "", 0) for text in reversed(texts[1:])]
    write_csv(data, rows, COLUMNS)
    with opened(data, output) as project:
        assert labels_of(project) == {text: (TRUTH[text],) for text in texts[1:5]}
        assert project.describe()["progress"]["skipped"] == 1
        assert list(project.state.classes) == list(CLASSES)
    assert [row["text"] for row in read_csv(output)] == texts[4:0:-1]
    write_csv(data, [(texts[0], "", 0)], COLUMNS)
    with opened(data, output) as project:  # nothing was forgotten
        assert labels_of(project) == {texts[0]: (TRUTH[texts[0]],)}


def test_rows_with_equal_texts_have_one_label(tmp_path):
    rows = [("same", "", 1), ("other", "", 2), ("same", "", 3)]
    data = write_csv(tmp_path / "d.csv", rows, COLUMNS)
    output = tmp_path / "out.csv"
    with opened(data, output, descriptions={"a": None}) as project:
        assert label(project, "same", "a")["progress"] == {
            "labelled": 1,
            "skipped": 0,
            "unsure": 0,
            "total": 2,
            "by_annotator": {"ann": 1},
        }
    assert [(row["text"], row["label"], row["number"]) for row in read_csv(output)] == [
        ("same", "a", "1"),
        ("same", "a", "3"),
    ]


def test_undo_restores_what_was_before(tmp_path, data):
    one, two, *_ = TRUTH
    with opened(data, tmp_path / "out.csv", descriptions=CLASSES) as project:
        label(project, one, "food")
        label(project, one, "sport")
        label(project, two, "work")
        label(project, two, "food", annotator="bob")
        undone = project.undo("ann")["sample"]
        assert (undone["text"], undone["reason"], undone["labels"]) == (two, "undone", None)
        assert project.undo("ann")["sample"]["labels"] == ["food"]
        assert labels_of(project) == {one: ("food",), two: ("food",)}
        project.undo("ann")
        with pytest.raises(CordwoodError, match="no decision that could be undone"):
            project.undo("ann")
    with opened(data, tmp_path / "out.csv") as project:
        assert labels_of(project) == {two: ("food",)}


def test_random_events_have_the_same_state_when_they_are_read_again(tmp_path, data):
    rng = random.Random(0)
    texts = list(TRUTH)[:6]
    output = tmp_path / "out.csv"
    with opened(data, output, descriptions=CLASSES) as project:
        for _ in range(200):
            classes, name = list(project.state.classes), rng.choice(["ann", "bob"])
            kind = rng.random()
            if kind < 0.6:
                label(project, rng.choice(texts), rng.choice(classes), annotator=name)
            elif kind < 0.7:
                label(project, rng.choice(texts), annotator=name, action="unsure")
            elif kind < 0.9 and project.state.last_decision(name):
                project.undo(name)
            elif kind < 0.95 and len(classes) > 2:
                old, into = rng.sample(classes, 2)
                project.change_classes(name, "merge", old, into=into)
            else:
                project.change_classes(name, "add", f"class {rng.random()}")
        before = project.describe()
        decided = labels_of(project)
    with opened(data, output) as project:
        assert project.describe() == before
        assert labels_of(project) == decided


def test_annotators_of_two_processes(tmp_path, data):
    output = tmp_path / "out.csv"
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path; from label_projects import make_project\n"
        "project = make_project(*map(Path, sys.argv[2:]))\n"
        "for each in project.samples[5:15]: project.decide('bob', each.id, 'label', ['food'])\n"
    )
    with opened(data, output, descriptions=CLASSES) as project:
        folder = Path(label_projects.__file__).parent
        with subprocess.Popen([sys.executable, "-c", code, folder, data, output]) as other:
            for sample in project.samples[:10]:
                label(project, sample.text, TRUTH[sample.text])
            assert other.wait(120) == 0
        found = project.describe()
        assert found["progress"]["by_annotator"] == {"ann": 10, "bob": 10}
        assert found["annotators"] == ["ann", "bob"]
        shared = project.samples[5:10]
        n_equal = sum(TRUTH[each.text] == "food" for each in shared)
        assert found["agreement"]["n"] == 5
        assert f"same labels to {n_equal} of 5 texts" in found["agreement"]["sentence"]
        # Each sees their own label.
        sample = project.samples[12]
        assert project.show("ann", sample.id)["labels"] is None
        assert project.show("bob", sample.id)["labels"] == ["food"]
    rows = read_csv(output)
    assert len(rows) == 15 - (5 - n_equal)  # without those of contradictory labels
    assert {row["label:bob"] for row in rows if row["text"] == sample.text} == {"food"}


def test_majority_of_annotators_decides(tmp_path, data):
    text = next(iter(TRUTH))
    with opened(data, tmp_path / "out.csv", descriptions=CLASSES) as project:
        label(project, text, "food")
        label(project, text, "work", annotator="bob")
        assert labels_of(project) == {}
        assert "1 text with contradictory labels" in project.describe()["agreement"]["sentence"]
        label(project, text, "work", annotator="eve")
        assert labels_of(project) == {text: ("work",)}
        assert project.describe()["agreement"]["cohen_kappa"] is None


def test_merged_classes(tmp_path):
    rows = [("one", "Food", 1), ("two", "food", 2), ("three", "", 3), ("four", "food", 4)]
    data = write_csv(tmp_path / "d.csv", rows, COLUMNS)
    output = tmp_path / "out.csv"
    with opened(data, output) as project:
        assert project.describe()["spellings"] == [{"names": ["Food"], "into": "food", "n": [1]}]
        label(project, "three", "Food")
        found = project.change_classes("ann", "merge", "Food", into="food")
        assert found == [{"name": "food", "description": None, "n": 4}]
        assert project.describe()["spellings"] == []
        with pytest.raises(CordwoodError, match="there is no class 'Food'"):
            label(project, "three", "Food")
        project.change_classes("ann", "add", "Food")
        label(project, "three", "Food")
    found = [(row["text"], row["label"]) for row in read_csv(output)]
    assert found == [("one", "food"), ("two", "food"), ("three", "Food"), ("four", "food")]


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", "__undecided__", "a;b", "food"])
def test_invalid_names_of_classes(tmp_path, data, name):
    with opened(data, tmp_path / "out.csv", descriptions=CLASSES) as project:
        with pytest.raises(CordwoodError):
            project.change_classes("ann", "add", name)
        assert list(project.state.classes) == list(CLASSES)


@pytest.mark.parametrize("is_multilabel", [False, True])
def test_model_learns_and_chooses(tmp_path, data, monkeypatch, is_multilabel):
    monkeypatch.setattr(learner_module, "_MIN_DRAWN", 3)
    truth = {text: [TRUTH[text]] for text in TRUTH}
    if is_multilabel:
        truth = dict(reversed(list(zip(TEXTS, LISTS, strict=True))))
    classes = {each: None for labels in truth.values() for each in labels}
    settings = {"descriptions": classes, "is_multilabel": is_multilabel}
    project = make_project(data, tmp_path / "out.csv", **settings)
    try:
        project.learner.start()
        wait_for(lambda: project.learner.vectors is not None)
        reasons = Counter()
        for _ in range(36):
            sample, remaining = project.choose("ann", ANY, [])
            assert remaining == len(TRUTH) - len(project.state.decided)
            reasons[sample["reason"]] += 1
            project.decide("ann", sample["id"], "label", truth[sample["text"]])
        described = wait_for(
            lambda: (
                found
                if (found := project.describe())["model"]["n_labelled"] > 30
                and found["model"]["state"] == "ready"
                else None
            )
        )
        model = described["model"]
        assert reasons["random"] > 0 and reasons["diverse"] > 0
        assert model["accuracy"]["low"] < model["accuracy"]["value"] <= model["accuracy"]["high"]
        last = described["curve"][-1]
        assert last["n"] == model["n_labelled"] and last["accuracy"] == model["accuracy"]["value"]
        sample, _ = project.choose("ann", ANY, [])
        found = sample["suggestion"]
        assert found["source"] == "model"
        assert all(0 <= each["probability"] <= 1 for each in found["labels"])
        strongest = max(found["words"], key=lambda word: abs(word["share"]))
        assert abs(strongest["share"]) == 1
        word = sample["text"][strongest["start"] : strongest["end"]]
        assert word in sample["text"].split()
        # The nearest labelled text shares more words than a random one.
        assert sample["neighbors"][0]["labels"] == truth[sample["neighbors"][0]["text"]]
        similarities = [each["similarity"] for each in sample["neighbors"]]
        assert similarities == sorted(similarities, reverse=True)
        # Texts that are on the screen are not chosen.
        others = {project.choose("ann", ANY, [sample["id"]])[0]["id"] for _ in range(5)}
        assert sample["id"] not in others
    finally:
        project.close()


def test_accuracy_is_that_of_texts_drawn_at_random(tmp_path, data):
    project = make_project(data, tmp_path / "out.csv", descriptions=CLASSES)
    try:
        for position, sample in enumerate(project.samples[:30]):
            reason = "random" if position % 3 == 0 else "uncertain"
            project._chosen["ann", sample.id] = reason
            label(project, sample.text, TRUTH[sample.text])
        snapshot = project._take_snapshot()
        assert snapshot.is_drawn.tolist() == [i % 3 == 0 for i in range(30)]
        project.learner.start()
        fitted = wait_for(lambda: project.learner.fitted)
        texts = [each.text for each in project.samples[:30]]
        model = TextClassifier(encoder=None, oof=True).fit(texts, [TRUTH[each] for each in texts])
        right = model.oof_.y_pred == model.oof_.y_true
        assert fitted.accuracy == pytest.approx(right[::3].mean()) and fitted.n_drawn == 10
    finally:
        project.close()


def test_refit_has_a_part_of_many_labels(tmp_path, monkeypatch):
    data = write_csv(tmp_path / "d.csv", [(text, TRUTH[text], 0) for text in TRUTH], COLUMNS)
    monkeypatch.setattr(project_module, "MAX_FITTED", 20)
    with opened(data, tmp_path / "out.csv") as project:
        first = project._take_snapshot()
        assert len(first.indices) == len(first.is_drawn) == 20 and first.is_drawn.all()
        # What annotators decide is always in it, and the rest are the same texts as before.
        own = [each for each in range(len(TRUTH)) if each not in first.indices][:8]
        for index in own:
            project.decide("ann", project.samples[index].id, "label", ["work"])
        second = project._take_snapshot()
    assert len(second.indices) == 20 and set(own) < set(second.indices)
    assert set(second.indices) - set(own) < set(first.indices)
    by_index = dict(zip(second.indices, second.labels, strict=True))
    assert {by_index[index] for index in own} == {("work",)}
    drawn = dict(zip(second.indices, second.is_drawn, strict=True))
    assert {index for index in drawn if not drawn[index]} == set(own)


def test_failed_fit_is_a_state(tmp_path, data, monkeypatch):
    project = make_project(data, tmp_path / "out.csv", descriptions=CLASSES)

    def fail(self, data):
        raise CordwoodError("no luck")

    monkeypatch.setattr(learner_module.Learner, "_fit", fail)
    try:
        project.learner.start()
        for sample in project.samples[:12]:
            label(project, sample.text, TRUTH[sample.text])
        model = wait_for(
            lambda: found if (found := project.describe()["model"])["state"] == "failed" else None
        )
        assert model["sentence"] == "The model could not be fitted: no luck."
        assert project.choose("ann", ANY, [])[0] is not None
        monkeypatch.undo()
        for sample in project.samples[12:18]:
            label(project, sample.text, TRUTH[sample.text])
        wait_for(lambda: project.describe()["model"]["state"] == "ready")
    finally:
        project.close()


def test_cold_start_by_words_of_the_descriptions(tmp_path, data):
    descriptions = {"food": ["soup, bread and salt"], "sport": ["a goal in a match"]}
    project = make_project(data, tmp_path / "out.csv", descriptions=descriptions)
    try:
        project.learner.start()
        text = next(each for each in TRUTH if "soup" in each and "goal" not in each)
        found = wait_for(lambda: project.show("ann", digest(text))["suggestion"])
        assert found["source"] == "classes"
        assert found["labels"] == [{"label": "food", "probability": None}]
        words = [text[each["start"] : each["end"]] for each in found["words"]]
        assert "soup" in words
    finally:
        project.close()


def test_cold_start_by_an_encoder(tmp_path, data):
    class Encoder:
        def encode(self, texts):
            words = ["soup", "bread", "salt", "pan", "goal", "team", "match", "ball"]
            return [[1.0 + text.count(word) for word in words] for text in texts]

    descriptions = {"food": ["soup bread salt pan"], "sport": ["goal team match ball"]}
    project = make_project(data, tmp_path / "out.csv", descriptions=descriptions, encoder=Encoder())
    try:
        project.learner.start()
        wait_for(lambda: project.learner.fitted)
        for text, expected in (("soup", "food"), ("goal", "sport")):
            found = project.learner.suggest(f"{text} today")
            assert found["source"] == "classes" and found["labels"][0]["label"] == expected
        assert project.describe()["model"]["sentence"].startswith("A model of the descriptions")
    finally:
        project.close()


def test_imported_suggestions(tmp_path):
    rows = [("one", "a", "0.3"), ("two", "b", "0.9")]
    data = write_csv(tmp_path / "d.csv", rows, ["text", "llm", "llm_confidence"])
    with opened(data, tmp_path / "out.csv", suggestions=["llm"]) as project:
        found = project.show("ann", digest("two"))
        assert found["suggestion"] == {
            "source": "column llm",
            "labels": [{"label": "b", "probability": 0.9}],
            "words": [],
        }
        assert found["votes"] == [{"source": "column llm", "label": "b", "confidence": 0.9}]
        assert found["context"] == {"llm_confidence": "0.9"}
        assert list(project.state.classes) == ["a", "b"]


def test_review_shows_wrong_labels_first(tmp_path):
    wrong = {TEXTS[1]: "food", TEXTS[2]: "sport"}  # among others that are wrong in the data
    truth = {
        text: next(each for each in ("sport", "work", "food") if each in own)
        for text, own in TRUTH.items()
        for own in [{wrong.get(text, TRUTH[text])}]
    }
    data = write_csv(tmp_path / "d.csv", list(truth.items()))
    output = tmp_path / "out.csv"
    project = make_project(data, output, is_review=True)
    try:
        project.learner.start()
        n_open = wait_for(lambda: project.describe()["review"]["open"])
        sample, remaining = project.choose("ann", ANY, [])
        assert remaining == n_open and sample["reason"] == "review"
        assert sample["labels"] == [truth[sample["text"]]]
        suggested = sample["suggestion"]["labels"][0]["label"]
        assert suggested != sample["labels"][0]
        assert sample["question"] == sample["reason_sentence"]
        assert sample["question"].endswith(f"Is it {suggested}?")
        project.decide("ann", sample["id"], "label", [suggested])
        kept, remaining = project.choose("ann", ANY, [])
        assert remaining == n_open - 1
        project.decide("ann", kept["id"], "keep", [])
        assert project.describe()["review"] == {"open": n_open - 2, "done": 2}
        total = project.list_texts("ann", Filter("suspicious"), 0, 100)["total"]
        assert total == n_open - 2
    finally:
        project.close()
    found = {row["text"]: row["label"] for row in read_csv(output)}
    assert found == {**truth, sample["text"]: suggested}


def test_review_of_a_model(tmp_path):
    data = write_csv(tmp_path / "d.csv", list(TRUTH.items()))
    texts = list(TRUTH)
    model = TextClassifier(encoder=None, oof=True).fit(texts, list(TRUTH.values()))
    project = make_project(data, tmp_path / "out.csv", is_review=True, model=model)
    try:
        project.learner.start()
        wait_for(lambda: project.learner.suspects)
        assert project.learner.fitted.model is model
    finally:
        project.close()
    other = TextClassifier(encoder=None, oof=True).fit(texts[:40], list(TRUTH.values())[:40])
    project = make_project(data, tmp_path / "out2.csv", is_review=True, model=other)
    try:
        project.learner.start()
        sentence = wait_for(
            lambda: project.learner.sentence if project.learner.state == "failed" else None
        )
        assert "out-of-fold predictions of the samples" in sentence
    finally:
        project.close()


def test_review_needs_labels(tmp_path, data):
    with pytest.raises(DataError, match="a review needs labels"):
        make_project(data, tmp_path / "out.csv", is_review=True)


def test_filters(tmp_path, data):
    texts = list(TRUTH)
    with opened(data, tmp_path / "out.csv", descriptions=CLASSES) as project:
        label(project, texts[0], "food")
        label(project, texts[1], "work")
        label(project, texts[2], action="skip")
        label(project, texts[3], action="unsure")

        def select(**filter):
            found = project.list_texts("ann", Filter(**filter), 0, 100)
            assert found["total"] == len(found["rows"])
            return [row["text"] for row in found["rows"]]

        assert select(state="labelled") == texts[:2]
        assert select(state="skipped") == [texts[2]] and select(state="unsure") == [texts[3]]
        assert select(state="unlabelled") == texts[4:]
        assert select(label="work") == [texts[1]]
        assert select(search="SOUP") == [each for each in texts if "soup" in each]
        assert select(search="nothing has this") == []
        assert project.choose("ann", Filter("skipped"), [])[0]["text"] == texts[2]
        assert project.choose("ann", Filter("skipped"), [digest(texts[2])]) == (None, 0)
        found = {project.choose("ann", Filter(search="soup"), [])[0]["reason"] for _ in range(20)}
        assert "random" not in found  # it is none of all texts
        page = project.list_texts("ann", Filter(), 10, 5)
        assert [row["text"] for row in page["rows"]] == texts[10:15]
        assert page["total"] == len(texts)
        assert select(state="suspicious") == []


def test_everything_is_labelled(tmp_path):
    data = write_csv(tmp_path / "d.csv", [("one", "")])
    with opened(data, tmp_path / "out.csv", descriptions={"a": None}) as project:
        label(project, "one", "a")
        assert project.choose("ann", ANY, []) == (None, 0)
        # Another annotator has not seen it.
        assert project.choose("bob", ANY, [])[0]["text"] == "one"


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".xlsx", ".parquet"])
def test_output_can_be_the_data_of_the_next_project(tmp_path, suffix):
    texts = ["=1+1", "two\nlines", "ü"]
    data = write_csv(tmp_path / "d.csv", [(text, "") for text in texts])
    output = tmp_path / f"out{suffix}"
    with opened(data, output, descriptions={"a": None, "b": None}) as project:
        for text, name in zip(texts, "aba", strict=True):
            label(project, text, name)
    with opened(output, tmp_path / "out2.csv") as project:
        assert labels_of(project) == dict(zip(texts, [("a",), ("b",), ("a",)], strict=True))
