# Copyright (c) 2026 the tandem.campaign team
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers and names of GGUF. Sources: ggml's ggml.h and ggml-common.h (tensor types and blocks), llama.cpp's llama.h (file types)."""

from __future__ import annotations

from typing import NamedTuple


class TensorType(NamedTuple):
    """``block`` elements take ``size`` bytes."""

    name: str
    block: int
    size: int


TENSOR_TYPES = {
    0: TensorType("F32", 1, 4), 1: TensorType("F16", 1, 2), 2: TensorType("Q4_0", 32, 18), 3: TensorType("Q4_1", 32, 20),
    6: TensorType("Q5_0", 32, 22), 7: TensorType("Q5_1", 32, 24), 8: TensorType("Q8_0", 32, 34), 9: TensorType("Q8_1", 32, 36),
    10: TensorType("Q2_K", 256, 84), 11: TensorType("Q3_K", 256, 110), 12: TensorType("Q4_K", 256, 144), 13: TensorType("Q5_K", 256, 176),
    14: TensorType("Q6_K", 256, 210), 15: TensorType("Q8_K", 256, 292), 16: TensorType("IQ2_XXS", 256, 66), 17: TensorType("IQ2_XS", 256, 74),
    18: TensorType("IQ3_XXS", 256, 98), 19: TensorType("IQ1_S", 256, 50), 20: TensorType("IQ4_NL", 32, 18), 21: TensorType("IQ3_S", 256, 110),
    22: TensorType("IQ2_S", 256, 82), 23: TensorType("IQ4_XS", 256, 136), 24: TensorType("I8", 1, 1), 25: TensorType("I16", 1, 2),
    26: TensorType("I32", 1, 4), 27: TensorType("I64", 1, 8), 28: TensorType("F64", 1, 8), 29: TensorType("IQ1_M", 256, 56),
    30: TensorType("BF16", 1, 2), 34: TensorType("TQ1_0", 256, 54), 35: TensorType("TQ2_0", 256, 66), 39: TensorType("MXFP4", 32, 17),
}  # fmt: skip
FILE_TYPES = {
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M", 13: "Q3_K_L",
    14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS",
    23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL", 26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16",
    36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4",
}  # fmt: skip
