// RUN: split-file %s %t

// Values that are cheap to make again are dropped; the clones' marks survive.
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="budget=0.6x" --cse --canonicalize | FileCheck %s --check-prefix=CHAIN
// CHAIN-LABEL: func.func @chain
// CHAIN: mpt.tanh
// CHAIN: mpt.remat = 0
// CHAIN: return

// Without a budget nothing happens, and running twice changes nothing more.
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize | FileCheck %s --check-prefix=PLAIN
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="strategy=none budget=10" | FileCheck %s --check-prefix=PLAIN
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="budget=1x" | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: mpt.remat
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="budget=min" > %t/once.mlir
// RUN: mpt-opt %t/once.mlir --mpt-rematerialize="budget=1x" | diff - %t/once.mlir

// Each clone has a mark of its own, and none is lost to later passes.
// RUN: grep -o "mpt.remat = [0-9]*" %t/once.mlir | sort > %t/marks
// RUN: grep -c "mpt.remat" %t/marks | FileCheck %s --check-prefix=MARKS
// MARKS: {{^([2-9]|[1-9][0-9]+)$}}
// RUN: uniq -d %t/marks | count 0
// RUN: mpt-opt %t/once.mlir --cse --canonicalize --cse | grep -o "mpt.remat = [0-9]*" | sort | diff %t/marks -

// What it says.
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="budget=0.6x" --remarks-filter=mpt.remat -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARKS
// REMARKS-DAG: mpt.remat.recomputed{{.*}}mpt.{{[a-z]+}} runs 2 times: 4096 bytes are not kept in between, for {{.*}}% of the step each time
// REMARKS-DAG: mpt.remat.summary{{.*}}'chain': {{[0-9]+}} bytes of {{[0-9]+}} (alive), budget {{[0-9]+}}; predicted time 1.{{[0-9]+}}, at least 1.{{[0-9]+}} in this order of ops, gap

// Each strategy meets the budget; more bytes never take more clones here.
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="strategy=segments budget=0.7x" | FileCheck %s --check-prefix=CHAIN
// RUN: mpt-opt %t/chain.mlir --mpt-rematerialize="strategy=optimal budget=0.6x" | FileCheck %s --check-prefix=CHAIN

// Errors.
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="budget=100" 2>&1 | FileCheck %s --check-prefix=INFEASIBLE
// INFEASIBLE: error: mpt-rematerialize: 'chain' cannot run in 100 bytes: while 'mpt.{{[a-z]+}}' runs, {{[0-9]+}} bytes must be there, whatever is computed again
// INFEASIBLE: note: its operands, results and workspace take
// RUN: not mpt-opt %t/notfound.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=11264" 2>&1 | FileCheck %s --check-prefix=NOTFOUND
// NOTFOUND: error: mpt-rematerialize: no plan found for 'notfound' in 11264 bytes; the best found takes 12288 bytes, none can take fewer than 10240
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="budget=5zB" 2>&1 | FileCheck %s --check-prefix=BUDGET
// BUDGET: error: mpt-rematerialize: expected a budget such as 4GiB, 512MB, 1000, 0.5x, 50% or min, found '5zB'
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="strategy=none budget=5zB" 2>&1 | FileCheck %s --check-prefix=BUDGET
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="budget=0.5" 2>&1 | FileCheck %s --check-prefix=RATIO
// RATIO: error: mpt-rematerialize: expected a budget such as {{.*}}0.5x, {{.*}}found '0.5'
// RUN: not mpt-opt %t/number.mlir --mpt-rematerialize 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: number.mlir:1:1: error: expected 'mpt.memory_budget' to be a size such as "512MB", a share such as "0.5x" or "50%", or "min"; found 4096 : i64
// RUN: mpt-opt %t/blocks.mlir --mpt-rematerialize="strategy=mincut" 2>&1 | FileCheck %s --check-prefix=BLOCKS
// BLOCKS: blocks.mlir:1:1: warning: mpt-rematerialize: 'blocks' stays as it is: it has 2 blocks, not one
// RUN: mpt-opt %t/blocks.mlir --mpt-rematerialize 2>&1 | FileCheck %s --check-prefix=QUIET --implicit-check-not=warning
// QUIET: func.func @blocks
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="strategy=best" 2>&1 | FileCheck %s --check-prefix=STRATEGY
// STRATEGY: error: mpt-rematerialize: unknown strategy 'best'; expected auto, none, segments, mincut or optimal
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="function=other budget=1x" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// RUN: not mpt-opt %t/mark.mlir --mpt-rematerialize 2>&1 | FileCheck %s --check-prefix=MARK
// MARK: mark.mlir:2:8: error: mpt-rematerialize: expected no 'mpt.backward', which this pass sets and removes; remove it
// FUNCTION: error: mpt-rematerialize: no function 'other' with a body in this module
// RUN: not mpt-opt %t/chain.mlir --mpt-rematerialize="barrier=identity budget=1x" 2>&1 | FileCheck %s --check-prefix=BARRIER
// BARRIER: error: mpt-rematerialize: barrier must name an op with its dialect
// RUN: not mpt-opt %t/bad-save.mlir --mpt-rematerialize="budget=1x" 2>&1 | FileCheck %s --check-prefix=SAVE
// SAVE: error: expected 'mpt.save' to be "must" or "never", found "always"
// RUN: not mpt-opt %t/dynamic.mlir --mpt-rematerialize="budget=1x" 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: error: planning memory needs static shapes, but a result is 'tensor<?xf32>'

