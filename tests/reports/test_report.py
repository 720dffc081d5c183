import json
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import report_data as data
from cordwood import Decision, FeatureMatrix, TextClassifier, load, save
from cordwood.audit import audit_dataset, check_dataset, find_label_errors
from cordwood.compare import comparison_report
from cordwood.exceptions import CordwoodError, DataError
from cordwood.explain import ClassWords
from cordwood.explain.class_words import ClassWord
from cordwood.metrics.baselines import score_baselines
from cordwood.oof import schema as oof_schema
from cordwood.persist import read_model_card
from cordwood.persist.model_card import TrainingRecord
from cordwood.reports import Report, dataset_report
from cordwood.reports.hub_card import to_hub_card
from cordwood.reports.model_summary import Provenance
from cordwood.reports.report import model_report


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    VOID = {"meta", "img", "br", "input", "hr", "link"}

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.ids, self.links, self.open = [], [], [], [], []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        found = dict(attrs)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text += text


@pytest.fixture(scope="module")
def corpus():
    return data.make_corpus()


@pytest.fixture(scope="module")
def model(corpus):
    return TextClassifier(encoder=None).fit(corpus)


def add_baselines(model, texts):
    """Add what the command line adds to the expected scores."""
    baselines = score_baselines(texts, model.oof_)
    model.evaluation_ = replace(model.evaluation_, baselines=baselines)


@pytest.fixture(scope="module")
def reports(corpus, model):
    comparison, curves = data.make_comparison()
    name = f"name {data.MARKUP}"
    return {
        "dataset": dataset_report(corpus, name=name, test=data.make_corpus(20, seed=1)),
        "comparison": comparison_report(comparison, curves, name=name, notes=[data.MARKUP]),
        "oof": model_report(model, corpus, Provenance(name=name, data=data.MARKUP)),
        "test": model.report(X=data.make_corpus(60, seed=2), name=name),
        "model": model.report(name=name),
    }


KINDS = ["dataset", "comparison", "oof", "test", "model"]


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_well_formed_and_all_links_lead_somewhere(reports, kind):
    page = Page(reports[kind].to_html())
    assert not page.open
    assert len(page.ids) == len(set(page.ids))
    assert page.links
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)


@pytest.mark.parametrize("kind", KINDS)
def test_markup_in_the_data_is_shown_as_text(reports, kind):
    html = reports[kind].to_html()
    page = Page(html)
    assert page.tags.count("script") == 1
    assert page.tags.count("style") == 1
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert data.MARKUP in page.text
    assert html.count("</style>") == 1 and html.count("</script>") == 1


@pytest.mark.parametrize("kind", KINDS)
def test_page_refers_to_nothing_outside(reports, kind):
    page = Page(reports[kind].to_html())
    assert not {"link", "iframe", "object", "embed", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name in ("src", "srcset", "action")]
    policies = [
        value for name, value in page.attributes if name == "content" and "default-src" in value
    ]
    assert len(policies) == 1 and "default-src 'none'" in policies[0]
    styles = [value for name, value in page.attributes if name == "style"]
    assert all("url" not in value for value in styles)


@pytest.mark.parametrize("kind", KINDS)
def test_markdown_and_json_have_the_same_content(reports, kind):
    report = reports[kind]
    parsed = json.loads(report.to_json())
    assert parsed == json.loads(json.dumps(report.to_dict()))
    markdown = report.to_markdown()
    html = report.to_html()
    titles = re.findall(r"<h2 [^>]*>([^<]+)</h2>", html)
    assert re.findall(r"^## (.+)$", markdown, re.M) == titles
    assert "<script" not in markdown.replace("\\<script", "")


def test_tables_of_markdown_have_equal_numbers_of_columns(reports):
    for report in reports.values():
        for block in report.to_markdown().split("\n\n"):
            lines = block.splitlines()
            if lines[0].startswith("|") and len(lines) > 1:
                n_columns = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
                assert len(n_columns) == 1, block


def test_notebook_shows_a_frame_that_cannot_affect_the_notebook(reports):
    frame = reports["dataset"]._repr_html_()
    page = Page(frame)
    assert page.tags == ["iframe"]
    attributes = dict(page.attributes)
    assert attributes["sandbox"] == "allow-scripts"
    assert "allow-same-origin" not in attributes["sandbox"]
    assert attributes["srcdoc"] == reports["dataset"].to_html()


