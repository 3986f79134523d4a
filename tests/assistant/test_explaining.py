"""Why was this rejected: each statement with its evidence, and a correction that the rules accept, without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assistant.config import AssistantConfig
from assistant.explanation.explaining import Told, explain_message
from assistant.knowledge.documents import Document
from assistant.knowledge.loaders.eis import EisLoader
from energycomm.config import Config, load
from energycomm.eis.messages import MessageFilter, list_messages, show_message
from energycomm.eis.migrations import upgrade
from energycomm.errors import UserError
from energycomm.pipeline.gateway import Gateway
from energycomm.pipeline.opening import open_store
from energycomm.pipeline.progress import total

PATTERNS = ("c15_*.xml", "r15*.xml")


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The French fixtures, processed into a store."""
    folder = tmp_path_factory.mktemp("eis")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENERGYCOMM_DATABASE", f"sqlite:///{folder / 'eis.db'}")
        made = load(folder)
    fixtures = Path(__file__).resolve().parents[2] / "fixtures" / "fr"
    from energycomm.eis.database import opened

    with opened(made.database_url) as engine:
        upgrade(engine)
    with open_store(made) as store:
        inbound: Any = Gateway(made, store).inbound
        files = [file for pattern in PATTERNS for file in sorted(fixtures.glob(pattern))]
        total(inbound.take(inbound.in_order(files), "folder"))
    return made


def rejected(config: Config, code: str) -> int:
    with open_store(config) as store:
        return list_messages(store.engine, MessageFilter(state="rejected", codes=(code,))).messages[0].id


def explained(config: Config, code: str, tmp_path: Path, language: str = "en") -> Told:
    return explain_message(config, AssistantConfig(folder=tmp_path), rejected(config, code), language)


def part(explanation: Told, title: str) -> str:
    (found,) = [part for part in explanation.parts if part.title == title]
    return "\n".join(line for said in found.statements for line in (said.text, *said.evidence))


def test_a_rejection_is_explained_from_its_facts_and_rules(config: Config, tmp_path: Path) -> None:
    """The verdict, what the rules read, what they say and where they stand."""
    explanation = explained(config, "FR-R03", tmp_path)
    assert "is rejected" in explanation.summary
    assert "FR-R03" in part(explanation, "What was found")
    read = part(explanation, "What the rules read")
    assert "previous.index_wh = " in read
    assert "history.subscribed_power = " in read
    rules = part(explanation, "What the rules say")
    assert "at most the subscribed power times the hours" in rules
    assert "fr/readings.yaml:" in rules


def test_a_correction_is_tried_and_nothing_is_stored(config: Config, tmp_path: Path) -> None:
    """The index that is a thousand times too large is accepted once divided; the store stays as it was."""
    number = rejected(config, "FR-R03")
    with open_store(config) as store:
        before = show_message(store.engine, number)
    told = part(explained(config, "FR-R03", tmp_path), "A correction")
    assert "dry run: the message would be accepted" in told
    assert "a thousandth" in told
    with open_store(config) as store:
        assert show_message(store.engine, number) == before


def test_an_explanation_speaks_french(config: Config, tmp_path: Path) -> None:
    """With the French comments of the rules."""
    explanation = explained(config, "FR-R03", tmp_path, "fr")
    assert "est rejeté" in explanation.summary
    assert "Le cadran" in part(explanation, "Ce qui a été trouvé")


def test_similar_cases_are_counted(config: Config, tmp_path: Path) -> None:
    """Other messages with the same error."""
    assert "other messages had it" in part(explained(config, "FR-P01", tmp_path), "Similar cases")


def test_a_message_that_is_not_there_is_told(config: Config, tmp_path: Path) -> None:
    """No traceback."""
    with pytest.raises(UserError, match="There is no message 99999"):
        explain_message(config, AssistantConfig(folder=tmp_path), 99_999)


def test_cases_of_the_store_become_documents(config: Config) -> None:
    """Each refused message with its errors and its course."""
    loader = EisLoader(config)
    cases = [case for case in loader.load() if isinstance(case, Document)]
    assert {case.id for case in cases} <= set(loader.ids())
    assert any("FR-R03" in case.text and "What happened" in case.text for case in cases)
    assert all(case.metadata.address.startswith("energycomm message show ") for case in cases)
