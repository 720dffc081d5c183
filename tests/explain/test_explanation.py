"""Explanations as objects, JSON and HTML; words of classes; errors."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

import cordwood
from cordwood import TextClassifier
from cordwood.exceptions import CordwoodError, DataError

TEXTS = ["so good", "good day", "very good", "so bad", "bad day", "very bad"] * 4
LABELS = ["+", "+", "+", "-", "-", "-"] * 4


@pytest.fixture(scope="module")
def model():
    return TextClassifier().fit(TEXTS, LABELS)


@pytest.fixture(scope="module")
def explanation(model):
    return model.make_explainer().explain("A <b>Good</b> & good day")


def test_prediction_and_top_words(explanation):
    assert explanation.prediction == "+"
    word, value = explanation.top_words()[0]
    assert word == "good"
    assert value > 0
    assert explanation.top_words("-")[0] == (word, pytest.approx(-value))
    assert explanation.top_classes() == ["+", "-"]
    assert len(explanation.top_words(n=1)) == 1


def test_words_are_those_of_the_text(explanation):
    assert explanation.words == ("A", "<", "b", ">", "Good", "</", "b", ">", "&", "good", "day")


def test_members_state_their_methods(explanation):
    exact = {member.name: member.is_exact for member in explanation.members}
    assert exact == {"nbsvm": True, "nb": True, "knn": False, "rf": True}
    for member in explanation.members:
        assert member.method.startswith("exact" if member.is_exact else "approximate")


def test_neighbors_share_terms_with_the_text(explanation):
    knn = explanation.members[2]
    assert len(knn.neighbors) == 16  # texts with "good" or "day"
    for neighbor in knn.neighbors:
        assert LABELS[neighbor.index] == neighbor.label
        assert set(neighbor.shared_terms) == set(TEXTS[neighbor.index].split()) & {"good", "day"}
    similarity = [neighbor.similarity for neighbor in knn.neighbors]
    assert similarity == sorted(similarity, reverse=True)


def test_json_contains_all_levels(explanation):
    record = json.loads(json.dumps(explanation.to_dict()))
    assert record["prediction"] == "+"
    words = np.array([word["contributions"] for word in record["words"]])
    np.testing.assert_allclose(record["baseline"] + words.sum(axis=0), record["values"])
    for word in record["words"]:
        assert record["text"][word["start"] : word["end"]] == word["word"]
    nbsvm = record["members"][0]
    assert {"good", " goo"} <= {term["term"] for term in nbsvm["terms"]}
    assert len(record["members"][2]["neighbors"]) == 16


class TextOf(HTMLParser):
    """Checks that tags are balanced and collects the text of elements of class "text"."""

    def __init__(self):
        super().__init__()
        self.stack, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("br", "meta"):
            self.stack.append((tag, dict(attrs).get("class")))
        if dict(attrs).get("class") == "text":
            self.texts.append("")

    def handle_endtag(self, tag):
        assert self.stack.pop()[0] == tag

    def handle_data(self, data):
        if ("div", "text") in self.stack:
            self.texts[-1] += data


def test_html_begins_with_the_text_and_folds_the_numbers(explanation):
    parser = TextOf()
    page = explanation._repr_html_()
    parser.feed(page)
    assert not parser.stack
    assert parser.texts == [explanation.text] * 3  # once for readers, once per class for experts
    article = page[page.index("<article>") :]
    order = ['<div class="text"', "<em>good</em>", "blue", "Runner-up", "Similar", "<details>"]
    positions = [article.index(part) for part in order]
    assert positions == sorted(positions)
    assert article.index("log-odds") > article.index("<details>")


def test_sentences_name_the_words_and_the_runner_up(explanation):
    assert explanation.sentence.startswith("“good” speaks for +; ")
    assert explanation.runner_up.startswith("-, ")
    assert explanation.runner_up.endswith("speaks for it.")
    record = explanation.to_dict()
    assert record["sentence"] == explanation.sentence
    assert record["has_evidence"]


@pytest.mark.parametrize("text", ["", "  ", "qqq"])
def test_texts_without_known_words_are_not_explained(model, text):
    explanation = model.make_explainer().explain(text)
    assert not explanation.has_evidence
    np.testing.assert_allclose(explanation.proba, model.predict_proba([""])[0], atol=0.05)
    assert explanation.sentence.startswith("No words, no label. ")
    assert explanation.runner_up is None
    assert "speak" not in explanation._repr_html_()


def test_sources_of_samples_are_shown_in_full():
    corpus = cordwood.Corpus(
        texts=[f"{text} <i>" for text in TEXTS], labels=LABELS, ids=[f"n{i}" for i in range(24)]
    )
    model = TextClassifier().fit(corpus)
    tested = cordwood.Corpus(texts=["a good <u>day"], labels=["-"], ids=["t1"])
    [explanation] = model.explain(tested, training=corpus)
    assert (explanation.id, explanation.label) == ("t1", "-")
    for neighbor in explanation.neighbors:
        assert neighbor.text == corpus.texts[neighbor.index]
        assert neighbor.id == corpus.ids[neighbor.index]
    page = explanation._repr_html_()
    assert "t1 · true label - · predicted wrongly" in page
    assert "&lt;i&gt;" in page
    assert "<i>" not in page and "<u>" not in page
    assert "contains no training texts" not in page
    assert "contains no training texts" in model.explain(tested)._repr_html_()
    for other in (corpus.texts[:3], corpus.select(range(23, -1, -1))):
        with pytest.raises(DataError, match="training must be the training samples of the model"):
            model.explain(tested, training=other)


def test_sentences_of_several_labels():
    texts = ["red", "blue", "red blue", "green"] * 6
    labels = [["r"], ["b"], ["r", "b"], []] * 6
    model = TextClassifier("svm").fit(texts, labels)
    both, none = model.explain(["red blue", "green"])
    assert "“red” speaks for r; " in both.sentence
    assert "“blue” speaks for b; " in both.sentence
    assert both.runner_up is None
    assert none.sentence.startswith("No label is predicted; the most probable one is ")


def test_sentences_follow_the_decision():
    decision = cordwood.Decision(threshold=0.001, pos_label="+")
    model = TextClassifier("nb", decision=decision).fit(TEXTS, LABELS)
    [explanation] = model.explain(["bad day"])
    assert explanation.prediction == "+"
    assert " speaks for +; " in explanation.sentence
    assert "“bad” speaks against it." in explanation.sentence
    assert explanation.runner_up.startswith("-, ")
    assert "It is more probable, but the decision of the model is another." in explanation.runner_up


def test_html_of_several_texts_is_limited(model):
    found = model.explain(["good"] * 25)
    assert len(found) == 25
    assert "and 5 more" in found._repr_html_()
    assert len(found[:3]) == 3
    assert len(found.to_dict()) == 25


def test_str_names_the_class_and_its_words(explanation):
    sentence, first, *words = str(explanation).splitlines()
    assert sentence == explanation.sentence
    assert first.startswith("+: probability ")
    assert words[0].endswith("  good")


def test_explain_is_public_and_accepts_a_corpus(model):
    corpus = cordwood.Corpus(texts=["good", "bad"], labels=["+", "-"], ids=["1", "2"])
    assert [each.prediction for each in model.explain(corpus)] == ["+", "-"]


def test_explanations_do_not_depend_on_other_texts(model):
    both = model.explain(["good day", "so bad"])
    alone = model.make_explainer().explain("so bad")
    np.testing.assert_array_equal(both[1].word_contributions, alone.word_contributions)


def test_loaded_model_has_the_same_explanation(model, tmp_path):
    model.save(tmp_path / "model", precision="full")
    loaded = cordwood.load(tmp_path / "model")
    found, expected = (each.make_explainer().explain("so good") for each in (loaded, model))
    np.testing.assert_allclose(found.word_contributions, expected.word_contributions)


def test_words_of_classes_over_texts(model):
    found = model.explain_classes(["so good", "good", "not bad", "bad"], min_texts=2)
    [word] = found.words_for("+")[:1]
    assert (word.word, word.n_texts) == ("good", 2)
    assert word.contribution > 0
    assert "good" in word.example
    assert found.words_against("+")[0].word == "bad"
    assert all(word.n_texts >= 2 for label in "+-" for word in found.words_for(label))
    json.dumps(found.to_dict())
    assert "good" in found._repr_html_()


def test_mean_contribution_of_a_word_over_texts(model):
    texts = ["so good", "good", "bad"]
    found = model.explain_classes(texts, min_texts=1)
    mean = np.mean([dict(e.top_words("+")).get("good") for e in model.explain(texts[:2])])
    word = next(word for word in found.words_for("+") if word.word == "good")
    assert word.contribution == pytest.approx(mean)


@pytest.mark.parametrize("recipe", ["quick", "svm", "rf"])
def test_words_of_classes_without_texts(recipe):
    model = TextClassifier(recipe, calibrate=False).fit(TEXTS, LABELS)
    calls = []
    found = model.explain_classes(progress=lambda *call: calls.append(call))
    assert found.words_for("+")[0].word == "good"
    assert found.words_against("+")[0].word == "bad"
    assert calls[-1] == (5, 5)
    n_texts = found.words_for("+")[0].n_texts
    assert n_texts == (12 if recipe == "quick" else None)
    change = model.predict_proba(["good"]) - model.predict_proba([""])
    if found.output == "probability":
        assert found.words_for("+")[0].contribution == pytest.approx(change[0, 0])


def test_words_of_the_vocabulary_have_examples_of_training_texts(model):
    assert not any(word.example for word in model.explain_classes().words_for("+"))
    assert "example" not in model.explain_classes()._repr_html_()
    found = model.explain_classes(training=TEXTS)
    for word in (*found.words_for("+"), *found.words_against("+")):
        assert word.word in word.example
        assert word.example in TEXTS
    assert "example" in found._repr_html_()
    longer = [f"{'so much more to say, ' * 9}{text}" for text in TEXTS]
    found = TextClassifier().fit(longer, LABELS).explain_classes(training=longer)
    assert found.words_for("+")[0].example.startswith("…")


def test_words_of_training_texts_are_explained_out_of_fold():
    texts = [f"{text} {'id77' if i == 1 else ''}" for i, text in enumerate(TEXTS)]
    model = TextClassifier("svm", calibrate=False).fit(texts, LABELS)
    within = model.explain_classes(texts, min_texts=1)
    assert "id77" in [word.word for word in within.words_for("+")]
    found = model.explain_classes(texts, LABELS, cv=4, min_texts=1)
    assert "id77" not in [word.word for word in found.words_for("+")]
    assert found.words_for("+")[0].word == "good"
    assert "not trained on it" in found.note
    # The contributions are those of the models of the folds.
    codes = np.array([label == "-" for label in LABELS], np.intp)
    sums = dict.fromkeys(("good", "bad"), 0.0)
    for train, test in StratifiedKFold(4, shuffle=True, random_state=0).split(codes, codes):
        fold = TextClassifier("svm", calibrate=False).fit(
            [texts[i] for i in train], [LABELS[i] for i in train]
        )
        for each in fold.explain([texts[i] for i in test]):
            for word, value in zip(each.words, each.word_contributions[:, 0], strict=True):
                sums[word] = sums.get(word, 0.0) + value
    assert found.words_for("+")[0].contribution == pytest.approx(sums["good"] / 12)
    assert found.words_against("+")[0].contribution == pytest.approx(sums["bad"] / 12)


def test_out_of_fold_words_of_a_class_with_one_text():
    texts, labels = [*TEXTS, "strange thing"], [*LABELS, "?"]
    model = TextClassifier("nb", calibrate=False).fit(texts, labels)
    found = model.explain_classes(texts, labels, min_texts=1)
    assert found.classes.tolist() == ["+", "-", "?"]
    assert "strange" not in [word.word for word in found.words_for("?")]


def test_rare_words_of_the_vocabulary_are_ranked_lower():
    texts = [*TEXTS * 3, "zzz", "zzz", "zzz"]
    model = TextClassifier("quick", calibrate=False).fit(texts, [*LABELS * 3, "+", "+", "+"])
    found = model.explain_classes()
    words = {word.word: word for word in found.words_for("+")}
    assert words["zzz"].n_texts == 3
    ranks = [word.contribution * word.n_texts / (word.n_texts + 10) for word in words.values()]
    assert ranks == sorted(ranks, reverse=True)


def test_invalid_labels_of_texts_raise(model):
    with pytest.raises(ValueError, match="y requires X; pass both or none"):
        model.explain_classes(y=LABELS)
    with pytest.raises(ValueError, match="one label per text; got 24 texts"):
        model.explain_classes(TEXTS, LABELS[1:])
    with pytest.raises(DataError, match="'x', which is no class of the model"):
        model.explain_classes(TEXTS, ["x"] * 24)
    with pytest.raises(ValueError, match="cv must be"):
        model.explain_classes(TEXTS, LABELS, cv=1)


def test_words_of_classes_need_texts(model):
    with pytest.raises(DataError, match="no texts"):
        model.explain_classes([])


def test_invalid_arguments_raise(model):
    with pytest.raises(CordwoodError, match="output must be 'auto', 'log_odds' or"):
        model.explain(["good"], output="logit")
    with pytest.raises(TypeError, match="pass \\[text\\]"):
        model.explain("good")
    with pytest.raises(DataError, match=r"X\[1\] is of type int"):
        model.explain(["good", 3])
    with pytest.raises(CordwoodError, match="label must be one of the classes '\\+', '-'; got 'x'"):
        model.make_explainer().explain("good").top_words("x")
    with pytest.raises(NotFittedError, match="not fitted"):
        TextClassifier("svm").make_explainer()


def test_numeric_models_raise():
    model = TextClassifier("svm").fit([[0.0], [1.0]] * 5, ["a", "b"] * 5)
    for call in (model.make_explainer, lambda: model.explain([[0.0]]), model.explain_classes):
        with pytest.raises(DataError, match="only models of texts"):
            call()


def test_infinite_log_odds_raise():
    model = TextClassifier("rf", calibrate=False, recipe_params={"n_estimators": 1}).fit(
        TEXTS, LABELS
    )
    with pytest.raises(CordwoodError, match="use output='probability'"):
        model.explain(["so good"], output="log_odds")
