// What mpt-approximate-math leaves is libdevice's, lane by lane; what LLVM has code for stays.
// RUN: mpt-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(mpt-math-to-libdevice))' | FileCheck %s

// CHECK: gpu.module @device {
// CHECK-DAG: llvm.func @__nv_pow(f64, f64) -> f64
// CHECK-DAG: llvm.func @__nv_powf(f32, f32) -> f32
gpu.module @device {
  // CHECK-LABEL: llvm.func @kernel(
  // CHECK: llvm.call @__nv_pow(
  // CHECK-COUNT-2: llvm.call @__nv_powf(
  // CHECK-NOT: llvm.call
  // CHECK: math.sqrt
  // CHECK: math.absf
  llvm.func @kernel(%x: f64, %v: vector<2xf32>, %p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %a = math.powf %x, %x : f64
    %b = math.powf %v, %v : vector<2xf32>
    %c = math.sqrt %x : f64
    %d = math.absf %x : f64
    llvm.store %a, %p : f64, !llvm.ptr<1>
    llvm.store %b, %p : vector<2xf32>, !llvm.ptr<1>
    llvm.store %c, %p : f64, !llvm.ptr<1>
    llvm.store %d, %p : f64, !llvm.ptr<1>
    llvm.return
  }
}

// -----

// Every function of math that NVPTX has no code for, by its name in libdevice.
// CHECK: gpu.module @functions {
gpu.module @functions {
  // CHECK-LABEL: llvm.func @kernel(
  llvm.func @kernel(%x: f32, %y: f64, %p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    // CHECK: llvm.call @__nv_acosf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_acos(%{{.*}}) : (f64) -> f64
    %acos = math.acos %x : f32
    %acos_ = math.acos %y : f64
    // CHECK: llvm.call @__nv_acoshf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_acosh(%{{.*}}) : (f64) -> f64
    %acosh = math.acosh %x : f32
    %acosh_ = math.acosh %y : f64
    // CHECK: llvm.call @__nv_asinf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_asin(%{{.*}}) : (f64) -> f64
    %asin = math.asin %x : f32
    %asin_ = math.asin %y : f64
    // CHECK: llvm.call @__nv_asinhf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_asinh(%{{.*}}) : (f64) -> f64
    %asinh = math.asinh %x : f32
    %asinh_ = math.asinh %y : f64
    // CHECK: llvm.call @__nv_atanf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_atan(%{{.*}}) : (f64) -> f64
    %atan = math.atan %x : f32
    %atan_ = math.atan %y : f64
    // CHECK: llvm.call @__nv_atanhf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_atanh(%{{.*}}) : (f64) -> f64
    %atanh = math.atanh %x : f32
    %atanh_ = math.atanh %y : f64
    // CHECK: llvm.call @__nv_cbrtf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_cbrt(%{{.*}}) : (f64) -> f64
    %cbrt = math.cbrt %x : f32
    %cbrt_ = math.cbrt %y : f64
    // CHECK: llvm.call @__nv_cosf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_cos(%{{.*}}) : (f64) -> f64
    %cos = math.cos %x : f32
    %cos_ = math.cos %y : f64
    // CHECK: llvm.call @__nv_coshf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_cosh(%{{.*}}) : (f64) -> f64
    %cosh = math.cosh %x : f32
    %cosh_ = math.cosh %y : f64
    // CHECK: llvm.call @__nv_erff(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_erf(%{{.*}}) : (f64) -> f64
    %erf = math.erf %x : f32
    %erf_ = math.erf %y : f64
    // CHECK: llvm.call @__nv_erfcf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_erfc(%{{.*}}) : (f64) -> f64
    %erfc = math.erfc %x : f32
    %erfc_ = math.erfc %y : f64
    // CHECK: llvm.call @__nv_expf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_exp(%{{.*}}) : (f64) -> f64
    %exp = math.exp %x : f32
    %exp_ = math.exp %y : f64
    // CHECK: llvm.call @__nv_exp2f(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_exp2(%{{.*}}) : (f64) -> f64
    %exp2 = math.exp2 %x : f32
    %exp2_ = math.exp2 %y : f64
    // CHECK: llvm.call @__nv_expm1f(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_expm1(%{{.*}}) : (f64) -> f64
    %expm1 = math.expm1 %x : f32
    %expm1_ = math.expm1 %y : f64
    // CHECK: llvm.call @__nv_logf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_log(%{{.*}}) : (f64) -> f64
    %log = math.log %x : f32
    %log_ = math.log %y : f64
    // CHECK: llvm.call @__nv_log10f(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_log10(%{{.*}}) : (f64) -> f64
    %log10 = math.log10 %x : f32
    %log10_ = math.log10 %y : f64
    // CHECK: llvm.call @__nv_log1pf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_log1p(%{{.*}}) : (f64) -> f64
    %log1p = math.log1p %x : f32
    %log1p_ = math.log1p %y : f64
    // CHECK: llvm.call @__nv_log2f(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_log2(%{{.*}}) : (f64) -> f64
    %log2 = math.log2 %x : f32
    %log2_ = math.log2 %y : f64
    // CHECK: llvm.call @__nv_roundf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_round(%{{.*}}) : (f64) -> f64
    %round = math.round %x : f32
    %round_ = math.round %y : f64
    // CHECK: llvm.call @__nv_sinf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_sin(%{{.*}}) : (f64) -> f64
    %sin = math.sin %x : f32
    %sin_ = math.sin %y : f64
    // CHECK: llvm.call @__nv_sinhf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_sinh(%{{.*}}) : (f64) -> f64
    %sinh = math.sinh %x : f32
    %sinh_ = math.sinh %y : f64
    // CHECK: llvm.call @__nv_tanf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_tan(%{{.*}}) : (f64) -> f64
    %tan = math.tan %x : f32
    %tan_ = math.tan %y : f64
    // CHECK: llvm.call @__nv_tanhf(%{{.*}}) : (f32) -> f32
    // CHECK-NEXT: llvm.call @__nv_tanh(%{{.*}}) : (f64) -> f64
    %tanh = math.tanh %x : f32
    %tanh_ = math.tanh %y : f64
    // CHECK: llvm.call @__nv_atan2f(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
    %atan2 = math.atan2 %x, %x : f32
    llvm.return
  }
}

