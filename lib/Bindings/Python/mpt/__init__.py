# Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MPT from Python: `mpt.torch` exports PyTorch models for `mpt-opt --mpt-convert-torch`."""
