"""Protocols, by the clients that people use; those that are large are skipped if not installed."""

import importlib.util
import json
import struct

import numpy as np
import pytest

from cordwood.serve.protocols.open_inference import HEADER
from matrix import TABLE, TEXTS

pytestmark = [
    # Sockets that clients leave to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

TWO = TEXTS[:2]
CONFIG = """
<View><Text name="body" value="$body"/>
<Choices name="topic" toName="body"><Choice value="food"/></Choices></View>
"""


def need(module):
    # The parent package must be there, too.
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"needs {module}, of the dependency group protocols")
    return pytest.importorskip(module)


@pytest.fixture
def expected(models):
    return models["reviews"].predict(TWO).tolist()


@pytest.fixture
def proba(models):
    return models["reviews"].predict_proba(TWO)


def test_mlflow_client(client, models, samples, expected):
    scoring = need("mlflow.pyfunc.scoring_server.client")
    pd = need("pandas")
    mlflow = scoring.ScoringServerClient("127.0.0.1", client.port)
    mlflow.wait_server_ready(timeout=10)
    assert mlflow.invoke(TWO).get_predictions()[0].tolist() == expected
    frame = pd.DataFrame({"text": TWO})
    assert mlflow.invoke(frame).get_predictions()[0].tolist() == expected
    found = mlflow.invoke(frame, params={"probabilities": True}).get_predictions()
    assert found["label"].tolist() == expected and (found["score"] > 0.3).all()


SHAPES = [
    {"dataframe_split": {"columns": ["text"], "data": [[text] for text in TWO], "index": [0, 1]}},
    {"dataframe_records": [{"text": text} for text in TWO]},
    {"inputs": TWO},
    {"inputs": {"text": TWO}},
    {"instances": TWO},
    {"instances": [{"text": text} for text in TWO]},
    {"inputs": [[text] for text in TWO]},
]


@pytest.mark.parametrize("body", SHAPES)
def test_shapes_of_mlflow(client, expected, body):
    assert client.post("/invocations", body) == (200, {"predictions": expected})


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"inputs": TWO, "instances": TWO}, 400),
        ({"messages": []}, 422),
        ({"dataframe_split": {"columns": ["text"], "data": [[]]}}, 422),
        ({"inputs": {"text": TWO, "b": []}}, 422),
        ({"inputs": TWO, "params": {"x": 1}}, 422),
        ({"dataframe_records": [{"a": "x", "b": "y"}]}, 422),
    ],
)
def test_errors_of_mlflow(client, body, status):
    found_status, found = client.post("/invocations", body)
    assert found_status == status
    assert found.keys() == {"error_code", "message"} and found["error_code"] == "BAD_REQUEST"


def test_csv_of_mlflow(client, models):
    body = "kind,body,price\n" + "".join(
        f"{TABLE['kind'][i]},{TABLE['body'][i]},{TABLE['price'][i]}\n" for i in range(5)
    )
    headers = {"content-type": "text/csv; charset=utf-8"}
    response = client.request("POST", "/models/table/invocations", body, headers)
    rows = {name: values[:5] for name, values in TABLE.items()}
    assert json.loads(response.body)["predictions"] == models["table"].predict(rows).tolist()
    assert client.request("POST", "/invocations", b"a\n\xff", headers).status == 400
    assert client.request("POST", "/invocations", "a\n", {"content-type": "x/y"}).status == 415


def test_top_k_of_mlflow(client, expected):
    found = client.post("/invocations", {"inputs": TWO, "params": {"top_k": 2}})[1]["predictions"]
    assert [[each["label"] for each in row][0] for row in found] == expected
    assert [len(row) for row in found] == [2, 2]


