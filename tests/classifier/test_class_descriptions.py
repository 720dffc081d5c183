"""Descriptions of the classes: beside training samples, and instead of them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

import cordwood
from cordwood import CordwoodError, Corpus, TextClassifier
from cordwood.cli.main import main
from cordwood.text.embedding import EmbeddingVectorizer
from matrix import ENCODER

WORDS = ("soup", "bread", "goal", "team", "desk", "memo")
DESCRIPTIONS = {"food": ["soup", "bread bread"], "sport": "goal and team", "work": "desk memo"}
TEXTS = ["x soup", "x goal", "x desk", "y bread", "y team", "y memo"]
LABELS = ["food", "sport", "work"] * 2


class WordCounts:
    """Encodes a text by the counts of words."""

    fingerprint = "words"

    def encode(self, texts):
        return [[*(text.split().count(word) for word in WORDS), 0.1] for text in texts]


@pytest.fixture(autouse=True)
def private_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("CORDWOOD_CACHE_DIR", str(tmp_path / "cache"))


def make(descriptions=DESCRIPTIONS, **params):
    return TextClassifier(**{"encoder": WordCounts(), "class_descriptions": descriptions, **params})


def head_of(model):
    """Return the fitted classifier of embeddings."""
    last = model.estimator_[-1]
    return last.named_estimators_["embeddings"][-1] if hasattr(last, "estimators_") else last


def test_without_samples_the_model_is_a_regression_on_the_descriptions():
    model = make().fit([], [])
    assert model.classes_.tolist() == ["food", "sport", "work"]
    assert model.evaluation_ is model.oof_ is model.scope_ is None
    flat = ["soup", "bread bread", "goal and team", "desk memo"]
    X = EmbeddingVectorizer(WordCounts()).fit_transform(flat)
    expected = LogisticRegression(C=3 * np.sqrt(1.5), max_iter=300).fit(
        X, ["food", "food", "sport", "work"], sample_weight=[6, 6, 12, 12]
    )
    np.testing.assert_allclose(head_of(model).coef_, expected.coef_, atol=1e-3)
    assert model.predict(TEXTS).tolist() == LABELS


@pytest.mark.parametrize("empty", [([],), ([], []), (Corpus(texts=(), ids=()),)], ids=str)
def test_no_samples_may_be_given_in_several_ways(empty):
    assert make().fit(*empty).predict(["soup"]).tolist() == ["food"]


def test_without_samples_a_class_may_have_its_name_only():
    model = make({"work": None, "any_goal": None}).fit([])
    assert model.predict(["goal"]).tolist() == ["any_goal"]


def test_what_needs_samples_states_it(tmp_path):
    model = make().fit([])
    for params in ({"coverage": 0.9}, {"max_error": 0.1}, {"unknown": 0.1}):
        with pytest.raises(CordwoodError, match="train it with oof=True on labelled samples"):
            model.classify(["soup"], **params)
    with pytest.raises(CordwoodError, match="train it on labelled texts"):
        model.detect_shift(["soup"])
    model.report(tmp_path / "report.md")
    assert "no out-of-fold predictions" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert model.explain(["x soup"])[0].prediction == "food"
    assert model.evaluate(TEXTS, LABELS).accuracy == 1


def test_with_samples_descriptions_are_vectors_of_the_classes():
    model = make(estimator="embeddings", calibrate=False).fit(TEXTS, LABELS)
    vectorizer = EmbeddingVectorizer(WordCounts())
    vectorizer.fit(TEXTS)
    found = head_of(model).class_vectors
    assert list(found) == list(DESCRIPTIONS)
    for label, texts in DESCRIPTIONS.items():
        texts = [texts] if isinstance(texts, str) else texts
        np.testing.assert_array_equal(found[label], vectorizer.transform(texts))


def test_other_classes_have_their_names_unless_these_harm():
    texts, labels = [f"{text} {i}" for i in range(4) for text in TEXTS], LABELS * 4
    params = {"estimator": "embeddings", "calibrate": False}
    # The names of two classes are swapped, which harms.
    swapped = [{"food": "goal", "sport": "soup", "work": "other"}[each] for each in labels]
    model = make({"other": "memo"}, **params).fit(texts, swapped)
    assert list(head_of(model).class_vectors) == ["other"]
    matching = [{"food": "soup", "sport": "goal", "work": "other"}[each] for each in labels]
    model = make({"other": "memo"}, **params).fit(texts, matching)
    assert set(head_of(model).class_vectors) == {"other", "soup", "goal"}


def test_it_works_with_weights_decisions_and_searches():
    texts, labels = TEXTS * 4, LABELS * 4
    model = make(class_weight="balanced", decision="macro_f1")
    model.fit(texts, labels, sample_weight=np.arange(1, 25), groups=np.arange(24) // 3)
    assert model.predict(["soup"]).tolist() == ["food"]
    search = GridSearchCV(
        make(estimator="embeddings", oof=False),
        {"class_descriptions": [None, DESCRIPTIONS]},
        cv=2,
        error_score="raise",
    ).fit(texts, labels)
    assert search.cv_results_["mean_test_score"].max() == 1


def test_a_model_file_has_no_descriptions(tmp_path):
    model = make({"food": "soup of secrets", "work": "memo"}, encoder=str(ENCODER)).fit([])
    model.save(tmp_path / "model.cordwood", precision="full")
    loaded = cordwood.load(tmp_path / "model.cordwood")
    assert loaded.class_descriptions is None
    assert loaded.evaluation_ is None
    np.testing.assert_array_equal(loaded.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert b"secrets" not in (tmp_path / "model.cordwood").read_bytes()


@pytest.mark.parametrize(
    ("descriptions", "message"),
    [
        (["food"], "class_descriptions must be a mapping of labels to texts; got .* list"),
        ({"food": ""}, "class_descriptions of 'food' must be a text or a list of texts"),
        ({"food": []}, "class_descriptions of 'food' must be"),
        ({"food": ["soup", 3]}, "class_descriptions of 'food' must be"),
        ({"food": 3}, "class_descriptions of 'food' must be"),
        ({"foot": "soup"}, "class_descriptions has the label 'foot', which no training sample has"),
    ],
)
def test_invalid_descriptions(descriptions, message):
    with pytest.raises(CordwoodError, match=message):
        make(descriptions).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"estimator": "svm", "encoder": "auto"}, "recipe 'svm' does not use; choose the recipe"),
        ({"encoder": None}, "needs a sentence encoder, but the model has none"),
        ({"estimator": LinearSVC(), "encoder": "auto"}, "requires the name of a recipe"),
    ],
)
@pytest.mark.parametrize("samples", [([], []), (TEXTS, LABELS)], ids=["none", "six"])
def test_an_encoder_is_needed(params, message, samples):
    with pytest.raises(CordwoodError, match=message):
        make(**params).fit(*samples)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (TEXTS, [[label] for label in LABELS], "requires one label per sample"),
        (np.eye(6), LABELS, "requires texts, but the samples are numeric"),
        ({"body": TEXTS, "price": range(6)}, LABELS, "but the samples are rows of a table"),
    ],
)
def test_other_samples_are_rejected(X, y, message):
    encoder = None if isinstance(X, np.ndarray) else WordCounts()
    with pytest.raises(CordwoodError, match=f"class_descriptions {message}|{message}"):
        make(encoder=encoder).fit(X, y)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"decision": "macro_f1"}, "decision requires training samples"),
        ({"oof": True}, "oof=True requires training samples"),
        ({"recipe_params": {"C": 1}}, "recipe_params requires training samples"),
        ({"encoder": [WordCounts(), WordCounts()]}, "needs one encoder"),
        ({"class_descriptions": {"food": "soup"}}, "has 1 label; .* needs at least two"),
        ({"class_descriptions": {1: None, 2: "soup"}}, "of 1 is None, and the label has no words"),
    ],
)
def test_without_samples_some_things_are_rejected(params, message):
    with pytest.raises(CordwoodError, match=message):
        make(**params).fit([])


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{text},{label}" for text, label in zip(TEXTS * 4, LABELS * 4, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["text,label", *rows]))
    (tmp_path / "classes.csv").write_text(
        'name,description,example_1,examples,note\nfood,soup,bread,"pan\noven",no\nsport,goal,,,\n'
        "work,,,,\n"
    )

    def call(*arguments, code=0):
        found = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert found == code, captured.err
        return captured

    return call


def test_the_command_trains_without_data(command, tmp_path):
    out = command("train", "--classes", "classes.csv", "--encoder", ENCODER).out
    assert "3 classes, 6 texts about them" in out
    assert "unknown, because there are no labelled texts" in out
    model = cordwood.load(tmp_path / "classes.cordwood")
    expected = {"food": ["soup", "bread", "pan", "oven"], "sport": "goal", "work": None}
    same = make(expected, encoder=str(ENCODER), estimator="embeddings").fit([])
    np.testing.assert_allclose(model.predict_proba(TEXTS), same.predict_proba(TEXTS), atol=1e-3)
    assert "food" in command("predict", "classes.cordwood", "rows.csv").out


def test_the_command_trains_with_data(command, tmp_path):
    options = ("--classes", "classes.csv", "--encoder", ENCODER, "--no-baseline")
    command("train", "rows.csv", *options)
    model = cordwood.load(tmp_path / "rows.cordwood")
    given = {"food": ["soup", "bread", "pan", "oven"], "sport": "goal", "work": None}
    same = make(given, encoder=str(ENCODER)).fit(TEXTS * 4, LABELS * 4)
    np.testing.assert_allclose(model.predict_proba(TEXTS), same.predict_proba(TEXTS), atol=1e-3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("topic,description\nfood,soup\n", "classes.csv has no column 'name'"),
        ("name,description\nfood,soup\nfood,bread\n", "the class 'food' occurs more than once"),
        ("name,description\nfood,soup\n,bread\n", "row 2: the name of the class is empty"),
        ("name,description\nfoot,soup\n", "--classes has the label 'foot'"),
    ],
)
def test_invalid_files_of_classes(command, tmp_path, content, message):
    (tmp_path / "classes.csv").write_text(content)
    options = ("--classes", "classes.csv", "--encoder", ENCODER)
    assert message in command("train", "rows.csv", *options, code=1).err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--recipe", "svm"], "which recipe 'svm' does not use"),
        (["--report", "r.html"], "--report requires DATA"),
        (["--class-weight", "balanced"], "--class-weight requires DATA"),
    ],
)
def test_options_that_need_data(command, options, message):
    assert message in command("train", "--classes", "classes.csv", *options, code=2).err
