"""Reading the structure of a table file, as HDF5 lays it out, without the HDF5 library.

The library crashes or loops on some damaged files (docs/decisions/0025-hostile-files.md). A table file has few kinds of
structures, those of the oldest HDF5 format, which `pdb_build.writer` asks for. So they are read here: every length and
address is checked before it is followed, whatever else is there is refused, and no more than `MAX_STRUCTURE_BYTES` are
read, which bounds time and memory whatever a file says.

The layout of every structure is that of the HDF5 File Format Specification, version 3.0, whose words are used.
"""

import math
import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

# Headers of 35 patterns take 0.2 MB.
MAX_STRUCTURE_BYTES = 1 << 20
SIGNATURE = b"\x89HDF\r\n\x1a\n"

_SUPERBLOCK_BYTES = 96
_UNDEFINED = (1 << 64) - 1
# Kinds of messages.
_DATASPACE, _DATATYPE, _EXTERNAL, _LAYOUT = 1, 3, 7, 8
_FILTERS, _ATTRIBUTE, _CONTINUATION, _SYMBOL_TABLE = 11, 12, 16, 17
_IS_SHARED = 2  # a flag of a message: its content is elsewhere
_CONTIGUOUS = 1
_SOFT_LINK = 2
_MAX_NAME_BYTES = 255
_NOT_CONTIGUOUS = "a dataset is not contiguous, another program has rewritten it"
# The properties of an IEEE 754 number of 8 bytes: bit offset, precision, exponent and mantissa, bias.
_DOUBLE = struct.pack("<HHBBBBI", 0, 64, 52, 11, 0, 52, 1023)


class StructureError(ValueError):
    """The structure of a file contradicts itself, or is not one of those that table files have."""


