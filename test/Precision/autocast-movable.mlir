// Lists and attributes make no op low that has no low form; a sum that is made low
// returns what it reads.
// RUN: split-file %s %t
// RUN: mpt-opt %t/sum.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 allow=stablehlo.reduce" | FileCheck %s
// RUN: mpt-opt %t/sum.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 clear=stablehlo.reduce" | FileCheck %s
// RUN: mpt-opt %t/sum.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 infer=stablehlo.reduce" | FileCheck %s
// RUN: sed 's/}) : (tensor<4x4xf32>, tensor<f32>)/}) {mpt.precision = "low"} : (tensor<4x4xf32>, tensor<f32>)/' %t/sum.mlir | mpt-opt --allow-unregistered-dialect --mpt-autocast="type=bf16" | FileCheck %s
// CHECK: stablehlo.reduce
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<bf16>, %{{.*}}: tensor<bf16>):
// CHECK: }) {{.*}}: (tensor<4x4xbf16>, tensor<bf16>) -> tensor<4xbf16>
//
// As it is, it is f32 inside and reads what is there.
// RUN: mpt-opt %t/sum.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" | FileCheck %s --check-prefix=WIDE
// WIDE: ^bb0(%{{.*}}: tensor<f32>, %{{.*}}: tensor<f32>):
// WIDE: }) : (tensor<4x4xbf16>, tensor<f32>) -> tensor<4xf32>
//
// RUN: not mpt-opt %t/sum.mlir --allow-unregistered-dialect --mpt-autocast="allow=func.return" 2>&1 | FileCheck %s --check-prefix=RETURN
// RETURN: error: 'func.return' has no low form and cannot be on the list 'allow' (option allow); take it off that
// RUN: not mpt-opt %t/sum.mlir --allow-unregistered-dialect --mpt-autocast="stable=stablehlo.fft" 2>&1 | FileCheck %s --check-prefix=FFT
// FFT: error: 'stablehlo.fft' has no low form and cannot be on the list 'stable'
// RUN: not mpt-opt %t/attribute.mlir --allow-unregistered-dialect --mpt-autocast 2>&1 | FileCheck %s --check-prefix=ATTRIBUTE
// ATTRIBUTE: attribute.mlir:2:8: error: 'stablehlo.bitcast_convert' has no low form; take mpt.precision = "low" off it
//
// Patterns pass over them, and they may be denied. The results are valid.
// RUN: mpt-opt %t/fft.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 allow=*" | FileCheck %s --check-prefix=ALL
// RUN: mpt-opt %t/fft.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16 deny=stablehlo.fft" | FileCheck %s --check-prefix=ALL
// ALL: "stablehlo.fft"({{.*}}) {{.*}}: (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
// ALL: "stablehlo.real"({{.*}}) : (tensor<4x3xcomplex<f32>>) -> tensor<4x3xf32>
// ALL: return %{{.*}} : tensor<4x3xf32>
//
// Nobody is told to allow what cannot be.
// RUN: mpt-opt %t/fft.mlir --allow-unregistered-dialect --mpt-autocast="type=bf16" --remarks-filter="mpt.autocast" --remark-policy=all -o /dev/null 2>&1 | FileCheck %s --check-prefix=HINT
// HINT: mpt.autocast.denied {{.*}}Op=stablehlo.fft{{.*}}Suggestion="there is no low form of it"

//--- sum.mlir
func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4xf32> {
  %z = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %p = "stablehlo.dot"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %t = "stablehlo.tanh"(%p) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.reduce"(%t, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %r = "stablehlo.dot"(%s, %p) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
//--- attribute.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xi32> {
  %0 = "stablehlo.bitcast_convert"(%x) {mpt.precision = "low"} : (tensor<4xf32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}
//--- fft.mlir
func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x3xf32> {
  %p = "stablehlo.dot"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %f = "stablehlo.fft"(%p) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
  %r = "stablehlo.real"(%f) : (tensor<4x3xcomplex<f32>>) -> tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}
