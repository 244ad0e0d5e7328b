"""The report's page in a real browser: sorted, opened, dark, on a phone, on paper; hostile answers run nothing."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.tandem.campaign.plugins.plugin_utils.report_files import report_files
from ansible_collections.tandem.campaign.tests.fakes.hostile import make_hostile
from ansible_collections.tandem.campaign.tests.fakes.packet import make_seed_packet
from selenium import webdriver
from selenium.webdriver.common.by import By

LAGUNA = "laguna-s-2.1-nvfp4-tp2"
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--window-size=1300,1000",
)  # fmt: skip
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="needs Debian's chromium and chromium-driver")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    packet = make_seed_packet(tmp_path_factory.mktemp("packet"), LAGUNA).folder
    make_hostile(packet, LAGUNA)
    file = packet / "report.html"
    file.write_text(report_files(packet, ["html"])["report.html"], encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: webdriver.Chrome, page: str) -> webdriver.Chrome:
    browser.get(page)
    return browser


def command(browser: webdriver.Chrome, name: str, **options: Any) -> Any:
    return browser.execute_cdp_cmd(name, options)


def test_nothing_that_was_answered_runs(opened: webdriver.Chrome) -> None:
    assert opened.title.startswith("<script>document.title='owned'</script>")
    assert opened.execute_script("return document.scripts.length") == 1
    assert opened.find_elements(By.TAG_NAME, "img") == []
    problems = [entry["message"] for entry in opened.get_log("browser")]
    assert problems == []


def test_a_table_is_sorted_by_value_both_ways(opened: webdriver.Chrome) -> None:
    table = next(
        one for one in opened.find_elements(By.CSS_SELECTOR, "table.sortable") if "check" in one.find_element(By.TAG_NAME, "tr").text.split()
    )  # fmt: skip
    button = next(one for one in table.find_elements(By.CSS_SELECTOR, "th button") if one.text == "check")

    def names() -> list[str]:
        return [
            row.find_elements(By.TAG_NAME, "td")[2].text for row in table.find_elements(By.CSS_SELECTOR, "tbody tr")
        ]

    before = names()
    button.click()
    named = sorted(name for name in before if name)
    assert [name for name in names() if name] == named
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    button.click()
    assert [name for name in names() if name] == named[::-1]
    assert names()[-1] == "" or "" not in before


def test_requests_are_opened_down_to_what_was_sent(opened: webdriver.Chrome) -> None:
    fold = opened.find_element(By.CSS_SELECTOR, "details:has(details)")
    raw = fold.find_element(By.CSS_SELECTOR, "details pre")
    assert not raw.is_displayed()
    fold.find_element(By.TAG_NAME, "summary").click()
    inner = fold.find_element(By.CSS_SELECTOR, "details")
    inner.find_element(By.TAG_NAME, "summary").click()
    assert raw.is_displayed()
    assert "request_sha256" in raw.text
    assert "<script>" in raw.text


def test_dark_is_dark_and_its_pictures_too(opened: webdriver.Chrome) -> None:
    def colours() -> tuple[str, ...]:
        return tuple(
            opened.execute_script(
                "const of = (one, what) => getComputedStyle(one)[what];"
                "const line = document.querySelector('figure svg path[style*=\"var(--s0)\"]');"
                "return [of(document.body, 'backgroundColor'), of(document.body, 'color'), of(line, 'stroke')]"
            )
        )

    light = colours()
    command(opened, "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    dark = colours()
    command(opened, "Emulation.setEmulatedMedia", features=[])
    assert light[0] == "rgb(255, 255, 255)"
    assert sum(int(part) for part in dark[0][4:-1].split(",")) < 100
    assert all(one != other for one, other in zip(light, dark, strict=True))


def test_a_phone_scrolls_tables_and_not_the_page(opened: webdriver.Chrome) -> None:
    command(opened, "Emulation.setDeviceMetricsOverride", width=380, height=800, deviceScaleFactor=2, mobile=True)
    wide = opened.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    command(opened, "Emulation.clearDeviceMetricsOverride")
    assert wide == [380, 380]


def test_it_prints(opened: webdriver.Chrome) -> None:
    printed = base64.b64decode(command(opened, "Page.printToPDF", printBackground=False)["data"])
    assert printed.startswith(b"%PDF-")
    command(opened, "Emulation.setEmulatedMedia", media="print")
    shown = opened.execute_script(
        "return [...document.querySelectorAll('nav, details.raw')].filter((one) => one.checkVisibility()).length"
    )
    command(opened, "Emulation.setEmulatedMedia", media="")
    assert shown == 0
