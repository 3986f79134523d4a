"""C68: technical and contractual data of points as they are now (JSON and CSV), the answer to an order.

The document is an array with one object for each point, and has no header: flux, order and time come from the file's
name. Of a point come the data of the point, the terms of its contract, its meters and its customer, all of the time at
which the file was written: it is a snapshot of what holds, not an event.

* Every element is optional. What is absent was not to be seen by us: nothing is deleted.
* Of two contracts of a point the one that began last is the one in force; a contract about what is fed in
  (``typeInjection``) is none of ours. Where dates do not tell, no terms are made, and it is noted.
* What no field has a place for is kept as a particular of the message of its block, under its path.
* The keys and the telephone number by which a meter is read from afar are left out: they are secrets.
* A CSV has one line for each point and about two hundred columns. A label that says the same words as an element is
  that element; any other is kept as a particular under its own words. ``36 kVA`` is a value with its unit.

Sources: Enedis.SGE.GUI.0504 (C68) v1.2.0, JSON schema 0514 v1.2.0.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, NamedTuple

from adapters.common import jsonform
from adapters.common.codes import Unreadable
from adapters.common.outcome import Notes
from adapters.common.particulars import kept
from adapters.fr_enedis import csvpieces, names, ondemand
from adapters.fr_enedis.c15 import CATEGORY, CONNECTION_STATUS, CONTRACT_STATUS
from adapters.fr_enedis.codes import refusal
from adapters.fr_enedis.labels import plain
from adapters.fr_enedis.ondemand import ONE_OFF, Order, Reader
from adapters.fr_enedis.times import start_of_day
from energycomm.kernel.messages import AccessPointData, ContractTerms, CustomerData, KernelMessage, MeterData
from energycomm.kernel.parts import Address, Particular, Power
from energycomm.kernel.vocabulary import ContractStatus
from energycomm.market.contract import DocumentType, MemberHead, Transaction

FLUX = "C68"
TABLE = "C68-CSV"
BLOCKS = frozenset(
    (
        "idPrm",
        "donneesGenerales",
        "syntheseContractuelle",
        "situationAlimentation",
        "situationComptage",
        "situationsContractuelles",
        "rattachements",
        "optionsContractuelles",
        "installationsProduction",
    )
)
"""Elements of a point."""
SECRETS = "parametresTeleAcces"
STATUS: dict[str, ContractStatus] = {**CONTRACT_STATUS, "SERVC": "in-service", "RESIL": "terminated"}
"""etatContractuel -> status of the contract."""
WIRES = {"2": 1, "4": 3}
"""nbFilsBranchement -> phases."""
MOST_STRANGE = 100
"""Objects at the beginning of a document that have no element of a point."""
_MOST_POWER = Decimal(10**9)


class Leaf(NamedTuple):
    """One leaf of the schema: its path, with ``[]`` where an element may stand several times, and its type."""

    path: str
    type: str


def _leaves() -> tuple[Leaf, ...]:
    with (Path(__file__).parent / "c68.csv").open(newline="", encoding="utf-8") as rows:
        return tuple(Leaf(row["path"], row["type"]) for row in csv.DictReader(rows))


LEAVES = _leaves()

# --- the labels of a CSV ---

_SMALL_WORDS = frozenset(("de", "du", "des", "d", "la", "le", "les", "l", "a", "au", "en", "et"))
ALIASES = {
    "prm": "idPrm",
    "identifiant prm": "idPrm",
    "siret": "situationsContractuelles[]/clientFinal/informationsClient/personneMorale/numSiret",
    "siren": "situationsContractuelles[]/clientFinal/informationsClient/personneMorale/numSiren",
    "code naf": "situationsContractuelles[]/clientFinal/informationsClient/personneMorale/activiteNaf",
    "raison sociale": "situationsContractuelles[]/clientFinal/informationsClient/personneMorale/denominationSociale",
    "date debut situation contractuelle": "situationsContractuelles[]/dateDebut",
    "formule tarifaire acheminement": (
        "situationsContractuelles[]/structureTarifaire/formuleTarifaireAcheminement/code"
    ),
    "puissance souscrite": "situationsContractuelles[]/structureTarifaire/puissanceSouscrite",
    "puissance souscrite valeur": "situationsContractuelles[]/structureTarifaire/puissanceSouscrite/valeur",
    "puissance souscrite unite": "situationsContractuelles[]/structureTarifaire/puissanceSouscrite/unite",
    "segment": "situationsContractuelles[]/segment",
    "etat contractuel": "situationsContractuelles[]/informationsContractuelles/etatContractuel",
    "refus pose linky": "situationsContractuelles[]/refusPoseAMM",
    "date refus pose linky": "situationsContractuelles[]/dateRefusPoseAMM",
    "domaine tension": "situationAlimentation/alimentationPrincipale/domaineTension",
    "tension livraison": "situationAlimentation/alimentationPrincipale/tensionLivraison",
    "media comptage": "situationComptage/dispositifComptage/media",
    "periodicite releve": "situationComptage/caracteristiquesReleve/periodicite",
    "numero serie compteur": "situationComptage/compteurs[]/numeroSerie",
    "matricule compteur": "situationComptage/compteurs[]/matricule",
    "nom": "situationsContractuelles[]/clientFinal/informationsClient/personnePhysique/nom",
    "prenom": "situationsContractuelles[]/clientFinal/informationsClient/personnePhysique/prenom",
    "civilite": "situationsContractuelles[]/clientFinal/informationsClient/personnePhysique/civilite",
}
"""Words of a label -> path, where they are not those of one element alone. Public readers name these columns; no list
of all of them is public."""
_WITH_UNIT = re.compile(r"(-?[0-9]+(?:[.,][0-9]+)?)\s*([A-Za-z/%Ωµ]+)")
_FRENCH_DAY = re.compile(r"([0-9]{2})-([0-9]{2})-([0-9]{4})")


def _words(text: str) -> str:
    """The words of a label, or of an element's name, without the small ones."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    return " ".join(word for word in re.split(r"[^a-z0-9]+", plain(parted)) if word and word not in _SMALL_WORDS)


