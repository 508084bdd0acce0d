// What a recorded profile keeps in f32.
// RUN: split-file %s %t
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/profile.jsonl explain=. summary=%t/s.txt" -o %t/out.mlir 2>&1 | FileCheck %s --check-prefixes=CHECK,MIXED
// RUN: FileCheck %s --check-prefix=SUMMARY < %t/s.txt
// Twice changes nothing.
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/profile.jsonl" --mpt-autocast="type=f16 profile=%t/profile.jsonl" | diff %t/out.mlir -
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/profile.jsonl" --mpt-validate-precision="type=f16" -o /dev/null
// Without it, with a margin that lets all through, and where the low type holds more.
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 explain=." -o %t/plain.mlir 2>&1 | FileCheck %s --check-prefix=PLAIN
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/profile.jsonl profile-margin=1 profile-underflow=0.5" | diff %t/plain.mlir -
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=bf16 profile=%t/profile.jsonl explain=." -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAIN
// A contraction that cannot return f32 from low operands stays f32.
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 mixed-results=false profile=%t/profile.jsonl explain=." -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,UNMIXED
// strategy=paint reads it too.
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 strategy=paint profile=%t/profile.jsonl explain=." -o /dev/null 2>&1 | FileCheck %s --check-prefixes=CHECK,MIXED

// The second contraction overflows with the margin, so it returns f32 and what reads it
// stays f32, through the reshape, which was not recorded.
// CHECK: net.mlir:2:{{.*}} remark: 'mpt.matmul' runs low: on the allow list
// MIXED: net.mlir:3:{{.*}} remark: 'mpt.matmul' runs low
// UNMIXED: net.mlir:3:{{.*}} remark: 'mpt.matmul' stays f32: a value that it makes or reads was recorded out of the low type's range
// CHECK: net.mlir:4:{{.*}} remark: 'mpt.reshape' stays f32: a value that it makes or reads was recorded
// CHECK: net.mlir:5:{{.*}} remark: 'mpt.matmul' stays f32: a value that it makes or reads was recorded
// Its result is in range, which ends it.
// CHECK: net.mlir:6:{{.*}} remark: 'mpt.matmul' runs low: on the allow list
// The next one underflows; the second op of its name on the line is another one.
// MIXED: net.mlir:7:{{.*}} remark: 'mpt.matmul' runs low
// UNMIXED: net.mlir:7:{{.*}} remark: 'mpt.matmul' stays f32: a value that it makes or reads was recorded
// CHECK: net.mlir:8:{{.*}} remark: 'mpt.relu' stays f32: a value that it makes or reads was recorded
// CHECK: net.mlir:9:{{.*}} remark: 'mpt.matmul' runs low: on the allow list
// CHECK: net.mlir:{{1.}}:{{.*}} remark: 'mpt.add' stays f32: a value that it makes or reads was recorded
// SUMMARY: f32 because a value that it makes or reads was recorded out of the low type's range: 4

// PLAIN-NOT: was recorded

// An argument that does not fit keeps what reads it in f32.
// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/input.jsonl explain=." -o /dev/null 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: net.mlir:2:{{.*}} remark: 'mpt.matmul' stays f32: a value that it makes or reads was recorded
// INPUT: net.mlir:3:{{.*}} remark: 'mpt.matmul' runs low
// INPUT: net.mlir:9:{{.*}} remark: 'mpt.matmul' stays f32: a value that it makes or reads was recorded

// RUN: mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/stale.jsonl" -o /dev/null 2>&1 | FileCheck %s --check-prefix=STALE
// STALE: warning: mpt-autocast: profile: none of the 1 values of {{.*}}stale.jsonl is in this module, by function, op name and location; the profile decides nothing. Record it again from the present file
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/none.jsonl" 2>&1 | FileCheck %s --check-prefix=NOFILE
// NOFILE: error: mpt-autocast: profile: {{.*}}none.jsonl: cannot read: {{.+}}
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/bf16.jsonl" 2>&1 | FileCheck %s --check-prefix=COUNTS
// COUNTS: error: mpt-autocast: profile: {{.*}}bf16.jsonl has no counts for f16; record it with --mpt-instrument="type=f16"
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/text.jsonl" 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: mpt-autocast: profile: {{.*}}text.jsonl:1: expected a JSON object: {{.+}}
// RUN: %python -c "print('[' * 200000)" > %t/deep.jsonl
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/deep.jsonl" 2>&1 | FileCheck %s --check-prefix=DEEP
// DEEP: error: mpt-autocast: profile: {{.*}}deep.jsonl:1: expected a JSON object: nested too deeply
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/list.jsonl" 2>&1 | FileCheck %s --check-prefix=LIST
// LIST: error: mpt-autocast: profile: {{.*}}list.jsonl:1: expected a JSON object
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/header.jsonl" 2>&1 | FileCheck %s --check-prefix=HEADER
// HEADER: error: mpt-autocast: profile: {{.*}}header.jsonl:1: expected a profile of ranges, whose first line has 'mpt_ranges'
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/version.jsonl" 2>&1 | FileCheck %s --check-prefix=VERSION
// VERSION: version.jsonl:1: expected a profile of version 1, found 2
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/types.jsonl" 2>&1 | FileCheck %s --check-prefix=TYPES
// TYPES: types.jsonl:1: expected names of float types in 'types'
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/edges.jsonl" 2>&1 | FileCheck %s --check-prefix=EDGES
// EDGES: edges.jsonl:1: expected ascending powers of two from -149 to 127 in 'edges'
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/histogram.jsonl" 2>&1 | FileCheck %s --check-prefix=HISTOGRAM
// HISTOGRAM: histogram.jsonl:2: expected 'histogram' to be 3 counts
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/field.jsonl" 2>&1 | FileCheck %s --check-prefix=FIELD
// FIELD: field.jsonl:2: expected 'amax'
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/empty.jsonl" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: empty.jsonl: the profile holds no values
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/negative.jsonl" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: negative.jsonl:2: expected 'zero' to be a count
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/huge.jsonl" 2>&1 | FileCheck %s --check-prefix=HUGE
// HUGE: huge.jsonl:2: expected 'elements' to be a count
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/bins.jsonl" 2>&1 | FileCheck %s --check-prefix=BINS
// BINS: bins.jsonl:2: expected 'histogram' to be counts
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/more.jsonl" 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: more.jsonl:2: the counts are more than the 1 'elements'
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/infinite.jsonl" 2>&1 | FileCheck %s --check-prefix=INFINITE
// INFINITE: infinite.jsonl:2: expected 'amax' to be a finite number
// RUN: not mpt-opt %t/net.mlir --mpt-autocast="type=f16 profile=%t/profile.jsonl profile-margin=0" 2>&1 | FileCheck %s --check-prefix=MARGIN
// MARGIN: error: mpt-autocast: expected a profile-margin above 0 and a profile-underflow of at least 0, found 0.0{{0*}} and 0.05

