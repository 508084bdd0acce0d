// RUN: mpt-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// Attributes that nothing reads: on an op, slips in the names of its own.

func.func @no_attributes(%x: tensor<4x8xf32>) {
  // expected-error @below {{'mpt.softmax' op has no attribute 'axis'; it has none (a note of your own takes its dialect's prefix, as in 'my.axis')}}
  %y = mpt.softmax %x {axis = 0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @word_in_common(%x: tensor<2x4x16x8xf32>) {
  // expected-error @below {{'mpt.attention' op has no attribute 'is_causal'; did you mean 'causal'?}}
  %y, %lse = mpt.attention %x, %x, %x {is_causal} : (tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>) -> (tensor<2x4x16x8xf32>, tensor<2x4x16xf32>)
  return
}

// -----

func.func @ending(%x: tensor<4x8xf32>) {
  // expected-error @below {{'mpt.gelu' op has no attribute 'approximation'; did you mean 'approximate'?}}
  %y = mpt.gelu %x {approximation = #mpt.gelu<tanh>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @letter(%x: tensor<4x10xf32>, %t: tensor<4xi32>) {
  // expected-error @below {{'mpt.cross_entropy' op has no attribute 'label_smoothin'; did you mean 'label_smoothing'?}}
  %loss, %lse = mpt.cross_entropy %x, %t {label_smoothin = 0.1} : (tensor<4x10xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<4xf32>)
  return
}

// -----

func.func @generic_form(%x: tensor<4x8xf32>) {
  // expected-error @below {{'mpt.reduce' op has no attribute 'axis'; did you mean 'axes'?}}
  %y = "mpt.reduce"(%x) <{axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>}> {axis = 1} : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @properties(%x: tensor<4x8xf32>) {
  // expected-error @below {{invalid properties {axes = array<i64: 1>, axis = 1 : i64, kind = #mpt.reduce_kind<sum>} for op mpt.reduce: the op has no attribute 'axis'; did you mean 'axes'?}}
  %y = "mpt.reduce"(%x) <{axes = array<i64: 1>, axis = 1, kind = #mpt.reduce_kind<sum>}> : (tensor<4x8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @nothing_like_it(%x: tensor<4x8xf32>) {
  // expected-error @below {{'mpt.gelu' op has no attribute 'dim'; it has approximate (a note of your own takes its dialect's prefix, as in 'my.dim')}}
  %y = mpt.gelu %x {dim = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// What other libraries call an attribute.

func.func @of_pytorch(%x: tensor<4x4xf32>) {
  // expected-error @below {{'mpt.matmul' op has no attribute 'transpose_b'; did you mean 'transpose_rhs'?}}
  %y = mpt.matmul %x, %x {transpose_b} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @of_pytorch_too(%x: tensor<4x4xf32>) {
  // expected-error @below {{'mpt.matmul' op has no attribute 'transpose_a'; did you mean 'transpose_lhs'?}}
  %y = mpt.matmul %x, %x {transpose_a} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @without_prefix(%x: tensor<4x8xf32>) {
  // expected-error @below {{'mpt.tanh' op has no attribute 'save'; did you mean 'mpt.save'?}}
  %y = mpt.tanh %x {save = "never"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// expected-error @below {{'mpt_program.program' op has no attribute 'threads'; did you mean 'max_threads'?}}
mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 0 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64, threads = 3 : i64} {
}

// -----

// Attributes with the prefix `mpt.` that are not on the list.

// expected-error @below {{unknown attribute 'mpt.rolle' on argument 0; did you mean 'mpt.role'?}}
func.func @argument(%w: tensor<4xf32> {mpt.name = "w", mpt.rolle = "parameter"}) {
  return
}

// -----

func.func @argument_of_several(
    %w: tensor<4xf32> {mpt.name = "w", mpt.role = "parameter"},
    // expected-error @below {{unknown attribute 'mpt.decya' on argument 1; did you mean 'mpt.decay'?}}
    %v: tensor<4xf32> {mpt.decya = false, mpt.name = "v", mpt.role = "parameter"}) {
  return
}

// -----

// expected-error @below {{unknown attribute 'mpt.trainable' on argument 0; known are mpt.name, mpt.role, mpt.init, mpt.master, mpt.low_of, mpt.decay}}
func.func private @argument_like_none(tensor<4xf32> {mpt.trainable = false})

// -----

func.func @result() -> (tensor<f32> {mpt.nmae = "loss"}) {
  %0 = mpt.constant dense<0.0> : tensor<f32>
  // expected-error @below {{unknown attribute 'mpt.nmae' on result 0; did you mean 'mpt.name'?}}
  return %0 : tensor<f32>
}

// -----

// The body, which is verified later, has not the argument.
// expected-error @below {{unknown attribute 'mpt.rolle' on argument 0; did you mean 'mpt.role'?}}
"func.func"() <{sym_name = "other_body", function_type = (tensor<4xf32>) -> (), arg_attrs = [{mpt.rolle = "input"}]}> ({
  "func.return"() : () -> ()
}) : () -> ()

// -----

func.func @op(%x: tensor<4xf32>) {
  // expected-error @below {{unknown attribute 'mpt.precison' on mpt.exp; did you mean 'mpt.precision'?}}
  %y = mpt.exp %x {mpt.precison = "f32"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @foreign_op(%x: tensor<4xf32>) {
  // expected-error @below {{unknown attribute 'mpt.precison' on acme.exp; did you mean 'mpt.precision'?}}
  %y = "acme.exp"(%x) {mpt.precison = "f32"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @unlike_all(%x: tensor<4xf32>) {
  // expected-error @below {{unknown attribute 'mpt.author' on mpt.exp; the prefix 'mpt.' is MPT's own, take another one}}
  %y = mpt.exp %x {mpt.author = "me"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{unknown attribute 'mpt.memory_bugdet' on func.func; did you mean 'mpt.memory_budget'?}}
func.func private @function() attributes {mpt.memory_bugdet = "1MB"}

// -----

// expected-error @below {{unknown attribute 'mpt.targt' on builtin.module; did you mean 'mpt.target'?}}
module attributes {mpt.targt = "sm_90"} {
}

// -----

// A slip in the prefix, also where dialects need no registration.

func.func @prefix_on_op(%x: tensor<4xf32>) {
  // expected-error @below {{'mpt.exp' op has an attribute 'mtp.precision'; did you mean 'mpt.precision'?}}
  %y = mpt.exp %x {mtp.precision = "f32"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{unknown attribute 'mtp.role' on argument 0; did you mean 'mpt.role'?}}
func.func private @prefix_on_argument(tensor<4xf32> {mpt.name = "w", mtp.role = "parameter"})

// -----

// expected-error @below {{unknown attribute 'mp.name' on argument 1; did you mean 'mpt.name'?}}
func.func private @prefix_on_other_argument(tensor<4xf32> {mpt.name = "w"}, tensor<4xf32> {mp.name = "x"})

// -----

// expected-error @below {{unknown attribute 'MPT.name' on result 0; did you mean 'mpt.name'?}}
func.func private @prefix_on_result(tensor<4xf32> {mpt.name = "w"}) -> (tensor<4xf32> {MPT.name = "y"})

// -----

// expected-error @below {{unknown attribute 'mtp.name' on argument 0; did you mean 'mpt.name'?}}
func.func private @prefix_on_all_arguments(tensor<4xf32> {mtp.name = "w"}) -> (tensor<4xf32> {mpt.name = "y"})

// -----

// expected-error @below {{unknown attribute 'mpd.memory_budget' on func.func; did you mean 'mpt.memory_budget'?}}
func.func private @prefix_on_function(tensor<4xf32> {mpt.name = "w"}) attributes {mpd.memory_budget = "1GB"}

// -----

// expected-error @below {{unknown attribute 'mtp.target' on builtin.module; did you mean 'mpt.target'?}}
module attributes {mtp.target = "sm_90"} {
  func.func private @prefix_on_module(tensor<4xf32> {mpt.name = "w"})
}

// -----

// Marks of passes on ops of which they cannot be true.

func.func @cast_mark(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.autocast' on a cast of another dialect, from one type to another; found it on mpt.exp; remove it (mpt-autocast adds it)}}
  %y = mpt.exp %x {mpt.autocast} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast_mark_on_foreign_op(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.autocast' on a cast of another dialect, from one type to another; found it on acme.exp}}
  %y = "acme.exp"(%x) {mpt.autocast} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sum_mark(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.sum' on mpt.reduce or mpt_kernel.row_reduce or mpt_kernel.column_reduce, found it on mpt.exp}}
  %y = mpt.exp %x {mpt.sum = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @clone_mark(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.remat' on an op with results, found it on acme.print, which has none; remove it}}
  "acme.print"(%x) {mpt.remat = 0 : i64} : (tensor<4xf32>) -> ()
  return
}

// -----

// Attributes in places where no pass looks for them.

// expected-error @below {{expected 'mpt.precision' on an op in a function, found it on func.func}}
func.func private @precision_of_function() attributes {mpt.precision = "f32"}

// -----

// expected-error @below {{expected 'mpt.target' on builtin.module, found it on func.func}}
func.func private @target_of_function() attributes {mpt.target = "sm_90"}

// -----

// expected-error @below {{expected 'mpt.memory_budget' on func.func, found it on builtin.module}}
module attributes {mpt.memory_budget = "1MB"} {
}

// -----

// expected-error @below {{expected 'mpt.save' on an op in a function, found it on argument 0}}
func.func private @save_of_argument(tensor<4xf32> {mpt.save = "must"})

// -----

func.func @role_of_op(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.role' on an argument, found it on mpt.exp}}
  %y = mpt.exp %x {mpt.role = "parameter"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @loss_elsewhere(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.loss' on a result or mpt.grad_seed or mpt.gradients, found it on mpt.exp}}
  %y = mpt.exp %x {mpt.loss = "loss"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A program's ops say all with attributes of their own.

mpt_program.program @step attributes {target = #mpt.target<cpu>, max_threads = 2 : i64, arena_bytes = 64 : i64, state_bytes = 0 : i64, output_bytes = 0 : i64} {
  %x = mpt_program.buffer <arena> 0 : memref<4xf32>
  // expected-error @below {{expected 'mpt.remat' on an op in a function, found it on mpt_program.fill}}
  mpt_program.fill outs(%x : memref<4xf32>) {value = 1.0 : f64, mpt.remat = 0 : i64}
}

// -----

// expected-error @below {{expected 'mpt.loss' on a result or mpt.grad_seed or mpt.gradients, found it on argument 0}}
func.func private @loss_of_argument(tensor<f32> {mpt.loss})

// -----

// Values that the readers do not understand.

func.func @precision(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.precision' to be "f32" or "low", found "f64"}}
  %y = mpt.exp %x {mpt.precision = "f64"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @foreign_precision(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.precision' to be "f32" or "low", found unit}}
  %y = "acme.exp"(%x) {mpt.precision} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @save(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.save' to be "must" or "never", found "always"}}
  %y = mpt.exp %x {mpt.save = "always"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @clone(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.remat' to be an i64 that is not negative, found -1 : i64}}
  %y = mpt.exp %x {mpt.remat = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @remat(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.remat' to be an i64 that is not negative, found 1 : i32}}
  %y = mpt.exp %x {mpt.remat = 1 : i32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @own_cast(%x: tensor<4xf32>) {
  // expected-error @below {{expected 'mpt.autocast' to be no value, found 1 : i64}}
  %y = "acme.cast"(%x) {mpt.autocast = 1} : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

// expected-error @below {{expected 'mpt.memory_budget' to be a size such as "512MB", a share such as "0.5x" or "50%", or "min"; found 512 : i64}}
func.func private @budget() attributes {mpt.memory_budget = 512}

// -----

// expected-error @below {{expected 'mpt.memory_order' to be a string: best, keep, early-update, least-peak or depth-first; found 3 : i64}}
func.func private @order() attributes {mpt.memory_order = 3}

// -----

// expected-error @below {{expected 'mpt.memory_budget' to be a size such as "512MB", a share such as "0.5x" or "50%", or "min"; found "1XB"}}
func.func private @budget_unit() attributes {mpt.memory_budget = "1XB"}

// -----

// expected-error @below {{expected 'mpt.memory_order' to be a string: best, keep, early-update, least-peak or depth-first; found "bset"}}
func.func private @order_name() attributes {mpt.memory_order = "bset"}

// -----

// expected-error @below {{expected 'mpt.target' to be a machine, such as "sm_90"; found "sm_91"; known are}}
module attributes {mpt.target = "sm_91"} {
}

// -----

// expected-error @below {{expected 'mpt.target' to be a machine, such as "sm_90"; found 90 : i64; known are sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, cpu-amx, cpu-generic}}
module attributes {mpt.target = 90} {
}

// -----

// expected-error @below {{expected 'mpt.autocast_painted_overhead' to be an i64 that is not negative, found "x"}}
module attributes {mpt.autocast_painted_overhead = "x"} {
}

// -----

// expected-error @below {{expected 'mpt.loss' to be no value, found "loss"}}
func.func private @loss() -> (tensor<f32> {mpt.name = "loss", mpt.loss = "loss"})

// -----

// expected-error @below {{expected 'mpt.record' to be a dictionary, found unit}}
func.func private @record() -> (tensor<f32> {mpt.name = "a", mpt.record})

// -----

// expected-error @below {{expected 'mpt.records' to be a dictionary of 'types', an array of strings, and 'edges', an array<i64>; found {types = ["f16"]}}}
func.func private @records() attributes {mpt.records = {types = ["f16"]}}

// -----

// Names that belong to others.

// expected-error @below {{'mpt.name' is "__metadata__", which .safetensors files keep for themselves; rename it}}
func.func private @metadata(tensor<4xf32> {mpt.name = "__metadata__"})

// -----

// expected-error @below {{'mpt.name' is "mpt.step", and names that begin with 'mpt.' are kept for MPT; rename it}}
func.func private @prefix() -> (tensor<4xf32> {mpt.name = "mpt.step"})

// -----

// expected-error @below {{'mpt.name' is "mpt", with which the names of its optimizer's state begin, and names that begin with 'mpt.' are kept for MPT; rename it}}
func.func private @prefix(tensor<4xf32> {mpt.name = "mpt", mpt.role = "parameter"})

// -----

// expected-error @below {{expected 'mpt.name' to be UTF-8 without control characters, found "a\00b"}}
func.func private @control(tensor<4xf32> {mpt.name = "a\00b"})

// -----

// expected-error @below {{expected 'mpt.name' to be UTF-8 without control characters, found "\FF"}}
func.func private @encoding(tensor<4xf32> {mpt.name = "\FF"})

// -----

// What stays allowed: attributes of other dialects, everywhere, and all on the list.

module attributes {acme.note = 1, mpt.target = "sm_90"} {
  func.func @good(%w: tensor<4xf32> {acme.note = "x", mpt.name = "gewicht.größe", mpt.role = "parameter"})
      -> (tensor<f32> {acme.note, mpt.name = "loss", mpt.loss})
      attributes {acme.note, mpt.memory_budget = "0.5x", mpt.memory_order = "keep"} {
    %0 = mpt.exp %w {acme.note, mpt.precision = "f32", mpt.save = "never"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = mpt.reduce %0 {kind = #mpt.reduce_kind<sum>, axes = array<i64: 0>, mpt.record} : (tensor<4xf32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
  "mpt_kernel.func"() <{sym_name = "double", function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>,
      kind = #mpt_kernel.kind<pointwise>, domain = array<i64: 4, 8>, chunk_rows = 2 : i64,
      operand_maps = [affine_map<(d0, d1) -> (d0, d1)>],
      result_maps = [affine_map<(d0, d1) -> (d0, d1)>]}> ({
  ^bb0(%e: f32):
    %s = arith.addf %e, %e : f32
    mpt_kernel.yield %s : f32
  }) {sym_visibility = "private"} : () -> ()
}

// -----

func.func @no_name_after_the_prefix(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'mpt.tanh' op has no attribute 'axis.'}}
  %y = mpt.tanh %x {axis. = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @of_another_dialect_of_ours(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'mpt.tanh' op has an attribute 'mpt_kernel.save', which no pass reads; notes for MPT begin with 'mpt.'}}
  %y = mpt.tanh %x {mpt_kernel.save = "must"} : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
