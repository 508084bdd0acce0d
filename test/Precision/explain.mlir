// --mpt-explain takes a pattern, or options; it changes nothing.
//
// RUN: mpt-opt %s --mpt-explain=gelu -o %t.mlir 2>&1 | FileCheck %s
// RUN: mpt-opt %s | diff - %t.mlir
// RUN: mpt-opt %s --mpt-explain="match=@f type=f16 deny=mpt.gelu" -o /dev/null 2>&1 | FileCheck %s --check-prefix=DENY
// RUN: mpt-opt %s --pass-pipeline="builtin.module(mpt-explain{gelu})" -o /dev/null 2>&1 | FileCheck %s
// RUN: not mpt-opt %s --mpt-explain="(" 2>&1 | FileCheck %s --check-prefix=REGEX
// RUN: not mpt-opt %s --mpt-explain 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpt-opt %s --mpt-explain="type=f16" 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not mpt-opt %s --mpt-autocast="explain=*gelu" 2>&1 | FileCheck %s --check-prefix=AUTOCAST
// RUN: not mpt-opt %s --mpt-explain="matches=gelu" 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: mpt-opt %s --mpt-explain="nothing" -o /dev/null 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: remark: 'mpt.gelu' runs low: between ops in low precision (infer by op) [mpt.autocast.between]
// CHECK: note: because of 'mpt.matmul', on the allow list [mpt.autocast.allowed]
// CHECK-NOT: remark:

// DENY: remark: 'mpt.matmul' runs low: on the allow list (allow by op) [mpt.autocast.allowed]
// DENY: remark: 'mpt.gelu' stays f32: on the deny list (deny by list) [mpt.autocast.denied]
// DENY: note: 'mpt.gelu': allowing it removes 1 cast, 384 bytes
// DENY: remark: 'mpt.matmul' runs low

// REGEX: error: mpt-explain: match: expected a regular expression of an op's name, location (file:line, name) or function (@name), such as 'softmax'; found '(' ({{.+}})
// EMPTY: error: mpt-explain: match: expected a regular expression {{.*}}; found none
// AUTOCAST: error: mpt-autocast: explain: expected a regular expression {{.*}}; found '*gelu' ({{.+}})
// OPTION: no such option matches
// NONE: warning: mpt-explain: explain: no op or location matches 'nothing'
func.func @f(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = mpt.matmul %x, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %g = mpt.gelu %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = mpt.matmul %g, %w : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %b : tensor<8x8xf32>
}
