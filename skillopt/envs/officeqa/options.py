"""The benchmark's own keys. What cannot work together is refused here, before a document is opened.

Documents are looked for in one place that can be seen: `data_dirs`, else `$OFFICEQA_DOCS_DIR`, else `DEFAULT_DOCS`. A
list of folders that might exist would change the task from machine to machine without a word.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator, model_validator

from skillopt.envs.base import Options
from skillopt.types import JSON

DOCS_VARIABLE = "OFFICEQA_DOCS_DIR"
DEFAULT_DOCS = "data/officeqa_docs_official"


def _folders(value: JSON) -> JSON:
    if value is None or value == "":
        return ()
    return (value,) if isinstance(value, str) else value


Folders = Annotated[tuple[str, ...], BeforeValidator(_folders)]


class OfficeQAOptions(Options):
    """`oracle_pages` shows the pages that hold the answer: it measures reading and arithmetic, not finding."""

    data_dirs: Folders = Field(
        default=(), description=f"Folders with the bulletins; blank = ${DOCS_VARIABLE}, else {DEFAULT_DOCS}"
    )
    docs_dirs: Folders = Field(default=(), description="Another name of data_dirs")
    max_tool_turns: int = Field(default=24, ge=1, description="Rounds of tool calls or searches of one attempt")
    max_completion_tokens: int = Field(default=16384, ge=1, description="Output limit of one model call")
    use_local_tools: bool = Field(default=True, description="Let the target glob, read and grep the bulletins")
    oracle_pages: bool = Field(default=False, description="Show the pages and file names that hold the answer")
    scorer: Literal["numeric", "reference"] = Field(
        default="numeric", description="numeric: compares values; reference: compares normalised texts"
    )
    tolerance: float = Field(default=0.0, ge=0, lt=1, description="Relative error the numeric scorer allows")
    search_mode: Literal["offline", "custom_search", "azure_search"] = Field(
        default="offline", description="offline: the bulletins; custom_search: a web search service"
    )
    search_api_url: str = Field(default="", description="Address of the search service, https")
    search_auth_env: str = Field(
        default="OFFICEQA_CUSTOM_SEARCH_AUTH", description="Variable with its Authorization header; blank = none"
    )
    search_provider: str = Field(default="duckduckgo", description="Search engine the service is asked to use")
    search_max_num_results: int = Field(default=4, ge=1, description="Results of one query")
    search_timeout_seconds: float = Field(default=20, gt=0, description="Seconds one query may take")
    max_queries_per_turn: int = Field(default=4, ge=1, description="Queries of one round")

    @property
    def folders(self) -> tuple[str, ...]:
        return self.data_dirs or self.docs_dirs

    @property
    def with_tools(self) -> bool:
        return self.search_mode == "offline" and self.use_local_tools

    @property
    def with_documents(self) -> bool:
        return self.with_tools or self.oracle_pages

    @field_validator("search_api_url")
    @classmethod
    def _safe(cls, url: str) -> str:
        """A token must not travel in the clear, nor stand in an address that runs record."""
        if not url:
            return url
        parts = urlsplit(url)
        if parts.username or parts.password:
            raise ValueError("must not hold a user name or password; put the token into the variable search_auth_env")
        if not parts.hostname or parts.scheme not in ("https", "http"):
            raise ValueError("must be an address that begins with https://")
        if parts.scheme == "http" and not _loopback(parts.hostname):
            raise ValueError("must begin with https://: the search token would travel unencrypted over http")
        return url

    @model_validator(mode="after")
    def _together(self) -> OfficeQAOptions:
        if self.data_dirs and self.docs_dirs and self.data_dirs != self.docs_dirs:
            raise ValueError("data_dirs and docs_dirs are two names of one key and say different things; use data_dirs")
        if self.search_mode == "azure_search":
            raise ValueError(
                "search_mode azure_search needs a web search inside the provider's own model, which the chat backends "
                "do not offer; use offline, or custom_search with a search service"
            )
        if self.search_mode == "custom_search" and not self.search_api_url:
            raise ValueError("search_mode custom_search needs search_api_url: the https address of a search service")
        if self.search_mode == "offline" and not self.use_local_tools and not self.oracle_pages:
            raise ValueError("use_local_tools false leaves nothing to answer from; set oracle_pages true as well")
        return self


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
