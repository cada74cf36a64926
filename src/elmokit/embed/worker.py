"""What runs in a child process of `Workers`: the model, for the windows it is asked for."""

import sys
import warnings
from functools import cache

import torch

from elmokit.embed.elmo import Elmo
from elmokit.embed.layer_choice import Layers, Vectors
from elmokit.embed.load import load
from elmokit.embed.start_state import checked_start
from elmokit.processes.answer_questions import answer_questions


def main() -> None:
    """Answer with the vectors of windows, by the model that the command line names."""
    model, device, dtype, start, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))

    @cache  # loaded by the first question, whose answer is what may go wrong
    def elmo() -> Elmo:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the program has been told already
            return load(model, device=device, dtype=dtype, start=checked_start(start))

    def embed(question: tuple[list[list[str]], Layers, int]) -> list[Vectors]:
        window, layers, batch_tokens = question
        return elmo().embed(window, layers=layers, batch_tokens=batch_tokens)

    answer_questions(embed)


if __name__ == "__main__":
    main()
