from hypothesis import given
from hypothesis import strategies as st

from skillopt.skill.examples import Example, blocks, parted, render

TEXT = st.text(alphabet="abc XY.,?\n-", min_size=1, max_size=40)


@given(st.lists(st.builds(Example, TEXT, TEXT), max_size=5))
def test_what_is_rendered_is_found_again(examples: list[Example]) -> None:
    fitting = [Example(e.input.strip(), e.output.strip()) for e in examples if e.fits]
    text = "# Skill\n\n- be brief\n\n## Worked examples\n\n" + "\n\n".join(map(render, fitting)) + "\n"
    found = parted(text)
    assert list(found.examples) == fitting
    assert "be brief" in found.rest and "Output:" not in found.rest


def test_a_block_is_found_as_it_stands() -> None:
    first, second = Example("one\ntwo", "1"), Example("three", "3\n4")
    text = f"intro\n\n{render(first)}\n\n{render(second)}\n\n## End\n"
    assert blocks(text) == (render(first), render(second))
    assert parted(text).rest == "intro\n\n## End"


def test_texts_that_look_like_the_form_do_not_fit() -> None:
    assert not Example("a\nOutput: b", "c").fits
    assert not Example("a", "b\n\nc").fits
    assert not Example(" ", "b").fits
    assert Example("a\n\nb", "c").fits
