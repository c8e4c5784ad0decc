"""Files, inheritance, precedence and the origin of values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel, SecretStr

from skillopt.config import Config, Override, load_config, overrides_from, parse_cfg_options
from skillopt.errors import ConfigError, UnknownName

ROOT = Path(__file__).resolve().parents[3]
Write = Callable[[str, str], Path]


class Options(BaseModel):
    max_turns: int = 1
    max_completion_tokens: int = 16384
    mode: str = "single"
    judge_key: SecretStr | None = None


def options(_: str) -> type[BaseModel]:
    return Options


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def put(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return put


def test_shipped_base_equals_the_code_defaults() -> None:
    loaded = load_config(ROOT / "configs/_base_/default.yaml", [Override("env.name", "x", "--env")])
    assert loaded.config.public() == Config.model_validate({"env": {"name": "x"}}).public()
    assert loaded.warnings == ()


def test_shipped_searchqa_changes_only_its_env(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    loaded = load_config("configs/searchqa/default.yaml", benchmark_options=options)
    defaults = Config().public()
    public = loaded.config.public()
    assert {s for s in public if public[s] != defaults[s]} == {"env"}
    assert loaded.config.train.train_size == 0
    assert public["env"]["split_dir"] == "data/searchqa_split"
    assert public["env"]["max_completion_tokens"] == 16384
    assert loaded.provenance["env.max_turns"].source.startswith("configs/searchqa/default.yaml:")
    assert loaded.provenance["train.num_epochs"].source.startswith("configs/_base_/default.yaml:")
    assert loaded.provenance["env.mode"].source == "default"


def test_the_soft_gate_file_can_be_added_to_a_benchmark(write: Write) -> None:
    path = write("mine.yaml", f"_base_: [{ROOT}/configs/searchqa/default.yaml, {ROOT}/configs/features/soft_gate.yaml]")
    config = load_config(path, benchmark_options=options).config
    assert (config.env.name, config.evaluation.gate_metric) == ("searchqa", "soft")


def test_precedence_base_child_cfg_options_flag(write: Write) -> None:
    write("base.yaml", "train: {num_epochs: 1, batch_size: 1, accumulation: 1, seed: 1}\nenv: {name: toy}\n")
    path = write("child.yaml", "_base_: base.yaml\ntrain:\n  batch_size: 2\n  accumulation: 2\n  seed: 2\n")
    flags = overrides_from({"seed": 4, "num_epochs": None})
    loaded = load_config(path, flags + parse_cfg_options(["train.accumulation=3", "seed=3"]))
    train = loaded.config.train
    assert (train.num_epochs, train.batch_size, train.accumulation, train.seed) == (1, 2, 3, 4)
    sources = [loaded.provenance[f"train.{k}"].source for k in ("num_epochs", "batch_size", "accumulation", "seed")]
    assert sources == ["base.yaml:1", "child.yaml:3", "--cfg-options", "--seed"]
    assert loaded.provenance["train.patience"].source == "default"


@pytest.mark.parametrize(
    ("base", "child"),
    [
        ("train: {num_epochs: 9}\nenv: {name: toy}", "num_epochs: 2"),
        ("num_epochs: 9\nenv: toy", "train: {num_epochs: 2}"),
        ("num_epochs: 9\nenv: other", "env: toy\nnum_epochs: 2"),
    ],
)
def test_flat_and_structured_files_override_each_other(write: Write, base: str, child: str) -> None:
    write("base.yaml", base)
    config = load_config(write("child.yaml", f"_base_: base.yaml\n{child}")).config
    assert (config.train.num_epochs, config.env.name) == (2, "toy")


def test_flat_file_passes_unmapped_keys_to_the_benchmark(write: Write) -> None:
    path = write("flat.yaml", "env: toy\nedit_budget: 3\nmax_turns: 5\nbackend: qwen\n")
    config = load_config(path, benchmark_options=options).config
    assert (config.optimizer.learning_rate, config.env.options["max_turns"]) == (3, 5)
    assert config.model.target_backend == "qwen_chat"


def test_within_one_file_the_section_wins_and_says_so(write: Write) -> None:
    loaded = load_config(write("x.yaml", "num_epochs: 9\ntrain: {num_epochs: 2}\nenv: {name: toy}\n"))
    assert loaded.config.train.num_epochs == 2
    assert loaded.warnings[0].startswith("x.yaml:1: train.num_epochs: given twice")


def test_base_list_later_wins_and_is_relative_to_its_file(write: Write) -> None:
    write("a/one.yaml", "train: {seed: 1, batch_size: 1}\n")
    write("a/two.yaml", "_base_: sub/three.yaml\ntrain: {seed: 2}\n")
    write("a/sub/three.yaml", "gradient: {minibatch_size: 3}\n")
    config = load_config(write("b/x.yaml", "_base_: [../a/one.yaml, ../a/two.yaml]\nenv: {name: toy}\n")).config
    assert (config.train.seed, config.train.batch_size, config.gradient.minibatch_size) == (2, 1, 3)


def test_one_base_reached_twice_is_no_cycle(write: Write) -> None:
    write("root.yaml", "train: {seed: 7}\n")
    write("l.yaml", "_base_: root.yaml\n")
    write("r.yaml", "_base_: root.yaml\n")
    assert load_config(write("x.yaml", "_base_: [l.yaml, r.yaml]\nenv: {name: toy}")).config.train.seed == 7


def test_option_mappings_merge_and_the_base_is_kept(write: Write) -> None:
    write("base.yaml", "env: {name: toy, tool: {a: 1, b: {c: 1}}}\n")
    config = load_config(write("x.yaml", "_base_: base.yaml\nenv: {tool: {b: {d: 2}}}\n")).config
    assert config.env.options == {"tool": {"a": 1, "b": {"c": 1, "d": 2}}}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("model: {codex_bin: b, codex_path: a}", "a"),
        ("model: {codex_path: a, codex_exec_path: own}", "own"),
        ("codex_cli_bin: c", "c"),
        ("model: {codex_exec_path: '', codex_bin: b}", "b"),
    ],
)
def test_codex_aliases(write: Write, text: str, path: str) -> None:
    overrides = [Override("env.name", "toy", "--env")]
    assert load_config(write("x.yaml", text), overrides).config.model.codex_exec_path == path


def test_older_azure_names_and_the_stronger_layer(write: Write) -> None:
    path = write("x.yaml", "model: {azure_openai_endpoint: https://file}\nenv: {name: toy}\n")
    loaded = load_config(path, overrides_from({"azure_endpoint": "https://flag"}))
    assert loaded.config.model.azure_openai_endpoint == "https://flag"
    assert loaded.provenance["model.azure_openai_endpoint"].source == "--azure_endpoint"


@pytest.mark.parametrize(
    ("token", "read"),
    [
        ("env.out_root=2024", lambda c: c.env.out_root == "2024"),
        ("env.out_root=on", lambda c: c.env.out_root == "on"),
        ("env.out_root=a=b", lambda c: c.env.out_root == "a=b"),
        ("evaluation.use_gate=0", lambda c: c.evaluation.use_gate is False),
        ("use_gate=Off", lambda c: c.evaluation.use_gate is False),
        ("use_slow_update=yes", lambda c: c.optimizer.use_slow_update is True),
        ("model.temperature=null", lambda c: c.model.temperature is None),
        ("model.temperature=1e-1", lambda c: c.model.temperature == 0.1),
        ("model.temperature=1", lambda c: c.model.temperature == 1.0),
        ("edit_budget=3", lambda c: c.optimizer.learning_rate == 3),
        ("num_epochs=2", lambda c: c.train.num_epochs == 2),
        ("split_ratio=1:2:3", lambda c: c.env.split_ratio == (1, 2, 3)),
        ("env.split_ratio=[4, 1, 5]", lambda c: c.env.split_ratio == (4, 1, 5)),
        ("evaluation.leading_words=[MUST, NEVER]", lambda c: c.evaluation.leading_words == ("MUST", "NEVER")),
        ("evaluation.leading_words=MUST, NEVER", lambda c: c.evaluation.leading_words == ("MUST", "NEVER")),
        ("evaluation.gate_metric= Soft ", lambda c: c.evaluation.gate_metric == "soft"),
        ("max_turns=7", lambda c: c.env.options["max_turns"] == 7),
        ("env.mode=12", lambda c: c.env.options["mode"] == "12"),
        ("model.sandbox=read-only", lambda c: c.model.codex_exec_sandbox == "read-only"),
        ("qwen_chat_enable_thinking=false", lambda c: c.model.qwen_chat_enable_thinking is False),
    ],
)
def test_cfg_options_are_read_by_their_key(write: Write, token: str, read: Callable[[Config], bool]) -> None:
    path = write("x.yaml", "env: {name: toy}")
    assert read(load_config(path, parse_cfg_options([token]), benchmark_options=options).config)


def test_options_without_a_model_are_read_as_yaml_would(write: Write) -> None:
    tokens = ["env.a=1", "env.b=true", "env.c=[1, x]", "env.d=text", "env.e=null", "env.f=1:30"]
    config = load_config(write("x.yaml", "env: {name: toy}"), parse_cfg_options(tokens)).config
    assert config.env.options == {"a": 1, "b": True, "c": [1, "x"], "d": "text", "e": None, "f": "1:30"}


def test_file_values_that_plain_yaml_would_misread(write: Write) -> None:
    text = "env:\n  name: toy\n  split_ratio: 2:1:7\n  out_root: 2024-01-15\n  skill_init:\nmodel:\n  target: 007\n"
    config = load_config(write("x.yaml", text)).config
    assert config.env.split_ratio == (2, 1, 7)
    assert (config.env.out_root, config.env.skill_init, config.model.target) == ("2024-01-15", "", "007")


def test_quoted_minimax_values_of_older_files(write: Write) -> None:
    quoted = 'minimax_temperature: "0.7", minimax_max_tokens: "8000", minimax_enable_thinking: "false"'
    text = f"env: {{name: toy}}\nmodel: {{{quoted}}}"
    model = load_config(write("x.yaml", text)).config.model
    assert (model.minimax_temperature, model.minimax_max_tokens, model.minimax_enable_thinking) == (0.7, 8000, False)


def test_a_saved_configuration_loads_to_the_same(write: Write) -> None:
    import yaml

    path = write("x.yaml", "env: {name: toy, max_turns: 3}\nmodel: {backend: claude}\n")
    first = load_config(path, benchmark_options=options).config
    again = load_config(write("y.yaml", yaml.safe_dump(first.public())), benchmark_options=options)
    assert again.config == first
    assert again.warnings == ()


@pytest.mark.parametrize(
    "text",
    [
        "env: {name: toy}\ntrain: {steps_per_epoch: 3}",
        "env: {name: toy}\noptimizer: {meta_learning_rate: 3}",
        "env: toy\nmax_analyst_rounds: 3",
        "env: {name: toy}\nmodel: {codex_exec_full_auto: true}",
    ],
)
def test_keys_without_effect_are_accepted_with_a_warning(write: Write, text: str) -> None:
    (warning,) = load_config(write("x.yaml", text)).warnings
    assert warning.startswith("x.yaml:2: ")
    assert "has no effect" in warning


def test_a_flag_without_effect_warns_under_its_own_name(write: Write) -> None:
    loaded = load_config(write("x.yaml", "env: {name: toy}"), overrides_from({"steps_per_epoch": 3}))
    assert loaded.warnings[0].startswith("--steps_per_epoch: train.steps_per_epoch: has no effect")


def test_a_lower_rate_lowers_an_older_floor(write: Write) -> None:
    write("base.yaml", "optimizer: {learning_rate: 4, min_learning_rate: 2}\nenv: {name: toy}\n")
    loaded = load_config(write("x.yaml", "_base_: base.yaml"), overrides_from({"edit_budget": 1}))
    assert loaded.config.optimizer.min_learning_rate == 1
    assert loaded.provenance["optimizer.min_learning_rate"].source == "optimizer.learning_rate (--edit_budget)"


def test_an_option_that_shadows_an_env_key_receives_its_value(write: Write) -> None:
    class Shadow(BaseModel):
        workers: int = 1

    loaded = load_config(write("x.yaml", "env: {name: toy, workers: 3}"), benchmark_options=lambda _: Shadow)
    assert loaded.config.env.options["workers"] == 3
    assert loaded.config.public()["env"]["workers"] == 3


def test_an_unknown_benchmark_is_reported_where_it_is_named(write: Write) -> None:
    def refuse(name: str) -> type[BaseModel]:
        raise UnknownName(f"no benchmark {name}; did you mean searchqa?")

    with pytest.raises(ConfigError) as caught:
        load_config(write("x.yaml", "train: {num_epoch: 1}\nenv:\n  name: serchqa\n"), benchmark_options=refuse)
    assert "x.yaml:3: env.name: no benchmark serchqa; did you mean searchqa?" in caught.value.problems
    assert len(caught.value.problems) == 2
