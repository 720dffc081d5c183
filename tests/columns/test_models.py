"""Models of tables: training, prediction, explanation and storage."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

import cordwood
from cordwood import Corpus, recipes
from cordwood.columns import ColumnRoles, NumericEncoder, TableConverter
from cordwood.exceptions import CordwoodError, DataError, ModelFileError
from cordwood.explain import Explainer, explain, explain_classes

ROLES = {"text": ["title", "body"], "categorical": ["kind"], "numeric": ["price"], "date": ["day"]}
WORDS = {"food": "soup bread salt flour oven".split(), "drink": "tea milk cup pour cold".split()}
COMMON = "the a of and to in it is".split()


def make_table(n_samples=60, seed=0):
    """Texts, kinds and prices that all depend on the class, with missing values."""
    rng = np.random.default_rng(seed)
    labels = np.array(["drink", "food"])[np.arange(n_samples) % 2]
    rows = {"title": [], "body": [], "kind": [], "price": [], "day": []}
    for label in labels:
        words = COMMON + WORDS[label] * 2 + WORDS["food"]
        rows["title"].append(" ".join(rng.choice(words, 2)))
        rows["body"].append(" ".join(rng.choice(words, 5)) if rng.random() < 0.9 else None)
        kinds = ["hot", "warm", None] if label == "food" else ["cold", "warm", None]
        rows["kind"].append(kinds[rng.integers(3)])
        price = rng.normal(6 if label == "food" else 3)
        rows["price"].append(price if rng.random() < 0.8 else np.nan)
        rows["day"].append(f"2024-0{rng.integers(1, 10)}-11")
    return pd.DataFrame(rows), labels


TABLE, LABELS = make_table()


def fit(name="quick", columns=ROLES, **params):
    return recipes.make(name, columns=columns, random_state=0, **params).fit(TABLE, LABELS)


@pytest.fixture(scope="module")
def quick():
    return fit()


def test_the_pipeline_is_one_of_scikit_learn():
    pipeline = recipes.make("svm", columns=ROLES)
    assert list(pipeline.named_steps) == ["table", "preprocessor", "classifier"]
    transformer = pipeline["preprocessor"]
    assert isinstance(transformer, ColumnTransformer)
    assert [name for name, _, _ in transformer.transformers] == [
        "vectorizer", "categorical", "numeric",
    ]  # fmt: skip
    fitted = clone(pipeline).fit(TABLE, LABELS)
    names = fitted[:-1].get_feature_names_out()
    assert {"vectorizer__soup", "categorical__kind_(missing)"} <= set(names)
    assert len(names) == fitted[:-1].transform(TABLE).shape[1]


def test_features_are_those_of_the_separate_transformers():
    fitted = fit("svm")
    cells = fitted["table"].transform(TABLE)
    weight = recipes.find("svm").columns.weight
    expected = np.hstack(
        [
            clone(fitted["preprocessor"].transformers[0][1]).fit_transform(cells[:, 0]).toarray(),
            weight * OneHotEncoder().fit_transform(cells[:, 1:2]).toarray(),
            weight * NumericEncoder(n_knots=5).fit_transform(cells[:, 2:]).toarray(),
        ]
    )
    found = fitted["preprocessor"].transform(cells)
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)


def test_a_stack_has_a_member_for_the_other_columns(quick):
    assert list(quick["classifier"].named_estimators_)[-1] == "columns"
    transformer = quick["classifier"].named_estimators_["columns"]["preprocessor"]
    assert [name for name, _, _ in transformer.transformers] == ["categorical", "numeric"]
    text_only = recipes.make("quick", columns={"text": ["title"]})
    assert "columns" not in dict(text_only["classifier"].estimators)


@pytest.mark.parametrize(
    "name", ["svm", "nbsvm", "nb", "knn", "rf", "lazy_et", "adaboost", "logistic"]
)
def test_columns_improve_recipes_whose_texts_say_nothing(name):
    table, labels = TABLE.assign(title="it is", body="so"), LABELS
    new, expected = make_table(seed=1)
    model = recipes.make(name, columns=ROLES, random_state=0).fit(table, labels)
    assert (model.predict(new.assign(title="it is", body="so")) == expected).mean() > 0.7


@pytest.mark.parametrize("name", ["svm", "quick", "rf"])
def test_tables_without_texts(name):
    model = fit(name, {"categorical": ["kind"], "numeric": ["price"]})
    new, expected = make_table(seed=1)
    assert (model.predict(new) == expected).mean() > 0.75


def test_separate_texts_have_separate_vectorizers():
    model = fit("svm", text_views="separate")
    names = [name for name, _, _ in model["preprocessor"].transformers]
    assert names == ["vectorizer", "vectorizer_2", "categorical", "numeric"]
    swapped = TABLE.rename(columns={"title": "body", "body": "title"})
    assert not np.allclose(model.predict_proba(swapped), model.predict_proba(TABLE))


def test_parameters_of_the_vectorizer_have_their_usual_names():
    model = recipes.make("svm", columns=ROLES, min_df=2, vectorizer_params={"lowercase": False})
    vectorizer = model["preprocessor"].transformers[0][1]
    assert vectorizer.min_df == 2 and vectorizer.lowercase is False
    model = recipes.make("quick", columns=ROLES, nb__vectorizer__min_df=3, columns__n_estimators=7)
    members = dict(model["classifier"].estimators)
    assert members["nb"]["preprocessor"].transformers[0][1].min_df == 3
    assert members["columns"]["classifier"].n_estimators == 7


@pytest.mark.parametrize("convert", [pl.DataFrame, pa.Table.from_pandas, dict])
def test_predictions_do_not_depend_on_the_type_of_the_table(quick, convert):
    np.testing.assert_array_equal(
        quick.predict_proba(convert(TABLE[:5])), quick.predict_proba(TABLE[:5])
    )


def test_unseen_categories_and_numbers_out_of_range(quick):
    rows = {"title": ["soup"] * 3, "body": [None] * 3, "kind": ["frozen", 7, None],
            "price": [1e300, -1e300, None], "day": ["1500-01-01", None, "9999-12-31"]}  # fmt: skip
    proba = quick.predict_proba(rows)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_the_model_does_not_depend_on_the_number_of_threads(quick):
    parallel = fit(n_jobs=2)
    np.testing.assert_array_equal(parallel.predict_proba(TABLE), quick.predict_proba(TABLE))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"columns": "auto"}, "columns='auto' needs the samples; pass it to cordwood.train"),
        ({"columns": ROLES, "input": "numeric"}, "input='numeric' has no columns"),
        ({"columns": ROLES, "text_views": "both"}, "text_views must be 'joined' or 'separate'"),
        ({"columns": {"numeric": ["price"]}, "lexicon": {"soup": 1}}, "lexicon needs texts"),
    ],
)
def test_invalid_arguments_of_make(params, message):
    with pytest.raises(CordwoodError, match=message):
        recipes.make("quick", **params)


def test_recipes_of_texts_need_texts():
    with pytest.raises(CordwoodError, match="recipe 'lexicon' needs texts"):
        recipes.make("lexicon", columns={"numeric": ["price"]})


def test_train_predict_and_evaluate_a_dataframe():
    frame = TABLE.assign(label=LABELS)
    model = cordwood.train(frame, "label", recipe="svm")
    assert model["table"].columns_ == ColumnRoles(
        text=("title", "body"), categorical=("kind",), numeric=("price",), date=("day",)
    )
    new, expected = make_table(seed=1)
    found = cordwood.predict(model, new)
    assert found.labels.tolist() == model.predict(new).tolist()
    assert cordwood.evaluate(model, new, expected).micro_f1 > 0.8
    assert cordwood.evaluate(model, new.assign(y=expected), "y").micro_f1 > 0.8
    assert len(cordwood.predict(model, new[:0]).labels) == 0


def test_train_a_corpus_with_columns():
    corpus = Corpus(
        texts=TABLE["title"], ids=[str(i) for i in range(len(TABLE))], labels=LABELS,
        columns={"price": TABLE["price"], "kind": TABLE["kind"]},
    )  # fmt: skip
    columns = {"text": ["text"], "numeric": ["price"], "categorical": ["kind"]}
    model = cordwood.train(corpus, recipe="svm", columns=columns)
    proba = cordwood.predict(model, corpus).probabilities
    np.testing.assert_array_equal(
        model.predict_proba({"text": corpus.texts, **corpus.columns}), proba
    )
    texts_only = cordwood.train(corpus, recipe="svm")
    assert "table" not in texts_only.named_steps


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: cordwood.train(TABLE), TypeError, "give the column with the labels"),
        (lambda: cordwood.train(TABLE, "class"), DataError, 'no column "class" for the labels'),
        (lambda: cordwood.train(TABLE, LABELS[:3]), DataError, "labels has 3 entries for 60"),
        (
            lambda: cordwood.train(["a", "b"], ["x", "y"], columns=ROLES),
            TypeError,
            "columns requires a dataframe or a Corpus",
        ),
        (
            lambda: cordwood.train(TABLE.assign(price="cheap"), LABELS, columns=ROLES),
            DataError,
            "the column \"price\", row 0, is 'cheap', not a number",
        ),
    ],
)
def test_invalid_arguments_of_train(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_models_and_data_of_different_kinds(quick):
    with pytest.raises(DataError, match="trained on a table; it needs a dataframe.*title, body"):
        cordwood.predict(quick, ["soup"])
    texts = recipes.make("nb").fit(["soup", "tea"], ["food", "drink"])
    with pytest.raises(DataError, match="pass the column of texts as a list"):
        cordwood.predict(texts, TABLE)


def check_explanation(model, row):
    """Check all sums of an explanation against the predictions of the model."""
    [explanation] = explain(model, row)
    proba = model.predict_proba(row)[0]
    np.testing.assert_allclose(explanation.probabilities, proba, atol=1e-6)
    expected = logit(proba) if explanation.output == "log_odds" else proba
    np.testing.assert_allclose(explanation.values, expected, atol=1e-6)
    change = explanation.values - explanation.baseline
    members = sum(member.contributions for member in explanation.members)
    np.testing.assert_allclose(members, change, atol=1e-6)
    other = explanation.absent_contributions.sum(axis=0)
    other = other + explanation.column_contributions.sum(axis=0)
    words = explanation.word_contributions.sum(axis=0)
    np.testing.assert_allclose(words + other, change, atol=1e-6)
    for word, (start, end) in zip(explanation.words, explanation.spans, strict=True):
        assert explanation.text[start:end] == word
    return explanation


@pytest.mark.parametrize(
    "name", ["svm", "nbsvm", "nb", "knn", "rf", "boosted_et", "lazy_rf", "adaboost", "logistic"]
)
def test_contributions_of_words_and_columns_add_up(name):
    model = fit(name)
    for i in range(6):
        explanation = check_explanation(model, TABLE[i : i + 1])
        assert set(explanation.columns) <= {"kind", "price", "day"}


@pytest.mark.parametrize("text_views", ["joined", "separate"])
def test_contributions_add_up_in_a_stack(text_views):
    model = fit(text_views=text_views, lexicon={"soup": 1.0, "tea": -1.0})
    for i in range(4):
        explanation = check_explanation(model, TABLE[i : i + 1])
        located = any(explanation.word_contributions[:, 0])
        assert located or text_views == "separate"


@pytest.mark.parametrize("text_views", ["joined", "separate"])
def test_other_classifiers_are_explained_by_removing_words(text_views):
    model = recipes.make("lexicon", columns=ROLES, text_views=text_views)
    for _, encoder, _ in model["preprocessor"].transformers[: 1 + (text_views == "separate")]:
        encoder.lexicon = {"soup": 1.0, "tea": -1.0}
    model.fit(TABLE, LABELS)
    explanation = check_explanation(model, TABLE[:1].assign(title="soup", body="tea\nand soup"))
    assert not explanation.members[0].is_exact


def test_columns_are_named_with_their_values():
    row = pd.DataFrame(
        {"title": ["soup"], "body": [""], "kind": ["hot"], "price": [np.nan], "day": ["2024-05-11"]}
    )
    [explanation] = explain(fit("svm"), row)
    names = [name for name, _ in explanation.top_columns("food")]
    assert set(names) == {"kind = hot", "price = (missing)", "day = 2024-05-11"}
    assert dict(explanation.top_columns("food"))["kind = hot"] > 0
    assert "kind = hot" in str(explanation) and "kind = hot" in explanation._repr_html_()
    assert explanation.to_dict()["columns"][0]["column"] in ("kind", "price", "day")


def test_classes_of_a_table_have_no_words(quick):
    assert Explainer(quick).takes_table
    with pytest.raises(CordwoodError, match="explain rows of a table with explain"):
        explain_classes(quick)


@pytest.mark.parametrize("text_views", ["joined", "separate"])
def test_a_saved_stack_predicts_the_same(tmp_path, text_views):
    model = fit(text_views=text_views)
    loaded = cordwood.load(cordwood.save(model, tmp_path / "model", precision="full"))
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), model.predict_proba(TABLE))
    assert loaded["table"].columns_ == model["table"].columns_
    check_explanation(loaded, TABLE[:1])


def test_the_features_of_a_saved_model_have_the_same_names(tmp_path):
    model = fit("rf")
    loaded = cordwood.load(cordwood.save(model, tmp_path / "model"))
    names = [each[:-1].get_feature_names_out().tolist() for each in (model, loaded)]
    assert names[0] == names[1]
    assert clone(loaded["preprocessor"]).fit_transform(model["table"].transform(TABLE)).shape[1]


def test_columns_without_a_converter_are_not_saved(tmp_path):
    model = fit("svm")
    with pytest.raises(ModelFileError, match="make its first step a TableConverter"):
        cordwood.save(model[1:], tmp_path / "model")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["table"].set_params(categorical=["price"], numeric=["kind"]), "contradict"),
        (lambda m: setattr(m["table"], "columns_", ColumnRoles(text=("title",))), "returns 1"),
        (
            lambda m: m["preprocessor"].transformers_[1][1].categories_[0][::-1].sort(),
            "categories_ must be sorted",
        ),
        (
            lambda m: m["preprocessor"].transformers_[2][1].quantiles_[::-1].sort(axis=0),
            "quantiles_ are not sorted",
        ),
        (
            lambda m: setattr(
                m["preprocessor"].transformers_[2][1], "missing_features_", np.array([99])
            ),
            "missing_features_ are not sorted features",
        ),
        (
            lambda m: m["preprocessor"].set_params(remainder="passthrough"),
            "remainder is not 'drop'",
        ),
        (
            lambda m: m["preprocessor"].transformers_[1][1].set_params(handle_unknown="error"),
            "handle_unknown is not 'ignore'",
        ),
    ],
)
def test_invalid_models_are_not_saved(tmp_path, change, message):
    model = fit("svm")
    change(model)
    with pytest.raises(ModelFileError, match=message):
        cordwood.save(model, tmp_path / "model")


def test_kinds_of_columns_are_checked(tmp_path):
    model = fit("svm")
    swapped = TableConverter(text=["title", "body"], numeric=["price", "kind"], date=["day"])
    model.steps[0] = ("table", swapped.fit(TABLE))
    with pytest.raises(ModelFileError, match="takes other kinds of columns"):
        cordwood.save(model, tmp_path / "model")
