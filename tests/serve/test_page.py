"""The page in a browser: a text, a file, keyboard, themes, accessibility."""

import csv
import io

import pytest

from browser import (
    MARKS,
    check_accessibility,
    get,
    overflow,
    reset_screen,
    save_picture,
    set_screen,
    shown,
    wait_for,
)
from cordwood import TextClassifier
from matrix import LABELS, TEXTS

webdriver = pytest.importorskip("selenium.webdriver")
Select = pytest.importorskip("selenium.webdriver.support.ui").Select

pytestmark = MARKS


@pytest.fixture
def page(driver, client):
    driver.get(client.address)
    wait_for(driver, lambda: driver.find_elements("css selector", "#model option"))
    yield driver
    errors = [entry for entry in driver.get_log("browser") if "favicon" not in entry["message"]]
    assert not [entry for entry in errors if "Content Security" in entry["message"]], errors


def classify(driver, text):
    field = get(driver, "#field-0")
    field.clear()
    field.send_keys(text)
    get(driver, "#single-form button").click()
    return shown(driver, "#explanation")


def test_text_is_classified_and_explained(page, models):
    text = "soup <b>bread</b> 😀 goal today"
    field = get(page, "#field-0")
    page.execute_script("arguments[0].value = arguments[1]", field, text)
    get(page, "#single-form button").click()
    shown(page, "#explanation")
    label = models["reviews"].predict([text])[0]
    assert get(page, "#summary").text.startswith(f"{label}, ")
    assert get(page, "#marked").text == text
    assert not page.find_elements("css selector", "#marked b")
    assert "soup" in [each.text for each in page.find_elements("css selector", "mark.for")]
    assert len(page.find_elements("css selector", "#neighbors tbody tr")) == 5
    check_accessibility(page)
    Select(get(page, "#versus")).select_by_value("sport")
    wait_for(page, lambda: "rather than sport" in get(page, "#legend").text)
    (expected,) = models["reviews"].explain([text])
    columns = [expected.class_index(each) for each in (label, "sport")]
    values = expected.word_contributions[:, columns[0]] - expected.word_contributions[:, columns[1]]
    cells = get(page, "#words tbody tr td:nth-child(2)").text.replace("−", "-")
    assert float(cells) == pytest.approx(max(values, key=abs), abs=1e-3)


def test_keyboard_alone(page):
    body = get(page, "#field-0")
    body.send_keys("soup bread", webdriver.Keys.CONTROL, webdriver.Keys.ENTER)
    shown(page, "#explanation")
    # From the text by Tab to the button.
    body.send_keys(webdriver.Keys.TAB)
    assert page.switch_to.active_element.text == "Classify"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_every_size_and_theme(page, theme, width):
    set_screen(page, width=width, theme=theme)
    try:
        classify(page, "The soup and the bread were great, but the team lost the match again.")
        assert overflow(page) <= 0
        check_accessibility(page)
        save_picture(page, f"page-{theme}-{width}")
    finally:
        reset_screen(page)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_file_round_trip(page, models, tmp_path, kind):
    texts = [*TEXTS[:88], "=cmd()", 'line\nbreak, "quoted"', ""] * 3
    path = tmp_path / f"new-{kind}.{kind}"
    rows = [("id", "body", "label"), *((i, text, "x") for i, text in enumerate(texts))]
    if kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    else:
        book = pytest.importorskip("openpyxl").Workbook()
        for row in rows:
            # A formula would be evaluated.
            book.active.append([f"'{each}" if each == "=cmd()" else each for each in row])
        book.save(path)
    get(page, "#chosen").send_keys(str(path))
    shown(page, "#preview")
    assert get(page, "#column").get_attribute("value") == "body"
    assert len(page.find_elements("css selector", "#preview tbody tr")) == 5
    check_accessibility(page)
    Select(get(page, "#max-error")).select_by_value("0.2")
    get(page, "#file-form button").click()
    shown(page, "#file-result")
    check_accessibility(page)
    get(page, "#download").click()
    target = page.downloads / f"new-{kind}-labels.csv"
    wait_for(page, target.exists)
    found = list(csv.DictReader(io.StringIO(target.read_text(encoding="utf-8-sig"), newline="")))
    assert len(found) == len(texts)
    given = ["'=cmd()" if text == "=cmd()" and kind == "xlsx" else text for text in texts]
    expected = models["reviews"].classify(given, max_error=0.2)
    assert [row["predicted_label"] for row in found] == expected.decided_labels()
    assert [float(row["probability"]) for row in found] == pytest.approx(
        expected.confidence.tolist(), abs=1e-6
    )
    assert [row["body"] for row in found][88] == "'=cmd()"
    undecided = (~expected.is_decided).sum()
    assert (f"{undecided} of them undecided" in get(page, "#file-summary").text) == (undecided > 0)


def test_problem_of_a_file(page, tmp_path):
    path = tmp_path / "broken.xlsx"
    path.write_bytes(b"no workbook")
    get(page, "#chosen").send_keys(str(path))
    assert "the file" in shown(page, "#problem").text


def test_row_of_a_table(page, models):
    Select(get(page, "#model")).select_by_value("table")
    for name, value in (("body", "soup bread"), ("price", "20"), ("kind", "soup")):
        get(page, f"[name={name}]").send_keys(value)
    get(page, "#single-form button").click()
    shown(page, "#explanation")
    expected = models["table"].predict({"body": ["soup bread"], "price": [20], "kind": ["soup"]})
    assert get(page, "#summary").text.startswith(expected[0])


def test_token_is_required(driver, serve, files):
    with serve([files["reviews"]], token="a token of the tests") as client:
        driver.get(client.address)
        shown(driver, "#token").send_keys("a token of the tests", webdriver.Keys.ENTER)
        wait_for(driver, lambda: driver.find_elements("css selector", "#model option"))
        classify(driver, "soup")
        check_accessibility(driver)
        assert driver.get_cookies() == []


def test_labels_are_never_html(driver, serve, tmp_path):
    labels = ["<img src=x onerror=alert(1)>" if label == "food" else label for label in LABELS]
    model = TextClassifier("svm", oof=True).fit(TEXTS, labels)
    model.save(tmp_path / "html.cordwood")
    with serve([tmp_path / "html.cordwood"]) as client:
        driver.get(client.address)
        wait_for(driver, lambda: driver.find_elements("css selector", "#model option"))
        classify(driver, "soup bread")
        assert "<img src=x" in get(driver, "#summary").text
        assert not driver.find_elements("css selector", "main img")


def test_report_opens(page):
    page.get(get(page, "#report").get_attribute("href"))
    wait_for(page, lambda: page.find_elements("css selector", "h1"))
    assert not [e for e in page.get_log("browser") if "Refused" in e["message"]]