@pytest.mark.parametrize("suffix", ["html", "md", "json"])
def test_save_writes_the_format_of_the_suffix(reports, tmp_path, suffix):
    path = tmp_path / f"report.{suffix}"
    reports["dataset"].save(path)
    content = path.read_text(encoding="utf-8")
    start = {"html": "<!doctype html>", "md": "# Data set", "json": "{"}[suffix]
    assert content.startswith(start)


def test_unknown_suffix_raises(reports, tmp_path):
    with pytest.raises(CordwoodError, match="'report.pdf' must end in .html, .md or .json"):
        reports["dataset"].save(tmp_path / "report.pdf")


def test_texts_with_invalid_characters_can_be_saved(tmp_path):
    corpus = data.make_corpus()
    texts = [text + "\x00\ud800￿" for text in corpus.texts]
    report = dataset_report(replace(corpus, texts=texts))
    for suffix in ("html", "md", "json"):
        report.save(tmp_path / f"report.{suffix}")
    assert "\x00" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_dataset_report_contains_the_findings_of_the_check(corpus, reports):
    found = reports["dataset"].to_dict()
    check = check_dataset(corpus, test=data.make_corpus(20, seed=1))
    assert [row["message"] for row in found["findings"]] == [f.message for f in check.findings]
    assert {row["label"]: row["n_samples"] for row in found["classes"]} == check.class_counts
    assert sum(found["lengths"]["counts"]) == len(corpus)
    assert found["lengths"]["n_empty"] == 1


def test_audit_is_part_of_the_report_of_a_data_set(corpus):
    audit = audit_dataset(corpus, model=TextClassifier("nb", oof=True).fit(corpus))
    report = dataset_report(corpus, name="things", audit=audit)
    found = report.to_dict()["audit"]
    assert found["counts"] == audit.counts
    for kind, n in audit.counts.items():
        assert len(found["suspects"][kind]) == min(n, 20)
    page = Page(report.to_html())
    assert {"suspects", "confused"} & set(page.ids)
    assert not [tag for tag in page.tags if tag == "img"]


def test_numeric_data_has_a_report():
    X = np.arange(24.0).reshape(12, 2)
    matrix = FeatureMatrix(X=X, ids=[str(i) for i in range(12)], labels=["a", "b"] * 6)
    report = dataset_report(matrix)
    assert report.to_dict()["features"]["n_features"] == 2
    assert "Lengths" not in report.to_html()
    model = TextClassifier("rf").fit(matrix)
    found = model.report(X=matrix).to_dict()
    assert found["explained"] == [] and found["words"] is None


def test_training_data_have_out_of_fold_scores(corpus, model, reports):
    found = reports["oof"].to_dict()
    assert found["source"] == "oof"
    accuracy = (model.oof_.y_pred == np.array(corpus.labels)).mean()
    assert found["scores"]["scores"]["accuracy"]["value"] == pytest.approx(accuracy)
    assert found["scores"]["n_samples"] == len(corpus)


def test_other_data_are_predicted(model, reports):
    found = reports["test"].to_dict()
    assert found["source"] == "test"
    expected = model.evaluate(data.make_corpus(60, seed=2))
    assert found["scores"]["scores"]["accuracy"]["value"] == pytest.approx(expected.accuracy)
    assert found["scores"]["scores"]["macro_f1"]["value"] == pytest.approx(expected.macro_f1)
    by_class = {row["label"]: row["f1"] for row in found["by_class"]}
    assert by_class == pytest.approx({row.label: row.f1 for row in expected.classes})


def test_without_data_there_are_scores_but_no_texts(reports):
    found = reports["model"].to_dict()
    assert found["source"] == "oof"
    assert found["explained"] == []
    assert all(pair["examples"] == [] for pair in found["confusion"]["pairs"])


def test_model_without_out_of_fold_predictions_states_that_it_has_no_scores(corpus):
    model = TextClassifier("nb", oof=False).fit(corpus.texts, corpus.labels)
    report = model.report()
    assert report.to_dict()["scores"] is None
    assert "There are no scores" in report.to_html()


