"""Requests that change something: launching, stopping, resuming, trying. The guard has checked where they come from."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from urllib.parse import quote

from aiohttp import BodyPartReader, web

from skillopt.errors import SkillOptError
from skillopt.progress.words import tokens
from skillopt.types import JSON, Turn
from skillopt_webui import forms, processes
from skillopt_webui.desk import DESK, Desk
from skillopt_webui.launching import OWN, OWN_HELP, Launcher, Wish, caps_in
from skillopt_webui.pages.items import detail_rows
from skillopt_webui.pages.skill import versions
from skillopt_webui.pages.words import money, number
from skillopt_webui.text import markdown

LARGEST_FILE = 32 * 1024 * 1024
_PLAY_SECONDS = 300
_CHOICES = 200


def add(app: web.Application) -> None:
    app.router.add_get("/launch", launch_page)
    app.router.add_post("/launch", launch)
    app.router.add_post("/launch/check", check)
    app.router.add_post("/launch/file", keep_file)
    app.router.add_post("/runs/{run}/stop", stop)
    app.router.add_post("/runs/{run}/resume", resume)
    app.router.add_get("/runs/{run}/play", play_page)
    app.router.add_post("/runs/{run}/play", play)


async def launch_page(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    wish = Wish(config=request.query.get("config", "")) if request.query.get("start") != "own" else Wish()
    return await _launch_form(desk, wish, own=request.query.get("start") == "own", problems=())


async def _launch_form(desk: Desk, wish: Wish, *, own: bool, problems: tuple[str, ...]) -> web.Response:
    configs = desk.launcher.configs()
    chosen = Wish(wish.config if wish.config in configs else "" if own else next(iter(configs)), wish.own, wish.changes)
    loaded = None
    if not own:
        try:
            loaded = await asyncio.to_thread(desk.launcher.load, Wish(chosen.config), desk.environ())
        except SkillOptError as error:
            problems = problems or (str(error),)
    context: dict[str, JSON] = {
        "configs": list(configs), "config": chosen.config, "own": own, "problems": problems,
        "form": forms.form_for(loaded), "own_fields": [(name, OWN_HELP[name], wish.own.get(name, "")) for name in OWN],
        "changes": dict(wish.changes), "benchmark": loaded.config.env.name if loaded else "",
        "runs": desk.launcher.runs, "here": desk.launcher.here,
    }  # fmt: skip
    return desk.page("launch.html", context, status=400 if problems and wish.changes else 200)


def _wish(values: Mapping[str, JSON]) -> Wish:
    """The form, as it came: `own.x` and `set.x` are texts, anything else is ignored."""
    texts = {k: v.replace("\r\n", "\n") for k, v in values.items() if isinstance(v, str)}
    own = {k[4:]: v for k, v in texts.items() if k.startswith("own.") and k[4:] in OWN and v.strip()}
    changes = {k[4:]: v for k, v in texts.items() if k.startswith("set.")}
    return Wish(texts.get("config", ""), own, changes)


async def check(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    try:
        values = json.loads(await request.text())
    except ValueError as error:
        raise web.HTTPBadRequest(text="The form could not be read.") from error
    wish = await _only_changes(desk.launcher, _wish(values if isinstance(values, dict) else {}), desk)
    found = await asyncio.to_thread(desk.launcher.check, wish, desk.environ())
    return web.json_response(found.to_dict(), headers={"Cache-Control": "no-store"})


async def _only_changes(launcher: Launcher, wish: Wish, desk: Desk) -> Wish:
    """A form sends every field; what says the same as the configuration is no change."""
    loaded = None
    if wish.config in launcher.configs():
        try:
            loaded = await asyncio.to_thread(launcher.load, Wish(wish.config), desk.environ())
        except SkillOptError:
            loaded = None
    form = forms.form_for(loaded)
    fields = {f.key: f.value for f in (*form.everyday, *(f for s in form.sections for f in s.fields))}
    changed = {k: v for k, v in wish.changes.items() if v.strip() != fields.get(k, "").strip()}
    return Wish(wish.config, wish.own, changed)


async def launch(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    wish = await _only_changes(desk.launcher, _wish(dict(await request.post())), desk)
    environ = desk.environ()
    found = await asyncio.to_thread(desk.launcher.check, wish, environ)
    if found.problems:
        return await _launch_form(desk, wish, own=not wish.config, problems=found.problems)
    loaded = await asyncio.to_thread(desk.launcher.load, wish, environ)
    directory, arguments = desk.launcher.command(wish, loaded)
    desk.children.start(directory, arguments, environ, caps_in(wish.changes))
    entry = desk.library.catalogue.at(directory)
    raise web.HTTPSeeOther(f"/runs/{quote(entry.id)}" if entry else "/")


async def keep_file(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    part = await (await request.multipart()).next()
    if not isinstance(part, BodyPartReader) or not part.filename:
        raise web.HTTPBadRequest(text="No file came with the request.")
    data = bytes(await part.read())
    if len(data) > LARGEST_FILE:
        raise web.HTTPRequestEntityTooLarge(LARGEST_FILE, len(data))
    try:
        path = desk.launcher.keep_file(part.filename, data)
    except SkillOptError as error:
        raise web.HTTPBadRequest(text=str(error)) from error
    return web.json_response({"path": str(path)})


async def stop(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, _ = await desk.run(request)
    form = await request.post()
    processes.stop(entry.directory, at_once=form.get("how") == "at_once")
    desk.children.tidy()
    raise web.HTTPSeeOther(f"/runs/{quote(entry.id)}")


async def resume(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, _ = await desk.run(request)
    if processes.worker(entry.directory) is not None:
        raise web.HTTPConflict(text="A process is at work on this run already.")
    form = await request.post()
    caps = {name: str(form.get(name, "")) for name in ("max_cost_usd", "max_tokens")}
    try:
        arguments = desk.launcher.resume(entry.directory, caps)
    except (SkillOptError, ValueError) as error:
        said = str(error) if isinstance(error, SkillOptError) else "A cap must be a number."
        raise web.HTTPBadRequest(text=said) from error
    earlier = processes.launch_of(entry.directory)
    told = {f"budget.{name}": value for name, value in caps.items()}
    desk.children.start(
        entry.directory, arguments, desk.environ(), {**(earlier.caps if earlier else {}), **caps_in(told)}
    )
    raise web.HTTPSeeOther(f"/runs/{quote(entry.id)}")


async def play_page(request: web.Request) -> web.Response:
    return await _play(request, {"item": request.query.get("item", ""), "text": "", "version": "best"}, None)


async def _play(request: web.Request, wish: Mapping[str, JSON], result: Mapping[str, JSON] | None) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    choices = [(row.id, row.digest, row.task) for row in list(follower.ledger.items.values())[:_CHOICES]]
    context: dict[str, JSON] = {
        "wish": wish, "result": result, "choices": choices, "order": list(versions(follower)),
        "ready": (entry.directory / "config.yaml").is_file(),
    }  # fmt: skip
    return desk.page("play.html", desk.head(entry, follower) | context)


async def play(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    form = await request.post()
    wish = {name: str(form.get(name, "")) for name in ("item", "text", "version", "what")}
    if wish["what"] == "text":
        wish["item"] = ""
    else:
        wish["text"] = ""
    known, state = versions(follower), follower.view.state
    version = int(wish["version"]) if wish["version"].isdigit() else -1
    skill = known.get(version, state.best.text if state else "")
    if not wish["item"] and not wish["text"].strip():
        return await _play(request, wish, {"error": "Choose an item, or write a text."})
    asked = {"config": str(entry.directory / "config.yaml"), "skill": skill, "item": wish["item"], "text": wish["text"]}
    async with desk.playing:
        return await _play(request, wish, _shown(await _tried(asked, desk)))


async def _tried(asked: Mapping[str, JSON], desk: Desk) -> dict[str, JSON]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "skillopt_webui.trying", env=dict(desk.environ()),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    err = b""
    try:
        out, err = await asyncio.wait_for(process.communicate(json.dumps(asked).encode()), _PLAY_SECONDS)
        return json.loads(out)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
        return {"error": f"The target gave no answer within {_PLAY_SECONDS} seconds."}
    except ValueError:
        return {"error": "The attempt ended without an answer: " + err.decode(errors="replace")[-500:]}


def _shown(row: Mapping[str, JSON]) -> dict[str, JSON]:
    if row.get("error"):
        return {"error": row["error"]}
    usage, score = row["usage"], row["score"]
    turns = [Turn(t["role"], t["text"]) for t in row["turns"]]
    priced = usage["calls"] and not usage["unpriced"]
    return {
        "error": "",
        "answer": markdown(row["answer"]),
        "asked": [(turn.role, turn.text) for turn in turns if turn.role != "assistant"],
        "cost": money(usage["cost_usd"]) if priced else "price unknown",
        "tokens": f"{tokens(usage['prompt_tokens'])} in, {tokens(usage['completion_tokens'])} out",
        "hard": number(score["hard"]) if score else "",
        "soft": number(score["soft"]) if score else "",
        "detail": detail_rows(score["detail"]) if score else [],
    }
