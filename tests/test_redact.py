"""No secret in any output."""

from __future__ import annotations

import pytest

from bench.redact import MASK, redact, redact_tree, redact_words, secrets_in

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


@pytest.mark.parametrize(
    "text",
    [
        '{"password": "correct horse battery", "n": 1}',
        '{"n": {"api_key": "horse, battery"}}',
        '{"text": "{\\"password\\": \\"correct horse battery\\"}"}',
        "{'password': 'correct horse battery'}",
        "server --secret 'correct horse battery' x",
        'server --secret "correct horse battery" x',
        """server --token 'it'"'"'s a horse battery' x""",
        "server --token it's-horse-battery x",
        "server --password=a,horse,battery",
        "server --pass horse-battery",
        "env OPENAI_KEY=horse-battery server",
    ],
)
def test_a_secret_is_masked_to_its_end(text: str) -> None:
    assert "horse" not in redact(text)
    assert "battery" not in redact(text)


def test_the_words_of_a_command_are_masked_one_by_one() -> None:
    words = [
        "server",
        "--secret",
        "two words",
        "--password=two words",
        "A_KEY=two words",
        "--x",
        "1",
    ]
    assert redact_words(words) == [
        "server", "--secret", MASK, f"--password={MASK}", f"A_KEY={MASK}", "--x", "1",
    ]  # fmt: skip
    assert secrets_in(words) == ["two words"] * 3


@pytest.mark.parametrize("words", [["--env", "PIN=123"], ["--env=PIN=123"]])
def test_the_value_of_a_pair_is_masked_however_short_it_is(words: list[str]) -> None:
    shown = " ".join(redact_words([*words, "--calls", "123"], pairs=("--env",)))
    assert shown.count("123") == 1
    assert "PIN=" in shown