@pytest.mark.parametrize("is_binary", [True, False])
@pytest.mark.parametrize("shape", [[2], [2, 1]])
def test_triton_client(client, expected, proba, is_binary, shape):
    triton = need("tritonclient.http")
    connection = triton.InferenceServerClient(f"127.0.0.1:{client.port}")
    try:
        assert connection.is_server_live() and connection.is_server_ready()
        assert connection.is_model_ready("reviews")
        assert connection.get_server_metadata()["name"] == "cordwood"
        assert connection.get_model_metadata("reviews")["inputs"][0]["name"] == "text"
        assert connection.get_model_repository_index()[0]["state"] == "READY"
        texts = triton.InferInput("text", shape, "BYTES")
        values = np.array(TWO, dtype=object).reshape(shape)
        texts.set_data_from_numpy(values, binary_data=is_binary)
        found = connection.infer("reviews", [texts], request_id="7")
        assert [each.decode() for each in found.as_numpy("label")] == expected
        np.testing.assert_array_equal(found.as_numpy("probability"), proba)
        assert found.get_response()["id"] == "7"
        outputs = [
            triton.InferRequestedOutput("label", binary_data=False),
            triton.InferRequestedOutput("probability", binary_data=is_binary, class_count=2),
        ]
        for compression in ("gzip", "deflate"):
            found = connection.infer(
                "reviews",
                [texts],
                outputs=outputs,
                request_compression_algorithm=compression,
            )
            top = found.as_numpy("probability")
            first = top[0][0] if isinstance(top[0][0], str) else top[0][0].decode()
            score, index, label = first.split(":")
            assert label == expected[0] and float(score) == pytest.approx(proba[0].max(), abs=1e-6)
        with pytest.raises(triton.InferenceServerException, match="there is no model 'x'"):
            connection.infer("x", [texts])
    finally:
        connection.close()


def test_triton_client_with_a_table(client, models):
    triton = need("tritonclient.http")
    connection = triton.InferenceServerClient(f"127.0.0.1:{client.port}")
    inputs = []
    for name, datatype, dtype in (
        ("body", "BYTES", object),
        ("price", "FP64", np.float64),
        ("kind", "BYTES", object),
    ):
        inputs.append(triton.InferInput(name, [4], datatype))
        inputs[-1].set_data_from_numpy(np.array(TABLE[name][:4], dtype))
    found = connection.infer("table", inputs).as_numpy("label")
    connection.close()
    expected = models["table"].predict({name: values[:4] for name, values in TABLE.items()})
    assert [each.decode() for each in found] == expected.tolist()


def test_open_inference_without_a_client(client, expected, proba):
    packed = b"".join(struct.pack("<I", len(text)) + text.encode() for text in TWO)
    tensor = {
        "name": "text",
        "shape": [2],
        "datatype": "BYTES",
        "parameters": {"binary_data_size": len(packed)},
    }
    start = json.dumps({"inputs": [tensor], "outputs": [{"name": "label"}]}).encode()
    response = client.request(
        "POST", "/v2/models/reviews/infer", start + packed, {HEADER: str(len(start))}
    )
    (output,) = json.loads(response.body)["outputs"]
    assert output["data"] == expected and output["shape"] == [2]
    tensor = {"name": "text", "shape": [2], "datatype": "BYTES", "data": TWO}
    status, found = client.post("/v2/models/reviews/versions/1/infer", {"inputs": [tensor]})
    assert status == 200
    np.testing.assert_array_equal(found["outputs"][1]["data"], proba.ravel())


def test_numbers_by_open_inference(client, models, samples):
    X = np.array(samples["numbers"])
    tensor = {"name": "x", "shape": list(X.shape), "datatype": "FP64", "data": X.tolist()}
    found = client.post("/v2/models/numbers/infer", {"inputs": [tensor]})[1]
    assert found["outputs"][0]["data"] == models["numbers"].predict(X).tolist()


