"""The dashboard in a real browser: Playwright drives the system's Chromium; nothing is downloaded."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from skillopt.journal.blobs import Blobs
from skillopt.journal.codec import encode
from skillopt.journal.events import Event, RolloutDone, RunStarted
from skillopt.testing.server import LoopbackServer
from skillopt.testing.world import World, write_split
from skillopt.types import Rollout, Score, Turn, digest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("there is no Chromium on this machine (apt-get install chromium)", allow_module_level=True)

ROOT = Path(__file__).parents[2]
KEY = "sk-loopback-77aa"
pytestmark = pytest.mark.slow


@dataclass
class House:
    """A folder with runs, a dashboard over it, and the loopback model."""

    home: Path
    address: str
    environ: dict[str, str]
    model: LoopbackServer
    faults: list[str]


def _environ(model: LoopbackServer) -> dict[str, str]:
    environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    return environ | {
        "AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_AUTH_MODE": "openai_compatible", "AZURE_OPENAI_ENDPOINT": model.url,
        "PYTHONPATH": str(ROOT),
    }  # fmt: skip


def _dashboard(home: Path, environ: dict[str, str], *flags: str) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "skillopt_webui.app", "--port", "0", "--runs", str(home / "outputs"), *flags]
    process = subprocess.Popen(command, cwd=home, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "http://" in line, line
    return process, line.split()[-1]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("house")
    write_split(home / "split", 12, 6, 6, seed=1)
    folder = home / "configs" / "searchqa"
    folder.mkdir(parents=True)
    (home / "start.md").write_text("# Answering clues\n\nRead the passages.\n")
    (folder / "small.yaml").write_text(
        "model: {target: gpt-5.5, optimizer: gpt-5.5}\ntrain: {num_epochs: 2, batch_size: 6}\n"
        "env: {name: searchqa, split_mode: split_dir, split_dir: split, skill_init: start.md, workers: 4}\n"
    )
    with LoopbackServer.in_thread(World(1), api_key=KEY, latency=0.02) as model:
        environ = _environ(model)
        command = [sys.executable, "-m", "skillopt.cli", "train", "--plain", "--config", "configs/searchqa/small.yaml",
                   "--out_root", "outputs/searchqa/done"]  # fmt: skip
        subprocess.run(command, cwd=home, env=environ, check=True, capture_output=True, timeout=200)
        process, address = _dashboard(home, environ)
        try:
            yield House(home, address, environ, model, [])
        finally:
            process.terminate()
            process.wait(10)
            process.stdout.close()  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    sync_api.expect.set_options(timeout=60_000)
    with sync_api.sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def page(browser: sync_api.Browser, house: House) -> Iterator[sync_api.Page]:
    """A page that fails the test when a script fails or the policy refuses something."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    made = context.new_page()
    made.set_default_timeout(60_000)
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    made.on("console", lambda said: faults.append(said.text) if "Content Security Policy" in said.text else None)
    made.on("request", lambda r: None if r.url.startswith((house.address, "data:")) else faults.append(r.url))
    made.on("dialog", lambda d: faults.append(f"dialog {d.message}"))
    yield made
    context.close()
    assert not faults, faults


