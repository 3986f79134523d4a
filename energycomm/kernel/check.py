"""Checks Kernel XML against kernel.xsd: many messages in one call of libxml2, or one with every error explained."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from lxml import etree

from energycomm.kernel.codec import Unwritable, encode, encode_bounded
from energycomm.kernel.decoder import decode_element, decode_xml
from energycomm.kernel.demands import demanded
from energycomm.kernel.family import KINDS
from energycomm.kernel.messages import KernelMessage
from energycomm.kernel.safexml import parse_bytes, parser, shorten
from energycomm.kernel.schema import BATCH, XSD_PATH
from energycomm.kernel.shape import NAMESPACE, Shape, shape_of
from energycomm.kernel.verdicts import Refusal

if TYPE_CHECKING:
    import xmlschema
    from xmlschema import XMLSchemaValidationError

_OPEN = f'<{BATCH}:{BATCH} xmlns:{BATCH}="{NAMESPACE}">'
_CLOSE = f"</{BATCH}:{BATCH}>"
_BEGINNINGS = tuple(f'<{kind} xmlns="{NAMESPACE}"' for kind in KINDS)
_REASON = re.compile(
    r"(?:missing required )?attribute (?:'(?P<missing>[^']+)'|(?P<name>[\w.-]+)=)|^'(?P<unknown>[^']+)' attribute"
)


class KernelChecker:
    """Checks messages against kernel.xsd with libxml2. Each worker makes its own: the list of errors belongs to it."""

    def __init__(self) -> None:
        self._schema = etree.XMLSchema(etree.parse(str(XSD_PATH), parser()))
        self._parser = parser()

    def check_batch(self, xmls: Sequence[str]) -> list[Refusal | None]:
        """Check many messages, in one call while all are good.

        Args:
          xmls: Kernel XML documents, as `energycomm.kernel.codec.encode` writes them; others are checked one by one.

        Returns:
          For each, None or the first reason why it is refused: a code of `energycomm.kernel.codec.decode`, or
          KERNEL_XML_SCHEMA for what only the schema minds.
        """
        if not xmls or self._all_good(xmls):
            return [None] * len(xmls)
        return [self.check(xml) for xml in xmls]

    def write(self, messages: Sequence[KernelMessage]) -> list[str | Refusal]:
        """Kernel XML of messages, each checked; the reason of the first mistake in place of one that has none.

        The functions that write are made from the same declaration as kernel.xsd and mind its bounds; the schema itself
        is asked only where they are not sure.
        """
        written: list[str | Refusal] = [encode_bounded(message) or "" for message in messages]
        doubtful = [place for place, xml in enumerate(written) if not xml]
        for place in doubtful:
            try:
                written[place] = encode(messages[place])
            except Unwritable as error:
                written[place] = error.refusal
        asked = [(place, xml) for place in doubtful if isinstance(xml := written[place], str)]
        for (place, _), refusal in zip(asked, self.check_batch([xml for _, xml in asked]), strict=True):
            written[place] = refusal or written[place]
        return written

    def check(self, xml: str | bytes) -> Refusal | None:
        """Check one message: None, or the first reason why it is refused."""
        try:
            root = parse_bytes(xml if isinstance(xml, bytes) else xml.encode("utf-8"))
        except UnicodeEncodeError:
            # What UTF-8 cannot write is no XML either; the decoder says which character it is.
            return _as_refusal(decode_xml(xml))
        if isinstance(root, Refusal):
            return root
        name = etree.QName(root)
        if name.namespace != NAMESPACE or name.localname not in KINDS:
            return _as_refusal(decode_xml(xml))
        if self._schema.validate(root):
            return None
        decoded = decode_element(root, bounded=True)
        if isinstance(decoded, Refusal):
            return decoded
        # What only the schema minds, such as the order of elements.
        said = str(getattr(getattr(self._schema.error_log, "last_error", None), "message", ""))
        return _of_schema(f"/{name.localname}", said)

    def _all_good(self, xmls: Sequence[str]) -> bool:
        """Whether all are valid, found in one call; False where that cannot be told in one call.

        Put side by side, texts that are broken alone could mend each other. They cannot when each begins with the start
        tag of a kind, none holds a comment, CDATA or instruction, none uses the batch's prefix, no kind stands inside
        another (the schema), and there are as many messages as texts.
        """
        if not all(xml.startswith(_BEGINNINGS) for xml in xmls):
            return False
        joined = "".join(xmls)
        if "<!" in joined or "<?" in joined or f"{BATCH}:" in joined:
            return False
        try:
            root = etree.fromstring(f"{_OPEN}{joined}{_CLOSE}".encode(), self._parser)
        except (etree.XMLSyntaxError, UnicodeEncodeError):
            return False
        return len(root) == len(xmls) and self._schema.validate(root)


def _as_refusal(decoded: object) -> Refusal:
    assert isinstance(decoded, Refusal)
    return decoded


@cache
def _explaining_schema() -> xmlschema.XMLSchema:
    # Imported only when a person asks: it takes longer than checking ten thousand messages.
    import xmlschema

    # libxml2 has compiled it: it is not held against the schema of schemas once more.
    return xmlschema.XMLSchema(str(XSD_PATH), allow="local", defuse="always", validation="skip")


def explain(xml: str | bytes) -> list[Refusal]:
    """Every schema error of a message, for a person: path, value found, value expected.

    Args:
      xml: a Kernel XML document.

    Returns:
      The errors in the order of the document, empty when there are none; one refusal XML_* where it is no XML.
    """
    try:
        root = parse_bytes(xml if isinstance(xml, bytes) else xml.encode("utf-8"))
    except UnicodeEncodeError:
        return [_as_refusal(decode_xml(xml))]
    if isinstance(root, Refusal):
        return [root]
    name = etree.QName(root)
    if name.namespace != NAMESPACE or name.localname not in KINDS:
        return [_as_refusal(decode_xml(xml))]
    found: dict[str, Refusal] = {}
    for error in _explaining_schema().iter_errors(root):
        refusal = _explained(error)
        # A value that breaks two facets of its type is one mistake.
        found.setdefault(refusal.path + (refusal.expected if "@" not in refusal.path else ""), refusal)
    return list(found.values())


def _explained(error: XMLSchemaValidationError) -> Refusal:
    """One error of `xmlschema` as a refusal, in the words of the decoder where it is about an attribute."""
    path, reason = error.path or "/", error.reason or error.message
    tag = getattr(error, "invalid_tag", None)
    if tag:
        name = etree.QName(str(tag))
        declared = _shapes().get(_local_name(path))
        allowed = ", ".join(child.name for child in declared.children) if declared else ""
        wanted = f"{allowed or 'no element'} of namespace {NAMESPACE}"
        return Refusal(
            code="KERNEL_XML_ELEMENT", path=f"{path}/{name.localname}", value=shorten(str(tag)), expected=wanted
        )
    said = _REASON.search(reason)
    if said is None:
        return _of_schema(path, reason)
    attribute = said["missing"] or said["name"] or said["unknown"]
    shape = _shapes().get(_local_name(path))
    declaration = next((one for one in shape.attributes if one.name == attribute), None) if shape else None
    expected = declaration.scalar.expected() if declaration else "no such attribute here"
    if said["missing"]:
        return Refusal(code="KERNEL_XML_MISSING", path=f"{path}/@{attribute}", expected=expected)
    code = "KERNEL_XML_VALUE" if said["name"] else "KERNEL_XML_ATTRIBUTE"
    held = error.elem.get(attribute) if error.elem is not None else None
    return Refusal(code=code, path=f"{path}/@{attribute}", value=shorten(held), expected=expected)


def _of_schema(path: str, said: str) -> Refusal:
    """What only the schema minds: what it demands in our words; what the parser said is the detail."""
    return Refusal(code="KERNEL_XML_SCHEMA", path=path, value=shorten(said), expected=demanded(said))


def _local_name(path: str) -> str:
    """`register` for ``/MeterReading/register[2]``."""
    return path.rsplit("/", 1)[-1].split("[", 1)[0].split(":")[-1]


@cache
def _shapes() -> dict[str, Shape]:
    """Element name -> shape, of every kind and part."""
    shapes = {kind: shape_of(cls) for kind, cls in KINDS.items()}
    for shape in list(shapes.values()):
        shapes.update({child.name: shape_of(child.part) for child in shape.children})
    return shapes