//--- net.mlir
func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %a = mpt.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = mpt.matmul %a, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = mpt.reshape %b : (tensor<4x4xf32>) -> tensor<2x2x4xf32>
  %c = mpt.matmul %r, %w : (tensor<2x2x4xf32>, tensor<4x4xf32>) -> tensor<2x2x4xf32>
  %d = mpt.matmul %c, %w : (tensor<2x2x4xf32>, tensor<4x4xf32>) -> tensor<2x2x4xf32>
  %e = mpt.matmul %w, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = mpt.relu %e : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %h = mpt.matmul %d, %x : (tensor<2x2x4xf32>, tensor<4x4xf32>) -> tensor<2x2x4xf32>
  %i = mpt.reshape %h : (tensor<2x2x4xf32>) -> tensor<4x4xf32>
  %j = mpt.add %i, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %j : tensor<4x4xf32>
}
//--- profile.jsonl
{"mpt_ranges":1,"steps":2,"skipped":0,"types":["f16","bf16"],"edges":[]}
{"id":"mpt.matmul@net.mlir:2:8","op":"mpt.matmul","function":"f","result":0,"elements":32,"amax":16376,"nan":0,"inf":0,"zero":0,"f16":{"underflow":1,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
{"id":"mpt.matmul@net.mlir:3:8","op":"mpt.matmul","function":"f","result":0,"elements":32,"amax":16377,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
{"id":"mpt.matmul@net.mlir:5:8","op":"mpt.matmul","function":"f","result":0,"elements":32,"amax":100,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
{"id":"mpt.matmul@net.mlir:6:8","op":"mpt.matmul","function":"g","result":0,"elements":32,"amax":1e30,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
{"id":"mpt.matmul@net.mlir:7:8","op":"mpt.matmul","function":"f","result":0,"elements":32,"amax":100,"nan":0,"inf":0,"zero":12,"f16":{"underflow":2,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
{"id":"mpt.matmul@net.mlir:9:8#1","op":"mpt.matmul","function":"f","result":0,"elements":32,"amax":1e30,"nan":0,"inf":0,"zero":12,"f16":{"underflow":2,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- input.jsonl
{"mpt_ranges":1,"steps":2,"skipped":0,"types":["f16"],"edges":[]}
{"id":"argument@#0","op":"argument","phase":"input","function":"f","result":0,"elements":32,"amax":1e6,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":9}}
//--- stale.jsonl
{"mpt_ranges":1,"steps":2,"skipped":0,"types":["f16","bf16"],"edges":[]}
{"id":"mpt.matmul@net.mlir:99:8","op":"mpt.matmul","function":"f","result":0,"elements":32,"amax":1e30,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0},"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- bf16.jsonl
{"mpt_ranges":1,"types":["bf16"],"edges":[]}
{"id":"mpt.matmul@net.mlir:2:8","op":"mpt.matmul","function":"f","elements":32,"amax":1,"nan":0,"inf":0,"zero":0,"bf16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- text.jsonl
amax 3
//--- list.jsonl
[1]
//--- header.jsonl
{"step":1,"loss":2}
//--- version.jsonl
{"mpt_ranges":2}
//--- types.jsonl
{"mpt_ranges":1,"types":["f12"]}
//--- edges.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[1,1]}
//--- histogram.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[0,1]}
{"id":"a","op":"b","function":"f","elements":1,"amax":1,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0},"histogram":[1]}
//--- field.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[]}
{"id":"a","op":"b","function":"f","elements":1,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- negative.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[]}
{"id":"a","op":"b","function":"f","elements":1,"amax":1,"nan":0,"inf":0,"zero":-1,"f16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- huge.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[]}
{"id":"a","op":"b","function":"f","elements":1e300,"amax":1,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- bins.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[0]}
{"id":"a","op":"b","function":"f","elements":1,"amax":1,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0},"histogram":[0,0.5]}
//--- more.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[]}
{"id":"a","op":"b","function":"f","elements":1,"amax":1,"nan":1,"inf":0,"zero":1,"f16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- infinite.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[]}
{"id":"a","op":"b","function":"f","elements":1,"amax":1e999,"nan":0,"inf":0,"zero":0,"f16":{"underflow":0,"subnormal":0,"overflow":0}}
//--- empty.jsonl
{"mpt_ranges":1,"types":["f16"],"edges":[]}