// The user's word goes first: `must` and the function's own budget.
// RUN: mpt-opt %t/user.mlir --mpt-rematerialize="budget=1x" | FileCheck %s --check-prefix=USER
// USER-LABEL: func.func @user
// USER: mpt.tanh {{.*}}mpt.save = "must"
// USER: mpt.exp
// USER: mpt.exp {{.*}}mpt.remat
// USER-NOT: mpt.tanh {{.*}}mpt.remat
// USER-LABEL: func.func @never
// USER: mpt.tanh {{.*}}mpt.save = "never"
// USER: mpt.grad_seed
// USER: mpt.tanh {{.*}}mpt.remat

// Another dialect, in generic form: purity is in the rule table. What clones read
// goes through a barrier.
// Without a seed the backward pass begins where most bytes are alive, at the first
// product; with room for all, what is never kept is still made again there.
// RUN: mpt-opt %t/never.mlir --allow-unregistered-dialect --mpt-rematerialize | FileCheck %s --check-prefix=NEVER
// RUN: mpt-opt %t/never.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=1x" | FileCheck %s --check-prefix=NEVER
// NEVER: "stablehlo.tanh"
// NEVER: "stablehlo.multiply"
// NEVER: "stablehlo.tanh"{{.*}}mpt.remat
// NEVER: "stablehlo.multiply"
// RUN: mpt-opt %t/stablehlo.mlir --allow-unregistered-dialect --mpt-rematerialize="budget=min barrier=stablehlo.optimization_barrier" | FileCheck %s --check-prefix=FOREIGN
// FOREIGN-LABEL: func.func @foreign
// FOREIGN: %[[R:.*]] = "stablehlo.rng"
// FOREIGN: %[[T:.*]] = "stablehlo.tanh"(%{{.*}}) : (tensor<1024xf32>) -> tensor<1024xf32>
// FOREIGN-NOT: "stablehlo.rng"
// FOREIGN: "stablehlo.optimization_barrier"
// FOREIGN: "stablehlo.tanh"{{.*}}mpt.remat
// FOREIGN-NOT: "stablehlo.rng"

//--- chain.mlir
func.func @chain(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = mpt.tanh %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = mpt.exp %a : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = mpt.tanh %b : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = mpt.exp %c : (tensor<1024xf32>) -> tensor<1024xf32>
  %e = mpt.tanh %d : (tensor<1024xf32>) -> tensor<1024xf32>
  %f = mpt.exp %e : (tensor<1024xf32>) -> tensor<1024xf32>
  %g = mpt.add %f, %e : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %h = mpt.add %g, %d : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %i = mpt.add %h, %c : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %j = mpt.add %i, %b : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %k = mpt.add %j, %a : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %k : tensor<1024xf32>
}
//--- notfound.mlir
// Half of a random tensor is needed again later. What is left of it could be dropped
// only if all of it were kept.
func.func @notfound(%x: tensor<1024xf32>, %lo: tensor<f32>, %n: tensor<1xi64>) -> tensor<1024xf32> {
  %r = "stablehlo.rng"(%lo, %lo, %n) : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1536xf32>
  %v = "stablehlo.slice"(%r) {start_indices = array<i64: 0>} : (tensor<1536xf32>) -> tensor<1024xf32>
  %t = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %w = "stablehlo.sine"(%t) : (tensor<1024xf32>) -> tensor<1024xf32>
  %y = "stablehlo.multiply"(%w, %v) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %y : tensor<1024xf32>
}
//--- bad-save.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = mpt.tanh %x {mpt.save = "always"} : (tensor<4xf32>) -> tensor<4xf32>
  return %a : tensor<4xf32>
}
//--- dynamic.mlir
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %a = mpt.tanh %x : (tensor<?xf32>) -> tensor<?xf32>
  return %a : tensor<?xf32>
}
//--- user.mlir
func.func @user(%x: tensor<1024xf32>) -> tensor<1024xf32> attributes {mpt.memory_budget = "min"} {
  %a = mpt.tanh %x {mpt.save = "must"} : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = mpt.exp %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = mpt.sqrt %x : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = mpt.sqrt %c : (tensor<1024xf32>) -> tensor<1024xf32>
  %e = mpt.add %d, %c : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = mpt.add %e, %b : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %g = mpt.add %f, %a : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %g : tensor<1024xf32>
}
func.func @never(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = mpt.tanh %x {mpt.save = "never"} : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = mpt.exp %a : (tensor<1024xf32>) -> tensor<1024xf32>

  %s = mpt.grad_seed : () -> tensor<f32>
  %t = mpt.broadcast %s : (tensor<f32>) -> tensor<1024xf32>
  %u = mpt.mul %t, %b : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %g = mpt.mul %u, %a : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %g : tensor<1024xf32>
}
//--- number.mlir
func.func @number(%x: tensor<4xf32>) -> tensor<4xf32> attributes {mpt.memory_budget = 4096 : i64} {
  return %x : tensor<4xf32>
}
//--- mark.mlir
func.func @mark(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = mpt.exp %x {mpt.backward} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
//--- blocks.mlir
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^end
^end:
  return %x : tensor<4xf32>
}
//--- never.mlir
func.func @s(%x: tensor<1024xf32>) -> tensor<1024xf32> {
  %a = "stablehlo.tanh"(%x) {mpt.save = "never"} : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.multiply"(%c, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%d, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %e : tensor<1024xf32>
}
//--- stablehlo.mlir
func.func @foreign(%x: tensor<1024xf32>, %lo: tensor<f32>, %n: tensor<1xi64>) -> tensor<1024xf32> {
  %r = "stablehlo.rng"(%lo, %lo, %n) {rng_distribution = 1 : i32} : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<1024xf32>
  %a = "stablehlo.tanh"(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = "stablehlo.sine"(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = "stablehlo.cosine"(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = "stablehlo.add"(%c, %b) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %e = "stablehlo.multiply"(%d, %a) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  %f = "stablehlo.multiply"(%e, %r) : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<1024xf32>
  return %f : tensor<1024xf32>
}
