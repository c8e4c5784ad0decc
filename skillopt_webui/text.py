"""Foreign text made harmless and readable: what models and data files wrote is shown, never obeyed.

Markup is escaped, control and direction characters become visible marks, and pictures are named instead of loaded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

from skillopt.skill.diff import word_diff

LONGEST = 40_000
"""Characters of one text that a page shows before it asks."""
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_PICTURES = 0x2400
_CONTEXT = 3
_FENCE = re.compile(r"^\s{0,3}(```|~~~)")
_DATA_IMAGE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]{16,}")
_NAMED_IMAGE = re.compile(r"\[image: ([^\]\n]{1,200})\]")


def visible(text: str) -> str:
    """The text with control, direction and tag characters as marks one can see."""
    return _HIDDEN.sub(_mark, text.replace("\r\n", "\n").replace("\r", "\n"))


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


def shortened(text: str, limit: int = LONGEST) -> tuple[str, int]:
    """The beginning of a text, and how many characters were left out."""
    return (text, 0) if len(text) <= limit else (text[:limit], len(text) - limit)


def markdown(text: str) -> Markup:
    """Markdown as HTML; raw HTML in it stays text, and nothing is loaded."""
    if len(text) > LONGEST:
        return Markup("<pre>{}</pre>").format(visible(text))
    return Markup(_renderer().render(visible(text)))


@cache
def _renderer() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True}).enable(
        ["table", "strikethrough"]
    )
    made.add_render_rule("image", _image)
    made.add_render_rule("link_open", _link)
    return made


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    source = str(token.attrs.get("src", ""))
    if _DATA_IMAGE.fullmatch(source):
        return str(Markup('<img class="shown" src="{}" alt="{}">').format(source, token.content))
    return str(Markup('<span class="picture" title="{}">picture: {}</span>').format(source, token.content or source))


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, index, options, env)


def plain(text: str) -> Markup:
    """Text as it stands, with pictures that are part of it shown."""
    parts: list[Markup] = []
    end = 0
    for found in _DATA_IMAGE.finditer(text):
        parts.append(escape(visible(text[end : found.start()])))
        parts.append(Markup('<img class="shown" src="{}" alt="picture">').format(found[0]))
        end = found.end()
    return Markup("").join([*parts, escape(visible(text[end:]))])


def image_names(text: str) -> tuple[str, ...]:
    """Names of pictures that a transcript mentions; the journal holds no pictures."""
    return tuple(dict.fromkeys(_NAMED_IMAGE.findall(text)))


def diff_words(old: str, new: str) -> Markup:
    """What changed, word by word; long stretches that did not are folded away."""
    parts: list[Markup] = []
    spans = word_diff(visible(old), visible(new))
    for place, span in enumerate(spans):
        if span.kind == "equal":
            parts.append(_equal(span.text, first=place == 0, last=place == len(spans) - 1))
        else:
            tag = Markup("<ins>{}</ins>") if span.kind == "insert" else Markup("<del>{}</del>")
            parts.append(tag.format(span.text))
    return Markup("").join(parts)


def _equal(text: str, *, first: bool, last: bool) -> Markup:
    lines = text.splitlines(keepends=True)
    head, tail = (0 if first else _CONTEXT), (0 if last else _CONTEXT)
    hidden = lines[head : len(lines) - tail]
    if len(hidden) < 4:
        return escape(text)
    fold = Markup("<details class=fold><summary>{} unchanged lines</summary>{}</details>")
    return (
        escape("".join(lines[:head])) + fold.format(len(hidden), "".join(hidden)) + "".join(lines[len(lines) - tail :])
    )


def blocks(text: str) -> tuple[str, ...]:
    """Paragraphs, headings, lists and code blocks, as a reader sees them."""
    found: list[str] = []
    current: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        if not line.strip() and not fenced:
            if current:
                found.append("\n".join(current))
            current = []
        else:
            current.append(line)
    return (*found, "\n".join(current)) if current else tuple(found)
