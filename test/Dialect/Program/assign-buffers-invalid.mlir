// RUN: mpt-opt %s --mpt-assign-buffers --split-input-file --verify-diagnostics
// RUN: not mpt-opt %s --mpt-assign-buffers="max-threads=0" --split-input-file 2>&1 | FileCheck %s --check-prefix=THREADS
// RUN: not mpt-opt %s --mpt-assign-buffers="function=other" --split-input-file 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mpt-opt %s --mpt-assign-buffers="max-threads=4097" --split-input-file 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not mpt-opt %s --mpt-assign-buffers="memory-limit=0" --split-input-file 2>&1 | FileCheck %s --check-prefix=LIMIT
// RUN: not mpt-opt %s --mpt-assign-buffers="memory-limit=70368744177665" --split-input-file 2>&1 | FileCheck %s --check-prefix=LIMIT2
// RUN: not mpt-opt %s --mpt-assign-buffers="target=rocm" --split-input-file 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not mpt-opt %s --mpt-assign-buffers="target='cuda gfx90a'" --split-input-file 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not mpt-opt %s --mpt-rematerialize="target=rocm" --split-input-file 2>&1 | FileCheck %s --check-prefix=REMAT
// MACHINE: error: mpt-assign-buffers: expected the target cpu, x86_64 or cuda, found 'rocm'
// CHIP: error: mpt-assign-buffers: expected chips such as sm_90, found "gfx90a"
// REMAT: error: mpt-rematerialize: expected the target cpu, x86_64 or cuda, found 'rocm'
// MANY: a step is planned for 1 to 4096 threads, found 4097; give another max-threads
// LIMIT: mpt-assign-buffers: memory-limit must be 1 to 2^46 bytes, got 0
// LIMIT2: mpt-assign-buffers: memory-limit must be 1 to 2^46 bytes, got 70368744177665
// THREADS: mpt-assign-buffers: max-threads must be at least 1, got 0
// NAME: mpt-assign-buffers: no function 'other' with a body in this module

// expected-error @below {{mpt-assign-buffers: expected one function, found 0; name one with function=}}
module {
  func.func private @declared()
}

// -----

// expected-error @below {{mpt-assign-buffers: expected one function, found 2; name one with function=}}
module {
  // expected-note @below {{'a'}}
  func.func @a() { return }
  // expected-note @below {{'b'}}
  func.func @b() { return }
}

// -----

// expected-error @below {{planning needs ranked tensors of static shape, but argument 0 is 'tensor<?xf32>'; give dynamic dimensions a size with --mpt-specialize first}}
func.func @step(%x: tensor<?xf32>) { return }

// -----

// expected-error @below {{planning needs ranked tensors of static shape, but argument 0 is 'index'}}
func.func @step(%x: index) { return }

// -----

// expected-error @below {{a step that is planned must have exactly one block; found 2 (control flow cannot be planned)}}
func.func @step(%x: tensor<f32>) -> tensor<f32> {
  cf.br ^end
^end:
  return %x : tensor<f32>
}

// -----

func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'mpt.exp' is neither a kernel nor a library call; run --mpt-decompose and --mpt-fuse-kernels before planning}}
  %y = mpt.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Only elements that a program knows have a size.

// expected-error @below {{planning needs tensors of f64, f32, f16, bf16, f8E4M3FN, f8E5M2, i64, i32, i16, i8 or i1, but argument 0 is 'tensor<index>'; cast it to one of them first}}
func.func @loss(%x: tensor<index>) -> tensor<index> { return %x : tensor<index> }

// -----

// expected-error @below {{but argument 1 ("mask") is 'tensor<4xcomplex<f32>>'; cast it}}
func.func @step(%x: tensor<f32>, %m: tensor<4xcomplex<f32>> {mpt.name = "mask", mpt.role = "input"}) -> tensor<4xcomplex<f32>> {
  return %m : tensor<4xcomplex<f32>>
}

// -----

// expected-error @below {{but argument 0 is 'tensor<4xvector<4xf32>>'; cast it}}
func.func @step(%x: tensor<4xvector<4xf32>>) { return }

// -----

// expected-error @below {{but argument 0 is 'tensor<2xi1000000>'; cast it}}
func.func @step(%x: tensor<2xi1000000>) { return }

// -----

// expected-error @below {{but argument 0 is 'tensor<4xi7>'; cast it}}
func.func @step(%x: tensor<4xi7>) { return }

// -----

// expected-error @below {{but argument 0 is 'tensor<4xui8>'; cast it}}
func.func @step(%x: tensor<4xui8>) { return }

// -----

// expected-error @below {{but argument 0 is 'tensor<4xf128>'; cast it}}
func.func @step(%x: tensor<4xf128>) { return }

