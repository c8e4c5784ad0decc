"""Every bad input: where it is, what is wrong, what was probably meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

from skillopt.config import Override, load_config, overrides_from, parse_cfg_options
from skillopt.errors import ConfigError


class Options(BaseModel):
    max_turns: int = Field(1, ge=1)
    detail: str = "auto"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def problems(
    text: str, overrides: Sequence[Override] = (), *, name: str = "x.yaml", declared: bool = True
) -> list[str]:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path, overrides, benchmark_options=(lambda _: Options) if declared else None)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("train:\n  num_epoch: 3", "x.yaml:2: train.num_epoch: unknown key; did you mean train.num_epochs?"),
        (
            "train: {learning_rate: 3}",
            "x.yaml:1: train.learning_rate: unknown key; did you mean optimizer.learning_rate?",
        ),
        (
            "optimizer: {edit_budget: 3}",
            "x.yaml:1: optimizer.edit_budget: unknown key; did you mean optimizer.learning_rate?",
        ),
        ("trian: {num_epochs: 3}", "x.yaml:1: trian: unknown section; did you mean train?"),
        ("num_epoch: 3\ntrain: {seed: 1}", "x.yaml:1: num_epoch: unknown key; did you mean num_epochs?"),
        ("zzz: 3\ntrain: {seed: 1}", "x.yaml:1: zzz: unknown key; an option of the benchmark belongs under env:"),
        ("train: 3", "x.yaml:1: train: must be a section with `key: value` lines below it"),
        ("train:\n  batch_size: 0", "x.yaml:2: train.batch_size: must be at least 1, got 0"),
        ("train: {batch_size: 1.5}", "x.yaml:1: train.batch_size: must be a whole number, got 1.5"),
        ("train: {batch_size: true}", "x.yaml:1: train.batch_size: must be a whole number, got true"),
        ("train: {batch_size: many}", 'x.yaml:1: train.batch_size: must be a whole number, got "many"'),
        ("train: {batch_size: }", "x.yaml:1: train.batch_size: must be a whole number, got null"),
        ("train: {seed: x}", 'x.yaml:1: train.seed: must be a whole number, got "x"'),
        ("train: {num_epochs: 0}", "x.yaml:1: train.num_epochs: must be at least 1, got 0"),
        ("train: {accumulation: 0}", "x.yaml:1: train.accumulation: must be at least 1, got 0"),
        ("train: {memory_scope: ever}", 'x.yaml:1: train.memory_scope: must be one of epoch, run, got "ever"'),
        ("gradient: {minibatch_size: 0}", "x.yaml:1: gradient.minibatch_size: must be at least 1, got 0"),
        ("gradient: {merge_batch_size: 1}", "x.yaml:1: gradient.merge_batch_size: must be at least 2, got 1"),
        ("gradient: {analyst_workers: 0}", "x.yaml:1: gradient.analyst_workers: must be at least 1, got 0"),
        ('gradient: {failure_only: "yes"}', 'x.yaml:1: gradient.failure_only: must be true or false, got "yes"'),
        ("gradient: {failure_only: 1}", "x.yaml:1: gradient.failure_only: must be true or false, got 1"),
        ("optimizer: {learning_rate: 0}", "x.yaml:1: optimizer.learning_rate: must be at least 1, got 0"),
        (
            "optimizer: {learning_rate: 3, min_learning_rate: 5}",
            "x.yaml:1: optimizer.min_learning_rate: must be at most optimizer.learning_rate (3), got 5",
        ),
        (
            "optimizer: {lr_scheduler: cosin}",
            "x.yaml:1: optimizer.lr_scheduler: must be one of constant, linear, cosine, autonomous, "
            'got "cosin"; did you mean cosine?',
        ),
        (
            "optimizer: {skill_update_mode: pach}",
            "x.yaml:1: optimizer.skill_update_mode: must be one of patch, rewrite_from_suggestions, "
            'full_rewrite_minibatch, got "pach"; did you mean patch?',
        ),
        (
            "optimizer: {longitudinal_pair_policy: some}",
            'x.yaml:1: optimizer.longitudinal_pair_policy: must be one of mixed, changed, unchanged, got "some"',
        ),
        (
            "evaluation: {gate_metric: sfot}",
            'x.yaml:1: evaluation.gate_metric: must be one of hard, soft, mixed, got "sfot"; did you mean soft?',
        ),
        ("evaluation: {gate_mixed_weight: 1.2}", "x.yaml:1: evaluation.gate_mixed_weight: must be at most 1, got 1.2"),
        (
            "evaluation: {gate_mixed_weight: .nan}",
            "x.yaml:1: evaluation.gate_mixed_weight: must be a finite number, got NaN",
        ),
        ("evaluation: {max_missing: -1}", "x.yaml:1: evaluation.max_missing: must be at least 0, got -1"),
        ("model: {timeout_seconds: 0}", "x.yaml:1: model.timeout_seconds: must be more than 0, got 0"),
        (
            "model: {target: ''}",
            "x.yaml:1: model.target: must name a model: the backend openai_chat has no model of its own",
        ),
        ("model: {copilot_chat_timeout: 0}", "x.yaml:1: model.copilot_chat_timeout: must be at least 1, got 0"),
        ("model: {optimizer: [a]}", 'x.yaml:1: model.optimizer: must be text, got ["a"]'),
    ],
)
def test_one_bad_line(text: str, line: str) -> None:
    found = problems(text, [Override("env.name", "toy", "--env")])
    assert len(found) == 1
    assert found[0].removesuffix(', got ""') == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("split_ratio: 1:2", "must be three positive whole numbers train:val:test, such as 2:1:7"),
        ("split_ratio: 1:0:2", "must be three positive whole numbers"),
        ("split_ratio: [1, 2, true]", "must be three positive whole numbers"),
        ("split_mode: dir", "must be one of ratio, split_dir"),
        ("workers: 0", "must be at least 1, got 0"),
        ("limit: -1", "must be at least 0, got -1"),
        ("exec_timeout: 0", "must be more than 0, got 0"),
        ("max_turns: 0", "must be at least 1, got 0"),
        ("max_turns: x", 'must be a whole number, got "x"'),
        ("max_turn: 3", "the benchmark has no such option; did you mean env.max_turns?"),
        ("num_epochs: 3", "the benchmark has no such option; did you mean train.num_epochs?"),
        ("options: {a: 1}", "unknown key"),
    ],
)
def test_bad_env_keys(text: str, line: str) -> None:
    key = text.partition(":")[0]
    found = problems(f"env:\n  name: toy\n  {text}\n")
    assert len(found) == 1
    assert found[0].startswith(f"x.yaml:3: env.{key}: {line}")


@pytest.mark.parametrize(
    ("backend", "hint"),
    [("model: {backend: claud}", "claude_chat"), ("model: {target_backend: codexexec}", "codex_exec")],
)
def test_unknown_backends_are_refused_with_the_nearest(backend: str, hint: str) -> None:
    (line,) = problems(f"env: {{name: toy}}\n{backend}\n")
    assert line.startswith("x.yaml:2: model.")
    assert line.endswith(f"; did you mean {hint}?")


def test_an_optimizer_cannot_be_a_target_only_backend() -> None:
    (line,) = problems("env: {name: toy}\nmodel: {optimizer_backend: cursor}\n")
    assert line.startswith("x.yaml:2: model.optimizer_backend: must be one of openai_chat, ")


def test_all_problems_at_once_from_all_sources() -> None:
    Path("base.yaml").write_text("gradient:\n  merge_batch: 1\n")
    overrides = (
        *parse_cfg_options(["evaluation.gate_metric=hrad", "nm_epochs=1"]),
        *overrides_from({"batch_size": 0, "use_gate": "onn"}),
    )
    found = problems("_base_: base.yaml\ntrain:\n  num_epoch: 3\n  seed: x\nenv: {name: toy, max_turn: 1}\n", overrides)
    assert set(found) == {
        "base.yaml:2: gradient.merge_batch: unknown key; did you mean gradient.merge_batch_size?",
        "x.yaml:3: train.num_epoch: unknown key; did you mean train.num_epochs?",
        "x.yaml:5: env.max_turn: the benchmark has no such option; did you mean env.max_turns?",
        "--cfg-options: nm_epochs: unknown key; did you mean num_epochs?",
        "--batch_size: train.batch_size: must be at least 1, got 0",
        'x.yaml:4: train.seed: must be a whole number, got "x"',
        '--cfg-options: evaluation.gate_metric: must be one of hard, soft, mixed, got "hrad"; did you mean hard?',
        '--use_gate: evaluation.use_gate: must be true or false, got "onn"',
    }
    assert len(found) == 8


def test_without_a_declared_model_bare_names_are_refused_and_near_misses_pointed_out() -> None:
    (line,) = problems("env: {name: toy}", parse_cfg_options(["zzz=1"]), declared=False)
    assert line == "--cfg-options: zzz: unknown key; write env.zzz for an option of the benchmark"
    Path("flat.yaml").write_text("env: toy\nnum_epoch: 3\n")
    loaded = load_config("flat.yaml")
    assert loaded.warnings == (
        "flat.yaml:2: env.num_epoch: taken as an option of the benchmark; did you mean num_epochs?",
    )


def test_duplicate_keys_name_both_lines() -> None:
    found = problems("env: {name: toy}\ntrain:\n  seed: 1\n  batch_size: 2\n  seed: 3\ntrain: {seed: 4}\n")
    assert found == [
        "x.yaml:6: train: given twice, first on line 2; keep one",
        "x.yaml:5: train.seed: given twice, first on line 3; keep one",
    ]


def test_an_anchor_may_be_overridden_without_being_a_duplicate() -> None:
    Path("x.yaml").write_text("env:\n  name: toy\n  a: &a {k: 1, l: 2}\n  b:\n    <<: *a\n    k: 3\n")
    assert load_config("x.yaml").config.env.options["b"] == {"k": 3, "l": 2}


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("env: {name: toy\ntrain: 3", "x.yaml:2: not valid YAML: "),
        ("env:\n\tname: toy", "x.yaml:2: not valid YAML: "),
        ("a: 1\n---\nb: 2", "x.yaml:2: not valid YAML: "),
        ("- a\n- b", "x.yaml:1: the file must hold `key: value` lines, but it holds a list"),
        ("hello", "x.yaml:1: the file must hold `key: value` lines, but it holds a single value"),
        ("env: !!python/object:os.system {}\n", "x.yaml:1: not valid YAML: the tag "),
        ("env: &e\n  name: toy\n  me: *e\n", "x.yaml:1: not valid YAML: a value that contains itself"),
        ("a: \x00", "x.yaml: not valid YAML: it holds a character"),
    ],
)
def test_broken_files(text: str, start: str) -> None:
    assert problems(text)[0].startswith(start)


def test_a_syntax_error_does_not_quote_the_line() -> None:
    assert "sk-secret" not in "".join(problems("model:\n  azure_openai_api_key: 'sk-secret\n"))


def test_not_utf8() -> None:
    Path("x.yaml").write_bytes(b"env: \xff\xfe\xfa")
    with pytest.raises(ConfigError, match=r"x\.yaml: cannot be read: it is not UTF-8 text"):
        load_config("x.yaml")


def test_cycles_show_the_chain() -> None:
    Path("a.yaml").write_text("_base_: b.yaml\n")
    Path("b.yaml").write_text("\n_base_: x.yaml\n")
    found = problems("_base_: a.yaml\nenv: {name: toy}\n")
    assert found == [
        "b.yaml:2: _base_: the files inherit from each other: x.yaml -> a.yaml -> b.yaml -> x.yaml; remove one _base_"
    ]


def test_missing_and_misshapen_bases() -> None:
    Path("default.yaml").write_text("train: {seed: 1}\n")
    found = problems("_base_: defualt.yaml\nenv: {name: toy}\n")
    assert found == ["x.yaml:1: _base_: defualt.yaml: no such file; did you mean default.yaml?"]
    assert problems("_base_: {a: 1}\nenv: {name: toy}\n") == [
        "x.yaml:1: _base_: must be a file name or a list of file names"
    ]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("configs/searchqa/defualt.yaml", "; did you mean configs/searchqa/default.yaml?"),
        ("configs/serchqa/default.yaml", "; did you mean configs/searchqa/default.yaml?"),
        ("configs/examples/soft_gate.yaml", ": it is now configs/features/soft_gate.yaml"),
        ("nowhere/at/all.yaml", ""),
    ],
)
def test_missing_config_files(asked: str, answer: str) -> None:
    Path("configs/searchqa").mkdir(parents=True)
    Path("configs/searchqa/default.yaml").write_text("env: {name: toy}")
    with pytest.raises(ConfigError) as caught:
        load_config(asked)
    assert caught.value.problems == (f"{asked}: no such file{answer}",)


def test_a_folder_is_answered_with_its_default_file() -> None:
    Path("configs/searchqa").mkdir(parents=True)
    Path("configs/searchqa/default.yaml").write_text("env: {name: toy}")
    with pytest.raises(ConfigError, match=r"is a folder; did you mean configs/searchqa/default\.yaml\?"):
        load_config("configs/searchqa")


@pytest.mark.parametrize("text", ["train: {seed: 1}", "", "env: {name: ''}", "env:\n"])
def test_no_benchmark_named(text: str) -> None:
    (line,) = problems(text)
    assert line.startswith("x.yaml")
    assert "env.name: is empty; name the benchmark" in line
    assert "--env" in line


def test_cfg_options_need_a_key_and_a_value() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_cfg_options(["train.seed", "=3", "ok=1"])
    assert len(caught.value.problems) == 2
    assert caught.value.problems[0] == "--cfg-options: train.seed: must be written key=value"


def test_no_credential_in_a_problem() -> None:
    text = "env: {name: toy}\nmodel:\n  azure_openai_api_key: [sk-secret]\n"
    (line,) = problems(text)
    assert line == "x.yaml:3: model.azure_openai_api_key: must be text"
