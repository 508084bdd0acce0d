// PyTorch's autocast over a graph: contractions are low, denied ops f32, all else has the
// widest type that it reads; and what Apex's levels make of it.
//
// RUN: mpt-opt %s --mpt-autocast="policy=torch-cuda" | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: mpt-opt %s --mpt-autocast="policy=apex-O1" | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: mpt-opt %s --mpt-autocast="policy=torch-cpu type=f16" | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: mpt-opt %s --mpt-autocast="policy=apex-O0" | FileCheck %s --check-prefix=O0 --implicit-check-not=f16
// RUN: mpt-opt %s --mpt-autocast="policy=apex-O2" | FileCheck %s --check-prefix=O2
// RUN: mpt-opt %s --mpt-autocast="policy=apex-O3" | FileCheck %s --check-prefix=O3
// RUN: mpt-opt %s --mpt-autocast="policy=torch-cuda" --mpt-autocast="policy=torch-cuda" > %t.twice
// RUN: mpt-opt %s --mpt-autocast="policy=torch-cuda" | diff - %t.twice
// RUN: mpt-opt %s --mpt-autocast="policy=torch-cuda explain=mpt.add" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// A sum of a low value and an f32 one is f32; of two low ones it is low.
// CHECK-LABEL: func @widest
// CHECK: %[[P:.*]] = mpt.matmul {{.*}} -> tensor<4x4xf16>
// CHECK: mpt.add %[[P]], %[[P]] : {{.*}} -> tensor<4x4xf16>
// CHECK: mpt.add {{.*}} -> tensor<4x4xf32>
// A number does not count.
// CHECK: mpt.mul {{.*}} -> tensor<4x4xf16>
// A table does.
// CHECK: mpt.mul {{.*}} -> tensor<4x4xf32>
// O0-LABEL: func @widest
// O2-LABEL: func @widest
// O2: %[[P:.*]] = mpt.matmul {{.*}} -> tensor<4x4xf16>
// WHY: remark: {{.*}}reads what is f32
func.func @widest(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %p = mpt.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %twice = mpt.add %p, %p : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %sum = mpt.add %p, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %half = mpt.constant dense<0.5> : tensor<4x4xf32>
  %scaled = mpt.mul %p, %half : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %table = mpt.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<4x4xf32>
  %times = mpt.mul %p, %table : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %twice, %sum, %scaled, %times : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// CUDA has softmax in f32, the CPU has it in what arrives. What follows is of that
// type, up to the next contraction.
// CHECK-LABEL: func @scores
// CUDA: mpt.softmax {{.*}} -> tensor<4x4xf32>
// CUDA: mpt.tanh {{.*}} -> tensor<4x4xf32>
// CPU: mpt.softmax {{.*}} -> tensor<4x4xf16>
// CPU: mpt.tanh {{.*}} -> tensor<4x4xf16>
// CHECK: mpt.matmul {{.*}} -> tensor<4x4xf16>
// O2-LABEL: func @scores
// O2: mpt.softmax {{.*}} -> tensor<4x4xf16>
func.func @scores(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %s = mpt.matmul %q, %k : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mpt.softmax %s : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = mpt.tanh %p : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = mpt.matmul %t, %v : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}

// The model of O2 and O3 is cast: also what comes before the first contraction. An update
// of a parameter is no part of it, though it reads low gradients.
// CHECK-LABEL: func @model
// CHECK: mpt.tanh {{.*}} -> tensor<4x4xf32>
// O2-LABEL: func @model
// O2: mpt.tanh {{.*}} -> tensor<4x4xf16>
// O2: mpt.matmul {{.*}} -> tensor<4x4xf16>
// O2: mpt.mse_loss {{.*}} (tensor<4x4xf32>,
// O2: mpt.matmul {{.*}} -> tensor<4x4xf16>
// O2: mpt.sub {{.*}} -> tensor<4x4xf32>
// O3-LABEL: func @model
// O3: mpt.mse_loss {{.*}} (tensor<4x4xf32>,
// O3: mpt.sub {{.*}} -> tensor<4x4xf32>
func.func @model(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<f32>, tensor<4x4xf32>) {
  %h = mpt.tanh %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mpt.matmul %h, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %q = mpt.tanh %p : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %loss = mpt.mse_loss %q, %p : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<f32>
  %g = mpt.matmul %h, %q : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %next = mpt.sub %w, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %loss, %next : tensor<f32>, tensor<4x4xf32>
}