// -----

func.func @step(%x: tensor<f32>) {
  // expected-error @below {{but result 0 of 'arith.constant' is 'tensor<4xindex>'; cast it}}
  %0 = arith.constant dense<0> : tensor<4xindex>
  return
}

// -----

// Sizes whose product has no int64_t, or that no machine has. Strides count sizes beside a 0, too.

// expected-error @below {{planning cannot count the bytes of argument 0, which is 'tensor<4294967296x4294967296xf32>'; a program has at most 2^46 bytes; use smaller shapes}}
func.func @step(%x: tensor<4294967296x4294967296xf32>) { return }

// -----

// expected-error @below {{planning cannot count the bytes of argument 0, which is 'tensor<0x9223372036854775807x4xf32>'}}
func.func @step(%x: tensor<0x9223372036854775807x4xf32>) { return }

// -----

// expected-error @below {{planning cannot count argument 0 (tensor<35184372088832xf32>): 140737488355328 bytes, and a program has at most 2^46; use smaller shapes}}
func.func @step(%x: tensor<35184372088832xf32>) { return }

// -----

// A program that a process cannot address, though each of its values could be.

// expected-error @below {{mpt-assign-buffers: @step needs 128000000000000 bytes of memory (arena 32000000000000, state 32000000000000, results 32000000000000, constants 32000000000000) and may have 70368744177664 (memory-limit); largest: state 'w' of tensor<8000000000000xf32> (32000000000000), constant of tensor<8000000000000xf32> at }}
func.func @step(%w: tensor<8000000000000xf32> {mpt.name = "w", mpt.role = "parameter"})
    -> (tensor<8000000000000xf32> {mpt.name = "old"}, tensor<8000000000000xf32> {mpt.name = "new", mpt.updates = "w"}) {
  %0 = mpt.constant dense<1.0> : tensor<8000000000000xf32>
  return %w, %0 : tensor<8000000000000xf32>, tensor<8000000000000xf32>
}

// -----

func.func @step(%x: tensor<1xf32>) -> tensor<1xf32> {
  // expected-error @below {{'mpt_kernel.kernel' op of more than 2^50 points cannot be planned; use smaller shapes}}
  %y = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 2251799813685248>, chunk_rows = 1 : i64,
      operand_maps = [affine_map<(d0) -> (0)>], result_maps = [affine_map<(d0) -> (0)>]}> ({
  ^bb0(%e: f32):
    mpt_kernel.yield %e : f32
  }) : (tensor<1xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}

// -----

// A partial sum per task and column.
func.func @step(%x: tensor<1xf32>) -> tensor<16777216xf32> {
  // expected-error @below {{planning cannot count what this op needs while it runs: 2251799813685248 bytes, and a program has at most 2^46; use smaller shapes}}
  %y = "mpt_kernel.kernel"(%x) <{kind = #mpt_kernel.kind<column>, domain = array<i64: 33554432, 16777216>, chunk_rows = 1 : i64,
      operand_maps = [affine_map<(d0, d1) -> (0)>], result_maps = [affine_map<(d0, d1) -> (d1)>]}> ({
  ^bb0(%e: f32):
    %s = arith.addf %e, %e : f32
    %i = mpt_kernel.index 1 : i32
    %f = arith.sitofp %i : i32 to f32
    %a = arith.addf %s, %f : f32
    %r = mpt_kernel.column_reduce <sum> %a : f32
    mpt_kernel.yield %r : f32
  }) : (tensor<1xf32>) -> tensor<16777216xf32>
  return %y : tensor<16777216xf32>
}

// -----

// What a program file holds of a constant.
func.func @step() -> tensor<2000000000xf32> {
  // expected-error @below {{mpt-assign-buffers: expected a constant of less than 2^32 bytes, unless all of its elements are equal; found 'tensor<2000000000xf32>' of 8000000000 bytes; make it an argument}}
  %c = mpt.constant dense_resource<weights> : tensor<2000000000xf32>
  return %c : tensor<2000000000xf32>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x0400000001000000"
    }
  }
#-}

// -----

func.func @f64(%i: tensor<3xi64> {mpt.name = "i", mpt.role = "input"}, %x: tensor<3x2xf64> {mpt.name = "x", mpt.role = "input"})
    -> (tensor<7x2xf64> {mpt.name = "y"}) {
  // expected-error @+1 {{the library call cannot run: a scatter_add adds up f32, f16 or bf16, not f64; cast to f32}}
  %0 = mpt.scatter_add %i, %x : (tensor<3xi64>, tensor<3x2xf64>) -> tensor<7x2xf64>
  return %0 : tensor<7x2xf64>
}
