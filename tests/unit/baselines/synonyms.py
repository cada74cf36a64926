"""Text with made-up words that mean the same: *blick* and *tove*, *도깨비* and *요괴*."""

import random

_PATTERNS = (
    ("the {a} ate fresh grass", ("blick", "tove")),
    ("a small {a} sleeps near water", ("blick", "tove")),
    ("숲에서 {a} 가 나타났다", ("도깨비", "요괴")),
    ("밤마다 {a} 를 만났다", ("도깨비", "요괴")),
    ("prices of {a} fell again today", ("copper", "iron")),
    ("miners found {a} below ground", ("copper", "iron")),
)


def synonym_text(lines: int = 600) -> str:
    draw = random.Random(0)
    text = []
    for _ in range(lines):
        pattern, words = draw.choice(_PATTERNS)
        text.append(pattern.format(a=draw.choice(words)))
    return "\n".join([*text, "rare words stay out"]) + "\n"