@lru_cache(maxsize=1)
def _paths() -> Mapping[str, str]:
    """Words -> path of a leaf, or of a value with its unit, where one alone has them."""
    found: dict[str, set[str]] = {}
    for leaf in LEAVES:
        steps = leaf.path.split("/")
        found.setdefault(_words(steps[-1]), set()).add(leaf.path)
        if len(steps) > 1:
            above = "/".join(steps[:-1])
            found.setdefault(_words(f"{steps[-2]} {steps[-1]}".replace("[]", "")), set()).add(leaf.path)
            if steps[-1] == "valeur":
                found.setdefault(_words(steps[-2]), set()).add(above)
    return {**{words: next(iter(paths)) for words, paths in found.items() if len(paths) == 1}, **ALIASES}


def _from_row(row: csvpieces.Row) -> dict[str, Any]:
    """A line as the object of its point; columns that are no element stand under ``colonnes``."""
    piece: dict[str, Any] = {}
    types = _types()
    for label, text in row.items():
        if text is None:
            continue
        path = _paths().get(_words(label))
        if path is None:
            piece.setdefault("colonnes", {})[label] = text
            continue
        value: Any = text
        measured = _WITH_UNIT.fullmatch(text)
        if path not in types:
            value = {"valeur": measured[1], "unite": measured[2]} if measured else {"valeur": text}
        elif types[path] == "truth":
            value = {"oui": True, "non": False, "true": True, "false": False, "1": True, "0": False}.get(
                plain(text), text
            )
        elif (day := _FRENCH_DAY.fullmatch(text)) is not None:
            value = f"{day[3]}-{day[2]}-{day[1]}"
        _put(piece, path.split("/"), value)
    return piece


@lru_cache(maxsize=1)
def _types() -> Mapping[str, str]:
    return {leaf.path: leaf.type for leaf in LEAVES}


