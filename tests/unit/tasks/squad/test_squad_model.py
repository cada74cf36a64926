import math
from pathlib import Path

import pytest
import torch

from elmokit.errors import FormatError, InputError
from elmokit.tasks.settings import TaskSettings
from elmokit.tasks.squad.data import Question, passage_of_tokens
from elmokit.tasks.squad.model import SquadModel
from elmokit.tasks.squad.settings import SquadSettings
from elmokit.tasks.squad.spans import AnswerSpan
from elmokit.tasks.squad.task import TASK
from elmokit.tasks.task import Targets, TextVectors
from elmokit.text.tokenise import WordTokeniser
from task_vectors import text_vectors, trained

NAMES = ("Ann", "Bob", "Cay", "Dan", "Eve")
SMALL = SquadSettings(hidden_dim=12, projection_dim=24, dropout=0.0)


def _question(context: str, question: str, *spans: tuple[int, int]) -> Question:
    passage = passage_of_tokens(context.split())
    answers = tuple(passage.text_at(*span) for span in spans) or ("elsewhere",)
    return Question(passage, question, tuple(question.split()), answers, spans)


def _questions() -> list[Question]:
    """Who has what, in texts of different length; the answers are one or two tokens."""
    questions = []
    for place, name in enumerate(NAMES):
        other = NAMES[place - 2]
        context = f"{name} has red wine and {other} has a goat" + " today" * place
        questions.append(_question(context, f"What has {name} ?", (2, 3)))
        questions.append(_question(context, f"What then has {other} ?", (7, 8), (8, 8)))
    questions.append(_question("Ann", "Who ?", (0, 0)))
    return questions


def _model(output_dim: int = 0, settings: SquadSettings = SMALL) -> SquadModel:
    torch.manual_seed(0)
    return TASK.build(settings, input_dim=24, output_dim=output_dim, labels={})


def _batch(questions: list[Question], output_dim: int = 0) -> tuple[list[TextVectors], Targets]:
    texts = [text_vectors(role, 24, output_dim) for role in TASK.texts(questions)]
    return texts, TASK.targets(questions, {})


@pytest.mark.parametrize("output_dim", [0, 8])
def test_it_learns_a_few_questions(output_dim: int) -> None:
    questions = _questions()
    predictions = trained(
        TASK,
        questions,
        model=_model(output_dim),
        labels=TASK.labels(questions),
        steps=50,
        rate=1e-2,
        output_size=output_dim,
    )
    assert TASK.score(questions, predictions) == {
        "f1": 100.0,
        "exact_match": 100.0,
        "aligned": 100.0,
    }


@pytest.mark.parametrize("output_dim", [0, 8])
def test_an_example_does_not_depend_on_the_batch(output_dim: int) -> None:
    questions = _questions()
    model = _model(output_dim).eval()
    together = model.losses(*_batch(questions, output_dim))
    spans = model.predict(*_batch(questions, output_dim))
    for row, question in enumerate(questions):
        batch = _batch([question], output_dim)
        torch.testing.assert_close(model.losses(*batch)[0], together[row], atol=1e-5, rtol=1e-5)
        (span,) = model.predict(*batch)
        assert span[:2] == spans[row][:2]
        assert span.score == pytest.approx(spans[row].score, rel=1e-4)


def test_what_stands_in_padding_does_not_matter() -> None:
    model = _model(8).eval()
    texts, targets = _batch(_questions(), 8)
    expected = model.losses(texts, targets)
    for text in texts:
        text.inputs[~text.mask] = 50.0
        assert text.at_output is not None
        text.at_output[~text.mask] = -50.0
    torch.testing.assert_close(model.losses(texts, targets), expected, atol=1e-5, rtol=1e-5)


def test_the_loss_sums_the_probabilities_of_all_answers() -> None:
    model = _model().eval()
    for layer in (model.start, model.end):
        torch.nn.init.zeros_(layer.weight)  # then all tokens are as likely as each other
    questions = [
        _question("a b c d e f", "g ?", (0, 1)),
        _question("a b c d e f", "g ?", (0, 1), (0, 3), (4, 5)),  # 2 starts and 3 ends
        _question("a", "g ?", (0, 0)),
        _question("a b c d e f", "g ?"),  # nothing to learn from
    ]
    losses = model.losses(*_batch(questions))
    assert losses.dtype == torch.float32
    assert losses.tolist() == pytest.approx(
        [2 * math.log(6), math.log(6 / 2) + math.log(6 / 3), 0.0, 0.0], abs=1e-5
    )


def test_a_question_without_a_span_has_no_gradient() -> None:
    model = _model()
    texts, targets = _batch([_question("a b", "g ?")])
    model.losses(texts, targets).sum().backward()  # type: ignore[no-untyped-call]
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    assert gradients
    assert all(not gradient.any() for gradient in gradients)


