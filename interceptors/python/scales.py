"""What calls on dimension scales tell the writer: HDF5 keeps them in attributes, written inside its own functions."""

from __future__ import annotations

from typing import Any

from .calls import Call
from .names import Names


class Scales(Names):
    """What is told of dimension scales."""

    call = Call

    def handle_of(self, subject: Any) -> Any:
        """Return the handle of what a failed call was about, where it is known."""
        known = self.objects.known.get(getattr(subject, "id", 0))
        return None if known is None else known.handle

    def set_scale(self, made: Any, call: Call, dataset: Any, *_: Any, **__: Any) -> None:
        """`h5ds.set_scale`."""
        self._written(call, dataset, (b"CLASS", b"NAME"))

    def attach_scale(self, made: Any, call: Call, dataset: Any, scale: Any, *_: Any) -> None:
        """`h5ds.attach_scale`, `h5ds.detach_scale`."""
        self._written(call, dataset, (b"DIMENSION_LIST",))
        self._written(call, scale, (b"REFERENCE_LIST",))

    def set_label(self, made: Any, call: Call, dataset: Any, *_: Any) -> None:
        """`h5ds.set_label`."""
        self._written(call, dataset, (b"DIMENSION_LABELS",))

    def _written(self, call: Call, owner: Any, names: tuple[bytes, ...]) -> None:
        for name in names:
            if self.h5py.h5a.exists(owner, name):
                attribute = self.objects.open_attribute(owner, name)
                opening = self.objects.of(owner).opening
                known = ("Attribute", self.objects.of(owner).path, name) in opening.members
                self.objects.attribute(owner, attribute, created=opening.made and not known)
                self.write_attribute(None, call, attribute)