def _put(holder: dict[str, Any], steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        if step.endswith("[]"):
            holder = holder.setdefault(step[:-2], [{}])[0]
        else:
            holder = holder.setdefault(step, {})
    held = holder.get(steps[-1])
    if isinstance(held, dict) and isinstance(value, dict):
        held.update(value)
    else:
        holder[steps[-1]] = value


# --- a point ---


class _Content:
    """What is said of a point: each value is taken once, by a field or as a particular."""

    def __init__(self, piece: Mapping[str, Any], notes: Notes) -> None:
        self.values: dict[str, Any] = {}
        self.notes = notes
        for name, value in piece.items():
            self._flatten(name, value)

    def _flatten(self, path: str, value: Any) -> None:
        if path.endswith(f"/{SECRETS}"):
            return
        if isinstance(value, dict):
            for name, inner in value.items():
                self._flatten(f"{path}/{name}", inner)
        elif isinstance(value, list):
            for number, inner in enumerate(value, 1):
                self._flatten(f"{path}[{number}]", inner)
        elif value is not None and value != "":
            self.values[path] = value.strip() if isinstance(value, str) else value

    def text(self, path: str, longest: int = 64) -> str | None:
        """The text of a leaf; one that is too long for its field is left to the particulars."""
        found = self.values.get(path)
        if found is None or isinstance(found, bool) or not 0 < len(str(found)) <= longest:
            return None
        return str(self.values.pop(path))

    def truth(self, path: str) -> bool | None:
        """The truth of a leaf; what is none is left to the particulars."""
        found = self.values.get(path)
        return self.values.pop(path) if isinstance(found, bool) else None

    def number(self, path: str) -> Decimal | None:
        """The number of a leaf; what is none that a point could have is left to the particulars."""
        try:
            found = Decimal(str(self.values.get(path)).replace(",", "."))
        except InvalidOperation:
            return None
        if not found.is_finite() or abs(found) >= _MOST_POWER or found.as_tuple().exponent < -6:  # type: ignore[operator]
            return None
        del self.values[path]
        return found

    def whole(self, path: str) -> int | None:
        """The whole number of a leaf; what is none is left to the particulars."""
        found = self.values.get(path)
        if isinstance(found, bool) or not re.fullmatch(r"[0-9]{1,6}", str(found)):
            return None
        return int(self.values.pop(path))

    def day(self, path: str) -> date | None:
        """The day of a leaf; what is none is left to the particulars."""
        found = _day(self.values.get(path))
        if found is not None:
            del self.values[path]
        return found

    def word(self, path: str, words: Mapping[Any, Any]) -> Any:
        """What a code stands for; one that is unknown is left to the particulars."""
        found = words.get(self.values.get(path))
        if found is not None:
            del self.values[path]
        return found

    def rest(self, *blocks: str) -> tuple[Particular, ...]:
        """What is left below some blocks, as particulars; more than a message holds is noted."""
        taken = [path for path in self.values if any(path.startswith(block) for block in blocks)]
        made, left = kept((path, self._typed(path)) for path in taken)
        self.notes += left
        return made

    def _typed(self, path: str) -> Any:
        value = self.values.pop(path)
        if isinstance(value, int) and not isinstance(value, bool):
            value = Decimal(value)
        if isinstance(value, Decimal) and (not value.is_finite() or value.adjusted() >= 18):
            value = str(value)
        return value[:400] if isinstance(value, str) else value


def _day(value: Any) -> date | None:
    try:
        found = date.fromisoformat(str(value)[:10])
    except ValueError:
        return None
    return found if 1900 <= found.year <= 2199 else None


def digest(piece: Any, order: Order, notes: Notes) -> list[KernelMessage]:
    """The data of a point, its contract, its meters and its customer.

    Raises:
      Unreadable: it is no object, names no point, or nothing tells of which time it is.
    """
    if order.head["access_point"] is None:
        raise Unreadable(refusal("SYN_MISSING", "idPrm", expected="the point"))
    content = _Content(piece, notes)
    at = order.written or _latest(content.values, notes)
    head = {**order.head, "created": at, "effective": at}
    content.values.pop("idPrm", None)
    contract = _contract(piece, notes)
    made: list[KernelMessage] = []
    if contract is not None:
        made += [*_terms(content, contract, head), *_customer(content, f"{contract}/clientFinal", head)]
    made += _meters(content, piece, head)
    return [*_point(content, contract, head), *made]


def _latest(values: Mapping[str, Any], notes: Notes) -> datetime:
    """The day of the latest change that is told, where no name tells when the file was written."""
    days = [day for path, value in values.items() if "date" in path.rpartition("/")[2].lower() and (day := _day(value))]
    if not days:
        expected = "a file name that ends in its time stamp"
        raise Unreadable(refusal("SYN_MISSING", "horodate", expected=expected))
    notes.append(refusal("NOTE_TIME_OF_CHANGE", "horodate", None, "a file name that ends in its time stamp"))
    return start_of_day(max(days))


def _contract(piece: Any, notes: Notes) -> str | None:
    """Path of the contract in force by which we supply the point."""
    listed = piece.get("situationsContractuelles")
    situations = {
        f"situationsContractuelles[{number}]": one
        for number, one in enumerate(listed if isinstance(listed, list) else (), 1)
        if isinstance(one, dict) and "typeInjection" not in one
    }
    if not situations and isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], dict):
        return "situationsContractuelles[1]"
    if len(situations) < 2:
        return next(iter(situations), None)
    days = {path: _day(one.get("dateDebut")) for path, one in situations.items()}
    latest = max((day for day in days.values() if day), default=None)
    found = [path for path, day in days.items() if day == latest]
    if None in days.values() or len(found) != 1:
        told = f"{len(situations)} contracts"
        notes.append(refusal("NOTE_CONTRACT_AMBIGUOUS", "situationsContractuelles", told, "dates that tell the latest"))
        return None
    return found[0]


