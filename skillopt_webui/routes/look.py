"""Pages that only look."""

from __future__ import annotations

import asyncio
import time

from aiohttp import web

from skillopt.errors import SkillFileError
from skillopt.journal.places import StepName
from skillopt.skill.package import export
from skillopt_webui import processes
from skillopt_webui.desk import DESK, Desk, whole
from skillopt_webui.pages import items, runs
from skillopt_webui.pages.compare import Named, compare_page, paired_with
from skillopt_webui.pages.run import run_page
from skillopt_webui.pages.skill import skill_page, versions
from skillopt_webui.pages.step import step_page

MOST_COMPARED = 6


def add(app: web.Application) -> None:
    app.router.add_get("/", run_list)
    app.router.add_get("/compare", compare)
    app.router.add_get("/runs/{run}", run)
    app.router.add_get("/runs/{run}/steps/{at}", step)
    app.router.add_get("/runs/{run}/items", item_list)
    app.router.add_get("/runs/{run}/items/{item}", item)
    app.router.add_get("/runs/{run}/skill", skill)
    app.router.add_get("/runs/{run}/skill.md", skill_file)
    app.router.add_get("/runs/{run}/export", skill_package)


async def run_list(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entries = await desk.library.listed()
    rows = [runs.Row(e, e.summary, desk.library.standing(e)) for e in entries]
    wish = runs.Wish(
        request.query.get("q", "")[:200], request.query.get("sort", "-age")[:20], whole(request, "page") or 1
    )
    context = runs.runs_page(rows, wish, time.time())
    return desk.page("runs.html", context | {"events_at": "/events", "root": str(desk.library.catalogue.root)})


async def run(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    head, how = desk.head(entry, follower), desk.library.standing(entry)
    launch = processes.launch_of(entry.directory)
    context = run_page(
        follower,
        how,
        time.time(),
        page=whole(request, "page") or 1,
        caps=launch.caps if launch else {},
        run_id=entry.id,
    )
    context["output"] = processes.output_of(entry.directory) if launch else ""
    return desk.page("run.html", head | context)


async def step(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    at = request.match_info["at"]
    found = follower.view.step(at) if StepName.parse(at) else None
    if found is None:
        raise web.HTTPNotFound(text="There is no such step in this run, or it has not begun.")
    context = step_page(follower, found, rendered=request.query.get("view") == "rendered")
    return desk.page("step.html", desk.head(entry, follower) | context)


async def item_list(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    query = request.query
    at = query.get("at", "")
    wish = items.Wish(
        query.get("q", "")[:200], query.get("show", ""), query.get("stage", ""), at[:40], whole(request, "page") or 1
    )
    return desk.page("items.html", desk.head(entry, follower) | items.items_page(follower, wish))


async def item(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    row = follower.ledger.items.get(request.match_info["item"])
    if row is None:
        raise web.HTTPNotFound(text="This run has no attempt at such an item.")
    context = items.item_page(
        follower,
        row,
        shown=whole(request, "attempt"),
        beside=whole(request, "beside"),
        rendered=request.query.get("view") != "plain",
        full=request.query.get("full") == "1",
    )
    context["before"], context["after"] = items.neighbours(follower.ledger, row.digest)
    return desk.page("item.html", desk.head(entry, follower) | context)


async def skill(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    entry, follower = await desk.run(request)
    view = request.query.get("view", "rendered")
    context = skill_page(follower, version=whole(request, "v"), view=view if view in ("raw", "changes") else "rendered")
    return desk.page("skill.html", desk.head(entry, follower) | context)


async def _chosen(request: web.Request, desk: Desk) -> str:
    _, follower = await desk.run(request)
    known, version = versions(follower), whole(request, "v")
    if version is not None and version in known:
        return known[version]
    return follower.view.state.best.text if follower.view.state else ""


async def skill_file(request: web.Request) -> web.Response:
    return _download(await _chosen(request, request.app[DESK]), "skill.md")


async def skill_package(request: web.Request) -> web.Response:
    text = await _chosen(request, request.app[DESK])
    name, description = request.query.get("name", ""), request.query.get("description", "")
    try:
        return _download(export(text, name, description), "SKILL.md")
    except SkillFileError as error:
        raise web.HTTPBadRequest(text=str(error)) from error


def _download(text: str, name: str) -> web.Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return web.Response(body=text.encode(), content_type="text/markdown", charset="utf-8", headers=headers)


async def compare(request: web.Request) -> web.Response:
    desk = request.app[DESK]
    named: list[Named] = []
    for run_id in dict.fromkeys(request.query.getall("run", [])):
        entry = desk.library.catalogue.get(run_id)
        if entry is not None and len(named) < MOST_COMPARED:
            named.append(Named(entry.id, entry.name, await desk.library.open(entry, patience=5.0)))
    if len(named) < 2:
        raise web.HTTPBadRequest(text="Choose two or more runs in the list, then compare them.")
    paired = [await asyncio.to_thread(paired_with, named[0], other) for other in named[1:]]
    return desk.page("compare.html", compare_page(named, paired))
