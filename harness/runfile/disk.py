"""The file below HDF5: a failed write is recorded and reported, but hidden from HDF5.

libhdf5 does not recover from a failed write: it tries to flush the data again whenever an object is
released, until the process ends, with a traceback each time. Therefore HDF5 writes through this
object, which keeps refused data in memory until `check` raises the first failure.
"""

from __future__ import annotations

import os
from pathlib import Path


class Disk:
    """A file that HDF5 reads and writes through h5py's ``fileobj`` driver.

    Attributes
    ----------
    failure : OSError or None
        The first write that the disk refused.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_TRUNC)
        self._at = 0
        self._size = 0
        self._refused: list[tuple[int, bytes]] = []
        self.failure: OSError | None = None

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self.failure is not None:
            raise self.failure

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def write(self, data: bytes | memoryview) -> int:
        """Write all data to the disk or, after a failure, to memory."""
        left = memoryview(data).cast("B")
        size, at = left.nbytes, self._at
        try:
            while left and self.failure is None:
                written = os.pwrite(self._file, left, at)
                left, at = left[written:], at + written
        except OSError as error:
            self.failure = error
        if left:
            self._refused.append((at, bytes(left)))
        self._at += size
        self._size = max(self._size, self._at)
        return size

    def readinto(self, buffer: bytearray | memoryview) -> int:
        """Read written data from the disk and from memory."""
        view = memoryview(buffer).cast("B")
        begin, end = self._at, self._at + view.nbytes
        on_disk = os.pread(self._file, view.nbytes, begin)
        view[: len(on_disk)] = on_disk
        view[len(on_disk) :] = bytes(view.nbytes - len(on_disk))
        for at, data in self._refused:
            first, last = max(begin, at), min(end, at + len(data))
            if first < last:
                view[first - begin : last - begin] = data[first - at : last - at]
        self._at = end
        return view.nbytes

    def read(self, size: int) -> bytes:
        """Read written data from the disk and from memory."""
        data = bytearray(size)
        self.readinto(data)
        return bytes(data)

    def truncate(self, size: int) -> int:
        """Set the length of the file."""
        if self.failure is None:
            try:
                os.ftruncate(self._file, size)
            except OSError as error:
                self.failure = error
        self._size = size
        return size

    def flush(self) -> None:
        """Do nothing: writes are not buffered here."""

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
