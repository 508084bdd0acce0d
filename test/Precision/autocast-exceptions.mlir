// Ops that stay f32 for where they stand: first and last layers, contractions of
// attention's probabilities, long sums.
//
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16 keep-first-last=true" | FileCheck %s --check-prefix=LAYERS
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16 attention-pv=f32" | FileCheck %s --check-prefix=PV
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16 attention-pv=low" | FileCheck %s --check-prefix=LOW
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=f16 stable=mpt.reduce" | FileCheck %s --check-prefix=SUM
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=f16 stable=mpt.reduce reduction-limit=0" | FileCheck %s --check-prefix=NOLIMIT
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16" | FileCheck %s --check-prefix=NOLIMIT
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16 reduction-limit=100" | FileCheck %s --check-prefix=SUM
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16 keep-first-last=true explain=@mlp" -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: not mpt-opt --allow-unregistered-dialect %s --mpt-autocast="attention-pv=f64" 2>&1 | FileCheck %s --check-prefix=BADPV
// RUN: not mpt-opt --allow-unregistered-dialect %s --mpt-autocast="reduction-limit=-2" 2>&1 | FileCheck %s --check-prefix=BADLIMIT
// RUN: not mpt-opt --allow-unregistered-dialect %s --mpt-autocast="target=sm_1" 2>&1 | FileCheck %s --check-prefix=BADTARGET
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=bf16 target=sm_75" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNITS
// RUN: mpt-opt --allow-unregistered-dialect %s --mpt-autocast="type=f16 target=sm_75 cost-gate=false" -o /dev/null 2>&1 | count 0

// WHY: in the first or the last layer
// BADPV: error: mpt-autocast: unknown attention-pv 'f64'; expected low or f32
// BADLIMIT: error: mpt-autocast: reduction-limit must be 0 (none) or more, got -2
// BADTARGET: error: unknown target 'sm_1'; expected one of sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, cpu-amx, cpu-generic
// UNITS: warning: mpt-autocast: sm_75 has no units for contractions of bf16, which run as in f32; low precision saves memory alone

// Three layers and their gradients: the first and the last stay, with the contractions of
// their gradients; the second does not.
// LAYERS-LABEL: func @mlp
// LAYERS: mpt.matmul {{.*}}"forward 1"{{.*}} -> tensor<4x4xf32>
// LAYERS: mpt.matmul {{.*}}"forward 2"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
// LAYERS: mpt.matmul {{.*}}"forward 3"{{.*}}(tensor<4x4xf32>, tensor<4x4xf32>)
// LAYERS: mpt.matmul {{.*}}"weight 3"{{.*}}(tensor<4x4xf32>, tensor<4x4xf32>)
// LAYERS: mpt.matmul {{.*}}"input 3"{{.*}}(tensor<4x4xf32>, tensor<4x4xf32>)
// LAYERS: mpt.matmul {{.*}}"weight 2"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
// LAYERS: mpt.matmul {{.*}}"input 2"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
// LAYERS: mpt.matmul {{.*}}"weight 1"{{.*}}(tensor<4x4xf32>, tensor<4x4xf32>)
func.func @mlp(%x: tensor<4x4xf32>, %w1: tensor<4x4xf32>, %w2: tensor<4x4xf32>, %w3: tensor<4x4xf32>, %g: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = mpt.matmul %x, %w1 {test.is = "forward 1"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %ra = mpt.relu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = mpt.matmul %ra, %w2 {test.is = "forward 2"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %rb = mpt.relu %b : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = mpt.matmul %rb, %w3 {test.is = "forward 3"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %dc = mpt.mul %c, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d3 = mpt.matmul %rb, %dc {test.is = "weight 3", transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %w3t = mpt.transpose %w3 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %db = mpt.matmul %dc, %w3t {test.is = "input 3"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %drb = mpt.mul %db, %rb : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d2 = mpt.matmul %ra, %drb {test.is = "weight 2", transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %da = mpt.matmul %drb, %w2 {test.is = "input 2", transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %dra = mpt.mul %da, %ra : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %d1 = mpt.matmul %x, %dra {test.is = "weight 1", transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %c, %d1, %d2, %d3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// Probabilities reach the contraction through dropout. The gradient of the scores comes
// from a contraction as well, and its contractions stay low.
// PV-LABEL: func @attention
// PV: mpt.matmul {{.*}}"scores"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
// PV: mpt.matmul {{.*}}"values"{{.*}}(tensor<4x4xf32>, tensor<4x4xf32>)
// PV: mpt.matmul {{.*}}"probabilities' gradient"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
// PV: mpt.matmul {{.*}}"queries' gradient"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
// LOW-LABEL: func @attention
// LOW: mpt.matmul {{.*}}"values"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
func.func @attention(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>, %v: tensor<4x4xf32>, %mask: tensor<4x4xf32>, %g: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %q = mpt.tanh %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %k = mpt.tanh %y : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = mpt.matmul %q, %k {test.is = "scores"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mpt.softmax %s : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = mpt.mul %p, %mask : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %o = mpt.matmul %d, %v {test.is = "values"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %dp = mpt.matmul %g, %v {test.is = "probabilities' gradient", transpose_rhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %ds = mpt.mul %p, %dp : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %dq = mpt.matmul %ds, %k {test.is = "queries' gradient"} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %o, %dq : tensor<4x4xf32>, tensor<4x4xf32>
}

// Logits are a contraction with a parameter: their softmax is no attention.
// PV-LABEL: func @classifier
// PV: mpt.matmul {{.*}}"gradient"{{.*}}(tensor<4x4xbf16>, tensor<4x4xbf16>)
func.func @classifier(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %l = mpt.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p = mpt.softmax %l : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = mpt.sub %p, %y : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = mpt.matmul %x, %d {test.is = "gradient", transpose_lhs} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %g : tensor<4x4xf32>
}

// A sum over 65536 elements between two contractions.
// SUM-LABEL: func @bias
// SUM: mpt.reduce {{.*}} -> tensor<4xf32>
// NOLIMIT-LABEL: func @bias
// NOLIMIT: mpt.reduce {{.*}} -> tensor<4x{{b?}}f16>
func.func @bias(%x: tensor<65536x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %w : (tensor<65536x4xf32>, tensor<4x4xf32>) -> tensor<65536x4xf32>
  %t = mpt.tanh %a : (tensor<65536x4xf32>) -> tensor<65536x4xf32>
  %s = mpt.reduce %t {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>} : (tensor<65536x4xf32>) -> tensor<4xf32>
  %r = mpt.reshape %s : (tensor<4xf32>) -> tensor<4x1xf32>
  %o = mpt.matmul %r, %r {transpose_rhs} : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x4xf32>
  return %o : tensor<4x4xf32>
}
