"""The elements of a market's schema, XML Schema or JSON Schema: which are leaves, of what type, needed or repeated, and
which codes they may hold. What a table is begun from, and held against."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from lxml import etree
from msgspec import Struct, field

from energycomm.kernel import safexml

MAX_DEPTH = 30
"""Elements inside one another; a type that holds itself is followed no further."""

_TYPES = {
    "dateTime": "instant",
    "date": "day",
    "decimal": "number",
    "double": "number",
    "float": "number",
    "integer": "whole",
    "boolean": "flag",
    "number": "number",
    "date-time": "instant",
}


class SchemaFault(ValueError):
    """A schema cannot be read; the text says why."""


class SchemaElement(Struct):
    """One element.

    Attributes:
      name: its local name, ``@name`` for an attribute.
      type: of a leaf, as tables call it; None where it has elements.
      needed: it has to be there when its parent is.
      many: it may stand several times.
      codes: of a leaf with a list: code -> what the schema says of it.
      codes_name: name of that list.
      children: in the order of the schema.
      simple: the type of a leaf in the schema, where that is of XML.
    """

    name: str
    type: str | None = None
    needed: bool = False
    many: bool = False
    codes: dict[str, str] = field(default_factory=dict)
    codes_name: str = ""
    children: list[SchemaElement] = field(default_factory=list)
    simple: Any = None

    def allows(self, value: str) -> bool:
        """Whether the type of a leaf has a value; one without a type has any."""
        return self.simple is None or bool(self.simple.is_valid(value))

    def leaves(self, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], SchemaElement]]:
        """Every leaf below with its path, in the order of the schema."""
        for child in self.children:
            path = (*above, child.name)
            if child.type is not None:
                yield path, child
            yield from child.leaves(path)


class SchemaDocument(Struct):
    """One document of a schema.

    Attributes:
      form: ``xml`` or ``json``.
      root: its element, with everything below.
      namespace: of an XML document.
      file: of the schema.
      qualified: the elements in the root are in that namespace too.
    """

    form: str
    root: SchemaElement
    namespace: str | None
    file: Path
    qualified: bool = False


def documents_of(path: Path) -> list[SchemaDocument]:
    """The documents that a schema declares: its global elements that have elements in them.

    Args:
      path: of an XML Schema or a JSON Schema; what it includes lies beside it.

    Raises:
      SchemaFault: the file is no schema, or declares no document.
    """
    try:
        beginning = path.read_bytes()[:200].lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError as error:
        raise SchemaFault(f"{path}: {error.strerror or error}") from None
    found = _json(path) if beginning.startswith(b"{") else _xml(path)
    if not found:
        raise SchemaFault(f"{path}: no element of the schema could be a document")
    return found


# --- XML ---


def _xml(path: Path) -> list[SchemaDocument]:
    # Imported only here: it takes longer than all else that is done with a table.
    import xmlschema

    lacking = _lacking(path)
    if lacking:
        raise SchemaFault(f"{path}: {', '.join(lacking[:5])} is missing{' with others' if len(lacking) > 5 else ''}")
    # What libxml2 takes is not held against the schema of schemas once more: that takes most of the time.
    validation = "skip" if _compiles(path) else "strict"
    try:
        schema = xmlschema.XMLSchema(str(path), allow="local", defuse="always", validation=validation)
    except (xmlschema.XMLSchemaException, OSError, ValueError, SyntaxError) as error:
        raise SchemaFault(f"{path}: {str(error).strip().splitlines()[0]}") from None
    roots = [_element(one, needed=True, many=False, depth=0) for one in schema.elements.values()]
    space = schema.target_namespace or None
    qualified = space is not None and schema.element_form_default == "qualified"
    return [
        SchemaDocument("xml", root, space, path, qualified) for root in roots if root.type is None and root.children
    ]


def _compiles(path: Path) -> bool:
    try:
        etree.XMLSchema(etree.parse(path, safexml.parser()))
    except (etree.LxmlError, OSError):
        return False
    return True


def _lacking(path: Path) -> list[str]:
    """The files that a schema includes or imports, and that are not there; by the files that it has."""
    seen, found = [path], []
    for file in seen:
        try:
            named = [
                one.get("schemaLocation") for one in etree.parse(file, safexml.parser()).iter("{*}include", "{*}import")
            ]
        except (OSError, etree.XMLSyntaxError):
            continue  # told by the reader of schemas
        for location in named:
            other = file.parent / (location or "")
            if location and other not in seen and str(other) not in found:
                if other.is_file():
                    seen.append(other)
                else:
                    found.append(str(other))
    return found


def _element(declared: Any, *, needed: bool, many: bool, depth: int) -> SchemaElement:
    found = SchemaElement(str(declared.local_name), needed=needed, many=many)
    kind = declared.type
    if kind.has_complex_content() and depth < MAX_DEPTH:
        found.children = [*_attributes(kind), *_particles(kind.content, True, False, depth + 1)]
        return found
    if kind.is_complex() and kind.is_empty():
        found.children = list(_attributes(kind))
        return found
    simple = kind.content if kind.is_complex() and kind.has_simple_content() else kind
    _fill(found, simple)
    if kind.is_complex():
        found.children = list(_attributes(kind))
    return found


def _attributes(kind: Any) -> Iterator[SchemaElement]:
    for name, attribute in kind.attributes.items():
        if name is not None and getattr(attribute, "type", None) is not None:
            made = SchemaElement(f"@{str(name).rpartition('}')[2]}", needed=attribute.use == "required")
            _fill(made, attribute.type)
            yield made


def _particles(group: Any, needed: bool, many: bool, depth: int) -> Iterator[SchemaElement]:
    """The elements of a content model: those of a choice are not needed, those of what repeats may repeat."""
    several = many or group.max_occurs is None or group.max_occurs > 1
    sure = needed and group.min_occurs > 0 and not (group.model == "choice" and len(group) > 1)
    for particle in group:
        if hasattr(particle, "model"):
            yield from _particles(particle, sure, several, depth)
        elif getattr(particle, "local_name", None) is not None and getattr(particle, "type", None) is not None:
            repeats = several or particle.max_occurs is None or particle.max_occurs > 1
            yield _element(particle, needed=sure and particle.min_occurs > 0, many=repeats, depth=depth)


def _fill(found: SchemaElement, simple: Any) -> None:
    found.simple = simple
    primitive = getattr(simple, "primitive_type", None)
    base = str(getattr(primitive, "local_name", "") or "")
    name = str(getattr(simple, "local_name", "") or found.name)
    if getattr(simple, "is_derived", None) and base == "decimal" and _is_integer(simple):
        base = "integer"
    found.type = "instant" if name.endswith("DateTime") else _TYPES.get(base, "text")
    for part in _parts(simple):
        for facet in getattr(part, "enumeration", None) or ():
            found.codes.setdefault(str(facet), _said(part, str(facet)))
    if found.codes and found.type == "text":
        found.type, found.codes_name = "code", name


def _parts(simple: Any, depth: int = 0) -> Iterator[Any]:
    """A simple type and those that it is a union of, where it has no list of its own."""
    yield simple
    if depth < MAX_DEPTH and not getattr(simple, "enumeration", None):
        for part in getattr(simple, "member_types", None) or ():
            yield from _parts(part, depth + 1)
        base = getattr(simple, "base_type", None)
        if base is not None and base is not simple and getattr(base, "is_simple", lambda: False)():
            yield from _parts(base, depth + 1)


def _is_integer(simple: Any) -> bool:
    while simple is not None:
        if simple.local_name == "integer":
            return True
        simple = simple.base_type
    return False


def _said(simple: Any, code: str) -> str:
    """What the schema says of a code of a list."""
    for facet in simple.elem.iter() if getattr(simple, "elem", None) is not None else ():
        if facet.get("value") == code:
            words = " ".join(" ".join(text.split()) for text in facet.itertext() if text.strip())
            if words:
                return words
    return ""


# --- JSON ---


def _json(path: Path) -> list[SchemaDocument]:
    files: dict[Path, Any] = {}
    schema = _loaded(path, files)
    if not isinstance(schema, dict):
        raise SchemaFault(f"{path}: a schema is an object")
    found = []
    for name, declared in (schema.get("properties") or {}).items():
        root = _value(name, declared, path, files, needed=True, depth=0)
        if root.children and root.type is None:
            found.append(SchemaDocument("json", root, None, path))
    return found


def leaves_of(name: str, shape: Any) -> SchemaElement:
    """The element that a type of msgspec reads from JSON.

    Args:
      name: of the element.
      shape: the type.
    """
    schema = msgspec.json.schema(shape)
    return _value(name, schema, Path(), {Path(): schema}, needed=True, depth=0)


def _loaded(path: Path, files: dict[Path, Any]) -> Any:
    if path not in files:
        try:
            files[path] = json.loads(path.read_bytes())
        except OSError as error:
            raise SchemaFault(f"{path}: {error.strerror or error}") from None
        except (ValueError, RecursionError) as error:
            raise SchemaFault(f"{path}: {error}") from None
    return files[path]


def _resolved(declared: Any, path: Path, files: dict[Path, Any]) -> tuple[dict[str, Any], Path]:
    """What a declaration says, its references followed."""
    for _ in range(MAX_DEPTH):
        if not isinstance(declared, dict):
            return {}, path
        reference = declared.get("$ref")
        if not isinstance(reference, str):
            return declared, path
        file, _, pointer = reference.partition("#")
        if file:
            path = path.parent / file.rpartition("/")[2]
        declared = _loaded(path, files)
        for step in pointer.strip("/").split("/") if pointer.strip("/") else ():
            declared = declared.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(declared, dict) else None
        if declared is None:
            raise SchemaFault(f"{path}: {reference} leads nowhere")
    raise SchemaFault(f"{path}: a reference that leads to itself")


def _value(name: str, declared: Any, path: Path, files: dict[Path, Any], *, needed: bool, depth: int) -> SchemaElement:
    said, path = _resolved(declared, path, files)
    parts = [part for part in said.get("anyOf") or () if part != {"type": "null"}]
    if len(parts) == 1:  # something or nothing
        said, path = _resolved(parts[0], path, files)
    found = SchemaElement(name, needed=needed)
    if said.get("type") == "array":
        found.many = True
        items = said.get("items")
        said, path = _resolved(items[0] if isinstance(items, list) and items else items, path, files)
    properties = said.get("properties")
    if not isinstance(properties, dict) or depth >= MAX_DEPTH:
        _fill_json(found, said, path, files)
        return found
    wanted = said.get("required") or ()
    inside = [
        _value(key, value, path, files, needed=key in wanted, depth=depth + 1) for key, value in properties.items()
    ]
    value = next((one for one in inside if one.name == "value" and one.type is not None), None)
    if value is not None:  # an object that stands for an element with attributes
        found.type, found.codes, found.codes_name = value.type, value.codes, value.codes_name
        inside = [SchemaElement(f"@{one.name}", one.type, one.needed) for one in inside if one is not value]
    found.children = inside
    return found


def _fill_json(found: SchemaElement, said: dict[str, Any], path: Path, files: dict[Path, Any]) -> None:
    found.type = _TYPES.get(str(said.get("format") or said.get("type")), "text")
    if found.type == "text" and found.name.lower().endswith("datetime"):
        found.type = "instant"
    found.codes = dict.fromkeys(_listed(said, path, files), "")
    if found.codes and found.type == "text":
        found.type, found.codes_name = "code", str(said.get("title") or found.name)


def _listed(said: dict[str, Any], path: Path, files: dict[Path, Any], depth: int = 0) -> Iterator[str]:
    """The codes that a type lists, itself or by one of those that it may be."""
    yield from (str(code) for code in said.get("enum") or () if code is not None)
    if depth < MAX_DEPTH:
        for word in ("anyOf", "oneOf", "allOf"):
            for part in said.get(word) or ():
                inner, where = _resolved(part, path, files)
                yield from _listed(inner, where, files, depth + 1)
