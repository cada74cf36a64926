"""What runs in a child process of `workers`."""

from elmokit.corpus.spill import spill
from elmokit.processes.answer_questions import answer_questions

if __name__ == "__main__":
    answer_questions(spill)
