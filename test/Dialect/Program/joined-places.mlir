// On GPUs what a concat joins is written into its part, by kernels and attention, with
// strides; on CPUs it is copied.
// RUN: mpt-opt %s --split-input-file --mpt-plan-step="target='cuda sm_90'" | FileCheck %s
// RUN: mpt-opt %s --split-input-file --mpt-plan-step | FileCheck %s --check-prefix=CPU
// CPU-NOT: strided

// Columns: rows of 64 of 160, from byte 0 and from byte 128, once through a reshape.
// CHECK-LABEL: mpt_program.program @columns
// CHECK-NOT: mpt_program.copy
// CHECK-DAG: %[[A:.*]] = mpt_program.buffer <arena> [[AT:[0-9]+]] : memref<8x64xbf16, strided<[160, 1]>>
// CHECK-DAG: mpt_program.launch {{.*}} outs(%[[A]] :
// CHECK-DAG: memref<8x2x32xbf16, strided<[160, 32, 1]>>
// CHECK: mpt_program.matmul {{.*}}memref<8x160xbf16>
func.func @columns(%a: tensor<8x64xf32> {mpt.name = "a", mpt.role = "input"}, %b: tensor<8x2x32xf32> {mpt.name = "b", mpt.role = "input"}, %c: tensor<8x32xf32> {mpt.name = "c", mpt.role = "input"}, %w: tensor<160x16xbf16> {mpt.name = "w", mpt.role = "input"}, %f: tensor<8x1x32xf32> {mpt.name = "f", mpt.role = "input"}) -> (tensor<8x16xbf16> {mpt.name = "y"}) {
  %a1 = mpt.cast %a : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  // Heads that a factor for each row and column does not let become one dimension.
  %b0 = mpt.mul %b, %f : (tensor<8x2x32xf32>, tensor<8x1x32xf32>) -> tensor<8x2x32xf32>
  %b1 = mpt.cast %b0 : (tensor<8x2x32xf32>) -> tensor<8x2x32xbf16>
  %b2 = mpt.reshape %b1 : (tensor<8x2x32xbf16>) -> tensor<8x64xbf16>
  %c1 = mpt.cast %c : (tensor<8x32xf32>) -> tensor<8x32xbf16>
  %0 = mpt.concat %a1, %b2, %c1 {axis = 1 : i64} : (tensor<8x64xbf16>, tensor<8x64xbf16>, tensor<8x32xbf16>) -> tensor<8x160xbf16>
  %y = mpt.matmul %0, %w : (tensor<8x160xbf16>, tensor<160x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// A concat of a concat: both in one place.
// CHECK-LABEL: mpt_program.program @nested
// CHECK-NOT: mpt_program.copy
// CHECK: strided<[192, 1]>
// CHECK: mpt_program.matmul {{.*}}memref<8x192xbf16>
func.func @nested(%a: tensor<8x64xf32> {mpt.name = "a", mpt.role = "input"}, %w: tensor<192x16xbf16> {mpt.name = "w", mpt.role = "input"}) -> (tensor<8x16xbf16> {mpt.name = "y"}) {
  %a1 = mpt.cast %a : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  %a2 = mpt.neg %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %a3 = mpt.cast %a2 : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  %a4 = mpt.exp %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %a5 = mpt.cast %a4 : (tensor<8x64xf32>) -> tensor<8x64xbf16>
  %0 = mpt.concat %a1, %a3 {axis = 1 : i64} : (tensor<8x64xbf16>, tensor<8x64xbf16>) -> tensor<8x128xbf16>
  %1 = mpt.concat %0, %a5 {axis = 1 : i64} : (tensor<8x128xbf16>, tensor<8x64xbf16>) -> tensor<8x192xbf16>
  %y = mpt.matmul %1, %w : (tensor<8x192xbf16>, tensor<192x16xbf16>) -> tensor<8x16xbf16>
  return %y : tensor<8x16xbf16>
}

// -----

// A part that is read elsewhere, one that does not begin at a multiple of 64 bytes, and an
// argument are copied.
// CHECK-LABEL: mpt_program.program @copied
// CHECK-COUNT-3: mpt_program.copy
// CHECK-NOT: strided
func.func @copied(%a: tensor<8x24xf32> {mpt.name = "a", mpt.role = "input"}, %b: tensor<8x64xbf16> {mpt.name = "b", mpt.role = "input"}, %w: tensor<112x16xbf16> {mpt.name = "w", mpt.role = "input"}) -> (tensor<8x16xbf16> {mpt.name = "y"}, tensor<8x24xbf16> {mpt.name = "z"}) {
  %a1 = mpt.cast %a : (tensor<8x24xf32>) -> tensor<8x24xbf16>
  %a2 = mpt.neg %a : (tensor<8x24xf32>) -> tensor<8x24xf32>
  %a3 = mpt.cast %a2 : (tensor<8x24xf32>) -> tensor<8x24xbf16>
  %0 = mpt.concat %a1, %a3, %b {axis = 1 : i64} : (tensor<8x24xbf16>, tensor<8x24xbf16>, tensor<8x64xbf16>) -> tensor<8x112xbf16>
  %y = mpt.matmul %0, %w : (tensor<8x112xbf16>, tensor<112x16xbf16>) -> tensor<8x16xbf16>
  return %y, %a1 : tensor<8x16xbf16>, tensor<8x24xbf16>
}

// -----

// Columns of one number of 8 bytes lie at multiples of 16, but not next to each other: they
// are copied.
// CHECK-LABEL: mpt_program.program @pairs
// CHECK-NOT: strided
// CHECK-COUNT-2: mpt_program.copy
func.func @pairs(%a: tensor<256xi64> {mpt.name = "a", mpt.role = "input"}, %b: tensor<256xi64> {mpt.name = "b", mpt.role = "input"}) -> (tensor<256x2xi64> {mpt.name = "y"}) {
  %a1 = mpt.add %a, %b : (tensor<256xi64>, tensor<256xi64>) -> tensor<256xi64>
  %b1 = mpt.mul %a, %b : (tensor<256xi64>, tensor<256xi64>) -> tensor<256xi64>
  %a2 = mpt.reshape %a1 : (tensor<256xi64>) -> tensor<256x1xi64>
  %b2 = mpt.reshape %b1 : (tensor<256xi64>) -> tensor<256x1xi64>
  %0 = mpt.concat %a2, %b2 {axis = 1 : i64} : (tensor<256x1xi64>, tensor<256x1xi64>) -> tensor<256x2xi64>
  %r = mpt.reshape %0 : (tensor<256x2xi64>) -> tensor<512xi64>
  %y = mpt.reshape %r : (tensor<512xi64>) -> tensor<256x2xi64>
  %s = mpt.add %y, %y : (tensor<256x2xi64>, tensor<256x2xi64>) -> tensor<256x2xi64>
  return %s : tensor<256x2xi64>
}
