"""Labels, roles and the models that fit them."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config import Choice, Loaded, Override, expand_backends, load_config, overrides_from

STOCK = Choice("openai_chat")
GPT = Choice("gpt-5.5")


@pytest.mark.parametrize(
    ("label", "optimizer", "target"),
    [
        ("claude", "claude_chat", "claude_chat"),
        ("Anthropic ", "claude_chat", "claude_chat"),
        ("codex", "codex_exec", "codex_exec"),
        ("openai", "codex_exec", "codex_exec"),
        ("codex_exec", "codex_exec", "codex_exec"),
        ("github_copilot", "copilot_chat", "copilot_chat"),
        ("openai-compatible", "openai_compatible", "openai_compatible"),
        ("claude_code_exec", "openai_chat", "claude_code_exec"),
        ("cursor", "openai_chat", "cursor_exec"),
        ("copilot_exec", "openai_chat", "copilot_exec"),
        ("qwen", "openai_chat", "qwen_chat"),
        ("minimax", "openai_chat", "minimax_chat"),
        ("azure", "openai_chat", "openai_chat"),
        ("", "openai_chat", "openai_chat"),
    ],
)
def test_label_table(label: str, optimizer: str, target: str) -> None:
    roles = expand_backends(Choice(label, 1), STOCK, STOCK, GPT, GPT)
    assert (roles.optimizer_backend, roles.target_backend) == (optimizer, target)


@pytest.mark.parametrize(
    ("role", "strength", "result"),
    [
        ("openai_chat", 0, "claude_chat"),
        ("openai_chat", 1, "openai_chat"),
        ("qwen", 0, "qwen_chat"),
        ("", 9, "claude_chat"),
    ],
)
def test_an_explicit_role_wins_unless_it_is_the_stock_one_of_a_weaker_layer(
    role: str, strength: int, result: str
) -> None:
    assert expand_backends(Choice("claude", 1), STOCK, Choice(role, strength), GPT, GPT).target_backend == result


@pytest.mark.parametrize(
    ("backend", "model"),
    [
        ("claude_chat", "claude-sonnet-4-6"),
        ("claude_code_exec", "claude-sonnet-4-6"),
        ("cursor_exec", "composer-2.5"),
        ("qwen_chat", "Qwen/Qwen3.5-4B"),
        ("minimax_chat", "MiniMax-M3"),
        ("copilot_exec", ""),
        ("codex_exec", "gpt-5.5"),
        ("openai_compatible", "gpt-5.5"),
    ],
)
def test_a_stock_model_gives_way_to_one_the_backend_can_run(backend: str, model: str) -> None:
    role = Choice(backend, 1)
    assert expand_backends(Choice("azure_openai"), STOCK, role, GPT, Choice("gpt-5.5", 0)).target == model
    assert expand_backends(Choice("azure_openai"), STOCK, role, GPT, Choice("gpt-5.5", 1)).target == "gpt-5.5"
    assert expand_backends(Choice("azure_openai"), STOCK, role, GPT, Choice("mine", 0)).target == "mine"


def load(tmp_path: Path, text: str, **flags: str) -> Loaded:
    path = tmp_path / "x.yaml"
    path.write_text(f"env: {{name: toy}}\nmodel: {{{text}}}\n")
    return load_config(path, overrides_from(flags))


def test_expansion_is_visible_in_the_provenance(tmp_path: Path) -> None:
    loaded = load(tmp_path, "target: gpt-5.5, optimizer: gpt-5.5, optimizer_backend: openai_chat", backend="claude")
    model = loaded.config.model
    assert (model.backend, model.optimizer_backend, model.target_backend) == ("claude_chat",) * 3
    assert model.target == model.optimizer == "claude-sonnet-4-6"
    assert loaded.provenance["model.optimizer_backend"].source == "model.backend (--backend)"
    assert loaded.provenance["model.target"].source == "model.backend (--backend)"


def test_documented_qwen_command(tmp_path: Path) -> None:
    flags = {
        "optimizer_backend": "qwen_chat",
        "target_backend": "qwen_chat",
        "optimizer_model": "Q",
        "target_model": "Q",
    }
    urls = {"optimizer_qwen_chat_base_url": "http://a/v1", "target_qwen_chat_base_url": "http://b/v1"}
    model = load(tmp_path, "", **flags, **urls).config.model
    assert (model.optimizer_backend, model.target, model.target_qwen_chat_base_url) == ("qwen_chat", "Q", "http://b/v1")


def test_an_explicit_model_on_the_command_line_stays(tmp_path: Path) -> None:
    assert load(tmp_path, "", backend="cursor", target_model="gpt-5.5").config.model.target == "gpt-5.5"


def test_the_minimax_model_key_names_the_substitute(tmp_path: Path) -> None:
    assert load(tmp_path, "minimax_model: M9", backend="minimax").config.model.target == "M9"


def test_copilot_exec_runs_without_a_model_name(tmp_path: Path) -> None:
    assert load(tmp_path, "", backend="copilot_exec").config.model.target == ""


def test_role_labels_are_understood_for_roles_too(tmp_path: Path) -> None:
    model = load(tmp_path, "target_backend: codex, optimizer_backend: azure_openai").config.model
    assert (model.target_backend, model.optimizer_backend) == ("codex_exec", "openai_chat")


def test_a_label_that_cannot_change_a_role_says_so(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, "target_backend: qwen_chat", backend="claude").warnings
    assert warning.startswith("--backend: model.backend: claude_chat leaves target_backend at qwen_chat, set in ")


def test_openai_as_a_label_is_explained(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, "backend: openai").warnings
    assert "openai means the Codex program" in warning


BASE = "optimizer:\n  use_slow_update: true\ngradient:\n  trajectory_tokens: 24000\nenv:\n  name: x\n"


def test_with_the_miner_nobody_writes_guidance_or_memory(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    loaded = load_config(tmp_path / "base.yaml", [Override("model.optimizer_backend", "miner", "--optimizer_backend")])
    settings = loaded.config.optimizer
    assert not settings.use_slow_update and not settings.use_meta_skill
    assert (
        loaded.provenance["optimizer.use_meta_skill"].source == "model.optimizer_backend: miner (--optimizer_backend)"
    )
    (note,) = loaded.warnings
    assert "optimizer.use_slow_update (" in note and "use_meta_skill" not in note and "switched off" in note


def test_beside_a_model_the_miner_switches_nothing_off() -> None:
    settings = [Override("env.name", "x", "t"), Override("gradient.mine", True, "t")]
    config = load_config(None, settings).config
    assert config.optimizer.use_slow_update and config.optimizer.use_meta_skill


def test_a_local_optimizer_is_shown_what_fits_into_its_context(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    local = [Override("model.optimizer_backend", "local", "t"), Override("model.local_context", "6000", "t")]
    assert load_config(tmp_path / "base.yaml", local).config.gradient.trajectory_tokens == 2000
    chosen = [*local, Override("gradient.trajectory_tokens", "3000", "t")]
    assert load_config(tmp_path / "base.yaml", chosen).config.gradient.trajectory_tokens == 3000
