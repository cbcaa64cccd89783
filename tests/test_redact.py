"""No secret in any output."""

from __future__ import annotations

import pytest

from bench.redact import MASK, redact, redact_tree

SECRET = "s3cr3t-value-0123456789"


@pytest.mark.parametrize(
    "text",
    [
        f"server --api-key={SECRET}",
        f"server --token {SECRET}",
        f"Authorization: Bearer {SECRET}",
        f"https://user:{SECRET}@example.org/mcp",
        f'{{"password": "{SECRET}"}}',
        f"API_KEY={SECRET} server",
        f"bearer {SECRET}",
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    assert SECRET not in redact(text)
    assert MASK in redact(text)


@pytest.mark.parametrize("token", ["sk-abcdefghijklmnop", "ghp_abcdefghijklmnopqrst"])
def test_tokens_of_known_shapes_are_masked_wherever_they_stand(token: str) -> None:
    assert token not in redact(f"run {token} now")


def test_a_known_secret_is_masked_in_any_text() -> None:
    tree = {"text": f"stderr: {SECRET}!", "list": [SECRET, 5], "n": 3}
    assert redact_tree(tree, [SECRET]) == {"text": f"stderr: {MASK}!", "list": [MASK, 5], "n": 3}


@pytest.mark.parametrize("text", ["serve minimal", "python server.py --port 80", "tokens: none"])
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) in (text, redact(text))
    assert redact("serve minimal --page-size 5") == "serve minimal --page-size 5"
