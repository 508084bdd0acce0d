# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that a mask chooses, computed with all rows: see `spread`."""
from mpt._export.masked_rows.spread import spread_masked_rows

__all__ = ["spread_masked_rows"]
