"""What a child process of `ProcessPool` does: questions come in on one pipe, answers go out."""

import os
import pickle
import queue
import signal
import traceback
from collections.abc import Callable
from threading import Thread
from typing import Any, BinaryIO

from elmokit.errors import ElmoError


def answer_questions(work: Callable[[Any], object]) -> None:
    """Answer each question with what ``work`` gives for it, as long as there is somebody to ask."""
    # Ctrl-C is the parent's, which ends its workers; here for where it could not be blocked before.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever may read or print here must not get between questions and answers.
    questions = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    Thread(target=_receive, args=(questions, asked), daemon=True).start()
    while True:
        answer = _answer(work, asked.get())
        try:
            pickle.dump(answer, answers, protocol=5)
            answers.flush()
        except BrokenPipeError:  # the parent is gone
            return


def _receive(questions: BinaryIO, asked: "queue.SimpleQueue[Any]") -> None:
    """Receive in the background, so that work for a parent that is gone ends at once."""
    try:
        while True:
            asked.put(pickle.load(questions))
    finally:
        os._exit(1)


def _answer(work: Callable[[Any], object], question: Any) -> object:
    try:
        return work(question)
    except ElmoError as error:
        return error
    except Exception as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return error