class _Reader:
    """Bytes of an open file, none beyond its end, and so many in all."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.n_bytes = os.fstat(descriptor).st_size
        self._left = MAX_STRUCTURE_BYTES
        self._heaps: dict[int, dict[int, bytes]] = {}

    def read(self, address: int, length: int) -> bytes:
        self.check_extent(address, length)
        self.spend(length)
        data = os.pread(self._descriptor, length, address)
        if len(data) != length:
            raise StructureError("it became shorter while it was read")
        return data

    def spend(self, length: int) -> None:
        # Never 0: what goes in circles must come to an end, however small its steps.
        self._left -= max(length, 16)
        if self._left < 0:
            raise StructureError(f"what is not table is larger than {MAX_STRUCTURE_BYTES} bytes, or goes in circles")

    def check_extent(self, address: int, length: int) -> None:
        if address + length > self.n_bytes:
            raise StructureError(f"{length} bytes at {address} lie beyond its end")

    def expect(self, address: int, start: bytes, length: int) -> bytes:
        """`length` bytes at an address, which have to begin like that."""
        data = self.read(address, length)
        if not data.startswith(start):
            raise StructureError(f"there is no {start[:4].decode()} of a known version at {address}")
        return data

    def heap_object(self, address: int, index: int, length: int) -> bytes:
        """The first `length` bytes of an object of the global heap collection at an address."""
        if address not in self._heaps:
            (size,) = _unpack("<Q", self.expect(address, b"GCOL\x01", 16), 8)
            self._heaps[address] = dict(_heap_objects(self.read(address, size)))
        found = self._heaps[address].get(index, b"")
        if len(found) < length:
            raise StructureError(f"object {index} of the global heap at {address} has not {length} bytes")
        # Any number of attributes may ask for the same object.
        self.spend(length)
        return found[:length]


def _heap_objects(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 16
    while at + 16 <= len(data):
        index, size = _unpack("<H6xQ", data, at)
        if index == 0:  # free space, up to the end
            return
        if at + 16 + size > len(data):
            raise StructureError(f"object {index} of a global heap goes beyond it")
        yield index, data[at + 16 : at + 16 + size]
        at += 16 + _padded(size)


class Dataset:
    """A dataset: `offset` is where its bytes start in the file, in which they all lie."""

    def __init__(self, reader: _Reader, messages: list[tuple[int, bytes]]) -> None:
        kinds = [kind for kind, _ in messages]
        if _FILTERS in kinds or _EXTERNAL in kinds:
            raise StructureError(_NOT_CONTIGUOUS)
        of_kind = dict(messages)
        for kind in (_DATASPACE, _DATATYPE, _LAYOUT):
            if kinds.count(kind) != 1:
                raise StructureError("a dataset has not one shape, one type and one layout")
        dtype, _ = _datatype(of_kind[_DATATYPE])
        if dtype is None:
            raise StructureError("a dataset is not of numbers")
        self.dtype = np.dtype(dtype)
        self.shape, _ = _dataspace(of_kind[_DATASPACE])
        self.offset = _contiguous(of_kind[_LAYOUT], self._count() * self.dtype.itemsize)
        reader.check_extent(self.offset, self._count() * self.dtype.itemsize)
        self._reader = reader

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, _everything: slice) -> npt.NDArray[Any]:
        data = self._reader.read(self.offset, self._count() * self.dtype.itemsize)
        return np.frombuffer(data, dtype=self.dtype).reshape(self.shape)

    def _count(self) -> int:
        return math.prod(self.shape)


class Group:
    """A group: its attributes, and by their names the groups and datasets in it, read when they are asked for."""

    def __init__(self, reader: _Reader, messages: list[tuple[int, bytes]]) -> None:
        self._reader = reader
        self.attrs: dict[str, Any] = {}
        for kind, content in messages:
            if kind == _ATTRIBUTE:
                name, value = _attribute(reader, content)
                if name in self.attrs:
                    raise StructureError(f"attribute {name!r} is there twice")
                self.attrs[name] = value
        tables = [content for kind, content in messages if kind == _SYMBOL_TABLE]
        if len(tables) != 1:
            raise StructureError("a group has not one table of symbols")
        self._addresses = dict(_links(reader, *_unpack("<QQ", tables[0])))
        self._members: dict[str, Group | Dataset] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._addresses

    def __getitem__(self, name: str) -> "Group | Dataset":
        """The group or dataset of that name. Raises `KeyError` and `StructureError`."""
        if name not in self._members:
            messages = _messages(self._reader, self._addresses[name])
            is_group = any(kind == _SYMBOL_TABLE for kind, _ in messages)
            self._members[name] = Group(self._reader, messages) if is_group else Dataset(self._reader, messages)
        return self._members[name]


def read_root(descriptor: int) -> Group | None:
    """The root of an open file; None where it is an HDF5 file of a format that table files do not have.

    The file is only asked for what is at most `MAX_STRUCTURE_BYTES`. Raises `StructureError`.
    """
    reader = _Reader(descriptor)
    # Offsets and lengths of 8 bytes follow the versions: superblock, free space, root group, shared messages.
    start = reader.read(0, min(_SUPERBLOCK_BYTES, reader.n_bytes))
    if start[: len(SIGNATURE)] != SIGNATURE:
        raise StructureError("it does not begin as HDF5 files do")
    if start[8:9] not in (b"\0", b""):
        return None
    if len(start) < _SUPERBLOCK_BYTES or start[8:15] != b"\0\0\0\0\0\x08\x08":
        raise StructureError("its superblock is none of a table file")
    base, _free, end, _driver, _name, root = _unpack("<QQQQQQ", start, 24)
    if base != 0:
        raise StructureError("its superblock is none of a table file")
    if end > reader.n_bytes:
        raise StructureError(f"it is truncated: {reader.n_bytes} bytes where there should be {end}")
    return Group(reader, _messages(reader, root))


def _messages(reader: _Reader, address: int) -> list[tuple[int, bytes]]:
    """The messages of an object header of version 1: kind and content."""
    n_messages, size = _unpack("<H4xI", reader.expect(address, b"\x01\0", 12), 2)
    found: list[tuple[int, bytes]] = []
    stretches = [(address + 16, size)]
    while stretches:
        block = reader.read(*stretches.pop())
        at = 0
        while at + 8 <= len(block):
            kind, length, flags = _unpack("<HHB", block, at)
            content = block[at + 8 : at + 8 + length]
            if len(content) != length:
                raise StructureError(f"a message of the object at {address} goes beyond its header")
            if kind == _CONTINUATION:
                stretches.append(_unpack("<QQ", content))
            elif kind in (_DATASPACE, _DATATYPE, _ATTRIBUTE) and flags & _IS_SHARED:
                raise StructureError(f"the object at {address} shares messages with others")
            found.append((kind, content))
            at += 8 + length
    if len(found) != n_messages:
        raise StructureError(f"the object at {address} has {len(found)} messages instead of {n_messages}")
    return found


def _links(reader: _Reader, tree: int, heap: int) -> Iterator[tuple[str, int]]:
    """Names and addresses of the objects in a group: a B-tree of version 1 whose leaves are symbol table nodes."""
    size, _free, data = _unpack("<QQQ", reader.expect(heap, b"HEAP\0", 32), 8)
    names = reader.read(data, size)
    seen: set[bytes] = set()
    nodes = [tree]
    while nodes:
        node = nodes.pop()
        level, n_used = _unpack("<BH", reader.expect(node, b"TREE\0", 8), 5)
        # A key before each child: where the children's names begin.
        children = _unpack(f"<{2 * n_used}Q", reader.read(node + 24, 16 * n_used))[1::2]
        if level > 0:
            nodes += children
            continue
        for leaf in children:
            (n_symbols,) = _unpack("<H", reader.expect(leaf, b"SNOD\x01", 8), 6)
            for start, address, kind in struct.iter_unpack("<QQI20x", reader.read(leaf + 8, 40 * n_symbols)):
                name = names[start : start + _MAX_NAME_BYTES].split(b"\0")[0]
                if not name or name in seen or kind == _SOFT_LINK:
                    raise StructureError("a group has a link that is no object of its own")
                seen.add(name)
                yield _decoded(name), address


def _attribute(reader: _Reader, content: bytes) -> tuple[str, Any]:
    """Name and value of an attribute message: a number, a text, or a list of numbers."""
    version, flags, *lengths = _unpack("<BBHHH", content)
    if version not in (1, 2, 3) or (version > 1 and flags):
        raise StructureError("an attribute is of an unknown version, or shares its type")
    parts, at = [], 9 if version == 3 else 8
    for length in lengths:
        parts.append(content[at : at + length])
        # Only version 1 fills up to multiples of 8.
        at += _padded(length) if version == 1 else length
    name = _decoded(parts[0].rstrip(b"\0"))
    (dtype, width), (shape, is_null) = _datatype(parts[1]), _dataspace(parts[2])
    length = 0 if is_null else math.prod(shape) * width
    data = content[at : at + length]
    if len(data) != length:
        raise StructureError(f"attribute {name[:40]!r} goes beyond its message")
    if dtype is not None:
        values: Any = np.frombuffer(data, dtype=dtype).tolist()
        return name, values if shape or is_null else values[0]
    if shape or is_null:
        raise StructureError(f"attribute {name[:40]!r} is a list of texts")
    if width != 16:
        raise StructureError(f"the text of attribute {name[:40]!r} is not in a heap")
    n_bytes, address, index = _unpack("<IQI", data)
    return name, _decoded(reader.heap_object(address, index, n_bytes)) if n_bytes else ""


def _datatype(content: bytes) -> tuple[str | None, int]:
    """The numpy type of a datatype message and its bytes; None for a text of any length, which is in the heap."""
    first, bits, size = _unpack("<B3sI", content)
    kind, properties = first & 15, content[8:]
    if kind == 0 and size in (1, 2, 4, 8) and properties[:4] == struct.pack("<HH", 0, 8 * size):
        return f"{'>' if bits[0] & 1 else '<'}{'i' if bits[0] & 8 else 'u'}{size}", size
    if kind == 1 and size == 8 and bits == b"\x20\x3f\0" and properties[:12] == _DOUBLE:
        return "<f8", size
    if kind == 9 and size == 16 and bits[0] & 15 == 1:
        return None, size
    raise StructureError("something is of a type that table files do not have")


def _dataspace(content: bytes) -> tuple[tuple[int, ...], bool]:
    """The shape of a dataspace message, () for a single value, and whether it stands for no value at all."""
    version, rank, _flags, kind = _unpack("<BBBB", content)
    if version not in (1, 2) or rank > 32:
        raise StructureError("a shape is of an unknown version")
    start = 8 if version == 1 else 4
    return _unpack(f"<{rank}Q", content, start), version == 2 and kind == 2


def _contiguous(content: bytes, n_bytes: int) -> int:
    """The address in a layout message of a contiguous dataset of so many bytes."""
    version, kind, address, size = _unpack("<BBQQ", content)
    if version not in (3, 4) or kind != _CONTIGUOUS or address == _UNDEFINED:
        raise StructureError(_NOT_CONTIGUOUS)
    if size != n_bytes:
        raise StructureError(f"a dataset of {n_bytes} bytes has {size} bytes in the file")
    return int(address)


def _decoded(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise StructureError(f"{text[:40]!r} is no text in UTF-8") from None


def _padded(length: int) -> int:
    return -(-length // 8) * 8


def _unpack(pattern: str, data: bytes, at: int = 0) -> Any:
    """The fields at a place of `data`, which may hold more."""
    if at + struct.calcsize(pattern) > len(data):
        raise StructureError("a field goes beyond what it belongs to")
    return struct.unpack_from(pattern, data, at)
