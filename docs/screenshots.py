"""Makes the pictures of `docs/guide/dashboard.md`: trains against the loopback model and photographs every page.

    python docs/screenshots.py [--out docs/images] [--chromium /usr/bin/chromium]

Needs playwright (`pip install -e ".[dev]"`) and a Chromium of the system; nothing is downloaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from skillopt.testing.faults import Faults
from skillopt.testing.server import LoopbackServer
from skillopt.testing.world import World, write_split

ROOT = Path(__file__).parents[1]
KEY = "sk-loopback-0000"
WIDE, NARROW = {"width": 1200, "height": 800}, {"width": 400, "height": 800}
PRICE = ("--cfg-options", "budget.price_per_million_tokens=1.25:10", "budget.max_cost_usd=5")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--chromium", default=shutil.which("chromium") or "/usr/bin/chromium")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, _world(Path(folder)) as (slow, environ):
        home = Path(folder)
        with _dashboard(home, environ) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=args.chromium, args=["--no-sandbox"])
            live = _train(
                home, "searchqa/under_way", environ | {"AZURE_OPENAI_ENDPOINT": slow}, "--workers", "6", wait=False
            )
            try:
                for scheme in ("light", "dark"):
                    page = browser.new_page(viewport=WIDE, color_scheme=scheme)
                    _pictures(page, address, args.out, "" if scheme == "light" else "-dark")
                    page.close()
                page = browser.new_page(viewport=NARROW, color_scheme="light")
                _narrow(page, address, args.out)
            finally:
                live.terminate()
                live.wait()
            browser.close()
    for path in args.out.glob("*.png"):
        # Flat colours: a palette loses nothing one could see, and two thirds of the bytes.
        Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)


def _pictures(page: Page, address: str, out: Path, suffix: str) -> None:
    def shot(name: str, path: str, *, full: bool = False) -> None:
        page.goto(address + path)
        page.wait_for_timeout(900)
        page.screenshot(path=out / f"{name}{suffix}.png", full_page=full)

    run = "/runs/searchqa~careful"
    shot("run", run, full=True)
    if suffix:
        shot("skill", f"{run}/skill")
        return
    shot("runs", "/")
    shot("live", "/runs/searchqa~under_way")
    shot("step", f"{run}/steps/e01s02", full=False)
    page.goto(address + run + "/items?show=changed&stage=val")
    page.click("[data-open]")
    page.wait_for_selector("#attempts")
    page.click("#attempts tbody tr:first-child a:has-text('beside')")
    page.wait_for_timeout(500)
    page.screenshot(path=out / "item.png", full_page=True)
    shot("items", f"{run}/items?stage=val")
    shot("skill", f"{run}/skill")
    shot("launch", "/launch?config=configs%2Fsearchqa%2Fdefault.yaml")
    shot("compare", "/compare?run=searchqa~careful&run=searchqa~bold", full=True)


def _narrow(page: Page, address: str, out: Path) -> None:
    page.goto(address + "/runs/searchqa~careful")
    page.wait_for_timeout(500)
    page.screenshot(path=out / "run-narrow.png")


@contextmanager
def _world(home: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A quick and a slow loopback model, and two finished runs."""
    write_split(home / "split", 80, 40, 80, seed=1)
    environ = {k: v for k, v in os.environ.items() if "OPENAI" not in k}
    environ |= {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_AUTH_MODE": "openai_compatible", "PYTHONPATH": str(ROOT)}
    faults = Faults(rate_429=0.04, retry_after=0.01)
    quick = LoopbackServer.in_thread(World(1, 0.08), faults=faults, api_key=KEY)
    slow = LoopbackServer.in_thread(World(1, 0.08), latency=0.6, api_key=KEY)
    with quick as one, slow as two:
        environ["AZURE_OPENAI_ENDPOINT"] = one.url
        _train(home, "searchqa/careful", environ, "--batch_size", "20", "--num_epochs", "3")
        _train(home, "searchqa/bold", environ, "--batch_size", "40", "--num_epochs", "4", "--seed", "7")
        yield two.url, environ


def _train(home: Path, name: str, environ: dict[str, str], *flags: str, wait: bool = True) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-m", "skillopt.cli", "train", "--plain", "--config", "configs/searchqa/default.yaml",
        "--split_dir", str(home / "split"), "--optimizer_model", "gpt-5.5", "--target_model", "gpt-5.5",
        "--out_root", str(home / "outputs" / name), *flags, *PRICE,
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL)
    if wait:
        process.wait()
    else:
        time.sleep(14)
    return process


@contextmanager
def _dashboard(home: Path, environ: dict[str, str]) -> Iterator[str]:
    command = [sys.executable, "-m", "skillopt_webui.app", "--port", "0", "--runs", str(home / "outputs")]
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