RUN = "/runs/searchqa~done"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/", "searchqa/done"),
        (RUN, "Score by step"),
        (f"{RUN}/steps/e01s01", "Change of the skill"),
        (f"{RUN}/steps/e01s01?view=rendered", "Change of the skill"),
        (f"{RUN}/items", "of 24 items"),
        (f"{RUN}/skill", "from the start"),
        (f"{RUN}/skill?view=raw", "# Answering"),
        (f"{RUN}/skill?view=changes", "Version"),
        (f"{RUN}/play", "Try the skill"),
        ("/compare?run=searchqa~done", "Choose two or more"),
        ("/launch", "Everyday settings"),
        ("/launch?start=own", "Your files"),
        ("/nowhere", "Not here"),
    ],
)
@pytest.mark.parametrize("width", [1200, 390])
def test_every_page_of_a_finished_run(page: sync_api.Page, house: House, path: str, words: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(house.address + path)
    sync_api.expect(page.locator("main")).to_contain_text(words)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 1, f"{path} is {wide} pixels wider than the screen"


def test_an_item_beside_itself_and_the_keyboard(page: sync_api.Page, house: House) -> None:
    page.goto(f"{house.address}{RUN}/items?stage=val")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/items/*")
    page.locator("#attempts a", has_text="beside").first.click()
    sync_api.expect(page.locator(".talk")).to_have_count(2)
    page.keyboard.press("u")
    page.wait_for_url(f"**{RUN}")
    page.keyboard.press("?")
    sync_api.expect(page.locator("#help")).to_be_visible()


def test_search_and_theme(page: sync_api.Page, house: House) -> None:
    page.goto(house.address)
    page.keyboard.press("/")
    page.keyboard.type("nothing like it")
    sync_api.expect(page.locator("#runs")).to_contain_text("Nothing matches")
    page.click("[data-theme-switch]")
    page.click("[data-theme-switch]")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(21, 25, 24)"


def test_the_skill_is_downloaded_and_exported(page: sync_api.Page, house: House) -> None:
    page.goto(f"{house.address}{RUN}/skill")
    with page.expect_download() as kept:
        page.click("a[download]")
    best = (house.home / "outputs/searchqa/done/best_skill.md").read_text()
    assert kept.value.path().read_text() == best
    page.click("summary:has-text('Export')")
    page.fill("input[name=name]", "answering-clues")
    page.fill("input[name=description]", "When a clue is asked")
    with page.expect_download() as packed:
        page.click(".menu button")
    assert packed.value.suggested_filename == "SKILL.md" and "name: answering-clues" in packed.value.path().read_text()


def test_mistakes_are_told_while_typing(page: sync_api.Page, house: House) -> None:
    page.goto(f"{house.address}/launch?config=configs%2Fsearchqa%2Fsmall.yaml")
    sync_api.expect(page.locator("[data-quote]")).to_contain_text("calls")
    page.fill("[name='set.train.batch_size']", "0")
    field = page.locator(".field[data-key='train.batch_size'] .problem")
    sync_api.expect(field).to_have_text("must be at least 1, got 0")
    sync_api.expect(page.locator("[data-start-button]")).to_be_disabled()
    page.fill("[name='set.train.batch_size']", "3")
    sync_api.expect(page.locator("[data-start-button]")).to_be_enabled()


def test_launch_watch_stop_resume_and_finish(page: sync_api.Page, house: House) -> None:
    """From the form to the end of the run: live parts move by themselves, stopping is recorded, resuming continues."""
    house.model._latency = 0.5
    page.goto(f"{house.address}/launch?config=configs%2Fsearchqa%2Fsmall.yaml")
    page.fill("[name='set.train.num_epochs']", "1")
    page.fill("[name='set.env.workers']", "2")
    sync_api.expect(page.locator("[data-quote]")).to_contain_text("calls")
    page.click("[data-start-button]")
    page.wait_for_url("**/runs/searchqa~*")
    sync_api.expect(page.locator(".badge")).to_contain_text("running")
    sync_api.expect(page.locator("#strip")).to_contain_text("Baseline")
    page.evaluate("window.marker = 1")
    sync_api.expect(page.locator("#curve svg")).to_be_visible()
    for part in ("items", "skill", "play"):
        other = page.context.new_page()
        other.goto(f"{page.url}/{part}")
        sync_api.expect(other.locator(".runhead h1")).to_contain_text("running")
        other.close()
    assert page.evaluate("window.marker") == 1, "the page was reloaded"
    page.click("button:has-text('Stop')")
    sync_api.expect(page.locator(".badge")).to_contain_text("stopped")
    house.model._latency = 0.0
    page.click("button:has-text('Resume')")
    sync_api.expect(page.locator(".badge")).to_contain_text("finished")
    sync_api.expect(page.locator("#tiles")).to_contain_text("2 sessions")
    run = house.home / "outputs" / "searchqa" / page.url.rpartition("~")[2]
    assert json.loads((run / "summary.json").read_text())["sessions"] == 2
    for file in (*run.rglob("*.json"), *run.rglob("*.log"), *run.rglob("*.yaml")):
        assert KEY not in file.read_text(errors="replace"), file


def test_the_playground_answers(page: sync_api.Page, house: House) -> None:
    house.model._latency = 0.0
    page.goto(f"{house.address}{RUN}/play")
    page.click("button:has-text('Try it')")
    sync_api.expect(page.locator("#result")).to_contain_text("Answer")
    sync_api.expect(page.locator("#result")).to_contain_text("hard")


def test_a_hostile_transcript_is_harmless(page: sync_api.Page, house: House) -> None:
    nasty = (
        "<script>document.title='owned'</script><img src=x onerror=alert(1)>\n"
        "[x](javascript:alert(1)) ![spy](http://203.0.113.9/x.png)\n"
        "\u202eright to left\u202c \x1b[2J\x00 \u2066isolated "
        + "z" * 60_000
        + "\n| a | b |\n|---|---|\n| 1 | <svg onload=alert(1)> |\n"
    )
    folder = house.home / "outputs" / "searchqa" / "<script>nasty"
    _journal(folder, nasty)
    page.goto(house.address)
    page.locator("a", has_text="nasty").click()
    page.goto(page.url + "/items")
    page.locator("[data-open]").first.click()
    for suffix in ("", "?view=plain", "?view=plain&full=1"):
        page.goto(re.sub(r"\?.*", "", page.url) + suffix)
        sync_api.expect(page.locator(".talk")).to_contain_text("⟨U+202E⟩")
        sync_api.expect(page.locator(".talk")).to_contain_text("<script>")
        assert page.title() != "owned" and page.locator(".talk img").count() == 0
        assert page.locator(".talk script, .talk svg, .talk a[href^=javascript]").count() == 0
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 1
    page.goto(re.sub(r"/items.*", "/skill", page.url))
    assert page.locator("#document script, #document img").count() == 0


def _journal(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    blobs = Blobs(folder / "blobs")
    started = RunStarted(
        skillopt="0", config={"resolved": {"env": {"name": text[:40]}}}, prompts={}, data={}, seed_skill=text
    )
    turns = (Turn("system", text), Turn("user", text), Turn("assistant", text), Turn("tool", text), Turn("odd", text))
    rollout = Rollout(
        text[:60], digest("x"), "s", "val", "<b>", Score(0.0, 0.0, {text[:30]: text}), None, text, turns, task=text[:90]
    )
    done = RolloutDone(at="baseline", stage="val", rollout=rollout)
    events = [Event(seq=n, ts=time.time(), key=str(n), body=body) for n, body in enumerate((started, done), start=1)]
    (folder / "events.jsonl").write_bytes(b"".join(encode(event, blobs.put) for event in events))


def test_a_token_is_refused_and_accepted(browser: sync_api.Browser, house: House) -> None:
    process, address = _dashboard(house.home, house.environ, "--host", "0.0.0.0")
    context = browser.new_context()
    try:
        base, _, token = address.partition("/?token=")
        page = context.new_page()
        page.goto(f"{base}{RUN}")
        page.wait_for_url("**/login")
        page.fill("input[name=token]", "wrong")
        page.click("button:has-text('Enter')")
        sync_api.expect(page.locator("[role=alert]")).to_contain_text("not the token")
        page.goto(address)
        sync_api.expect(page.locator("h1")).to_have_text("Runs")
        assert token not in page.url
        cookie = context.cookies()[0]
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and token not in cookie["value"]
    finally:
        context.close()
        process.terminate()
        process.wait(10)
        process.stdout.close()  # type: ignore[union-attr]
