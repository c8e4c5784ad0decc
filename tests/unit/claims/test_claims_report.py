"""Reports show what models wrote as text, in both forms, and forget nothing that was in the figures."""

from __future__ import annotations

import json
import re
from pathlib import Path

from skillopt.claims.evidence import blame
from skillopt.claims.figures import figures
from skillopt.claims.ledger import Ledger
from skillopt.claims.reporting.content import content, shown
from skillopt.claims.reporting.files import check_reports, write_report
from skillopt.claims.reporting.html import page
from skillopt.claims.reporting.markdown import document
from skillopt.journal.events import Decided, Event, Finished, RolloutDone, RunStarted
from skillopt.skill.document import Skill
from skillopt.types import Decision, Edit, Patch, Rollout, Score, Tally

EVIL = "<script>alert(1)</script> `code` </script><!-- --> | [x](javascript:1)"
SEED = Skill.parse("# Skill\n")
BEST = SEED.apply(Patch((Edit("append", EVIL),))).skill


def ledger() -> Ledger:
    config = {"resolved": {"env": {"name": EVIL, "split_dir": "/home/me/secret/data"}, "train": {"seed": 1}}}
    rows = [(s, f"{kind}{i}", kind, float(i % 2 or s is BEST), draw) for draw in ("val", "test") for s in (SEED, BEST)
            for kind in ("a", "<b>") for i in range(6)]  # fmt: skip
    done = [
        RolloutDone(at=d, stage=d, rollout=Rollout(i, i, s.digest, d, k, Score(v, v), None)) for s, i, k, v, d in rows
    ]
    tally, best = Tally(12, 0.5, 0.5), Tally(12, 1.0, 1.0)
    start = Decision("baseline", "baseline", SEED.text, SEED.digest, "initial_skill", 0.5, tally)
    patch = Patch((Edit("append", EVIL, why=EVIL, support=(EVIL,)),))
    kept = Decision("e01s01", "accept_new_best", BEST.text, SEED.digest, "s1", 1.0, best, 0.5, EVIL, patch,
                    gained=("a0", EVIL))  # fmt: skip
    bodies = [
        RunStarted(skillopt="1", config=config, prompts={}, data={}, seed_skill=SEED.text),
        *done[:12], Decided(decision=start), *done[12:24], Decided(decision=kept), *done[24:],
        Finished(baseline_test=tally, best_test=best, final_test=best),
    ]  # fmt: skip
    return Ledger.of(Event(seq=n, ts=float(n), key=str(n), body=b) for n, b in enumerate(bodies, start=1))


def test_nothing_a_model_wrote_becomes_markup(tmp_path: Path) -> None:
    said = content(ledger(), figures(ledger()))
    html = page(said)
    assert "<script>alert" not in html and "&lt;script&gt;alert" in html and html.count("</script>") == 1
    assert "<b>" not in html.replace("<b>append</b>", "").replace('"tile"><b>', "")
    markdown = document(said)
    visible = re.sub(r"(`+).*?\1", "", markdown.partition("<!-- figures")[0].partition("```yaml")[0])
    assert "<script>" not in visible.replace("\\<", "") and "javascript" not in re.sub(r"\\\[.*", "", visible)
    assert markdown.rstrip().endswith("-->") and "-->" not in markdown.partition("<!-- figures")[2].rstrip()[:-3]
    for form in ("html", "md"):
        write_report(said, tmp_path / f"report.{form}", form)  # type: ignore[arg-type]
    now = json.loads(json.dumps(said.figures.to_dict()))
    assert check_reports(tmp_path, now).compared == 2 and not check_reports(tmp_path, now).mismatches


def test_lift_by_kind_and_every_n() -> None:
    found = figures(ledger())
    assert [lift.kind for lift in found.lifts] == ["all", "<b>", "a"]
    assert found.lifts[0].change.n == 12 and found.lifts[0].change.value == 0.5
    assert found.lifts[0].change.low > 0 and "better" in content(ledger(), found).verdict


def test_settings_leave_without_the_machine_s_paths() -> None:
    assert shown({"a": "/home/me/data", "b": ["C:\\x\\y.csv", "rel/path"], "c": 1}) == {
        "a": ".../data",
        "b": [".../y.csv", "rel/path"],
        "c": 1,
    }
    assert "/home/me" not in page(content(ledger(), figures(ledger())))


def test_blame_names_edit_support_and_flips() -> None:
    line = blame(ledger())[-1]
    assert (line.source.at, line.source.edit, line.source.support) == ("e01s01", 1, (EVIL,))
    assert line.source.gained == ("a0", EVIL) and line.source.change == 0.5
    assert blame(ledger(), "# Skill\n\nMine.\n")[-1].source.at == "by hand"
