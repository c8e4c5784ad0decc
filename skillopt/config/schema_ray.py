"""The `ray` section: the cluster that attempts are sent to, and what one attempt takes there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from skillopt.config.schema_model import Section
from skillopt.types import JSON


def _amounts(value: JSON) -> JSON:
    """`simulator:1,disk:0.5` on the command line is what `{simulator: 1, disk: 0.5}` is in a file."""
    if not isinstance(value, str):
        return value
    try:
        pairs = [row.split(":") for row in value.split(",") if row.strip()]
        return {name.strip(): float(amount) for name, amount in pairs}
    except ValueError as error:
        raise ValueError("must be names with amounts, such as simulator:1,disk:0.5") from error


Amounts = Annotated[Mapping[str, Annotated[float, Field(gt=0)]], BeforeValidator(_amounts)]


class Ray(Section):
    """Read with `env.executor: ray`. None of it changes a result."""

    address: str = Field(
        default="auto", description="Cluster: auto (the one of this machine), host:6379, or ray://host:10001"
    )
    num_cpus: float = Field(default=1, ge=0, description="Cores reserved for one attempt; a part of one is allowed")
    num_gpus: float = Field(default=0, ge=0, description="GPUs reserved for one attempt")
    memory_mb: int | None = Field(default=None, ge=1, description="Memory reserved for one attempt; null = none")
    resources: Amounts = Field(
        default_factory=dict[str, float], description="The cluster's own resources for one attempt: {name: amount}"
    )
    max_retries: int = Field(default=3, ge=0, description="How often an attempt begins anew when its node dies")
    connect_seconds: float = Field(default=60, gt=0, description="Seconds to wait for the cluster at the start")
