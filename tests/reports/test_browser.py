"""Reports in a browser: sections, sorting, filters, themes, print; nothing leaves the page."""

import base64
import json
import os
import shutil
import warnings

import pytest

import report_data as data
from cordwood import Corpus, TextClassifier
from cordwood.compare import comparison_report
from cordwood.explain.html import render_page
from cordwood.reports import dataset_report

webdriver = pytest.importorskip("selenium.webdriver")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
BROWSER = os.environ.get("CORDWOOD_BROWSER") or shutil.which("chromium")
DRIVER = os.environ.get("CORDWOOD_WEBDRIVER") or shutil.which("chromedriver")

pytestmark = [
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="needs chromium and chromedriver in the PATH"
    ),
    # Sockets that selenium leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SECTIONS = {
    "dataset": ["overview", "findings", "classes", "lengths", "languages", "examples"],
    "comparison": [
        "overview",
        "scores",
        "intervals",
        "ranks",
        "time",
        "curves",
        "method",
    ],
    "model": [
        "overview",
        "next",
        "classes",
        "confusion",
        "confidence",
        "labels",
        "explained",
        "words",
        "members",
        "data",
        "card",
    ],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    corpus = data.make_corpus(120, noise=0.2)
    comparison, curves = data.make_comparison(n_learners=14)
    model = TextClassifier(encoder=None).fit(corpus)
    reports = {
        "dataset": dataset_report(corpus, name=data.MARKUP),
        "comparison": comparison_report(comparison, curves, name=data.MARKUP),
        "model": model.report(X=corpus, name=data.MARKUP),
    }
    for name, report in reports.items():
        report.save(folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in reports}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in FLAGS:
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        driver.quit()


def open_page(browser, address, *, width=1280, theme="light", script=True):
    run = browser.execute_cdp_cmd
    run("Emulation.setScriptExecutionDisabled", {"value": not script})
    features = [{"name": "prefers-color-scheme", "value": theme}]
    run("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    run("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(address)


def list_requests(browser):
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("kind", SECTIONS)
def test_every_section_is_shown_without_errors_or_requests(browser, pages, kind):
    open_page(browser, pages[kind])
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('main > section'))"
        ".filter(s => s.offsetHeight > 0).map(s => s.id)"
    )
    assert shown == SECTIONS[kind]
    assert browser.get_log("browser") == []
    assert set(list_requests(browser)) == {pages[kind]}


