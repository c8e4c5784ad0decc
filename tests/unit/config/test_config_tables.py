"""The tables derived from the schema: flat names, flags, aliases, comparison of two runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from skillopt.config import (
    FLAGS,
    FLAT_NAMES,
    KEYS,
    RESULT_NEUTRAL,
    Config,
    differences,
    differing,
    load_config,
    overrides_from,
)
from skillopt.config.names import ALIASES, IGNORED
from skillopt.config.schema import Evaluation, Optimizer
from skillopt.config.suggest import nearest

BENCHMARK_OPTIONS = {
    "data_root", "image_detail", "judge_model", "judge_max_completion_tokens", "judge_retries", "mode", "max_steps",
    "max_turns", "max_api_workers", "shuffle_choices", "use_theorem", "use_sketch",
}  # fmt: skip


def test_every_flag_sets_a_real_key_once() -> None:
    assert len({f.name for f in FLAGS}) == len(FLAGS)
    strangers = {f.path.partition(".")[2] for f in FLAGS if f.path not in KEYS and f.path not in IGNORED}
    assert strangers == BENCHMARK_OPTIONS
    assert [f.name for f in FLAGS if not f.help] == []
    assert {f.name for f in FLAGS if f.hidden} == {"steps_per_epoch", "max_analyst_rounds", "codex_exec_full_auto"}


def test_the_documented_flags_are_there() -> None:
    train = {f.name for f in FLAGS if "train" in f.commands}
    documented = "split_dir azure_openai_endpoint optimizer_model target_model num_epochs batch_size workers out_root"
    assert train >= {*documented.split(), "limit", "edit_budget", "target_qwen_chat_enable_thinking", "env"}
    assert "openai_compatible" in next(f for f in FLAGS if f.name == "backend").choices


def test_eval_takes_the_flags_that_concern_it() -> None:
    both = {f.name for f in FLAGS if "eval" in f.commands}
    assert both >= {
        "env",
        "backend",
        "split_dir",
        "seed",
        "test_env_num",
        "mode",
        "workers",
        "qwen_chat_base_url",
        "limit",
    }
    assert not both & {"num_epochs", "edit_budget", "use_gate", "skill_init", "sel_env_num", "analyst_workers"}


def test_secret_flags_are_marked() -> None:
    assert {f.name for f in FLAGS if f.secret} == {f.name for f in FLAGS if f.name.endswith("api_key")}


def test_every_flag_choice_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("env: {name: toy}")
    for flag in FLAGS:
        for choice in flag.choices:
            load_config(path, overrides_from({flag.name: choice}))


def test_flat_names_are_unambiguous_and_complete() -> None:
    assert {path for path in KEYS if path not in FLAT_NAMES.values()} == set()
    assert len(Config().flat()) == len([k for k in KEYS.values() if not k.secret])
    assert FLAT_NAMES["edit_budget"] == "optimizer.learning_rate"
    assert FLAT_NAMES["env"] == "env.name"
    assert {target for _, target in ALIASES} <= set(KEYS)
    assert not set(IGNORED) & set(KEYS)


def test_flat_view_uses_the_flat_names() -> None:
    flat = Config.model_validate({"env": {"name": "toy", "max_turns": 3, "seed": 9}}).flat()
    assert (flat["env"], flat["edit_budget"], flat["optimizer_model"], flat["max_turns"]) == ("toy", 4, "gpt-5.5", 3)
    assert flat["seed"] == 42


def test_every_key_has_a_description() -> None:
    assert [k for k, key in KEYS.items() if len(key.help) < 8] == []


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("manual", "fixed"),
        ("Scheduler", "fixed"),
        ("", "fixed"),
        ("auto", "autonomous"),
        ("off", "none"),
        ("no_lr", "none"),
    ],
)
def test_lr_control_aliases(word: str, meaning: str) -> None:
    assert Optimizer.model_validate({"lr_control_mode": word}).lr_control_mode == meaning


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("edits", "patch"),
        ("", "patch"),
        ("rewrite", "rewrite_from_suggestions"),
        ("suggestions", "rewrite_from_suggestions"),
        ("rewrite_suggestions", "rewrite_from_suggestions"),
        ("full_rewrite", "full_rewrite_minibatch"),
        ("minibatch_full_rewrite", "full_rewrite_minibatch"),
        ("skill_rewrite_minibatch", "full_rewrite_minibatch"),
    ],
)
def test_update_mode_aliases(word: str, meaning: str) -> None:
    assert Optimizer.model_validate({"skill_update_mode": word}).skill_update_mode == meaning


@pytest.mark.parametrize(
    ("word", "meaning"),
    [("default", "mixed"), ("all", "mixed"), ("10_01", "changed"), ("delta", "changed"), ("00_11", "unchanged")],
)
def test_pair_policy_aliases(word: str, meaning: str) -> None:
    assert Optimizer.model_validate({"longitudinal_pair_policy": word}).longitudinal_pair_policy == meaning


def test_the_models_are_frozen_and_closed() -> None:
    with pytest.raises(ValidationError):
        Evaluation.model_validate({"gates": "strict"})
    with pytest.raises(ValidationError):
        Config().train.seed = 3  # pyright: ignore[reportAttributeAccessIssue]


def test_differing_names_what_would_change_results() -> None:
    old = Config.model_validate({"env": {"name": "toy", "max_turns": 1}}).public()
    changed = {"env": {"name": "toy", "max_turns": 2, "workers": 1, "out_root": "b"}, "train": {"seed": 1}}
    new = Config.model_validate(changed | {"model": {"timeout_seconds": 1, "max_attempts": 1}}).public()
    assert differing(old, new) == ("train.seed", "env.max_turns")
    assert str(differences(old, new)[0]) == "train.seed: was 42, now 1"
    assert differing(old, old) == ()


def test_a_key_an_older_run_did_not_know_counts_as_its_default() -> None:
    old = Config().public()
    del old["train"]["patience"]
    assert differing(old, Config().public()) == ()
    assert differing(old, Config.model_validate({"train": {"patience": 3}}).public()) == ("train.patience",)


def test_neutral_keys_exist() -> None:
    assert {k for k in RESULT_NEUTRAL if k not in KEYS} == {
        "env.max_api_workers",
        "env.data_root",
        "env.image_root",
        "env.engine_timeout",
    }


def test_nearest_is_silent_when_nothing_is_near() -> None:
    assert nearest("Num_Epoch", KEYS | {"num_epochs": 1}) == "num_epochs"
    assert nearest("zzz", KEYS) is None
