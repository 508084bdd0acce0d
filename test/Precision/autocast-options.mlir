// RUN: mpt-opt %s --mpt-autocast="type=bf16" | FileCheck %s --check-prefix=DEFAULT
// RUN: mpt-opt %s --mpt-autocast="type=bf16 mixed-results=false" | FileCheck %s --check-prefix=ROUNDED
// RUN: mpt-opt %s --mpt-autocast="type=bf16 deny=mpt.matmul" | FileCheck %s --check-prefix=DENY --implicit-check-not=bf16
// RUN: mpt-opt %s --mpt-autocast="type=bf16 allow=mpt.exp,mpt.sub" | FileCheck %s --check-prefix=ALLOW
// RUN: mpt-opt %s --mpt-annotate-precision="type=bf16" | FileCheck %s --check-prefix=CLASS
// RUN: not mpt-opt %s --mpt-autocast="type=f17" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mpt-opt %s --mpt-annotate-precision="type=i8" 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not mpt-opt %s --mpt-autocast="allow=mpt.matmull" 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not mpt-opt %s --mpt-autocast="stable=nothing.like.it" 2>&1 | FileCheck %s --check-prefix=FAR
// RUN: not mpt-opt %s --mpt-loss-scale 2>&1 | FileCheck %s --check-prefix=NOSTEP
// RUN: not mpt-opt %s --mpt-loss-scale="mode=wild" 2>&1 | FileCheck %s --check-prefix=MODE
// RUN: not mpt-opt %s --mpt-loss-scale="init-scale=0" 2>&1 | FileCheck %s --check-prefix=INIT
// RUN: not mpt-opt %s --mpt-master-weights="kind=f8" 2>&1 | FileCheck %s --check-prefix=KIND

// TYPE: error: {{.*}}: unknown type '{{.*}}'; expected f16 or bf16
// NEAR: error: there is no op 'mpt.matmull' to put on the list 'allow' (option allow); did you mean 'mpt.matmul'?
// FAR: error: there is no op 'nothing.like.it' to put on the list 'stable' (option stable); a row of a rule table (option rules) makes one known
// NOSTEP: error: mpt-loss-scale: no function holds mpt.gradients; run --mpt-autodiff and --mpt-train-step first
// MODE: error: mpt-loss-scale: unknown mode 'wild'; expected dynamic, static or amax
// INIT: error: mpt-loss-scale: init-scale must be a number above 0 that f32 holds, got 0{{$}}
// KIND: error: mpt-master-weights: unknown kind 'f8'; expected f32

// Only f32 readers: the contraction returns its accumulator.
// DEFAULT: mpt.matmul {{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf32>
// DEFAULT-NEXT: mpt.exp
// ROUNDED: mpt.matmul {{.*}} -> tensor<4x4xbf16>
// ROUNDED-NEXT: mpt.cast {{.*}} -> tensor<4x4xf32>
// DENY: mpt.matmul {{.*}} -> tensor<4x4xf32>
// ALLOW: mpt.matmul {{.*}} -> tensor<4x4xbf16>
// ALLOW: mpt.exp {{.*}} -> tensor<4x4xbf16>
// ALLOW: mpt.sub {{.*}} -> tensor<4x4xbf16>
// CLASS: mpt.matmul {{.*}}mpt.precision_class = "allow", mpt.precision_source = "op"
// CLASS: mpt.exp {{.*}}mpt.precision_class = "deny"
// CLASS: mpt.sub {{.*}}mpt.precision_class = "infer"
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = mpt.exp %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = mpt.sub %e, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
