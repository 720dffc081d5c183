"""Engines call a `BatchPredictor` and return the predictions of this process, row by row.

Those of the dependency group `engines` take hundreds of megabytes; without them, their tests are
skipped.
"""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from cordwood import BatchPredictor, TextClassifier
from matrix import LABELS, LISTS, TEXTS

N_PARTS, N_SAMPLES = 3, 700
# Warnings of the engines about pandas, and about files and sockets that they leave open.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
WAYS = {
    "one label": (LABELS, {"all_probabilities": True, "min_confidence": 0.6}),
    "several": (LISTS, {}),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    rng = np.random.default_rng(0)
    for part in range(N_PARTS):
        texts = rng.choice([*TEXTS, "soup", "", "ein Tor"], N_SAMPLES).tolist()
        texts[5] = None
        keys = range(part * N_SAMPLES, (part + 1) * N_SAMPLES)
        table = pa.table({"key": list(keys), "text": texts})
        pa.parquet.write_table(table, folder / f"{part}.parquet")
    return [str(folder / f"{part}.parquet") for part in range(N_PARTS)]


@pytest.fixture(scope="module", params=WAYS)
def predictor(request, tmp_path_factory):
    labels, params = WAYS[request.param]
    path = tmp_path_factory.mktemp("model") / "model.cordwood"
    TextClassifier("svm").fit(TEXTS, labels).save(path)
    return BatchPredictor(path, **params)


@pytest.fixture(scope="module")
def check(files, predictor):
    """Return a function that compares a dataframe of an engine with local predictions."""
    table = pa.concat_tables([pa.parquet.read_table(file) for file in files])
    expected = predictor(table).drop_columns("text").to_pylist()
    assert sum(row["label"] is None for row in expected) == N_PARTS

    def compare(frame):
        columns = [name for name in expected[0] if name in frame.columns]
        assert {"key", "label", "probability"} <= set(columns)
        rows = frame[columns].sort_values("key").to_dict("records")
        found = [{name: to_plain(value) for name, value in row.items()} for row in rows]
        assert found == [{name: row[name] for name in columns} for row in expected]

    return compare


def to_plain(value):
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if not isinstance(value, list) and pd.isna(value) else value


EMPTY = pa.table({"text": pa.array([], pa.string())})


def test_dask(files, predictor, check):
    dask_frame = pytest.importorskip("dask.dataframe", reason="dask[dataframe] is not installed")
    frame = dask_frame.read_parquet(files)
    result = frame.map_partitions(predictor, meta=predictor(frame.head(0)))
    assert result.npartitions == N_PARTS
    check(result.compute(scheduler="threads"))
    check(frame.map_partitions(predictor).compute(scheduler="sync"))


def test_polars(files, predictor, check):
    pl = pytest.importorskip("polars")
    lazy = pl.scan_parquet(files)
    result = lazy.map_batches(predictor, schema=predictor(lazy.head(0).collect()).schema)
    check(result.collect().to_pandas())
    dtype = predictor(pl.Series([], dtype=pl.String)).dtype
    texts = pl.col("text").map_batches(predictor, return_dtype=dtype, is_elementwise=True)
    result = lazy.with_columns(texts.alias("prediction")).unnest("prediction")
    check(result.collect().to_pandas())
    check(result.collect(engine="streaming").to_pandas())


def test_duckdb(files, predictor, check):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as connection:
        schema = connection.from_arrow(predictor(EMPTY).drop_columns("text"))
        struct = duckdb.struct_type(dict(zip(schema.columns, schema.types, strict=True)))
        connection.create_function("classify", predictor, ["VARCHAR"], struct, type="arrow")
        parts = f"read_parquet({files})"
        result = connection.sql(f"SELECT key, unnest(classify(text)) FROM {parts}")
        check(result.df())


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray", reason="ray is not installed; it is in the group engines")
    # Ray imports it in several threads at once, of which one may see half of it.
    pytest.importorskip("fsspec.implementations.http", reason="ray[data] is not installed")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("batch_format", ["numpy", "pandas", "pyarrow"])
def test_ray(ray, files, predictor, check, batch_format):
    data = ray.data.read_parquet(files)
    result = data.map_batches(predictor, batch_format=batch_format, batch_size=500)
    check(result.to_pandas())


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip(
        "pyspark.sql", reason="pyspark is not installed; it is in the group engines"
    )
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
    }
    builder = sql.SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def test_spark_map_in_pandas(spark, files, predictor, check):
    frame = spark.read.parquet(*files)
    schema = spark.createDataFrame(predictor(frame.limit(0).toArrow())).schema
    check(frame.mapInPandas(lambda batches: map(predictor, batches), schema).toPandas())


def test_spark_pandas_udf(spark, files, predictor, check):
    functions = pytest.importorskip("pyspark.sql.functions")
    schema = spark.createDataFrame(predictor(EMPTY)).drop("text").schema

    @functions.pandas_udf(schema)
    def classify(texts: pd.Series) -> pd.DataFrame:
        return predictor(texts)

    frame = spark.read.parquet(*files).withColumn("prediction", classify("text"))
    check(frame.select("key", "prediction.*").toPandas())
