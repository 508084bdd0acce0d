// A sum of exponentials is no contraction, whatever loops it has; a contraction is one, also
// where it is denied.
// RUN: mpt-opt %s --mpt-autocast="type=bf16 summary=%t.txt deny=linalg.matmul" -o /dev/null
// RUN: FileCheck %s --input-file=%t.txt
// CHECK: contractions in bf16: 0, in f32: 1
// CHECK: FLOPs of contractions in bf16: 0, in f32: 1024
func.func @f(%h: tensor<8x8xf32>, %sums: tensor<8xf32>, %out: tensor<8x8xf32>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %s = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%h : tensor<8x8xf32>) outs(%sums : tensor<8xf32>) {
  ^bb0(%i: f32, %o: f32):
    %p = math.exp %i : f32
    %a = arith.addf %p, %o : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  %m = linalg.matmul ins(%h, %h : tensor<8x8xf32>, tensor<8x8xf32>) outs(%out : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %s, %m : tensor<8xf32>, tensor<8x8xf32>
}
