"""Data sets from the Hugging Face hub: rows through `datasets`, plain files through the client it brings along.

The library is asked for only when a person says so; what fails is said with what to fetch by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast

from skillopt.datasets.prepare.reading import INSTALL
from skillopt.datasets.prepare.recipe import HubPlace
from skillopt.datasets.sources import Row
from skillopt.errors import DataError
from skillopt.types import JSON


class Hub(Protocol):
    """What is asked of the hub; a test gives its own."""

    def rows(self, place: HubPlace) -> Iterator[Row]:
        """The rows of a data set, split after split. An image is `{"bytes": ..., "path": ...}`."""
        ...

    def files(self, place: HubPlace, into: Path) -> None:
        """Put the files that match the patterns below a folder."""
        ...


class HuggingFace:
    """The hub itself."""

    def rows(self, place: HubPlace) -> Iterator[Row]:
        try:
            import datasets  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise DataError(f"--from-hub needs {INSTALL}") from None
        # The library's return type depends on the call in ways its stubs do not follow.
        loaded = cast("JSON", datasets.load_dataset(place.repository, place.config or None, split=place.split or None))
        for part in [loaded] if place.split else loaded.values():
            for column, feature in part.features.items():
                # Pages stay the bytes they are; decoding and encoding them anew would change every digest.
                if isinstance(feature, datasets.Image):
                    part = part.cast_column(column, datasets.Image(decode=False))
            yield from cast("Iterator[Row]", iter(part))

    def files(self, place: HubPlace, into: Path) -> None:
        try:
            import huggingface_hub  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise DataError(f"--from-hub needs {INSTALL}") from None
        huggingface_hub.snapshot_download(
            place.repository, repo_type="dataset", allow_patterns=list(place.patterns), local_dir=into
        )


def guarded_rows(hub: Hub, place: HubPlace, by_hand: str) -> Iterator[Row]:
    """The rows, with any failure of the library or the network said in words."""
    rows = hub.rows(place)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except DataError:
            raise
        except Exception as error:
            raise _unreachable(place, by_hand, error) from error
        yield row


def guarded_files(hub: Hub, place: HubPlace, into: Path, by_hand: str) -> None:
    """The files, with any failure said in words."""
    try:
        hub.files(place, into)
    except DataError:
        raise
    except Exception as error:
        raise _unreachable(place, by_hand, error) from error


def _unreachable(place: HubPlace, by_hand: str, error: Exception) -> DataError:
    first = str(error).strip().partition("\n")[0][:200]
    said = f"{type(error).__name__}: {first}" if first else type(error).__name__
    return DataError(f"{place.repository} could not be read from the hub ({said}). By hand: {by_hand}")
