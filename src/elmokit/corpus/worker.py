"""What runs in a child process of `workers`: tasks come in on one pipe, results go out."""

import os
import pickle
import signal
import sys

from elmokit.corpus.spill import spill


def main() -> None:
    """Work until there is nothing more to do."""
    # Ctrl-C is the parent's, which ends its workers; here for where it could not be blocked before.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tasks = sys.stdin.buffer
    # Whatever may be printed here must not get between the results.
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            task = pickle.load(tasks)
        except EOFError:
            return
        try:
            answer: object = spill(task)
        except Exception as error:
            answer = error
        try:
            pickle.dump(answer, results, protocol=5)
            results.flush()
        except BrokenPipeError:  # the parent is gone
            return


if __name__ == "__main__":
    main()