@pytest.mark.parametrize(
    ("change", "length", "sentence"),
    [
        ({"shape": [3]}, None, "has 2 values, but its shape 3"),
        ({"shape": [-1]}, None, "must be of at most"),
        ({"datatype": "X"}, None, "no datatype of the protocol"),
        ({"datatype": "FP32"}, None, "a value that is not of its datatype"),
        ({"data": None}, None, "needs data, or a binary_data_size"),
        ({"data": None, "parameters": {"binary_data_size": 10**9}}, None, "within the body"),
        ({"data": None, "parameters": {"binary_data_size": -1}}, None, "within the body"),
        ({}, "99999", "up to the length of the body"),
        ({}, "-1", "up to the length of the body"),
        ({}, "5", "not valid JSON"),
    ],
)
def test_false_tensors(client, change, length, sentence):
    tensor = {"name": "text", "shape": [2], "datatype": "BYTES", "data": TWO, **change}
    headers = {} if length is None else {HEADER: length}
    response = client.request(
        "POST", "/v2/models/reviews/infer", json.dumps({"inputs": [tensor]}), headers
    )
    assert 400 <= response.status < 500
    assert sentence in json.loads(response.body)["error"]


def test_kserve_v1(client, expected, samples):
    assert client.post("/v1/models/reviews:predict", {"instances": TWO}) == (
        200,
        {"predictions": expected},
    )
    status, found = client.post("/v1/models/reviews:explain", {"instances": TWO})
    assert status == 200 and [each["prediction"] for each in found["explanations"]] == expected
    assert json.loads(client.get("/v1/models/reviews").body) == {"name": "reviews", "ready": True}
    assert json.loads(client.get("/v1/models").body)["models"][0] == "reviews"


def test_hugging_face_client(client, expected, proba):
    hub = need("huggingface_hub")
    for address in (client.address, f"{client.address}/models/reviews"):
        inference = hub.InferenceClient(model=address)
        found = inference.text_classification(TWO[0])
        assert found[0].label == expected[0]
        assert found[0].score == pytest.approx(proba[0].max())
        assert len(inference.text_classification(TWO[0], top_k=2)) == 2


def test_inference_endpoint(client, expected):
    status, found = client.post("/", {"inputs": TWO, "parameters": None})
    assert status == 200 and [row[0]["label"] for row in found] == expected
    status, found = client.post("/", {"inputs": "a", "parameters": {"candidate_labels": ["a"]}})
    assert status == 422 and "candidate_labels" in found["error"]


def test_text_embeddings_inference(client, expected):
    status, found = client.post("/predict", {"inputs": TWO[0], "truncate": False})
    assert status == 200 and found[0]["label"] == expected[0]
    found = client.post("/predict", {"inputs": [[text] for text in TWO]})[1]
    assert [row[0]["label"] for row in found] == expected
    status, found = client.post("/predict", {"inputs": TWO})  # one pair
    assert status == 422 and found["error_type"] == "validation"
    assert client.get("/info").status == 200


def test_label_studio(client, models, expected, proba):
    setup = {"project": "1.2", "schema": CONFIG, "hostname": "", "access_token": ""}
    status, found = client.post("/setup", setup)
    version = found["model_version"]
    assert status == 200 and version.startswith("reviews-")
    tasks = [{"id": i, "data": {"body": text, "x": 1}} for i, text in enumerate(TWO)]
    body = {"tasks": tasks, "project": "1.2", "label_config": CONFIG, "params": {"context": None}}
    status, found = client.post("/predict", body)
    assert status == 200
    assert [each["score"] for each in found["results"]] == proba.max(axis=1).tolist()
    assert found["results"][0] == {
        "result": [
            {
                "from_name": "topic",
                "to_name": "body",
                "type": "choices",
                "value": {"choices": [expected[0]]},
            }
        ],
        "score": proba[0].max(),
        "model_version": version,
    }
    assert client.post("/webhook", {"action": "START_TRAINING"})[0] == 200
    assert client.post("/validate", {"config": CONFIG})[0] == 200
    for config in ("<View/>", "<View>", '<!DOCTYPE a [<!ENTITY b "c">]><View/>'):
        assert client.post("/validate", {"config": config})[0] == 422
    assert json.loads(client.get("/versions").body) == {"versions": [version]}
    # Several labels.
    found = client.post(
        "/models/topics/predict",
        {**body, "label_config": None, "tasks": [{"data": {"text": text}} for text in TWO]},
    )[1]["results"]
    labels = models["topics"].predict(TWO)
    choices = [each["result"][0]["value"]["choices"] for each in found if each["result"]]
    assert choices == [list(each) for each in labels if each]
