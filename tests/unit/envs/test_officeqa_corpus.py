"""Documents, tools and pages: what targets can see, what they cannot, and how answers are cut."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.envs.officeqa.convert import json_text, pdf_text, tables_as_markdown
from skillopt.envs.officeqa.corpus import Corpus
from skillopt.envs.officeqa.pages import paged, places, shown_pages
from skillopt.envs.officeqa.shelf import Document, Shelf, folded
from skillopt.envs.officeqa.tools import MOST_CHARACTERS, CorpusTools
from skillopt.errors import DataError

PARSED = {
    "document": {
        "elements": [
            {"content": "Front", "bbox": [{"page_id": 0}]},
            {"content": "<p>Debt</p><table><tr><th colspan=2>Year</th><th>A|B</th></tr><tr><td>1953</td><td>x</td>"
             "<td> 1,234 </td></tr></table>", "bbox": [{"page_id": 1}]},
            {"content": "no box of its own"},
            {"content": None, "bbox": "odd"},
        ]
    }
}  # fmt: skip


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[..., Corpus]:
    def make(**files: str | bytes) -> Corpus:
        home = tmp_path / "docs"
        for name, content in files.items():
            path = home / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return Corpus((str(home),), tmp_path / "cache")

    return make


def ask(corpus: Corpus, name: str, **arguments: object) -> str:
    return asyncio.run(CorpusTools(corpus).call(name, arguments))


def test_only_readable_forms_are_listed_and_the_plainest_stands_for_all(corpus: Callable[..., Corpus]) -> None:
    made = corpus(
        b_dot_txt="b", b_dot_pdf="%PDF", a__c_dot_json="{}", a__c_dot_md="c", d_dot_csv="answers", __hidden=""
    )
    assert list(made.documents) == ["a/c.md", "b.txt"]
    assert ask(made, "glob", pattern="*") == "a/c.md\nb.txt"
    assert ask(made, "glob", pattern="A/*") == ask(made, "glob", pattern="a") == ask(made, "glob", pattern="**/C*")
    assert "named like a/c.md" in ask(made, "glob", pattern="*.csv")


def test_a_transformed_folder_is_what_targets_see(corpus: Callable[..., Corpus]) -> None:
    made = corpus(transformed__x_1941_01_dot_txt="plain", jsons__x_1941_01_dot_json=json.dumps(PARSED))
    assert list(made.documents) == ["x_1941_01.txt"]
    found = made.source("x_1941_01.txt")
    assert found is not None and found.path.suffix == ".json"


def test_several_folders_keep_their_names_apart(tmp_path: Path) -> None:
    for place in ("one/docs", "two/docs", "three"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "x.txt").write_text(place)
    made = Corpus(tuple(str(tmp_path / p) for p in ("one/docs", "two/docs", "three")), tmp_path / "cache")
    assert list(made.documents) == ["docs-1/x.txt", "docs-2/x.txt", "three/x.txt"]
    assert "two/docs" in ask(made, "read", path="docs-2/x.txt")
    assert "there is no document 'x.txt'" in ask(made, "read", path="x.txt")


def test_nothing_outside_can_be_read(corpus: Callable[..., Corpus], tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the gold")
    made = corpus(a_dot_txt="a")
    home = tmp_path / "docs"
    (home / "link.txt").symlink_to(tmp_path / "secret.txt")
    (home / "dir").symlink_to(tmp_path, target_is_directory=True)
    (home / "inside.txt").symlink_to(home / "a.txt")
    assert list(made.documents) == ["a.txt", "inside.txt"]
    for path in ("../secret.txt", str(tmp_path / "secret.txt"), "dir/secret.txt", "link.txt", "docs/../../secret.txt"):
        assert ask(made, "read", path=path).startswith("error: there is no document")
        assert "gold" not in ask(made, "grep", pattern="gold", path=path)
    (home / "a.txt").unlink()
    (home / "a.txt").symlink_to(tmp_path / "secret.txt")
    assert ask(made, "read", path="a.txt").startswith("error: the document cannot be read: it has become a link")


def test_reading_says_where_it_was_cut_and_reads_on(corpus: Callable[..., Corpus]) -> None:
    lines = [f"line {n} " + "x" * 90 for n in range(1, 201)]
    made = corpus(a_dot_txt="\r\n".join(lines))
    seen: list[str] = []
    start = 1
    while True:
        text = ask(made, "read", path="a.txt", start=start)
        assert len(text) <= MOST_CHARACTERS
        head, *body = text.split("\n")
        assert head.startswith(f"a.txt, lines {start} to ") and head.endswith("of 200")
        cut = body.pop() if body[-1].startswith("[cut here") else ""
        seen += body
        if not cut:
            break
        start = int(cut.rpartition("=")[2].rstrip("]"))
    assert seen == lines


def test_very_long_lines_are_folded_without_loss() -> None:
    text = ("é" * 3000 + " word " * 900).encode()
    parts = folded(text).split(b"\n")
    assert b"".join(parts) == text and max(map(len, parts)) <= 2000
    assert all(part.decode() for part in parts)
    assert folded(b"\xef\xbb\xbfa\rb\xff") == "a\nb\ufffd".encode()


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("read", {}, "path must be a text; it is missing"),
        ("read", {"path": ["a.txt"]}, "path must be a text"),
        ("read", {"path": "a.txt", "start": "ten"}, "start must be a whole number, got 'ten'"),
        ("read", {"path": "a.txt", "limit": {"n": 1}}, "limit must be a whole number"),
        ("read", {"path": "a.txt", "start": float("inf")}, "start must be a whole number"),
        ("read", {"path": "a.txt", "start": 9}, "a.txt has 2 lines"),
        ("read", {"path": "b.txt"}, "did you mean a.txt?"),
        ("grep", {"pattern": " "}, "pattern is empty"),
        ("grep", {"pattern": "x" * 500}, "longer than 400"),
        ("grep", {"pattern": "one", "path": "zzz"}, "there is no document 'zzz'"),
        ("glob", {"pattern": None}, "pattern must be a text"),
        ("find", {}, "there is no tool 'find'"),
    ],
)
def test_a_bad_call_is_answered(corpus: Callable[..., Corpus], name: str, arguments: dict, said: str) -> None:
    answer = ask(corpus(a_dot_txt="one\ntwo"), name, **arguments)
    assert answer.startswith("error: ") and said in answer


def test_loose_types_are_understood(corpus: Callable[..., Corpus]) -> None:
    made = corpus(a_dot_txt="one\n1954\nthree")
    assert ask(made, "read", path="./A.TXT", start="2", limit=1.0).splitlines()[1] == "1954"
    assert ask(made, "read", path="a.pdf", start=-3, limit=1).splitlines()[1] == "one"
    assert ask(made, "grep", pattern=1954, path=None) == "a.txt:2: 1954"
    assert ask(made, "grep", pattern="\ud800").startswith("no line contains")


def test_grep_is_literal_ignores_case_and_counts_what_it_leaves_out(corpus: Callable[..., Corpus]) -> None:
    made = corpus(
        a_dot_txt="Net (Debt)\nother\nnet (debt) again net (debt)", b_dot_txt="x\n" * 50 + "NET (DEBT)\n" * 30
    )
    assert ask(made, "grep", pattern="NET (debt)", path="a.txt") == (
        "a.txt:1: Net (Debt)\na.txt:3: net (debt) again net (debt)"
    )
    assert ask(made, "grep", pattern="n.t").startswith("no line contains 'n.t' (2 documents were searched)")
    lines = ask(made, "grep", pattern="net (debt)").splitlines()
    assert len(lines) == 21 and lines[2] == "b.txt:51: NET (DEBT)"
    assert lines[-1].startswith("[20 of 32 lines in 2 documents, most in b.txt (30), a.txt (2); ")


def test_long_lines_show_the_part_that_was_found(corpus: Callable[..., Corpus]) -> None:
    answer = ask(corpus(a_dot_txt="x " * 900 + "needle" + " y" * 90), "grep", pattern="NEEDLE")
    assert "needle" in answer and answer.startswith("a.txt:1: ... ") and len(answer) < 300


def test_a_pattern_that_is_everywhere_ends_early(corpus: Callable[..., Corpus]) -> None:
    answer = ask(corpus(a_dot_txt="e\n" * 5000, b_dot_txt="e"), "grep", pattern="e")
    assert "20 of more than 2000 lines" in answer and len(answer) <= MOST_CHARACTERS


def test_a_second_search_reads_nothing_and_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for n in range(700):
        (docs / f"t_{n:03d}.txt").write_text(f"issue {n}\n" * 300)
    made = Corpus((str(docs),), tmp_path / "cache")
    ask(made, "grep", pattern="issue 699")
    reads: list[Path] = []
    whole = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda self: (reads.append(self), whole(self))[1])
    began = time.perf_counter()
    assert ask(made, "grep", pattern="ISSUE 698").startswith("t_698.txt:1: issue 698")
    assert time.perf_counter() - began < 1.0
    assert {path.name for path in reads} == {"t_698.txt"}
    small = Shelf(tmp_path / "cache", kept=3000, recent=3000)
    documents = [Document(name, made.documents[name].path, docs) for name in list(made.documents)[:4]]
    for document in documents:
        assert small.lowered(document) == small.text(document).lower()
    assert sum(map(len, small._lowered.values())) <= 3000 and sum(map(len, small._recent.values())) <= 3000


def test_parsed_pages_become_text_with_marks_and_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(PARSED))
    text = json_text(path)
    assert paged(text) == {1: "Front", 2: "Debt\n| Year | Year | A/B |\n| 1953 | x | 1,234 |\n\nno box of its own"}
    path.write_text('{"any": ["thing"]}')
    assert '"thing"' in json_text(path) and paged(json_text(path)) == {}
    assert tables_as_markdown("plain < text") == "plain < text"


def test_pages_are_found_by_month_by_place_and_counted_from_one() -> None:
    files = ["treasury_bulletin_1941_01.txt", "treasury_bulletin_1954_02.txt"]
    addresses = ["https://f/t/february-1954-6685?page=14", "https://f/t/january-1941-6529?page=15&deep=true"] * 2
    assert [(p.file[-11:-4], p.page) for p in places(files, addresses)] == [("1954_02", 14), ("1941_01", 15)]
    assert places(["a.txt"], ["doc?page=3", "doc"])[0].page == 3
    assert places(["a.txt", "b.txt"], ["x?page=1", "y?page=2"])[1].file == "b.txt"
    assert places(["a.txt", "b.txt"], ["x?page=1"]) == ()
    assert paged("--- PAGE 0 ---\nfirst\n--- PAGE 1 ---\nsecond") == {1: "first", 2: "second"}


def test_shown_pages_say_what_is_missing_and_keep_the_limits(corpus: Callable[..., Corpus]) -> None:
    text = "=== page 1 ===\n" + "y" * 30_000 + "\n=== page 2 ===\nsecond"
    made = corpus(a_dot_txt=text, b_dot_txt="no marks")
    shown = shown_pages(made, ["a.txt"], ["u?page=1", "u?page=2", "u?page=3"])
    assert shown.count("### a.txt, page") == 3 and "[... cut here]" in shown and "[this page has no text]" in shown
    assert len(shown) < 24_200
    assert "no page marks" in shown_pages(made, ["b.txt"], ["u?page=1"])
    assert "not in the corpus" in shown_pages(made, ["c.txt"], ["u?page=1"])
    assert shown_pages(made, ["a.txt"], []) == "[no page is named for this question]"
    many = "".join(f"=== page {n} ===\n" + "y" * 23_000 + "\n" for n in range(1, 7))
    assert len(shown_pages(corpus(m_dot_txt=many), ["m.txt"], [f"u?page={n}" for n in range(1, 7)])) < 81_000


async def test_damaged_documents_are_named_together(corpus: Callable[..., Corpus]) -> None:
    pytest.importorskip("pypdf", reason="pypdf is not installed")
    made = corpus(a_dot_pdf="not a PDF", b_dot_json="{", c_dot_txt="fine")
    with pytest.raises(DataError) as caught:
        await CorpusTools(made).call("grep", {"pattern": "fine"})
    assert len(caught.value.problems) == 2
    assert "a.pdf: not a readable PDF" in str(caught.value) and "b.json: not JSON" in str(caught.value)


def test_without_pypdf_the_command_to_install_it_is_named(
    corpus: Callable[..., Corpus], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = corpus(a_dot_pdf="%PDF")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r'pip install "skillopt\[officeqa\]"'):
        made.check()
    monkeypatch.setitem(__import__("sys").modules, "pypdf", None)
    with pytest.raises(DataError, match="needs pypdf"):
        pdf_text(tmp_path / "docs" / "a.pdf")


def test_an_absent_or_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"there is no folder .*nowhere"):
        Corpus((str(tmp_path / "nowhere"),), tmp_path).check()
    with pytest.raises(DataError, match=r"no \.txt"):
        Corpus((str(tmp_path),), tmp_path).check()


@pytest.mark.slow
async def test_the_real_bulletins_are_converted_once_and_searched(shared_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("pypdf", reason="pypdf is not installed")
    docs = tmp_path / "docs"
    docs.mkdir()
    for path in sorted((shared_data / "officeqa").glob("*.pdf")):
        shutil.copy(path, docs)
    made = Corpus((str(docs),), tmp_path / "cache")
    made.check()
    box, late = CorpusTools(made), 0.0
    work = asyncio.ensure_future(box.call("grep", {"pattern": "5,000,945"}))
    while not work.done():
        began = time.perf_counter()
        await asyncio.sleep(0.01)
        late = max(late, time.perf_counter() - began)
    assert "treasury_bulletin_2000_09.pdf:" in work.result() and "5,224,811" in await box.call(
        "grep", {"pattern": "5,259,854"}
    )
    assert late < 0.5, "the loop was blocked"
    assert "FFO-1" in await box.call("grep", {"pattern": "summary of fiscal operations", "path": "*2014_12*"})
    assert "Japanese Yen Positions" in shown_pages(
        made, ["treasury_bulletin_2016_09.txt"], ["https://fraser.stlouisfed.org/t/september-2016-533966?page=54"]
    )
    again = Corpus((str(docs),), tmp_path / "cache")
    texts = {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()}
    await again.shelf.ready(again.documents.values())
    assert texts == {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").iterdir()} and len(texts) == 3