def _point(content: _Content, contract: str | None, head: dict[str, Any]) -> Iterator[KernelMessage]:
    address, feed = "donneesGenerales/adresseInstallationNonNormalisee", "situationAlimentation"
    main = f"{feed}/alimentationPrincipale"
    addition = [content.text(f"{address}/{name}", 120) for name in ("batiment", "escalierEtageAppartement", "lieuDit")]
    connection = f"{main}/puissanceRaccordementSoutirage"
    in_kva = content.values.get(f"{connection}/unite") == "kVA"
    fields = {
        "segment": content.text(f"{contract}/segment", 40) if contract else None,
        "connection_status": content.word(f"{feed}/etatAlimentation", CONNECTION_STATUS),
        "phases": content.word(f"{main}/nbFilsBranchement", {**WIRES, 2: 1, 4: 3}),
        "voltage": content.text(f"{main}/tensionLivraison") or content.text(f"{main}/domaineTension"),
        "connection_power": content.number(f"{connection}/valeur") if in_kva else None,
        "service_level": content.text("syntheseContractuelle/niveauOuvertureServices/code", 8),
        "remote_readable": content.truth("situationComptage/dispositifComptage/teleoperable"),
        "metering_method": content.text("situationComptage/dispositifComptage/typeComptage"),
        "address": _address(
            street=content.text(f"{address}/numeroNomVoie", 400),
            addition=", ".join(filter(None, addition)) or None,
            postal_code=content.text(f"{address}/codePostal", 400),
            city=content.text(f"{address}/commune", 400),
        ),
    }
    if fields["connection_power"] is not None:
        content.values.pop(f"{connection}/unite", None)
    yield AccessPointData(**head, **fields, particulars=content.rest(""))


def _address(**parts: str | None) -> Address | None:
    return Address(**parts) if any(parts.values()) else None


def _terms(content: _Content, contract: str, head: dict[str, Any]) -> Iterator[KernelMessage]:
    tariff, agreed = f"{contract}/structureTarifaire", f"{contract}/informationsContractuelles"
    unit = content.values.get(f"{tariff}/puissanceSouscrite/unite")
    power = content.number(f"{tariff}/puissanceSouscrite/valeur") if unit else None
    fields = {
        "contract_status": content.word(f"{agreed}/etatContractuel", STATUS),
        "contract_start": content.day(f"{contract}/dateDebut"),
        "tariff": content.text(f"{tariff}/formuleTarifaireAcheminement/code"),
        "subscribed_power": power,
        "power_unit": content.text(f"{tariff}/puissanceSouscrite/unite", 8) if power is not None else None,
        "calendar": content.text(f"{tariff}/grilleTurpe/calendrier/code"),
        "supplier_calendar": content.text(f"{tariff}/grilleFournisseur/calendrier/code"),
        "off_peak": content.text("situationComptage/relais/plageHeuresCreuses/libelle", 400),
        "powers": tuple(_powers(content, f"{tariff}/grilleTurpe/classesTemporelles")),
    }
    if any(fields.values()):
        yield ContractTerms(**head, **fields, particulars=content.rest(f"{tariff}/", f"{agreed}/"))


def _powers(content: _Content, path: str) -> Iterator[Power]:
    numbers = dict.fromkeys(
        found[1] for one in content.values if (found := re.match(re.escape(path) + r"\[([0-9]+)\]/", one))
    )
    for number in numbers:
        item = f"{path}[{number}]"
        code, unit = content.values.get(f"{item}/code"), content.values.get(f"{item}/puissance/unite")
        if not (isinstance(code, str) and isinstance(unit, str) and len(code) <= 64 and len(unit) <= 8):
            continue
        value = content.number(f"{item}/puissance/valeur")
        if value is not None:
            del content.values[f"{item}/code"], content.values[f"{item}/puissance/unite"]
            yield Power(time_class=code, value=value, unit=unit)