def test_explanations_of_test_samples_add_up(reports):
    for row in reports["test"].to_dict()["explained"]:
        total = sum(each["value"] for each in row["contributions"])
        words = sum(value for _, value in row["segments"])
        baseline = row["contributions"][0]["value"]
        assert baseline + words == pytest.approx(total, abs=1e-6)


def test_errors_of_training_samples_are_not_explained_by_the_final_model(reports):
    for row in reports["oof"].to_dict()["explained"]:
        if row["label"] != row["predicted"]:
            assert row["contributions"] == []
            assert all(value == 0 for _, value in row["segments"])
            assert row["member_probabilities"]
        assert row["id"] not in [each["id"] for each in row["neighbors"]]


def test_suspects_are_samples_whose_label_is_improbable(corpus, model, reports):
    suspects = reports["oof"].to_dict()["suspects"]
    expected = find_label_errors(model.oof_)
    assert suspects["n"] == len(expected.ranking) > 0
    labels = dict(zip(corpus.ids, corpus.labels, strict=True))
    for row, i in zip(suspects["samples"], expected.ranking, strict=False):
        assert row["id"] == corpus.ids[i]
        assert labels[row["id"]] == row["label"] != row["suggested"]
        assert row["self_confidence"] == pytest.approx(model.oof_.proba[i, model.oof_.y[i]])


def test_samples_of_unknown_classes_are_counted(model):
    corpus = data.make_corpus(30, seed=3)
    labels = ["unknown", *corpus.labels[1:]]
    found = model.report(X=replace(corpus, labels=labels)).to_dict()
    assert found["n_unseen"] == 1
    assert found["scores"]["n_samples"] == 29
    with pytest.raises(DataError, match="no sample has a class of the model"):
        model.report(X=replace(corpus, labels=["unknown"] * 30))


@pytest.fixture(scope="module")
def two_classes():
    """Texts of two classes of which one is rare, some with wrong labels."""
    corpus = data.make_corpus(150, noise=0.2)
    chosen = [i for i, label in enumerate(corpus.labels) if label == "plants" or i % 4 == 0]
    labels = ["plants" if label == "plants" else "others" for label in corpus.labels]
    return replace(corpus, labels=labels).select(chosen)


THREE_CLASSES = np.array([[0, 1, 9], [1, 0, 9], [2, 2, 0]])
DECISIONS = {
    "f1": "f1",
    "macro_f1": "macro_f1",
    "precision": Decision("precision", precision=0.7),
    "threshold": Decision(threshold=0.8, pos_label="plants"),
    "cost": Decision("cost", cost_matrix=THREE_CLASSES),
}


@pytest.mark.parametrize("recipe", ["nb", "svm", "quick"])
@pytest.mark.parametrize("name", DECISIONS)
def test_report_of_a_decision_is_about_the_decided_labels(
    name, recipe, corpus, two_classes, tmp_path
):
    train = corpus if name in ("macro_f1", "cost") else two_classes
    model = TextClassifier(recipe, encoder=None, decision=DECISIONS[name]).fit(train)
    expected = model.evaluation_.to_dict()
    decided = model.classes_[model.decision_.apply(model.oof_.proba)]
    n_errors = int((decided != np.array(train.labels)).sum())
    assert n_errors > 0
    save(model, tmp_path / "model.cordwood")
    loaded = load(tmp_path / "model.cordwood")
    for found in (
        model.report(X=train).to_dict(),
        model.report().to_dict(),
        loaded.report(X=train).to_dict(),
    ):
        assert found["source"] == "oof"
        assert found["scores"]["scores"]["accuracy"] == expected["accuracy"]
        assert found["scores"]["scores"]["macro_f1"] == expected["macro_f1"]
        assert expected["accuracy"]["value"] == pytest.approx(1 - n_errors / len(train))
        assert found["confusion"]["n_errors"] == n_errors
        assert sum(row["n_missed"] for row in found["by_class"]) == n_errors
        f1 = {row["label"]: row["f1"] for row in found["by_class"]}
        assert f1 == pytest.approx(
            {row["label"]: row["f1"]["value"] for row in expected["classes"]}
        )
        n_right = sum(each["n"] * each["accuracy"] for each in found["reliability"])
        assert n_right == pytest.approx(len(train) - n_errors)


