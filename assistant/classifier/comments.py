"""The sentence that goes with an error code: the rule's own template, filled in by code and never written by a model.

A model that names the codes has said everything that the comment depends on. Where the message itself is at hand the
engine's sentences are taken; where only its text is, the values that stand in the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assistant.classifier.port import Example, Prediction
from assistant.classifier.serialisation import fill
from energycomm.engine.catalogue import Catalogue
from energycomm.engine.report import Reporter
from energycomm.kernel.history import History
from energycomm.kernel.messages import KernelMessage


class Comments:
    """Fills the templates of a data set's card.

    Args:
      templates: error code -> the sentence of its rule in English, with `{...}` for values.
    """

    def __init__(self, templates: Mapping[str, str]) -> None:
        self.templates = dict(templates)

    def __call__(self, codes: Sequence[str], text: str) -> str:
        """The comment of codes, with the values that stand in a text: rounded, private texts as shapes."""
        return self.of_values(codes, values_of(text))

    def of_values(self, codes: Sequence[str], values: Mapping[str, str]) -> str:
        """The comment of codes, with values by placeholder."""
        return " ".join(fill(self.templates[code], dict(values)) for code in codes if code in self.templates)

    def of(self, prediction: Prediction, example: Example) -> str:
        """The comment of a prediction: the model's own where it wrote one, else filled with the example's values."""
        return prediction.comment or self.of_values(prediction.codes, example.values)


def values_of(text: str) -> dict[str, str]:
    """The values that stand in a text: `currency=USD` -> {"currency": "USD"}; of the history with `history.` before."""
    found: dict[str, str] = {}
    section = ""
    for word in text.split():
        if word == "|":
            section = ""
        elif not section:
            section = word
        else:
            name, equals, value = word.partition("=")
            if equals and section in ("fields", "history"):
                found[f"history.{name}" if section == "history" else name] = value.partition("|")[0]
    return found


def sentences(
    catalogue: Catalogue, message: KernelMessage, history: History, codes: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """What the rules would say of a message if it had these codes: code -> (English, French).

    Args:
      catalogue: the rules.
      message: the message.
      history: what was known of its access point.
      codes: error codes; those of which no rule is in force are left out.
    """
    kind = type(message).__name__
    found: dict[str, tuple[str, str]] = {}
    for rule in catalogue.rules_for("validation_in", message.market, kind):
        if rule.error_code in codes and rule.in_force(message.effective.date()):
            items = getattr(message, rule.each) if rule.each else None
            index = 0 if items else None
            if rule.each and not items:
                continue
            market = message.market
            report = Reporter(rule, kind, market, catalogue.codes, catalogue.zone(market))
            finding = report(message, history, index)
            found[rule.error_code] = (finding.comment, finding.comment_fr)
    return found