def _customer(content: _Content, path: str, head: dict[str, Any]) -> Iterator[KernelMessage]:
    told = f"{path}/informationsClient"
    company, person, contact = f"{told}/personneMorale", f"{told}/personnePhysique", f"{told}/coordonneesContact"
    lines = {number: content.text(f"{told}/adresse/ligne{number}", 120) for number in range(1, 8)}
    fields = {
        "category": content.word(f"{path}/categorie", CATEGORY),
        "title": content.text(f"{person}/civilite"),
        "surname": content.text(f"{person}/nom", 199),
        "first_name": content.text(f"{person}/prenom", 199),
        "company": content.text(f"{company}/denominationSociale", 400),
        "company_id": content.text(f"{company}/numSiret") or content.text(f"{company}/numSiren"),
        "activity": content.text(f"{company}/activiteNaf"),
        "phone": content.text(f"{contact}/telephoneFixe", 400) or content.text(f"{contact}/telephonePortable", 400),
        "email": content.text(f"{contact}/email", 400),
        "external_reference": content.text(f"{path}/referenceClient", 400),
        "address": _address(
            street=lines[4],
            addition=", ".join(filter(None, (lines[1], lines[2], lines[3], lines[5]))) or None,
            city=lines[6],
            country=lines[7],
        ),
    }
    if any(fields.values()):
        yield CustomerData(**head, **fields, particulars=content.rest(f"{path}/"))


def _meters(content: _Content, piece: Any, head: dict[str, Any]) -> Iterator[KernelMessage]:
    counting = piece.get("situationComptage")
    listed = counting.get("compteurs") if isinstance(counting, dict) else None
    for number in range(1, len(listed) + 1 if isinstance(listed, list) else 1):
        path = f"situationComptage/compteurs[{number}]"
        serial = content.text(f"{path}/numeroSerie") or content.text(f"{path}/matricule")
        if serial is None:
            continue
        yield MeterData(
            **head,
            action="present",
            meter=serial,
            model=content.text(f"{path}/modeleCompteur/sousType", 400),
            registers=content.whole(f"{path}/modeleCompteur/nbCadrans"),
            digits=content.whole(f"{path}/modeleCompteur/nbRoues"),
            rating=content.text(f"{path}/intensiteNominale"),
            particulars=content.rest(f"{path}/"),
        )


ABOUT = "technical and contractual data of points as they are now; one CH message per point"
READER = Reader((FLUX,), dict[str, Any], digest, {}, ("prm",), ABOUT)


class Walk(ondemand.Walk):
    """The walk through one member, which is an array or a table of points.

    Args:
      name: file name of the member.
      table: it is a CSV.
    """

    def __init__(self, name: str, *, table: bool) -> None:
        super().__init__({FLUX: READER}, name, table=table)

    def parts(self, content: IO[bytes]) -> Iterator[MemberHead | Transaction]:
        """The head and the transactions; raises `Unreadable` where the member ends badly."""
        named = names.tokens(self.name)
        self.order = self._order(
            {
                "codeFlux": FLUX,
                "idDemande": named.get("order"),
                "idDestinataire": named.get("contract"),
                "modePublication": ONE_OFF,
            }
        )
        strange: list[Any] = []
        for piece in self._points(content):
            if not self.position and not self.table and not BLOCKS & piece.keys() and len(strange) < MOST_STRANGE:
                strange.append(piece)  # a broken one of them, or another document altogether
                continue
            if not self.position:
                yield self.order.member_head()
            for one in (*strange, piece):
                yield self._transaction(one, self.order)
            strange.clear()
        if not self.position:
            raise Unreadable(refusal("ROOT_UNEXPECTED", value="no point", expected=", ".join(sorted(BLOCKS))))

    def refer(self, piece: Any, order: Order) -> str:
        """``PRM:order``: of another order, the same content is another snapshot."""
        return f"{ondemand.point_of(piece) or '-'}:{order.head['request_reference'] or '-'}"

    def _points(self, content: IO[bytes]) -> Iterable[Any]:
        if not self.table:
            return (piece for _, piece in jsonform.split(content, [()]))
        lines = csvpieces.Lines(content)
        column = next((one for one in ("prm", "identifiant prm") if one in lines.labels), "prm")
        return (_from_row(row) for row in csvpieces.rows(lines, (column,)))


def types() -> dict[str, DocumentType]:
    """The rows of the table of types."""
    root = ",".join(sorted(BLOCKS))
    return {
        FLUX: DocumentType(FLUX, "json", root, (ondemand.VERSION,), ABOUT),
        TABLE: DocumentType(TABLE, "other", "PRM;Segment", (ondemand.VERSION,), ABOUT),
    }
