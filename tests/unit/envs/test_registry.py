from __future__ import annotations

import pytest

from skillopt.errors import PluginError, UnknownName
from skillopt.registry import BENCHMARKS, benchmark, load, names


def test_names_are_listed_without_importing() -> None:
    assert "searchqa" in names(BENCHMARKS)


def test_an_unknown_name_gets_a_guess_and_the_list() -> None:
    with pytest.raises(UnknownName, match=r"Did you mean 'searchqa'\? Known: .*searchqa"):
        load(BENCHMARKS, "SearchQ")


def test_a_path_loads_any_class() -> None:
    assert load(BENCHMARKS, "fractions:Fraction").__name__ == "Fraction"


@pytest.mark.parametrize(("path", "said"), [("fractions:Nope", "Nope"), ("math:pi", "not a class")])
def test_a_path_that_leads_nowhere_is_explained(path: str, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        load(BENCHMARKS, path)


def test_a_plugin_s_own_import_error_is_shown(tmp_path, monkeypatch) -> None:
    (tmp_path / "broken_plugin_x.py").write_text("import not_installed_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match="No module named 'not_installed_anywhere'"):
        load(BENCHMARKS, "broken_plugin_x:Thing")


def test_the_decorator_only_stamps_the_name() -> None:
    @benchmark("mine")
    class Mine: ...

    assert Mine.name == "mine"
    assert "mine" not in names(BENCHMARKS)
