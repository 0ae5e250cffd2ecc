"""HIP from Python, by ctypes: memory, kernels compiled when they are needed, streams. As much of it
as the examples need; a real program has PyTorch."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any, List, Optional, Sequence

import numpy

_TO_DEVICE, _FROM_DEVICE = 1, 2  # hipMemcpyKind
PRIORITIES = ("low", "normal", "high")


def _load(name: str) -> Optional[ctypes.CDLL]:
    for place in (f"lib{name}.so", f"/opt/rocm/lib/lib{name}.so", ctypes.util.find_library(name)):
        try:
            if place:
                return ctypes.CDLL(place)
        except OSError:
            pass
    return None


class Hip:
    """The first GPU, and one stream on it."""

    def __init__(self, source: str, priority: str = "normal", arch: Optional[str] = None) -> None:
        hip = _load("amdhip64")
        if hip is None:
            raise OSError("libamdhip64.so was not found: install ROCm's HIP (apt: libamdhip64-dev)")
        self.hip = hip
        self.rtc = _load("hiprtc") or hip  # part of libamdhip64 before ROCm 5.5
        self.stream = ctypes.c_void_p()
        self._made: List[ctypes.c_void_p] = []
        least, greatest = ctypes.c_int(), ctypes.c_int()
        self._call("hipDeviceGetStreamPriorityRange", ctypes.byref(least), ctypes.byref(greatest))
        number = {"low": least.value, "normal": 0, "high": greatest.value}[priority]
        self._call("hipStreamCreateWithPriority", ctypes.byref(self.stream), ctypes.c_uint(1),
                   ctypes.c_int(number))
        self._module = ctypes.c_void_p()
        self._call("hipModuleLoadData", ctypes.byref(self._module), self._compiled(source, arch))

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.hip, name)(*arguments)
        if code != 0:
            self.hip.hipGetErrorString.restype = ctypes.c_char_p
            raise OSError(f"{name}: {self.hip.hipGetErrorString(code).decode()}")

    def _compiled(self, source: str, arch: Optional[str]) -> ctypes.Array[ctypes.c_char]:
        rtc, program, size = self.rtc, ctypes.c_void_p(), ctypes.c_size_t()
        # Products and sums are rounded one by one, as NumPy does.
        options = [b"-ffp-contract=off"] + ([f"--offload-arch={arch}".encode()] if arch else [])
        rtc.hiprtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.hip", 0, None,
                                None)
        code = rtc.hiprtcCompileProgram(program, len(options),
                                        (ctypes.c_char_p * len(options))(*options))
        if code != 0:
            rtc.hiprtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            rtc.hiprtcGetProgramLog(program, log)
            raise OSError(f"hiprtc: {log.value.decode()}")
        rtc.hiprtcGetCodeSize(program, ctypes.byref(size))
        binary = ctypes.create_string_buffer(size.value)
        rtc.hiprtcGetCode(program, binary)
        rtc.hiprtcDestroyProgram(ctypes.byref(program))
        return binary

    def empty(self, count: int) -> ctypes.c_void_p:
        """Memory for so many floats, freed with everything."""
        place = ctypes.c_void_p()
        self._call("hipMalloc", ctypes.byref(place), ctypes.c_size_t(max(1, count) * 4))
        self._made.append(place)
        return place

    def array(self, values: numpy.ndarray) -> ctypes.c_void_p:
        """The same, filled."""
        place = self.empty(values.size)
        self.write(place, values)
        return place

    def write(self, place: ctypes.c_void_p, values: numpy.ndarray) -> None:
        """From NumPy to the GPU."""
        flat = numpy.ascontiguousarray(values)
        self._call("hipMemcpy", place, flat.ctypes.data_as(ctypes.c_void_p),
                   ctypes.c_size_t(flat.nbytes), _TO_DEVICE)

    def read(self, place: ctypes.c_void_p, shape: Sequence[int]) -> numpy.ndarray:
        """From the GPU, when all before is done."""
        self.wait()
        values = numpy.empty(shape, numpy.float32)
        self._call("hipMemcpy", values.ctypes.data_as(ctypes.c_void_p), place,
                   ctypes.c_size_t(values.nbytes), _FROM_DEVICE)
        return values

    def launch(self, name: str, count: int, *arguments: Any, block: int = 64) -> None:
        """Runs a kernel with at least `count` threads. Integers are int, floats float."""
        function = ctypes.c_void_p()
        self._call("hipModuleGetFunction", ctypes.byref(function), self._module, name.encode())
        values = [each if isinstance(each, ctypes.c_void_p) else
                  ctypes.c_float(each) if isinstance(each, float) else ctypes.c_int(each)
                  for each in arguments]
        places = (ctypes.c_void_p * len(values))(
            *(ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in values))
        grid = (count + block - 1) // block
        self._call("hipModuleLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, self.stream,
                   places, None)

    def wait(self) -> None:
        """Until the stream has done everything."""
        self._call("hipStreamSynchronize", self.stream)

    def close(self) -> None:
        """Frees what was made."""
        self.wait()
        for place in self._made:
            self._call("hipFree", place)
        self._made.clear()
        self._call("hipStreamDestroy", self.stream)
