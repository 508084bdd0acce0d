//===- StandIn.h - CUDA's libraries without a GPU -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library with the functions of cudart, cuBLASLt and cuDNN that MPT's runtime calls.
/// Device memory is the host's, kernels run in the emulator, matmuls and convolutions
/// are plain loops. Every call is held to the real library's rules: pointers must lie
/// inside live allocations and be aligned, descriptors must be complete and what the
/// libraries can do, and while a stream is being captured nothing may allocate or wait. A
/// breach makes the call fail and is kept for the test to read.
///
/// NCCL's functions exchange values between processes for real, by sockets of this
/// machine, and hold all ranks to one sequence of calls (StandInNccl.cpp). In programs of
/// several processes MPT_STANDIN_DEVICES says how many GPUs there are, and
/// CUDA_VISIBLE_DEVICES which of them a process sees. With MPT_STANDIN_CHIP=sm_100 they
/// are others than sm_90, and MPT_STANDIN_BYTES says how much memory each has. At its end
/// a process writes to the file MPT_STANDIN_CALLS how often it called each function.
///
//===----------------------------------------------------------------------===//

#ifndef MPT_TEST_LIB_CUDASTANDIN_H
#define MPT_TEST_LIB_CUDASTANDIN_H

#include "mpt/Runtime/Emulator/Emulation.h"

extern "C" {
/// Forgets everything; the device is an sm_90 with 1 GiB.
void mpt_standin_reset();
/// The kernels that any loaded image holds; null, as at first: those of the program
/// that the image is a part of (mpt-compile --emulated-kernels).
void mpt_standin_set_kernels(const mpt_simt_module *module);
void mpt_standin_set_device(int count, int major, int minor, int64_t bytes);
/// Each call of `function` from its `after`th on returns `code`; null: none does.
void mpt_standin_fail(const char *function, int after, int code);
/// No algorithm has the epilogue (of cublasLtEpilogue_t) from now on.
void mpt_standin_refuse_epilogue(unsigned epilogue);
/// The first `count` algorithms of every matmul, or of those with an epilogue, are
/// proposed, but fail to run with `code` (of cublasStatus_t).
void mpt_standin_fail_algorithms(int count, int code, int withEpilogueOnly);
/// What the four algorithms that are proposed for every matmul take, in microseconds; at
/// first 30, 20, 10 and 40.
void mpt_standin_set_times(double first, double second, double third, double fourth);
/// Matmuls with other epilogues than a bias take `factor` times as long.
void mpt_standin_slow_epilogues(double factor);
/// What cuDNN's three engines with tensor cores that become plans take, in microseconds;
/// at first 50, 20 and 35. The one without takes 60, and attention has the first alone.
void mpt_standin_set_engine_times(double first, double second, double third);
/// What launches of this kernel take; at first nothing.
void mpt_standin_set_launch_time(const char *kernel, double microseconds);
/// Copies by tensor maps read `bytes` further on, and `entryBytes` more for each step of
/// their last dimension, as a GPU would that has another idea of them. That is so of the
/// maps that are encoded from the `first`th to the `last`th.
void mpt_standin_shift_maps(int64_t bytes, int64_t entryBytes, int64_t first,
                            int64_t last);
/// Launches with tensor maps fail with `code` from now on, or, with cudaErrorNotReady
/// (600), never end.
void mpt_standin_fail_maps(int code);
/// How many launches with tensor maps have been asked for, of kernels whose names begin
/// with `prefix`.
int64_t mpt_standin_map_launches(const char *prefix);
/// Images that are not PTX fail to load with `code`.
void mpt_standin_refuse_machine_code(int code);
/// Operations of this cudnnBackendDescriptorType_t are refused from now on.
void mpt_standin_refuse_convolutions(int kind);
/// From now on launches run only the first, the middle and the last of so many parts of
/// their blocks, and matmuls of their results' rows and of what they sum, where these are
/// many. Allocations are mapped without memory behind them and hold zeros, so that a
/// program may have more than the machine; clearing them takes none.
void mpt_standin_set_parts(int64_t parts);
/// What cuBLASLt says it is (130101 for 13.1.1).
void mpt_standin_set_cublaslt_version(int64_t version);
/// What the driver says it is for (13000 for CUDA 13.0).
void mpt_standin_set_driver_version(int version);
/// What cuDNN says it is (91900 for 9.19).
void mpt_standin_set_cudnn_version(int64_t version);
/// The first breach of a rule; "" if there was none.
const char *mpt_standin_breach();
/// How often `function` was called.
int64_t mpt_standin_calls(const char *function);
/// Allocations, handles and the like that are alive.
int64_t mpt_standin_alive();
/// The NVTX ranges that were opened, a line each, indented by those around them; ""
/// where MPT was built without NVTX. The library is a tool as nsys is one: programs
/// load it if NVTX_INJECTION64_PATH names it before their first range.
const char *mpt_standin_ranges();
/// Data of the image that was loaded last.
const void *mpt_standin_image();
}

#endif // MPT_TEST_LIB_CUDASTANDIN_H