def test_all_weights_learn() -> None:
    model = _model(8)
    model.losses(*_batch(_questions(), 8)).sum().backward()  # type: ignore[no-untyped-call]
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.isfinite().all(), name
        assert weight.grad.any(), name


def test_dropout_follows_the_generator_of_torch() -> None:
    model = _model(settings=SquadSettings(hidden_dim=12, projection_dim=24, dropout=0.4))
    batch = _batch(_questions())
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(model.losses(*batch))
    assert torch.equal(losses[0], losses[1])
    assert not torch.equal(losses[0], losses[2])


def test_products_in_bfloat16_give_finite_losses_in_float32() -> None:
    model = _model(8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = model.losses(*_batch(_questions(), 8))
    assert losses.dtype == torch.float32
    assert losses.isfinite().all()


def test_an_answer_is_no_longer_than_allowed() -> None:
    settings = SquadSettings(hidden_dim=12, projection_dim=24, dropout=0.0, longest_answer=2)
    model = _model(settings=settings).eval()
    questions = [_question(" ".join("abcdefgh"), "g ?", (0, 7))]
    with torch.no_grad():
        (span,) = model.predict(*_batch(questions))
    assert 0 <= span.first <= span.last <= span.first + 1


def test_the_score_takes_the_best_of_the_answers() -> None:
    questions = [
        _question("the red wine and a goat", "What ?", (1, 2), (2, 2)),
        _question("the red wine and a goat", "What ?", (4, 5)),
        _question("the red wine", "Where ?"),
    ]
    predictions = [AnswerSpan(0, 2, 0.9), AnswerSpan(3, 5, 0.5), AnswerSpan(0, 0, 0.1)]
    figures = TASK.score(questions, predictions)
    # exact; "and goat" for "goat": 2/3; nothing
    assert figures["f1"] == pytest.approx(100 * (1 + 2 / 3) / 3)
    assert figures["exact_match"] == pytest.approx(100 / 3)
    assert figures["aligned"] == pytest.approx(200 / 3)


def test_questions_without_a_span_are_counted() -> None:
    unknown = _question("a b", "g ?")
    assert TASK.labels([*_questions(), unknown]) == {"questions": 12, "without_span": 1}
    with pytest.raises(InputError, match="no answer of any question"):
        TASK.labels([unknown])


def test_what_a_user_asks_is_answered_with_characters() -> None:
    context = "«Nos» — the Broncos’ 24–10 win,  in  Denver."
    (question,) = TASK.parse(
        {"context": context, "question": "Where did they win?"}, WordTokeniser(), {}
    )
    texts, targets = _batch([question])
    assert targets == {}
    (span,) = _model().eval().predict(texts, targets)
    answer = TASK.answer(question, span)
    assert answer["text"] == context[answer["start"] : answer["end"]]
    assert answer["tokens"] == list(question.passage.tokens[span.first : span.last + 1])
    assert 0 < answer["score"] <= 1
    last = len(question.passage.tokens) - 1
    answer = TASK.answer(question, AnswerSpan(last - 3, last - 1, 0.25))
    assert answer == {
        "question": "Where did they win?",
        "text": ",  in  Denver",
        "start": 30,
        "end": 43,
        "score": 0.25,
        "tokens": [",", "in", "Denver"],
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("Who?", "expected a context and a question, found 'Who\\?'"),
        ({"question": "Who?"}, "expected a context and a question"),
        ({"question": "Who?", "context": ""}, "context: expected a text of words, found ''"),
        ({"question": 7, "context": "x"}, "question: expected a text of words, found 7"),
    ],
)
def test_what_cannot_be_asked(asked: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        TASK.parse(asked, WordTokeniser(), {})


def test_questions_without_answers_cannot_be_evaluated() -> None:
    asked = TASK.parse({"context": "x", "question": "Who?"}, WordTokeniser(), {})
    with pytest.raises(FormatError, match="no answers: found 'Who\\?'"):
        TASK.check(asked, {}, Path("data.jsonl"))
    TASK.check(_questions(), {}, Path("data.jsonl"))


def test_defaults_go_to_plain_values_and_back() -> None:
    settings = TASK.defaults()
    assert isinstance(settings, TaskSettings)
    assert settings.from_dict(settings.to_dict()) == settings
    assert settings.changed(["longest_answer=30"]).model == SquadSettings(longest_answer=30)


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden_dim", 0), ("projection_dim", -1), ("longest_answer", 0), ("dropout", 1.0)],
)
def test_settings_are_checked(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"{name}: expected .*found {value}"):
        SquadSettings(**{name: value})  # type: ignore[arg-type]