@pytest.mark.parametrize("name", DECISIONS)
def test_report_of_a_decision_on_test_samples(name, corpus, two_classes):
    train, test = corpus, data.make_corpus(60, seed=2)
    if name not in ("macro_f1", "cost"):
        train = two_classes
        labels = ["plants" if label == "plants" else "others" for label in test.labels]
        test = replace(test, labels=labels)
    model = TextClassifier("nb", decision=DECISIONS[name]).fit(train)
    report = model.report(X=test)
    found, expected = report.to_dict(), model.evaluate(test)
    assert found["source"] == "test"
    assert found["scores"]["scores"]["accuracy"]["value"] == pytest.approx(expected.accuracy)
    assert found["scores"]["expected"]["accuracy"]["value"] == float(model.evaluation_.accuracy)
    for row in found["explained"]:
        i = test.ids.index(row["id"])
        assert row["predicted"] == model.predict([test.texts[i]])[0]


def test_tuned_decision_is_described(corpus):
    model = TextClassifier("nb", encoder=None, decision="macro_f1").fit(corpus)
    report = model.report(X=data.make_corpus(30, seed=3))
    assert report.to_dict()["decision"] == model.decision_.describe()
    text = Page(report.to_html()).text
    assert f"its decision is tuned ({model.decision_.describe()})" in text
    assert "most probable class; for the scores" not in text
    untuned = TextClassifier("nb", encoder=None).fit(corpus).report()
    assert untuned.to_dict()["decision"] is None
    assert "its decision is tuned" not in untuned.to_html()


def test_report_of_test_samples_without_some_classes(model):
    corpus = data.make_corpus(60, seed=2, noise=0.4)
    kept = [i for i, label in enumerate(corpus.labels) if label == "plants"]
    report = model.report(X=corpus.select(kept))
    assert report.to_dict()["scores"]["n_samples"] == len(kept)
    text = Page(report.to_html()).text
    assert "The lowest F1 is that of plants" in text
    # No advice about classes of which there are no samples here.
    assert "both small and weak" not in text


@pytest.mark.parametrize("kind", ["pandas", "polars", "mapping"])
def test_report_of_a_dataframe(kind, corpus, tmp_path):
    table = {
        "text": list(corpus.texts),
        "size": [float(i % 7) for i in range(len(corpus))],
        "topic": list(corpus.labels),
    }
    frame = table if kind == "mapping" else pytest.importorskip(kind).DataFrame(table)
    columns = {"text": ["text"], "numeric": ["size"]}
    model = TextClassifier("nb", columns=columns, decision="macro_f1").fit(frame, "topic")
    for labels in ("topic", corpus.labels):
        found = model.report(tmp_path / "report.html", frame, labels).to_dict()
        assert found["source"] == "oof"
        assert found["scores"]["scores"]["accuracy"]["value"] == float(model.evaluation_.accuracy)
        assert found["explained"]
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_several_labels_have_no_report(corpus):
    lists = [[label, "x"][: 1 + i % 2] for i, label in enumerate(corpus.labels)]
    model = TextClassifier("nb").fit(corpus.texts, lists)
    for given in ({}, {"X": corpus.texts, "y": lists}, {"X": corpus}):
        with pytest.raises(CordwoodError, match="report of a model requires one label per sample"):
            model.report(**given)


def test_arguments_are_checked(model):
    with pytest.raises(ValueError, match="y to be passed"):
        model.report(X=["a text"])
    with pytest.raises(DataError, match="y has 1 entries for 2 samples"):
        model.report(X=["a text", "another"], y=["animals"])
    with pytest.raises(CordwoodError, match=r"must end in \.html, \.md or \.json"):
        model.report("report.pdf")


def test_members_of_a_stack_are_listed_with_their_scores(model, corpus, reports):
    members = reports["oof"].to_dict()["members"]
    stack = model.estimator_[-1]
    assert [row["name"] for row in members["members"]] == [*stack.named_estimators_, *stack.pruned_]
    y = np.searchsorted(stack.classes_, corpus.labels)
    n_classes = len(stack.classes_)
    for i, name in enumerate(members["names"]):
        row = next(row for row in members["members"] if row["name"] == name)
        block = stack.meta_features_[:, i * n_classes : (i + 1) * n_classes]
        assert row["accuracy"] == pytest.approx((block.argmax(axis=1) == y).mean())
        assert row["log_loss_change"] == stack.ablation_[name]["log_loss"]
    text = Page(reports["oof"].to_html()).text
    assert "accuracy without it" in text and "fit, seconds" in text and "Diversity" in text


