"""A browser for the tests of pages."""

import json
import os
import shutil
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

selenium = pytest.importorskip("selenium")
pytest.importorskip("selenium.webdriver")

BROWSER = os.environ.get("CORDWOOD_BROWSER") or shutil.which("chromium")
DRIVER = os.environ.get("CORDWOOD_WEBDRIVER") or shutil.which("chromedriver")
# axe-core is a package of npm: the path of axe.min.js.
AXE = os.environ.get("CORDWOOD_AXE")
PICTURES = os.environ.get("CORDWOOD_PICTURES")
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

MARKS = [
    pytest.mark.skipif(
        not (BROWSER and DRIVER), reason="needs chromium and chromedriver in the PATH"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@contextmanager
def open_browser(make_folder):
    options = selenium.webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={make_folder('profile')}"):
        options.add_argument(flag)
    downloads = make_folder("downloads")
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = selenium.webdriver.ChromeService(executable_path=DRIVER)
    browser = selenium.webdriver.Chrome(options=options, service=service)
    browser.downloads = downloads
    try:
        yield browser
    finally:
        browser.quit()


def wait_for(driver, condition, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(driver.find_element("css selector", "main").text)


def get(driver, selector):
    return driver.find_element("css selector", selector)


def shown(driver, selector):
    return wait_for(driver, lambda: get(driver, selector).is_displayed() and get(driver, selector))


def check_accessibility(driver):
    if not AXE:
        return
    driver.execute_script(Path(AXE).read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then(arguments[0])")
    assert not found["violations"], json.dumps(found["violations"], indent=1)[:3000]
