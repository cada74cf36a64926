"""Writes `allennlp_answers.json`: what the real AllenNLP 0.9 answers to `allennlp_calls.py`.

    bash benchmarks/embed/make_environments.sh FOLDER allen09
    FOLDER/allen09/bin/python tests/unit/compat/record_allennlp.py

It runs in an environment of its own and imports nothing of elmokit.
"""

import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).parent


def main() -> None:
    sys.path.insert(0, str(HERE.parents[1]))
    # Parts of AllenNLP that ELMo does not need ask for what today's spaCy has no more.
    sys.modules["spacy.lang.en.tag_map"] = SimpleNamespace(TAG_MAP={})  # type: ignore[assignment]
    import torch
    from allennlp.commands.elmo import ElmoEmbedder  # type: ignore[import-not-found]
    from allennlp.modules.elmo import Elmo, batch_to_ids  # type: ignore[import-not-found]
    from allennlp.version import VERSION  # type: ignore[import-not-found]

    from unit.compat.allennlp_calls import CALLS, plain
    from unit.compat.allennlp_weights import write_model

    torch.manual_seed(0)
    names = SimpleNamespace(Elmo=Elmo, ElmoEmbedder=ElmoEmbedder, batch_to_ids=batch_to_ids)
    with tempfile.TemporaryDirectory() as folder:
        files = write_model(Path(folder))
        answers = {
            name: plain(call(names, files=files, folder=Path(folder)))
            if name == "file"
            else plain(call(names, files=files))
            for name, call in CALLS.items()
        }
    found = {"allennlp": VERSION, "answers": answers}
    (HERE / "allennlp_answers.json").write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