def test_members_of_a_model_file_have_the_same_scores(model, corpus, reports, tmp_path):
    save(model, tmp_path / "model.cordwood")
    found = load(tmp_path / "model.cordwood").report(X=corpus).to_dict()["members"]
    expected = reports["oof"].to_dict()["members"]
    assert without_measured_times(found) == without_measured_times(expected)
    assert all(row["fit_seconds"] > 0 for row in found["members"])


def test_hub_card_has_a_model_index(reports):
    yaml = pytest.importorskip("yaml")
    card = to_hub_card(reports["oof"].summary)
    _, front, body = card.split("---\n", 2)
    metadata = yaml.safe_load(front)
    assert metadata["library_name"] == "cordwood"
    assert metadata["pipeline_tag"] == "text-classification"
    (entry,) = metadata["model-index"]
    assert entry["name"] == f"name {data.MARKUP}"
    (result,) = entry["results"]
    assert result["dataset"]["name"] == data.MARKUP
    metrics = {metric["type"]: metric["value"] for metric in result["metrics"]}
    expected = reports["oof"].summary.scores.scores
    assert metrics["accuracy"] == pytest.approx(expected.accuracy.value, abs=1e-4)
    assert "cordwood.load(" in body and "## Evaluation" in body


def test_hub_card_names_the_test_data_and_any_characters_are_valid_yaml(reports):
    yaml = pytest.importorskip("yaml")
    name = "a: 'b' \"c\" # d\n- e \x00\x7f\x85\ud800 \U0001f600"
    summary = replace(reports["test"].summary, name=name, data=name)
    metadata = yaml.safe_load(to_hub_card(summary).split("---\n", 2)[1])
    expected = name.replace("\x00", "�").replace("\x7f", "�").replace("\x85", "�")
    expected = expected.replace("\ud800", "�")
    (entry,) = metadata["model-index"]
    assert entry["name"] == expected
    assert entry["results"][0]["dataset"] == {"name": expected, "type": "custom", "split": "test"}


def test_scores_of_a_model_file_are_beside_the_baselines_of_training(corpus, tmp_path):
    model = TextClassifier("nb", oof=True).fit(corpus)
    add_baselines(model, corpus.texts)
    save(model, tmp_path / "model.cordwood")
    loaded = load(tmp_path / "model.cordwood")
    expected = model.evaluation_.to_dict()
    for data_set in (corpus, None):
        found = loaded.report(X=data_set).to_dict()["scores"]
        assert found["baselines"] == expected["baselines"]
        assert len(found["baselines"]) == 2
        assert found["scores"]["accuracy"] == expected["accuracy"]
    test = loaded.report(X=data.make_corpus(60, seed=2))
    assert test.to_dict()["scores"]["expected"]["accuracy"] == expected["accuracy"]
    assert list(test.to_dict()["scores"]["baselines"]) == ["majority class"]
    assert "was expected from training; the difference may be chance" in Page(test.to_html()).text
    wrong = replace(corpus, labels=[*corpus.labels[1:], corpus.labels[0]])
    assert "significantly less here" in Page(loaded.report(X=wrong).to_html()).text


@pytest.fixture
def large_model(corpus, tmp_path, monkeypatch):
    """A model from a file that has too many out-of-fold predictions to store them."""
    monkeypatch.setattr(oof_schema, "MAX_OOF_SIZE", 20)
    model = TextClassifier("nb", oof=True).fit(corpus)
    record = TrainingRecord(fingerprint=corpus.fingerprint())
    path = save(model, tmp_path / "model.cordwood", provenance=record)
    loaded = load(path)
    assert loaded.oof_ is None
    return loaded, read_model_card(path)


