"""Models of tables: training, prediction, explanation and storage."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import logit
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import cordwood
from cordwood import Corpus, TextClassifier, recipes
from cordwood._view import view_model
from cordwood.columns import ColumnRoles
from cordwood.columns.converter import TableConverter
from cordwood.columns.numeric import NumericEncoder
from cordwood.exceptions import CordwoodError, DataError, ModelFileError
from cordwood.explain.explainer import Explainer
from cordwood.text.vectorizer import TextVectorizer

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
        ({"columns": "auto"}, "columns='auto' needs the samples; pass it to TextClassifier"),
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


def test_a_dataframe():
    frame = TABLE.assign(label=LABELS)
    model = TextClassifier("svm").fit(frame, "label")
    assert model.columns_ == ColumnRoles(
        text=("title", "body"), categorical=("kind",), numeric=("price",), date=("day",)
    )
    assert model.columns_ == model.estimator_["table"].columns_
    assert model.input_kind_ == "table"
    new, expected = make_table(seed=1)
    assert model.predict(new).tolist() == model.estimator_.predict(new).tolist()
    assert model.evaluate(new, expected).accuracy > 0.8
    assert model.evaluate(new.assign(y=expected), "y").accuracy > 0.8
    assert model.score(new, expected) == model.evaluate(new, expected).accuracy
    assert len(model.classify(new[:0])) == 0


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas, dict])
@pytest.mark.parametrize("columns", [ROLES, ColumnRoles(**ROLES), None])
def test_models_do_not_depend_on_the_type_of_the_table(convert, columns):
    """Also the roles of columns are recognized in all of them."""
    expected = TextClassifier("nb", columns=ROLES).fit(TABLE, LABELS)
    model = TextClassifier("nb", columns=columns).fit(convert(TABLE), LABELS)
    assert model.columns_ == expected.columns_
    np.testing.assert_array_equal(
        model.predict_proba(convert(TABLE)), expected.predict_proba(TABLE)
    )
    assert model.score(convert(TABLE), LABELS) == expected.score(TABLE, LABELS)


def test_a_corpus_with_columns():
    corpus = Corpus(
        texts=TABLE["title"], ids=[str(i) for i in range(len(TABLE))], labels=LABELS,
        columns={"price": TABLE["price"], "kind": TABLE["kind"]},
    )  # fmt: skip
    columns = {"text": ["text"], "numeric": ["price"], "categorical": ["kind"]}
    model = TextClassifier("svm", columns=columns).fit(corpus)
    np.testing.assert_array_equal(
        model.predict_proba({"text": corpus.texts, **corpus.columns}), model.predict_proba(corpus)
    )
    assert TextClassifier("svm").fit(corpus).input_kind_ == "text"


def test_several_labels_of_a_table():
    lists = [[label, "hot"] if label == "food" else [label] for label in LABELS]
    model = TextClassifier("svm", columns=ROLES).fit(TABLE, lists)
    assert model.classes_.tolist() == ["drink", "food", "hot"]
    assert model.evaluate(TABLE, lists).scores["micro_f1"] > 0.9


def test_pipelines_of_the_user_take_tables_as_they_are():
    """A ColumnTransformer selects the columns by their names."""
    words = TextVectorizer(min_df=1)
    transformer = ColumnTransformer([("t", words, "title"), ("n", "passthrough", ["price"])])
    pipeline = make_pipeline(transformer, LogisticRegression())
    frame = TABLE.assign(price=TABLE["price"].fillna(0.0))
    model = TextClassifier(pipeline, oof=True).fit(frame, LABELS)
    assert model.input_kind_ == "table"
    assert model.columns_ is None
    expected = clone(pipeline).fit(frame, LABELS).predict_proba(frame)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    oof = cross_val_predict(pipeline, frame, LABELS, cv=folds, method="predict_proba")
    np.testing.assert_allclose(model.oof_.proba, oof)
    assert model.score(frame, LABELS) == model.evaluate(frame, LABELS).accuracy
    assert model.predict(frame[:0]).tolist() == []
    assert model.classify(frame, unknown=0.05).is_in_scope.mean() > 0.8
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(DataError, match="the estimator selects columns of a table by itself"):
        model.explain(frame)


def test_a_pipeline_of_a_recipe_for_tables_is_an_estimator_as_any():
    recipe = TextClassifier("knn", columns=ROLES, calibrate=False, oof=True).fit(TABLE, LABELS)
    pipeline = recipes.make("knn", columns=ROLES, random_state=0)
    model = TextClassifier(pipeline, oof=True).fit(TABLE, LABELS)
    np.testing.assert_array_equal(model.predict_proba(TABLE), recipe.predict_proba(TABLE))
    np.testing.assert_array_equal(model.oof_.proba, recipe.oof_.proba)
    np.testing.assert_array_equal(model.scope_.scores, recipe.scope_.scores)
    found = [each.classify(TABLE, unknown=0.1).is_in_scope for each in (model, recipe)]
    np.testing.assert_array_equal(*found)
    assert str(model.explain(TABLE[:1])[0]) == str(recipe.explain(TABLE[:1])[0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: TextClassifier().fit(TABLE), ValueError, "or the column with the labels"),
        (lambda: TextClassifier().fit(TABLE, "class"), DataError, 'no column "class" for the lab'),
        (
            lambda: TextClassifier().fit(TABLE, LABELS[:3]),
            DataError,
            "y has 3 entries for 60 samples",
        ),
        (
            lambda: TextClassifier(columns=ROLES).fit(["a", "b"], ["x", "y"]),
            TypeError,
            "columns requires a dataframe or a Corpus",
        ),
        (
            lambda: TextClassifier(columns=ROLES).fit(TABLE.assign(price="cheap"), LABELS),
            DataError,
            "the column \"price\", row 0, is 'cheap', not a number",
        ),
    ],
)
def test_invalid_arguments_of_fit(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_models_and_data_of_different_kinds():
    model = TextClassifier("nb", columns=ROLES).fit(TABLE, LABELS)
    with pytest.raises(DataError, match="trained on a table; it needs a dataframe.*title, body"):
        model.predict(["soup"])
    texts = TextClassifier("nb").fit(["soup", "tea"], ["food", "drink"])
    with pytest.raises(DataError, match="pass the column of texts as a list"):
        texts.predict(TABLE)


def check_explanation(model, row):
    """Check all sums of an explanation against the predictions of the model."""
    [explanation] = Explainer(view_model(model)).explain_each(row)
    proba = model.predict_proba(row)[0]
    np.testing.assert_allclose(explanation.proba, proba, atol=1e-6)
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
    [explanation] = Explainer(view_model(fit("svm"))).explain_each(row)
    names = [name for name, _ in explanation.top_columns("food")]
    assert set(names) == {"kind = hot", "price = (missing)", "day = 2024-05-11"}
    assert dict(explanation.top_columns("food"))["kind = hot"] > 0
    assert "kind = hot" in str(explanation) and "kind = hot" in explanation._repr_html_()
    assert explanation.to_dict()["columns"][0]["column"] in ("kind", "price", "day")


def test_classes_of_a_table_have_no_words():
    model = TextClassifier("nb", columns=ROLES).fit(TABLE, LABELS)
    assert model.make_explainer().takes_table
    assert len(model.explain(TABLE[:2])) == 2
    with pytest.raises(CordwoodError, match="explain rows of a table with explain"):
        model.explain_classes()


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
