"""The schemas that the Danish hub publishes: of CIM in XML and in JSON, and of ebIX.

Those of ebIX import lists of another namespace many times, of which readers take the first: they are read with one
namespace for all.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema_rs
from lxml import etree

_EBIX = "un:unece:260:data:EEM"
_LISTS = ("urn-entsoe-eu-local-extension-types.schema.json", "urn-entsoe-eu-wgedi-codelists.schema.json")


def fault(content: bytes, folder: Path) -> str | None:
    """What a schema of the hub says against a document, in XML or in JSON; nothing for a right one, and for one in JSON
    whose schema is public in XML alone.

    Args:
      content: the document.
      folder: of what the markets publish.

    Raises:
      LookupError: there is no schema for a document in XML.
    """
    if content.lstrip().startswith(b"{"):
        told = json.loads(content)
        schema = _json_schema(next(iter(told)).removesuffix("_MarketDocument"), folder / "dk")
        return None if schema is None else next((str(error) for error in schema.iter_errors(told)), None)
    root = etree.fromstring(content)
    name = etree.QName(root).localname
    if name.startswith("DK_"):
        root = etree.fromstring(content.replace(f"{_EBIX}-{name}:v3".encode(), _EBIX.encode()))
        xsd = _ebix_schema(name, folder / "ebix" / "xsd")
    else:
        xsd = _xml_schema(name.removesuffix("_MarketDocument"), folder / "dk")
    return None if xsd.validate(root) else str(xsd.error_log)


@cache
def _xml_schema(name: str, folder: Path) -> etree.XMLSchema:
    found = [*folder.glob(f"cim_xml/*-{name.lower()}-0-1.xsd")]
    if not found:
        raise LookupError(name)
    return etree.XMLSchema(etree.parse(found[0]))


@cache
def _ebix_schema(name: str, folder: Path) -> etree.XMLSchema:
    with TemporaryDirectory() as place:
        for file in folder.glob("*/**/*.xsd"):
            copy = Path(place) / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = re.sub(rf"{_EBIX}-DK_[A-Za-z]+:v3", _EBIX, file.read_text("utf-8-sig"))
            copy.write_text(text.replace(f'<xsd:import namespace="{_EBIX}"', "<xsd:include"))
        found = [*Path(place).glob(f"document*/*/ebIX_{name}-2.xsd")]
        if not found:
            raise LookupError(name)
        return etree.XMLSchema(etree.parse(found[0]))


@cache
def _json_schema(name: str, folder: Path) -> Any:
    files = {file.name.split("-assembly")[0].replace("-", "").lower(): file for file in folder.glob("cim_json/*-*-*")}
    files["acknowledgement"] = folder / "cim_json" / "Acknowledgement-assembly-model.schema.json"
    if name.lower() not in files:
        return None
    text = files[name.lower()].read_text("utf-8-sig")
    definitions: dict[str, Any] = {}
    for file in _LISTS:  # what the schema names in other files is put into it
        text = text.replace(f"{file}#", "#")
        held = (folder / "cim_json" / file).read_text("utf-8-sig")
        for other in _LISTS:
            held = held.replace(f"{other}#", "#")
        definitions |= json.loads(held)["definitions"]
    schema = json.loads(text)
    schema["definitions"] = definitions | schema["definitions"]
    schema.pop("$id", None)  # a place on the disk of who wrote it
    return jsonschema_rs.Draft7Validator(schema)