@pytest.mark.parametrize("has_data", [False, True])
def test_report_uses_the_stored_evaluation_without_predictions(corpus, large_model, has_data):
    loaded, card = large_model
    report = model_report(loaded, corpus if has_data else None, Provenance(card=card))
    found = report.to_dict()
    expected = loaded.evaluation_.to_dict()
    assert found["source"] == "oof"
    assert found["scores"]["scores"]["accuracy"] == expected["accuracy"]
    assert found["scores"]["n_samples"] == found["provenance"]["n_train"] == len(corpus)
    # They would be those of the model that was trained on the samples.
    assert found["by_class"] == [] and found["confusion"] is None and found["suspects"] is None
    assert bool(found["explained"]) == (found["audit"] is not None) == has_data
    text = Page(report.to_html()).text
    assert f"{100 * expected['accuracy']['value']:.1f} %" in text
    assert "These scores are too good" not in text and "There are no scores" not in text
    assert "F1 by class, lowest first" in text
    table = text.partition("F1 by class, lowest first")[2]
    ordered = sorted(expected["classes"], key=lambda row: row["f1"]["value"])
    places = [table.index(row["label"]) for row in ordered]
    assert places == sorted(places)
    assert f"| accuracy | {expected['accuracy']['value']:.3f} |" in to_hub_card(report.summary)


def test_stored_evaluation_is_beside_its_baselines(corpus, large_model):
    loaded, _ = large_model
    model = TextClassifier("nb", oof=True).fit(corpus)
    add_baselines(model, corpus.texts)
    loaded.evaluation_ = model.evaluation_
    report = loaded.report()
    assert len(report.to_dict()["scores"]["baselines"]) == 2
    assert "the best baseline" in Page(report.to_html()).text


def test_scores_of_training_samples_are_too_good(corpus, large_model):
    loaded, card = large_model
    loaded.evaluation_ = None
    report = model_report(loaded, corpus, Provenance(card=card))
    assert report.to_dict()["source"] == "training"
    assert "These scores are too good" in Page(report.to_html()).text


def test_report_contains_the_audit_of_the_training_data(corpus, model, reports):
    found = reports["oof"].to_dict()
    audit = audit_dataset(corpus)
    n_label_errors = found["suspects"]["n"]
    assert found["audit"]["counts"] == {"label error": n_label_errors, **audit.counts}
    assert "empty text" in found["audit"]["counts"]
    text = Page(reports["oof"].to_html()).text
    assert "Audit of the training data" in text and "cordwood audit DATA -o" in text
    # The training data of a model are unknown from a test set.
    assert reports["test"].to_dict()["audit"] is None
    given = model.report(audit=audit_dataset(corpus, model=model)).to_dict()
    assert given["audit"]["counts"]["label error"] == n_label_errors


def test_words_of_all_classes_are_listed_last(model, monkeypatch):
    def word(name, contribution):
        return ClassWord(word=name, contribution=contribution, n_texts=9, example="")

    words = ClassWords(
        classes=model.classes_,
        output="log_odds",
        note="a note",
        positive=[()] * len(model.classes_),
        negative=[(word("everywhere", -9.0), word(f"only {c}", -1.0)) for c in model.classes_],
    )
    monkeypatch.setattr(TextClassifier, "explain_classes", lambda *args, **kwargs: words)
    words = model.report().to_dict()["words"]
    for label, row in zip(model.classes_, words["classes"], strict=True):
        assert [each["word"] for each in row["against"]] == [f"only {label}", "everywhere"]


def test_infinite_numbers_become_null():
    @dataclass
    class Summary:
        kind: str
        values: tuple

    report = Report(Summary("set", (1.0, float("inf"), {"a": float("nan")})), None)
    assert json.loads(report.to_json()) == {"kind": "set", "values": [1.0, None, {"a": None}]}
    assert report.to_dict() == json.loads(report.to_json())


@pytest.mark.parametrize("name", ["reports.md", "gallery.md"])
def test_links_of_the_documentation_exist(name):
    folder = Path(__file__).parents[2] / "docs"
    page = (folder / name).read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", page) if "://" not in link]
    assert links and all((folder / link).exists() for link in links)


def without_measured_times(members):
    rows = [{**row, "predict_seconds": None} for row in members["members"]]
    return {**members, "members": rows}


def test_report_is_reproducible(model, corpus, reports):
    again = model_report(model, corpus, Provenance(name=f"name {data.MARKUP}", data=data.MARKUP))
    summaries = [each.to_dict() for each in (again, reports["oof"])]
    found, first = (
        {**summary, "members": without_measured_times(summary["members"])} for summary in summaries
    )
    assert found == first
