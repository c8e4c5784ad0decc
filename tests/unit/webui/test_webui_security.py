"""The doors: host names, tokens, origins, form keys, headers, and paths that lead nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from skillopt_webui.desk import COOKIE, DESK
from skillopt_webui.security import Doorkeeper
from skillopt_webui.server import Settings, create_app

Open = Callable[[Doorkeeper], "TestClient[web.Request, web.Application]"]
KEY = "sk-secret-4711"
Writer = Any


@pytest.fixture
async def opened(tmp_path: Path, writer: Writer) -> AsyncIterator[Open]:
    writer.whole()
    clients: list[TestClient[web.Request, web.Application]] = []

    def open_with(keeper: Doorkeeper) -> TestClient[web.Request, web.Application]:
        app = create_app(Settings(tmp_path / "outputs", tmp_path), keeper, lambda: {"OPENAI_API_KEY": KEY})
        clients.append(TestClient(TestServer(app)))
        return clients[-1]

    yield open_with
    for client in clients:
        await client.close()


def test_only_this_machine_needs_no_token() -> None:
    assert Doorkeeper.for_host("127.0.0.1").token is None and Doorkeeper.for_host("localhost").token is None
    for keeper in (
        Doorkeeper.for_host("0.0.0.0"),
        Doorkeeper.for_host("::"),
        Doorkeeper.for_host("127.0.0.1", shared=True),
    ):
        assert keeper.token and len(keeper.token) >= 30


@pytest.mark.parametrize(
    ("host", "open_to_us", "with_token"),
    [
        ("127.0.0.1:7860", True, True),
        ("localhost:7860", True, True),
        ("[::1]:7860", True, True),
        ("192.168.1.5:7860", False, True),
        ("evil.example:7860", False, False),
        ("127.0.0.1.evil.example", False, False),
        ("", False, False),
        ("[", False, False),
    ],
)
def test_names_that_are_not_ours(host: str, open_to_us: bool, with_token: bool) -> None:
    assert Doorkeeper.for_host("127.0.0.1").knows_host(host) == open_to_us
    assert Doorkeeper.for_host("0.0.0.0").knows_host(host) == with_token


async def test_a_foreign_name_is_refused(opened: Open) -> None:
    async with opened(Doorkeeper.for_host("127.0.0.1")) as client:
        assert (await client.get("/", headers={"Host": "evil.example"})).status == 421


async def test_a_token_is_refused_and_accepted(opened: Open) -> None:
    keeper = Doorkeeper.for_host("0.0.0.0")
    async with opened(keeper) as client:
        assert (await client.get("/")).status == 401
        assert (await client.get("/runs/searchqa~one/events")).status == 401
        wrong = await client.get("/?token=wrong", headers={"Accept": "text/html"}, allow_redirects=False)
        assert wrong.headers["Location"] == "/login?wrong=1"
        assert (await client.get("/", headers={"Cookie": f"{COOKIE}=x"})).status == 401
        right = await client.get(f"/?token={keeper.token}", allow_redirects=False)
        cookie = right.headers["Set-Cookie"]
        assert right.status == 303 and right.headers["Location"] == "/"
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and str(keeper.token) not in cookie
        assert (await client.get("/", headers={"Cookie": f"{COOKIE}={keeper.pass_text}"})).status == 200


async def test_logging_in_by_form(opened: Open) -> None:
    keeper = Doorkeeper.for_host("0.0.0.0")
    async with opened(keeper) as client:
        wrong = await client.post("/login", data={"token": "no", "form_key": keeper.form_key})
        right = await client.post(
            "/login", data={"token": keeper.token, "form_key": keeper.form_key}, allow_redirects=False
        )
        assert wrong.status == 401 and right.status == 303


async def test_a_form_of_another_site_does_nothing(opened: Open) -> None:
    keeper = Doorkeeper.for_host("127.0.0.1")
    async with opened(keeper) as client:
        path, form = "/runs/searchqa~one/stop", {"form_key": keeper.form_key}
        assert (await client.post(path, data={})).status == 403
        assert (await client.post(path, data={"form_key": "guess"})).status == 403
        assert (await client.post(path, data=form, headers={"Origin": "http://evil.example"})).status == 403
        assert (await client.post(path, data=form, headers={"Origin": "null"})).status == 403
        assert (await client.post(path, data=form, headers={"Sec-Fetch-Site": "cross-site"})).status == 403
        assert (await client.post(path, data=form, allow_redirects=False)).status == 303
        assert (await client.post("/launch/check", json={})).status == 403


async def test_every_answer_carries_the_policy(opened: Open) -> None:
    async with opened(Doorkeeper.for_host("127.0.0.1")) as client:
        for path in ("/", "/nothing", "/static/app.js", "/runs/searchqa~one"):
            answer = await client.get(path)
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2Fserver.py",
        "/static/%2e%2e/app.py",
        "/runs/..%2F..%2Fetc",
        "/runs/%2Fetc",
        "/runs/searchqa~one/items/..%2F..%2Fconfig.json",
        "/runs/searchqa~one/steps/..%2Fx",
        "/runs/searchqa%2Fone",
    ],
)
async def test_paths_lead_nowhere(opened: Open, path: str) -> None:
    from yarl import URL

    async with opened(Doorkeeper.for_host("127.0.0.1")) as client:
        assert (await client.get(URL(path, encoded=True))).status == 404


async def test_no_page_holds_a_credential_or_an_outside_address(opened: Open) -> None:
    async with opened(Doorkeeper.for_host("127.0.0.1")) as client:
        for path in ("/", "/runs/searchqa~one", "/launch", "/launch?start=own", "/runs/searchqa~one/skill"):
            text = await (await client.get(path)).text()
            assert KEY not in text and "style=" not in text and "onclick" not in text
            assert "<script>" not in text and 'src="http' not in text


async def test_a_hostile_run_is_shown_as_text(opened: Open, writer: Writer, new_writer: Writer) -> None:
    script = "<script>alert(1)</script>\u202e\x1b" + "x" * 50_000
    other = new_writer(writer.directory.parent / "hostile")
    other.start(skill=script)
    other.attempt("<b>id</b>", False, text=script)
    async with opened(Doorkeeper.for_host("127.0.0.1")) as client:
        await client.get("/")
        digest = next(
            iter(
                (
                    await client.app[DESK].library.open(client.app[DESK].library.catalogue.get("searchqa~hostile"))
                ).ledger.items
            )
        )  # type: ignore[union-attr,arg-type]
        for path in (
            "items",
            f"items/{digest}",
            f"items/{digest}?view=plain&full=1",
            "skill",
            "skill?view=raw",
            "play",
        ):
            text = await (await client.get(f"/runs/searchqa~hostile/{path}")).text()
            assert (
                "<script>alert" not in text and "<b>id</b>" not in text and "\u202e" not in text and "\x1b" not in text
            )
