"""OfficeQA as a benchmark: a question, a shelf of bulletins, tools to search it, an answer between tags.

The whole corpus is open and nothing points at the right file, since finding it is part of the task. The system text
depends on the skill alone, so that providers can cache it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from pydantic import SecretStr

from skillopt.agents.base import Ability, Agent, Task
from skillopt.datasets.checks import Splits
from skillopt.envs.base import Benchmark, DataSource, Options
from skillopt.envs.frame import Frame
from skillopt.envs.officeqa.corpus import Corpus
from skillopt.envs.officeqa.dialogue import Limits, searched
from skillopt.envs.officeqa.options import DEFAULT_DOCS, DOCS_VARIABLE, OfficeQAOptions
from skillopt.envs.officeqa.pages import shown_pages, sources
from skillopt.envs.officeqa.reference import exact, first_tagged, last_tagged, token_f1
from skillopt.envs.officeqa.rows import KINDS, Loader, named
from skillopt.envs.officeqa.scoring import Match, compared
from skillopt.envs.officeqa.search import HttpSearch, Service
from skillopt.envs.officeqa.tools import CorpusTools
from skillopt.errors import ConfigError, DataError
from skillopt.model.weights import cache_directory
from skillopt.skill.examples import Example
from skillopt.types import JSON, Attempt, Item, Score

_NOTHING: Mapping[str, str] = MappingProxyType({})


class OfficeQA(Benchmark):
    """`environ` may name the folder of documents, and holds the search token; see `OfficeQAOptions`."""

    name: ClassVar[str] = "officeqa"
    Config: ClassVar[type[Options]] = OfficeQAOptions
    task_types: ClassVar[tuple[str, ...]] = KINDS
    required: ClassVar[tuple[str, ...]] = ("id", "question", "ground_truth")
    needs: ClassVar[frozenset[Ability]] = frozenset({"tools"})

    def __init__(self, options: OfficeQAOptions, *, environ: Mapping[str, str] = _NOTHING) -> None:
        self._options = options
        # Not the environment itself: other secrets in it are no business of this benchmark.
        self._token = SecretStr(environ.get(options.search_auth_env, "").strip())
        folders = options.folders or (environ.get(DOCS_VARIABLE, "").strip() or DEFAULT_DOCS,)
        self._corpus = Corpus(folders, cache_directory(environ).parent / "officeqa")
        self._system = Frame(_frame(options))

    def within(self, environ: Mapping[str, str]) -> OfficeQA:
        return OfficeQA(self._options, environ=environ)

    def rows(self, source: DataSource) -> dict[str, list[dict[str, JSON]]]:
        loader = Loader(**asdict(source))
        loader.setup({"env": self.name})
        return {"train": loader.train_items, "val": loader.val_items, "test": loader.test_items}

    def load(self, source: DataSource) -> Splits:
        splits = super().load(source)
        if self._options.with_documents:
            self._corpus.check()
            self._check_apart(source)
        if self._options.oracle_pages:
            self._check_sources((*splits.train, *splits.val, *splits.test))
        if self._options.search_mode == "custom_search":
            self._service()
        return splits

    def item(self, row: Mapping[str, JSON], split: str) -> Item:
        data = named(row)
        if not data["ground_truth"]:
            raise ValueError("there is no expected answer (ground_truth, or answer)")
        return Item.make(str(data["id"]), split, str(data["task_type"]), data)

    def task(self, item: Item, skill: str) -> Task:
        options, question = self._options, str(item.data["question"])
        user = f"Question: {question}"
        if options.oracle_pages:
            files, addresses = item.data["source_files"], item.data["source_docs"]
            pages = shown_pages(self._corpus, files, addresses)
            user = f"{user}\n\nFiles with the answer: {', '.join(files) or 'not known'}\n\nPages:\n\n{pages}"
        if not options.with_tools:
            return Task(self._system(skill), user, max_tokens=options.max_completion_tokens)
        return Task(
            self._system(skill),
            user,
            max_tokens=options.max_completion_tokens,
            tools=CorpusTools(self._corpus),
            max_turns=options.max_tool_turns,
            folders=tuple(root.shown for root in self._corpus.roots),
        )

    async def attempt(self, item: Item, skill: str, agent: Agent) -> Attempt:
        options, shelf = self._options, self._corpus.shelf
        if options.with_tools:
            await shelf.ready(self._corpus.documents.values())
        if options.oracle_pages:
            await shelf.ready(sources(self._corpus, item.data["source_files"], item.data["source_docs"]))
        task = await asyncio.to_thread(self.task, item, skill)
        if options.search_mode == "offline":
            return await agent.run(task)
        limits = Limits(options.max_tool_turns, options.max_queries_per_turn)
        return await searched(task, agent, HttpSearch(self._service()), limits)

    def score(self, item: Item, attempt: Attempt) -> Score:
        tagged = first_tagged if self._options.scorer == "reference" else last_tagged
        predicted = tagged(attempt.answer)
        detail: dict[str, JSON] = {
            "predicted_answer": predicted or "",
            "ground_truth": item.data["ground_truth"],
            "question": item.data["question"],
            "source_files": item.data["source_files"],
            "scorer": self._options.scorer,
        }
        if not predicted:
            reason = "no answer: the tags are empty" if predicted == "" else "no answer: there are no <answer> tags"
            return Score(0.0, 0.0, detail | {"fail_reason": reason if attempt.answer.strip() else "no answer"})
        match = max((self._match(predicted, gold) for gold in item.data["answers"]), key=lambda m: (m.hard, m.soft))
        if match.hard < 1.0:
            note = f" ({match.note})" if match.note else ""
            detail["fail_reason"] = f"wrong: predicted {predicted[:200]!r}, expected {detail['ground_truth']!r}{note}"
        return Score(match.hard, match.soft, detail)

    def gold(self, item: Item) -> str:
        return f"<answer>{item.data['ground_truth']}</answer>"

    def reference(self, item: Item) -> str:
        files = ", ".join(item.data["source_files"]) or "not known"
        pages = "\n".join(item.data["source_docs"])
        return f"Expected answer: {item.data['ground_truth']}\nFiles that hold it: {files}\n{pages}".strip()

    def example(self, item: Item) -> Example | None:
        """One exchange cannot show how an answer is looked for."""
        return None

    def _match(self, predicted: str, gold: str) -> Match:
        if self._options.scorer == "numeric":
            return compared(predicted, gold, self._options.tolerance)
        return Match(float(exact(predicted, gold)), token_f1(predicted, gold))

    def _service(self) -> Service:
        options, token = self._options, self._token.get_secret_value()
        if options.search_auth_env and not token:
            raise ConfigError(
                f"env.search_auth_env: the variable {options.search_auth_env} is not set; it holds the Authorization "
                "header of the search service. Set it, or leave env.search_auth_env blank for a service without one."
            )
        return Service(
            options.search_api_url, token, options.search_auth_env, options.search_provider,
            options.search_max_num_results, options.search_timeout_seconds,
        )  # fmt: skip

    def _check_apart(self, source: DataSource) -> None:
        """Answers must not lie among the documents: an agent that is shown the folder could read them."""
        used = source.split_dir if source.split_mode == "split_dir" else source.data_path
        questions = Path(used).resolve()
        for root in self._corpus.roots:
            if questions.is_relative_to(root.shown.resolve()):
                raise DataError(
                    f"the questions with their answers ({questions}) lie inside the folder of documents {root.shown}, "
                    "where a target could read them. Keep them in different folders."
                )

    def _check_sources(self, items: tuple[Item, ...]) -> None:
        lacking = [i.id for i in items if not sources(self._corpus, i.data["source_files"], i.data["source_docs"])]
        if lacking:
            few = ", ".join(lacking[:5]) + (" ..." if len(lacking) > 5 else "")
            raise DataError(
                f"env.oracle_pages: {len(lacking)} of {len(items)} questions have no bulletin in env.data_dirs "
                f"({few}). Add the bulletins, or take these questions out of the splits."
            )


def _frame(options: OfficeQAOptions) -> str:
    """The fixed system text of a way to work: with tools, by web search, or from given pages alone."""
    way = "search" if options.search_mode != "offline" else "tools" if options.use_local_tools else "pages"
    folder = Path(__file__).parent / "prompts"
    target, means = ((folder / f"{name}.md").read_text(encoding="utf-8").strip() for name in ("target", f"with_{way}"))
    return target.replace("{means}", means, 1)