@pytest.mark.parametrize("kind", SECTIONS)
@pytest.mark.parametrize("width", [390, 800, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_page_fits_the_width_and_has_contrast(browser, pages, kind, width, theme):
    open_page(browser, pages[kind], width=width, theme=theme)
    overflow = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0
    colors = browser.execute_script(
        "const luminance = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => {"
        "  x /= 255; return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });"
        "  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };"
        "const ground = luminance(getComputedStyle(document.body).backgroundColor);"
        "const texts = 'p, td, th, a, .note, figcaption, dt';"
        "const find = css => Array.from(document.querySelectorAll(css))"
        "  .map(e => getComputedStyle(e));"
        "return [...find(texts).map(s => s.color), ...find('svg text').map(s => s.fill)]"
        "  .map(luminance)"
        "  .map(c => (Math.max(c, ground) + 0.05) / (Math.min(c, ground) + 0.05))"
    )
    # The minimum of the Web Content Accessibility Guidelines, level AA.
    assert min(colors) >= 4.5


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colored_entries_have_contrast(browser, pages, theme):
    open_page(browser, pages["model"], theme=theme)
    contrasts = browser.execute_script(
        "const parse = c => c.match(/[0-9.]+/g).map(Number);"
        "const linear = x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;"
        "const luminance = v => 0.2126 * linear(v[0] / 255) + 0.7152 * linear(v[1] / 255)"
        "  + 0.0722 * linear(v[2] / 255);"
        "const ground = parse(getComputedStyle(document.body).backgroundColor);"
        "return Array.from(document.querySelectorAll('.heat td, mark')).map(e => {"
        "  const style = getComputedStyle(e);"
        "  const [r, g, b, a = 1] = parse(style.backgroundColor);"
        "  const back = luminance([r, g, b].map((x, i) => a * x + (1 - a) * ground[i]));"
        "  const text = luminance(parse(style.color));"
        "  return (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);"
        "})"
    )
    assert len(contrasts) > 20
    assert min(contrasts) >= 4.5


@pytest.mark.parametrize("kind", SECTIONS)
def test_screen_readers_have_headings_labels_and_table_headers(browser, pages, kind):
    open_page(browser, pages[kind])
    levels = browser.execute_script(
        "return Array.from(document.querySelectorAll('h1, h2, h3, h4, h5, h6'))"
        ".map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(second <= first + 1 for first, second in zip(levels[:-1], levels[1:], strict=True))
    unlabelled = browser.execute_script(
        "return ["
        "  ...document.querySelectorAll('svg:not([role=img][aria-label])'),"
        "  ...document.querySelectorAll('table:not([aria-label]), th:not([scope])'),"
        "  ...Array.from(document.querySelectorAll('tbody tr'))"
        "    .filter(r => !r.querySelector('th[scope=row]')),"
        "  ...Array.from(document.querySelectorAll('input')).filter(i => !i.closest('label')),"
        "].map(e => e.outerHTML)"
    )
    assert unlabelled == []
    assert browser.execute_script("return document.documentElement.lang") == "en"


@pytest.mark.parametrize("kind", SECTIONS)
def test_keyboard_reaches_the_content_and_focus_is_visible(browser, pages, kind):
    open_page(browser, pages[kind], width=390)
    body = browser.find_element("css selector", "body")
    body.send_keys("\ue004")  # tab
    skip = browser.switch_to.active_element
    assert skip.get_attribute("href").endswith("#main")
    assert skip.rect["x"] >= 0
    for _ in range(40):
        browser.switch_to.active_element.send_keys("\ue004")
        outline = browser.execute_script(
            "const e = document.activeElement;"
            "return e === document.body ? 'solid' : getComputedStyle(e).outlineStyle"
        )
        assert outline != "none"
    # Areas that do not scroll are not among the stops of the tab key.
    stops = browser.execute_script(
        "return Array.from(document.querySelectorAll('.scroll, .plot'))"
        ".filter(e => (e.tabIndex === 0) !== (e.scrollWidth > e.clientWidth)).length"
    )
    assert stops == 0


def test_header_sorts_a_table(browser, pages):
    open_page(browser, pages["model"])
    read = (
        "return Array.from(document.querySelectorAll('#classes tbody tr'))"
        ".map(r => parseFloat(r.cells[arguments[0]].dataset.sort))"
    )
    header = browser.find_elements("css selector", "#classes thead button")[5]
    header.click()
    descending = browser.execute_script(read, 5)
    assert descending == sorted(descending, reverse=True)
    header.click()
    assert browser.execute_script(read, 5) == descending[::-1]
    state = browser.execute_script(
        "return Array.from(document.querySelectorAll('#classes thead th'))"
        ".map(h => h.getAttribute('aria-sort'))"
    )
    assert [each for each in state if each] == ["ascending"] and state[5] == "ascending"
    assert browser.get_log("browser") == []


def test_header_sorts_by_the_keyboard(browser, pages):
    open_page(browser, pages["comparison"])
    button = browser.find_element("css selector", "#scores thead button")
    button.send_keys("\ue007")  # enter
    names = browser.execute_script(
        "return Array.from(document.querySelectorAll('#scores table')[0].tBodies[0].rows)"
        ".map(r => r.cells[0].textContent.trim())"
    )
    # As a person would number them, not "learner 10" before "learner 2".
    numbers = [int(name.split()[1]) for name in names]
    assert numbers == sorted(numbers) and len(numbers) == 14


def test_filter_hides_other_rows(browser, pages):
    open_page(browser, pages["comparison"])
    browser.find_element("css selector", "#scores .filter input").send_keys("LEARNER 12")
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('#scores table')[0].tBodies[0].rows)"
        ".filter(r => r.offsetHeight > 0).map(r => r.cells[0].textContent.trim())"
    )
    assert shown == ["learner 12"]
    status = browser.find_element("css selector", "#scores .filter [role=status]")
    assert status.text == "1 of 14 rows"


def test_entry_of_the_confusion_matrix_opens_examples(browser, pages):
    open_page(browser, pages["model"])
    link = browser.find_element("css selector", "#confusion .heat td a")
    target = link.get_attribute("href").partition("#")[2]
    assert not browser.find_element("id", target).is_displayed()
    link.click()
    assert browser.find_element("id", target).is_displayed()


@pytest.mark.parametrize("kind", SECTIONS)
def test_content_does_not_need_the_script(browser, pages, kind):
    open_page(browser, pages[kind])
    with_script = browser.execute_script("return document.querySelector('main').textContent")
    open_page(browser, pages[kind], script=False)
    # Scripts of the page are disabled; the driver's own are not.
    run = browser.execute_cdp_cmd
    run("Emulation.setScriptExecutionDisabled", {"value": False})
    without = browser.execute_script("return document.querySelector('main').textContent")
    assert not browser.find_elements("css selector", "thead button, .filter")
    assert without.split() == with_script.replace("Filter rows", "").split()


def test_printed_page_is_light_and_contains_everything(browser, pages):
    open_page(browser, pages["model"], theme="dark")
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    style = browser.execute_script(
        "const s = getComputedStyle(document.body);"
        "return [s.backgroundColor, getComputedStyle(document.querySelector('nav')).display]"
    )
    assert style == ["rgb(255, 255, 255)", "none"]
    # Unlike a screen, paper does not scroll: nothing may be wider than A4 within its margins.
    size = {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    too_wide = browser.execute_script(
        "return Array.from(document.querySelectorAll('#classes table, svg, .heat'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth).length"
    )
    assert too_wide == 0
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")


def test_markup_in_the_data_does_not_run(browser, pages):
    for address in pages.values():
        open_page(browser, address)
        assert browser.execute_script("return document.querySelectorAll('img').length") == 0
        assert data.MARKUP in browser.execute_script("return document.title")


LONG = ("transfer_not_received_by_recipient", "wrong_exchange_rate_for_cash ", "card_payment_fee")


@pytest.fixture(scope="module")
def tickets(tmp_path_factory):
    """A report and explanations of a model with long labels and texts with hidden characters."""
    folder = tmp_path_factory.mktemp("tickets")
    texts = [f"word{i % 3} word{i % 3}{i % 7} odd\u200b \u202e{i % 5} " for i in range(90)]
    labels = [LONG[(i + (i % 10 == 0)) % 3] for i in range(90)]
    corpus = Corpus(texts=texts, labels=labels, ids=[f"ticket-{i}-{'x' * 40}" for i in range(90)])
    model = TextClassifier(encoder=None).fit(corpus)
    model.report(folder / "report.html", X=corpus)
    found = model.explain(corpus.select([0, 1]), training=corpus)
    page = render_page(found._repr_html_(), "Why")
    (folder / "explanation.html").write_text(page, encoding="utf-8")
    return {name: (folder / f"{name}.html").as_uri() for name in ("report", "explanation")}


def test_last_column_of_the_classes_is_visible(browser, tickets):
    open_page(browser, tickets["report"])
    overflow = browser.execute_script(
        "const area = document.querySelector('#classes .scroll');"
        "return area.scrollWidth - area.clientWidth"
    )
    assert overflow <= 0


def test_hidden_characters_of_suspects_are_visible(browser, tickets):
    open_page(browser, tickets["report"])
    shown = browser.execute_script("return document.querySelector('#labels').innerText")
    assert "odd<U+200B>" in shown
    assert "<U+202E>" in shown
    assert "wrong_exchange_rate_for_cash␠" in shown


def test_intervals_are_wide_enough_to_be_seen(browser, tickets):
    open_page(browser, tickets["report"])
    widths = browser.execute_script(
        "return Array.from(document.querySelectorAll('#overview svg line.bar'))"
        ".map(line => line.getBoundingClientRect().width)"
    )
    assert max(widths) > 25


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_explanations_fit_and_have_contrast(browser, tickets, width, theme):
    open_page(browser, tickets["explanation"], width=width, theme=theme)
    overflow = browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0
    assert set(list_requests(browser)) == {tickets["explanation"]}
    # The words as they are painted, over the background of the page.
    pairs = browser.execute_script(
        "const parse = c => c.match(/[0-9.]+/g).map(Number);"
        "const dark = matchMedia('(prefers-color-scheme: dark)').matches;"
        "const ground = dark ? [18, 18, 18] : [255, 255, 255];"
        "const luminance = v => { v = v.slice(0, 3).map(x => { x /= 255;"
        "  return x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });"
        "  return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };"
        "return Array.from(document.querySelectorAll('.text span')).map(e => {"
        "  const style = getComputedStyle(e), [r, g, b, a = 1] = parse(style.backgroundColor);"
        "  const mixed = [r, g, b].map((x, i) => a * x + (1 - a) * ground[i]);"
        "  const [x, y] = [luminance(mixed), luminance(parse(style.color))];"
        "  return [(Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05), e.className,"
        "    style.textDecorationLine]; })"
    )
    assert pairs
    assert min(contrast for contrast, _, _ in pairs) >= 4.5
    # Not by color alone.
    for _, name, line in pairs:
        assert (line == "underline") == name.startswith("against")
    is_open = browser.execute_script("return document.querySelector('details').open")
    assert not is_open
