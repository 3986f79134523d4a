"""kernel.xsd says of the messages what their definitions say."""

from __future__ import annotations

import re

import pytest
import xmlschema
from lxml import etree

from energycomm.kernel.family import KINDS
from energycomm.kernel.safexml import parser
from energycomm.kernel.schema import BATCH, XSD_PATH, schema_text
from energycomm.kernel.shape import shape_of

XS = "{http://www.w3.org/2001/XMLSchema}"


@pytest.fixture(scope="module")
def tree() -> etree._Element:
    return etree.parse(str(XSD_PATH), parser()).getroot()


def test_the_shipped_schema_is_up_to_date() -> None:
    """If not: python -m energycomm.kernel.schema."""
    assert XSD_PATH.read_text(encoding="utf-8") == schema_text()


def test_both_schema_libraries_accept_the_schema(tree: etree._Element) -> None:
    etree.XMLSchema(tree)
    found = xmlschema.XMLSchema(str(XSD_PATH))
    assert set(found.elements) == {*KINDS, BATCH}


def test_each_kind_is_a_global_element_with_words_of_its_own(tree: etree._Element) -> None:
    words = {
        element.get("name"): element.findtext(f"{XS}annotation/{XS}documentation")
        for element in tree.findall(f"{XS}element")
    }
    assert set(words) == {*KINDS, BATCH}
    for kind, cls in KINDS.items():
        assert (cls.__doc__ or "").split()[0] in str(words[kind])
    assert len(set(words.values())) == len(words)


def test_every_attribute_is_in_lower_camel_case_and_documented(tree: etree._Element) -> None:
    attributes = list(tree.iter(f"{XS}attribute"))
    assert len(attributes) > 150
    for attribute in attributes:
        assert re.fullmatch(r"[a-z]+([A-Z][a-z]*)*", str(attribute.get("name")))
        assert attribute.findtext(f"{XS}annotation/{XS}documentation")


def test_the_schema_knows_exactly_the_fields_of_each_kind() -> None:
    found = xmlschema.XMLSchema(str(XSD_PATH))
    for kind, cls in KINDS.items():
        shape = shape_of(cls)
        declared = found.elements[kind]
        assert {str(name): one.use == "required" for name, one in declared.attributes.items()} == {
            one.name: one.required for one in shape.attributes
        }
        names = {child.local_name for child in declared.iterchildren()}
        assert names == {one.name for one in shape.children}