// -----

// What NVPTX has instructions for stays; upstream has functions for most of these, too.
// CHECK: gpu.module @instructions {
// CHECK-NOT: llvm.call
gpu.module @instructions {
  llvm.func @kernel(%x: f32, %y: f64, %v: vector<4xf32>, %i: i32) attributes {nvvm.kernel} {
    %absf = math.absf %x : f32
    %absf_ = math.absf %y : f64
    %absf_v = math.absf %v : vector<4xf32>
    %ceil = math.ceil %x : f32
    %ceil_ = math.ceil %y : f64
    %ceil_v = math.ceil %v : vector<4xf32>
    %floor = math.floor %x : f32
    %floor_ = math.floor %y : f64
    %floor_v = math.floor %v : vector<4xf32>
    %roundeven = math.roundeven %x : f32
    %roundeven_ = math.roundeven %y : f64
    %roundeven_v = math.roundeven %v : vector<4xf32>
    %rsqrt = math.rsqrt %x : f32
    %rsqrt_ = math.rsqrt %y : f64
    %rsqrt_v = math.rsqrt %v : vector<4xf32>
    %sqrt = math.sqrt %x : f32
    %sqrt_ = math.sqrt %y : f64
    %sqrt_v = math.sqrt %v : vector<4xf32>
    %trunc = math.trunc %x : f32
    %trunc_ = math.trunc %y : f64
    %trunc_v = math.trunc %v : vector<4xf32>
    %copysign = math.copysign %x, %x : f32
    %fma = math.fma %x, %x, %x : f32
    %absi = math.absi %i : i32
    %isnan = math.isnan %x : f32
    %isinf = math.isinf %x : f32
    %isfinite = math.isfinite %x : f32
    %remf = arith.remf %x, %x : f32
    llvm.return
  }
}
