"""Which bank is meant? ELMo's vectors under a linear classifier of scikit-learn.

pip install "elmokit[sklearn]"
python examples/sklearn_bank.py
"""

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from elmokit.integrations.sklearn import ElmoVectorizer

RIVER = """
She sat on the bank of the river and fished .
The boat was tied to the muddy bank .
Trees grew along the bank of the stream .
They walked down to the bank and watched the water .
The flood washed away the bank below the bridge .
Reeds covered the far bank of the lake .
"""
MONEY = """
He took the money to the bank .
The bank raised its interest rates again .
She opened an account at the bank .
The bank refused to lend him any money .
Two men robbed the bank on Monday .
My savings are in the bank .
"""
NEW = ["Ducks slept on the bank beside the water .", "The bank lent her the money for a house ."]


def main() -> None:
    """Search for the best layer, then classify sentences that were not seen."""
    rivers, monies = (text.strip().split("\n") for text in (RIVER, MONEY))
    sentences = [*rivers, *monies]
    labels = ["river"] * len(rivers) + ["money"] * len(monies)
    search = GridSearchCV(
        make_pipeline(ElmoVectorizer(), LogisticRegression(C=10, max_iter=1000)),
        {"elmovectorizer__layers": [0, 1, 2, "average"]},
        cv=3,
    )
    search.fit(sentences, labels)
    for settings, accuracy in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        print(f"layers {settings['elmovectorizer__layers']!s:8} accuracy {accuracy:.2f}")
    for sentence, label in zip(NEW, search.predict(NEW), strict=True):
        print(f"{label}  {sentence}")


if __name__ == "__main__":
    main()
