// Each family of ops, the function's interface, loops, calls.
//
// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-convert-stablehlo --split-input-file | FileCheck %s

// A forward loss: names and roles come from locations and types, @main becomes @loss.
// CHECK-LABEL: func.func @loss(
// CHECK-SAME: %[[W:.*]]: tensor<4x3xf32> {mpt.name = "params.dense.kernel", mpt.role = "parameter"}
// CHECK-SAME: %[[B:.*]]: tensor<3xf32> {mpt.name = "params.dense.bias.0", mpt.role = "parameter"}
// CHECK-SAME: %[[X:.*]]: tensor<2x4xf32> {mpt.name = "x", mpt.role = "input"}
// CHECK-SAME: %{{.*}}: tensor<2xi32> {mpt.name = "arg3", mpt.role = "input"}
// CHECK-SAME: -> (tensor<f32> {jax.result_info = "result", mpt.name = "loss"})
// A dense layer is found in its formula.
// CHECK: %[[Z:.*]] = mpt.linear %[[X]], %[[W]], %[[B]] : (tensor<2x4xf32>, tensor<4x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// CHECK: mpt.reduce %[[Z]] {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>}
"func.func"() <{function_type = (tensor<4x3xf32>, tensor<3xf32>, tensor<2x4xf32>, tensor<2xui32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main"}> ({
^bb0(%w: tensor<4x3xf32> loc("params['dense'].kernel"), %b: tensor<3xf32> loc("params['dense'].bias[0]"), %x: tensor<2x4xf32> loc("x"), %unused: tensor<2xui32>):
  %0 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<1x3xf32>
  %2 = "stablehlo.broadcast_in_dim"(%1) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x3xf32>) -> tensor<2x3xf32>
  %3 = "stablehlo.add"(%0, %2) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %4 = "stablehlo.reduce"(%3, %zero) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %5 = "stablehlo.add"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%5) : (tensor<f32>) -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
  "func.return"(%4) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// JAX declares a mesh of no axes for `jax.random.fold_in` and others. What lies on it is
// left as it is, and no mesh stays behind, which a program could not have.
// CHECK-LABEL: module @meshes
// CHECK-NOT: sdy.mesh
// CHECK: func.func @meshed(%[[X:.*]]: tensor<2xi32>
// CHECK-NEXT: mpt.add %[[X]], %[[X]]
// CHECK-NOT: sdy.mesh
"builtin.module"() <{sym_name = "meshes"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "empty_mesh"}> : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{function_type = (tensor<2xui32>) -> tensor<2xui32>, sym_name = "meshed"}> ({
  ^bb0(%x: tensor<2xui32>):
    %0 = "sdy.sharding_constraint"(%x) <{sharding = #sdy.sharding<@empty_mesh, [{}]>}> : (tensor<2xui32>) -> tensor<2xui32>
    %1 = "stablehlo.add"(%0, %0) : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xui32>
    "func.return"(%1) : (tensor<2xui32>) -> ()
  }) : () -> ()
}) : () -> ()

// -----

// A whole step whose state is donated. What has one type with its argument is its next
// value, in order; the rest is a result of its own.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<3xf32> {mpt.name = "params.w", mpt.role = "parameter"}
// CHECK-SAME: %{{.*}}: tensor<3xf32> {mpt.name = "1.trace.w", mpt.role = "optimizer_state"}
// CHECK-SAME: %{{.*}}: tensor<i32> {mpt.name = "arg2", mpt.role = "optimizer_state"}
// CHECK-SAME: -> (tensor<f32> {mpt.name = "loss"}
// CHECK-SAME: tensor<3xf32> {mpt.name = "params.w.next", mpt.updates = "params.w"}
// CHECK-SAME: tensor<3xf32> {{{.*}}mpt.name = "1.trace.w.next", mpt.updates = "1.trace.w"}
// CHECK-SAME: tensor<i32> {mpt.name = "arg2.next", mpt.updates = "arg2"}
// The call is inlined.
// CHECK: mpt.add
// CHECK-NOT: func.func
"func.func"() <{arg_attrs = [{tf.aliasing_output = 1 : i32}, {jax.buffer_donor = true}, {jax.buffer_donor = true}], function_type = (tensor<3xf32>, tensor<3xf32>, tensor<i32>) -> (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>), res_attrs = [{}, {}, {jax.result_info = "result[1].trace['w']"}, {}], sym_name = "main"}> ({
^bb0(%w: tensor<3xf32> loc("params['w']"), %m: tensor<3xf32>, %n: tensor<i32>):
  %loss = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "func.call"(%w, %m) <{callee = @update}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%loss, %0, %m, %n) : (tensor<f32>, tensor<3xf32>, tensor<3xf32>, tensor<i32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>, sym_name = "update", sym_visibility = "private"}> ({
^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
  %0 = "stablehlo.add"(%a, %b) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// A loop that counts to 4. %xs is read slice by slice, %ys written from the end, %w does not
// change, %c is carried, and the counter is needed for the slices alone.
// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[XS:[^:]*]]: tensor<4x3xf32>
// CHECK-SAME: %[[W:[^:]*]]: tensor<3xf32>
// CHECK-SAME: %[[C:[^:]*]]: tensor<3xf32>
// CHECK: %[[SCAN:.*]]:2 = mpt.scan 4 carry(%[[C]] : tensor<3xf32>) over(%[[XS]] : tensor<4x3xf32>) {
// CHECK: ^bb0(%[[CARRY:.*]]: tensor<3xf32>, %[[SLICE:.*]]: tensor<3xf32>):
// CHECK: mpt.mul %[[SLICE]], %[[W]]
// CHECK: mpt.yield %[[NEXT:.*]], %{{.*}} : tensor<3xf32>, tensor<3xf32>
// CHECK: return %[[SCAN]]#0
"func.func"() <{function_type = (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<4x3xf32>), sym_name = "loop"}> ({
^bb0(%xs: tensor<4x3xf32>, %w: tensor<3xf32>, %c: tensor<3xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %empty = "stablehlo.constant"() <{value = dense<0.0> : tensor<4x3xf32>}> : () -> tensor<4x3xf32>
  %r:5 = "stablehlo.while"(%zero, %xs, %w, %c, %empty) ({
  ^bb0(%i: tensor<i32>, %a1: tensor<4x3xf32>, %a2: tensor<3xf32>, %a3: tensor<3xf32>, %a4: tensor<4x3xf32>):
    %four = "stablehlo.constant"() <{value = dense<4> : tensor<i32>}> : () -> tensor<i32>
    %t = "stablehlo.compare"(%i, %four) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a1: tensor<4x3xf32>, %a2: tensor<3xf32>, %a3: tensor<3xf32>, %a4: tensor<4x3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %s = "stablehlo.dynamic_slice"(%a1, %i, %0) <{slice_sizes = array<i64: 1, 3>}> : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
    %v = "stablehlo.reshape"(%s) : (tensor<1x3xf32>) -> tensor<3xf32>
    %p = "stablehlo.multiply"(%v, %a2) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %n = "stablehlo.add"(%a3, %p) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %row = "stablehlo.reshape"(%n) : (tensor<3xf32>) -> tensor<1x3xf32>
    %u = "stablehlo.dynamic_update_slice"(%a4, %row, %i, %0) : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
    %1 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %j = "stablehlo.add"(%i, %1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%j, %a1, %a2, %n, %u) : (tensor<i32>, tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> ()
  }) : (tensor<i32>, tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>) -> (tensor<i32>, tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4x3xf32>)
  "func.return"(%r#3, %r#4) : (tensor<3xf32>, tensor<4x3xf32>) -> ()
}) : () -> ()

// -----

// The second loop counts to where the first one's counter ended, less one; that bound reaches
// it as a value that does not change and from above.
// CHECK-LABEL: func.func @counted(
// CHECK: mpt.scan 20 carry
// CHECK: mpt.scan 19 carry
// CHECK-NOT: mpt.scan
// CHECK: return
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "counted"}> ({
^bb0(%x: tensor<3xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
  %twenty = "stablehlo.constant"() <{value = dense<20> : tensor<i32>}> : () -> tensor<i32>
  %a:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %y: tensor<3xf32>):
    %t = "stablehlo.compare"(%i, %twenty) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %y: tensor<3xf32>):
    %z = "stablehlo.tanh"(%y) : (tensor<3xf32>) -> tensor<3xf32>
    %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%j, %z) : (tensor<i32>, tensor<3xf32>) -> ()
  }) : (tensor<i32>, tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>)
  %last = "stablehlo.subtract"(%a#0, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %b:3 = "stablehlo.while"(%zero, %a#1, %last) ({
  ^bb0(%i: tensor<i32>, %y: tensor<3xf32>, %n: tensor<i32>):
    %t0 = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t1 = "stablehlo.compare"(%i, %a#0) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %t = "stablehlo.and"(%t0, %t1) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %y: tensor<3xf32>, %n: tensor<i32>):
    %z = "stablehlo.sine"(%y) : (tensor<3xf32>) -> tensor<3xf32>
    %j = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%j, %z, %n) : (tensor<i32>, tensor<3xf32>, tensor<i32>) -> ()
  }) : (tensor<i32>, tensor<3xf32>, tensor<i32>) -> (tensor<i32>, tensor<3xf32>, tensor<i32>)
  "func.return"(%b#1) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// JAX's gradients of a convolution, for its input and its filter. Neither reverses the
// filter nor moves more than the layouts ask for.
// CHECK-LABEL: func.func @gradients(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8x8x3xf32>
// CHECK-SAME: %[[F:[^:]*]]: tensor<3x3x3x4xf32>
// CHECK-SAME: %[[DY:[^:]*]]: tensor<2x4x4x4xf32>
// CHECK: mpt.conv2d_input_grad %[[DY]], %[[F]] {padding = array<i64: 0, 1, 0, 1>, strides = array<i64: 2, 2>}
// CHECK: mpt.conv2d_filter_grad %[[X]], %[[DY]] {padding = array<i64: 0, 1, 0, 1>, strides = array<i64: 2, 2>}
"func.func"() <{function_type = (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<2x4x4x4xf32>) -> (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>), sym_name = "gradients"}> ({
^bb0(%x: tensor<2x8x8x3xf32>, %f: tensor<3x3x3x4xf32>, %dy: tensor<2x4x4x4xf32>):
  %r = "stablehlo.reverse"(%f) <{dimensions = array<i64: 0, 1>}> : (tensor<3x3x3x4xf32>) -> tensor<3x3x3x4xf32>
  %dx = "stablehlo.convolution"(%dy, %r) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 2, 2>, padding = dense<[[2, 1], [2, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 1, 1>, window_strides = array<i64: 1, 1>}> : (tensor<2x4x4x4xf32>, tensor<3x3x3x4xf32>) -> tensor<2x8x8x3xf32>
  %df = "stablehlo.convolution"(%x, %dy) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, rhs_dilation = array<i64: 2, 2>, window_strides = array<i64: 1, 1>}> : (tensor<2x8x8x3xf32>, tensor<2x4x4x4xf32>) -> tensor<3x3x3x4xf32>
  "func.return"(%dx, %df) : (tensor<2x8x8x3xf32>, tensor<3x3x3x4xf32>) -> ()
}) : () -> ()

// -----

// A composite is what its decomposition computes. What nothing reads is left out, even if it
// has no counterpart.
// CHECK-LABEL: func.func @composite(
// CHECK-NEXT: mpt.tanh
// CHECK-NEXT: return
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xui32>) -> tensor<3xf32>, sym_name = "composite"}> ({
^bb0(%x: tensor<3xf32>, %key: tensor<3xui32>):
  %bits = "stablehlo.shift_left"(%key, %key) : (tensor<3xui32>, tensor<3xui32>) -> tensor<3xui32>
  %0 = "stablehlo.composite"(%x) <{composite_attributes = {}, decomposition = @inner, name = "my.op"}> : (tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "inner", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.tanh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// TensorFlow's variables: XLA's aliases say what updates what.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %{{.*}}: tensor<2xf32> {mpt.name = "arg0", mpt.role = "input"}
// CHECK-SAME: %{{.*}}: tensor<3xf32> {mpt.name = "arg1", mpt.role = "optimizer_state"}
// CHECK-SAME: -> (tensor<f32> {mpt.name = "loss"}, tensor<3xf32> {mpt.name = "arg1.next", mpt.updates = "arg1"})
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2xf32>, tensor<3xf32>) -> (tensor<f32>, tensor<3xf32>), sym_name = "main"}> ({
  ^bb0(%x: tensor<2xf32>, %w: tensor<3xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.tanh"(%w) : (tensor<3xf32>) -> tensor<3xf32>
    "func.return"(%0, %1) : (tensor<f32>, tensor<3xf32>) -> ()
  }) : () -> ()
}) {mhlo.input_output_alias = [{alias = {kind = "may_alias", parameter_index = array<i64>, parameter_number = 1 : i64}, output_index = array<i64: 1>}]} : () -> ()

// -----

// A body that is no op of mpt combines neighbors, here of 3 numbers, and then the first value.
// CHECK-LABEL: func.func @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3xf32>
// CHECK-DAG: %[[A:.*]] = mpt.slice %[[X]] {offsets = array<i64: 0>, sizes = array<i64: 1>
// CHECK-DAG: %[[B:.*]] = mpt.slice %[[X]] {offsets = array<i64: 1>, sizes = array<i64: 1>
// CHECK: mpt.where
// CHECK: mpt.where
// CHECK: mpt.where
// CHECK-NOT: mpt.where
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<f32>, sym_name = "body"}> ({
^bb0(%x: tensor<3xf32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.abs"(%a) : (tensor<f32>) -> tensor<f32>
    %d = "stablehlo.abs"(%b) : (tensor<f32>) -> tensor<f32>
    %e = "stablehlo.compare"(%c, %d) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %f = "stablehlo.select"(%e, %a, %b) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%f) : (tensor<f32>) -> ()
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  "func.return"(%0) : (tensor<f32>) -> ()
}) : () -> ()

// -----

// The total order of floats is that of integers.
// CHECK-LABEL: func.func @total_order(
// CHECK-COUNT-2: mpt.bitcast %{{.*}} : (tensor<3xf32>) -> tensor<3xi32>
// CHECK: mpt.compare {{.*}}tensor<3xi32>
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>, sym_name = "total_order"}> ({
^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
  %0 = "stablehlo.compare"(%x, %y) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  "func.return"(%0) : (tensor<3xi1>) -> ()
}) : () -> ()

// -----

// A function of scalars for each element. What JAX leaves of a function whose results are not
// used has no op; it goes, too.
// CHECK-LABEL: func.func @map(
// CHECK-NEXT: %[[S:.*]] = mpt.add %arg0, %arg1 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// CHECK-NEXT: mpt.abs %[[S]]
// CHECK-NOT: func.func
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>, sym_name = "map"}> ({
^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %2 = "stablehlo.abs"(%1) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%2) : (tensor<f32>) -> ()
  }) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "func.call"() <{callee = @unused}> : () -> ()
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = () -> (), sym_name = "unused", sym_visibility = "private"}> ({
  "func.return"() : () -> ()
}) : () -> ()

// -----

// More elements than are compared each with each, by two keys: the first comparison of a network
// that carries both keys and the index.
// CHECK-LABEL: func.func @sort_many(
// CHECK-NOT: tensor<1500x1500
// CHECK: mpt.reshape %{{.*}} : (tensor<1x2048xi32>) -> tensor<1x1024x2x1xi32>
// CHECK-NOT: tensor<1500x1500
// CHECK: return
"func.func"() <{function_type = (tensor<1500xi32>, tensor<1500xi32>) -> (tensor<1500xi32>, tensor<1500xi32>), sym_name = "sort_many"}> ({
^bb0(%x: tensor<1500xi32>, %y: tensor<1500xi32>):
  %0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %q = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %r = "stablehlo.compare"(%c, %d) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = "stablehlo.and"(%q, %r) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %t = "stablehlo.or"(%p, %s) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%t) : (tensor<i1>) -> ()
  }) : (tensor<1500xi32>, tensor<1500xi32>) -> (tensor<1500xi32>, tensor<1500xi32>)
  "func.return"(%0#0, %0#1) : (tensor<1500xi32>, tensor<1500xi32>) -> ()
}) : () -> ()

// -----

// What the backward pass computes again, by a composite: a region, also of complex results.
// CHECK-LABEL: func.func @checkpoint(
// CHECK: %[[C:.*]]:3 = mpt.checkpoint {
// CHECK-NEXT: %[[T:.*]] = mpt.tanh %arg0
// CHECK: %[[E:.*]] = mpt.exp %[[T]]
// CHECK: mpt.yield %[[E]], %[[T]], %arg0 :
// CHECK: mpt.add %[[C]]#0, %[[C]]#1
// CHECK-NOT: func.func
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "checkpoint"}> ({
^bb0(%x: tensor<3xf32>):
  %0:2 = "stablehlo.composite"(%x) <{decomposition = @again, name = "mpt.checkpoint"}> : (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xcomplex<f32>>)
  %1 = "stablehlo.real"(%0#1) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %2 = "stablehlo.add"(%0#0, %1) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %3 = "stablehlo.imag"(%0#1) : (tensor<3xcomplex<f32>>) -> tensor<3xf32>
  %4 = "stablehlo.multiply"(%2, %3) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%4) : (tensor<3xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>) -> (tensor<3xf32>, tensor<3xcomplex<f32>>), sym_name = "again", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.tanh"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  %1 = "func.call"(%0) <{callee = @inside}> : (tensor<3xf32>) -> tensor<3xf32>
  %2 = "stablehlo.complex"(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
  "func.return"(%1, %2) : (tensor<3xf32>, tensor<3xcomplex<f32>>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "inside", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.exponential"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// Where JAX stops gradients, by a composite; others are what they compute.
// CHECK-LABEL: func.func @stop_gradient(
// CHECK-NEXT: %[[S:.*]] = mpt.stop_gradient %arg0
// CHECK-NEXT: %[[E:.*]] = mpt.exp %[[S]]
// CHECK-NEXT: return %[[E]], %arg1
// CHECK-NOT: func.func
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>), sym_name = "stop_gradient"}> ({
^bb0(%x: tensor<3xf32>, %i: tensor<3xi32>):
  %0:2 = "stablehlo.composite"(%x, %i) <{decomposition = @same, name = "mpt.stop_gradient"}> : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  %1 = "stablehlo.composite"(%0#0) <{decomposition = @exp, name = "acme.exp"}> : (tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%1, %0#1) : (tensor<3xf32>, tensor<3xi32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>), sym_name = "same", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>, %i: tensor<3xi32>):
  "func.return"(%x, %i) : (tensor<3xf32>, tensor<3xi32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<3xf32>) -> tensor<3xf32>, sym_name = "exp", sym_visibility = "private"}> ({
^bb0(%x: tensor<3xf32>):
  %0 = "stablehlo.exponential"(%x) : (tensor<3xf32>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// Nothing is sorted where there is nothing.
// CHECK-LABEL: func.func @nothing(
// CHECK-SAME: %[[X:.*]]: tensor<3x0xf32>
// CHECK-NEXT: return %[[X]]
"func.func"() <{function_type = (tensor<3x0xf32>) -> tensor<3x0xf32>, sym_name = "nothing"}> ({
^bb0(%x: tensor<3x0xf32>):
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%p) : (tensor<i1>) -> ()
  }) : (tensor<3x0xf32>) -> tensor<3x0xf32>
  "func.return"(%0) : (tensor<3x0xf32>) -> ()
}) : () -> ()

// -----

// No gradient comes out of a branch that is not taken, and none is taken by a whole step.
// CHECK-LABEL: func.func @guarded(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<3xf32> {{{[^,]*}}, mpt.role = "input"}, %[[N:[a-z0-9]*]]: tensor<3xf32> {{{[^,]*}}, mpt.role = "input"}, %[[P:[a-z0-9]*]]: tensor<i1>
// CHECK-NEXT: %[[SW:.*]] = mpt.stop_gradient %[[W]]
// CHECK-NEXT: %[[GW:.*]] = mpt.where %[[P]], %[[W]], %[[SW]]
// CHECK-NEXT: %[[SN:.*]] = mpt.stop_gradient %[[N]]
// CHECK-NEXT: %[[GN:.*]] = mpt.where %[[P]], %[[N]], %[[SN]]
// CHECK-NEXT: %[[D:.*]] = mpt.div %[[GW]], %[[GN]]
// CHECK-NEXT: mpt.where %[[P]], %[[D]], %[[W]]
"func.func"() <{function_type = (tensor<3xf32>, tensor<3xf32>, tensor<i1>) -> tensor<3xf32>, sym_name = "guarded"}> ({
^bb0(%w: tensor<3xf32> loc("w"), %n: tensor<3xf32> loc("n"), %p: tensor<i1> loc("p")):
  %0 = "stablehlo.if"(%p) ({
    %d = "stablehlo.divide"(%w, %n) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    "stablehlo.return"(%d) : (tensor<3xf32>) -> ()
  }, {
    "stablehlo.return"(%w) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<3xf32>
// CHECK-NEXT: %[[D:.*]] = mpt.div %[[W]]
// CHECK-NEXT: mpt.where %{{.*}}, %[[D]], %[[W]]
"func.func"() <{arg_attrs = [{tf.aliasing_output = 0 : i32}, {}, {}], function_type = (tensor<3xf32>, tensor<3xf32>, tensor<i1>) -> tensor<3xf32>, sym_name = "step"}> ({
^bb0(%w: tensor<3xf32> loc("w"), %n: tensor<3xf32> loc("n"), %p: tensor<i1> loc("p")):
  %0 = "stablehlo.if"(%p) ({
    %d = "stablehlo.divide"(%w, %n) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    "stablehlo.return"(%d) : (tensor<3xf32>) -> ()
  }, {
    "stablehlo.return"(%w) : (tensor<3xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3xf32>
  "func.return"(%0) : (tensor<3xf32>) -> ()
}) : () -> ()

// -----

// Maxima, minima and products of floats are one op. What is out of range goes to one more row, or
// is left neutral where there are fewer updates than rows.
// CHECK-LABEL: func.func @reduced(
// CHECK: mpt.scatter_reduce {{.*}} {kind = #mpt.reduce_kind<max>} : (tensor<50xi64>, tensor<50x1xf32>, tensor<41x1xf32>) -> tensor<41x1xf32>
// CHECK: mpt.slice {{.*}} -> tensor<40x1xf32>
// CHECK: %[[U:.*]] = mpt.where %{{.*}}, %{{.*}}, %{{.*}} : (tensor<50x1xi1>, tensor<50x1xf32>, tensor<f32>) -> tensor<50x1xf32>
// CHECK: mpt.scatter_reduce %{{.*}}, %[[U]], %{{.*}} {kind = #mpt.reduce_kind<min>} : (tensor<50xi64>, tensor<50x1xf32>, tensor<90x1xf32>) -> tensor<90x1xf32>
// CHECK: mpt.scatter_reduce {{.*}} {kind = #mpt.reduce_kind<prod>} {{.*}} -> tensor<90x1xf32>
// CHECK: return
"func.func"() <{function_type = (tensor<40xf32>, tensor<90xf32>, tensor<50x1xi32>, tensor<50xf32>) -> (tensor<40xf32>, tensor<90xf32>, tensor<90xf32>), sym_name = "reduced"}> ({
^bb0(%t40: tensor<40xf32>, %t90: tensor<90xf32>, %i: tensor<50x1xi32>, %u: tensor<50xf32>):
  %0 = "stablehlo.scatter"(%t40, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<40xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<40xf32>
  %1 = "stablehlo.scatter"(%t90, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.minimum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<90xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<90xf32>
  %2 = "stablehlo.scatter"(%t90, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.multiply"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<90xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<90xf32>
  "func.return"(%0, %1, %2) : (tensor<40xf32>, tensor<90xf32>, tensor<90xf32>) -> ()
}) : () -> ()

// -----

// Not those of integers, whose rows are compared with indices, nor of indices that are said to be
// unequal, which need no sums for their gradients.
// CHECK-LABEL: func.func @not_reduced(
// CHECK-NOT: mpt.scatter_reduce
// CHECK: return
"func.func"() <{function_type = (tensor<8xi32>, tensor<90xf32>, tensor<50x1xi32>, tensor<50xi32>, tensor<50xf32>) -> (tensor<8xi32>, tensor<90xf32>), sym_name = "not_reduced"}> ({
^bb0(%t8: tensor<8xi32>, %t90: tensor<90xf32>, %i: tensor<50x1xi32>, %n: tensor<50xi32>, %u: tensor<50xf32>):
  %0 = "stablehlo.scatter"(%t8, %i, %n) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = "stablehlo.maximum"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%c) : (tensor<i32>) -> ()
  }) : (tensor<8xi32>, tensor<50x1xi32>, tensor<50xi32>) -> tensor<8xi32>
  %1 = "stablehlo.scatter"(%t90, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = "stablehlo.multiply"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%c) : (tensor<f32>) -> ()
  }) : (tensor<90xf32>, tensor<50x1xi32>, tensor<50xf32>) -> tensor<90xf32>
  "func.return"(%0, %1) : (tensor<8xi32>, tensor<90xf32>) -> ()
}) : () -> ()

// -----

// A Cholesky factor that says nothing is the upper one: that of the transposed matrix, transposed.
// CHECK-LABEL: func.func @upper(
// CHECK-SAME: %[[A:.*]]: tensor<4x4xf32>
// CHECK: mpt.transpose
// CHECK: mpt.scan
// CHECK: %[[FACTOR:.*]] = mpt.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
// CHECK-NEXT: %[[FLAT:.*]] = mpt.reshape %[[FACTOR]]
// CHECK-NEXT: return %[[FLAT]]
"func.func"() <{function_type = (tensor<4x4xf32>) -> tensor<4x4xf32>, sym_name = "upper"}> ({
^bb0(%a: tensor<4x4xf32>):
  %0 = "stablehlo.cholesky"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  "func.return"(%0) : (tensor<4x4xf32>) -> ()
}) : () -> ()

// -----

// Rows that are out of range are added as zeros, or to one more row where there are more of
// them than the table has.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[U:.*]] = mpt.where %{{.*}}, %arg2, %{{.*}} : (tensor<5x1xi1>, tensor<5x4xf32>, tensor<f32>) -> tensor<5x4xf32>
// CHECK: %[[FEW:.*]] = mpt.scatter_add %{{.*}}, %[[U]] : (tensor<5xi64>, tensor<5x4xf32>) -> tensor<10x4xf32>
// CHECK: mpt.add %{{.*}}, %[[FEW]] : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<10x4xf32>
// CHECK: %[[MANY:.*]] = mpt.scatter_add %{{.*}}, %arg2 : (tensor<5xi64>, tensor<5x4xf32>) -> tensor<4x4xf32>
// CHECK: mpt.slice %[[MANY]] {{.*}} -> tensor<3x4xf32>
"func.func"() <{function_type = (tensor<10x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>, tensor<3x4xf32>) -> (tensor<10x4xf32>, tensor<3x4xf32>), sym_name = "rows"}> ({
^bb0(%t: tensor<10x4xf32>, %i: tensor<5x1xi32>, %u: tensor<5x4xf32>, %s: tensor<3x4xf32>):
  %0 = "stablehlo.scatter"(%t, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%2) : (tensor<f32>) -> ()
  }) : (tensor<10x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<10x4xf32>
  %1 = "stablehlo.scatter"(%s, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %2 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%2) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<3x4xf32>
  "func.return"(%0, %1) : (tensor<10x4xf32>, tensor<3x4xf32>) -> ()
}) : () -> ()

// -----

// torch-mlir writes constants of the dialect arith.
// CHECK-LABEL: func.func @of_arith(
// CHECK-SAME: %[[X:.*]]: tensor<2xf32>
// CHECK: %[[TWO:.*]] = mpt.constant dense<[2.000000e+00, 3.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: %[[Y:.*]] = mpt.mul %[[X]], %[[TWO]]
// CHECK-NEXT: return %[[Y]]
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "of_arith"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = "arith.constant"() <{value = dense<[2.0, 3.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %1 = "stablehlo.multiply"(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%1) : (tensor<2xf32>) -> ()
}) : () -> ()

// -----

// CHECK-LABEL: func.func @kept
// CHECK-NEXT: arith.constant dense<1.000000e+00> : tensor<f32>
func.func @kept() -> tensor<f32> {
  %0 = arith.constant dense<1.0> : tensor<f32>
  return %0 : tensor<f32>
}
"func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "beside"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = "stablehlo.negate"(%x) : (tensor<2xf32>) -> tensor<2xf32>
  "func.return"(%0) : (tensor<2xf32>) -> ()
}) : () -> ()

// -----

// A branch that takes long runs only if it is taken; what is the same in it whether it is
// taken or not stays there. The other one is computed.
// CHECK-LABEL: func.func @branches(
// CHECK-SAME: %[[W:[a-z0-9]*]]: tensor<64x64xf32> {{{[^,]*}}, mpt.role = "input"}, %[[P:[a-z0-9]*]]: tensor<i1>
// CHECK:      %[[N:.*]] = mpt.neg
// CHECK-NEXT: %[[R:.*]]:2 = mpt.scan conditional 1 carry(%[[P]], %[[N]] : tensor<i1>, tensor<64x64xf32>) {
// CHECK-NEXT: ^bb0(%[[C:.*]]: tensor<i1>, %{{.*}}: tensor<64x64xf32>):
// CHECK-NEXT:   %[[M:.*]] = mpt.matmul %[[W]], %[[W]]
// CHECK-NEXT:   mpt.yield %[[C]], %[[M]]
// CHECK-NEXT: } : tensor<i1>, tensor<64x64xf32>
// CHECK-NEXT: return %[[R]]#1
"func.func"() <{function_type = (tensor<64x64xf32>, tensor<i1>) -> tensor<64x64xf32>, sym_name = "branches"}> ({
^bb0(%w: tensor<64x64xf32> loc("w"), %p: tensor<i1> loc("p")):
  %0 = "stablehlo.if"(%p) ({
    %d = "stablehlo.dot_general"(%w, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "stablehlo.return"(%d) : (tensor<64x64xf32>) -> ()
  }, {
    %d = "stablehlo.negate"(%w) : (tensor<64x64xf32>) -> tensor<64x64xf32>
    "stablehlo.return"(%d) : (tensor<64x64xf32>) -> ()
  }) : (tensor<i1>) -> tensor<64x64xf32>
  "func.return"(%0) : (tensor<64x64xf32>) -> ()
}) : () -> ()
// Both take long: each has its turn, after zeros.
// CHECK-LABEL: func.func @both(
// CHECK: %[[Z:.*]] = mpt.constant dense<0.000000e+00>
// CHECK: %[[A:.*]]:2 = mpt.scan conditional 1 carry(%{{.*}}, %[[Z]] :
// CHECK: mpt.scan conditional 1 carry(%{{.*}}, %[[A]]#1 :
// CHECK-NOT: mpt.scan
// A small matmul is computed, taken or not.
// CHECK-LABEL: func.func @small(
// CHECK-NOT: mpt.scan
// CHECK: mpt.where
"func.func"() <{function_type = (tensor<64x64xf32>, tensor<i32>) -> tensor<64x64xf32>, sym_name = "both"}> ({
^bb0(%w: tensor<64x64xf32> loc("w"), %p: tensor<i32> loc("p")):
  %0 = "stablehlo.case"(%p) ({
    %d = "stablehlo.dot_general"(%w, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "stablehlo.return"(%d) : (tensor<64x64xf32>) -> ()
  }, {
    %d = "stablehlo.dot_general"(%w, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    "stablehlo.return"(%d) : (tensor<64x64xf32>) -> ()
  }) : (tensor<i32>) -> tensor<64x64xf32>
  "func.return"(%0) : (tensor<64x64xf32>) -> ()
}) : () -> ()
"func.func"() <{function_type = (tensor<8x8xf32>, tensor<i1>) -> tensor<8x8xf32>, sym_name = "small"}> ({
^bb0(%w: tensor<8x8xf32> loc("w"), %p: tensor<i1> loc("p")):
  %0 = "stablehlo.if"(%p) ({
    %d = "stablehlo.dot_general"(%w, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    "stablehlo.return"(%d) : (tensor<8x8xf32>) -> ()
  }, {
    "stablehlo.return"(%w) : (tensor<8x8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<8x8xf32>
  "func.return"(%0) : (tensor<8x8xf32>) -> ()
}) : () -> ()

// -----

// A loop that goes on while a value says so. What does not change is read from above.
// CHECK-LABEL: func.func @while(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<4xf32> {{{[^,]*}}, mpt.role = "input"}, %[[L:[a-z0-9]*]]: tensor<f32>
// CHECK: %[[S:.*]] = mpt.reduce %[[X]]
// CHECK-NEXT: %[[G:.*]] = mpt.compare %[[S]], %[[L]]
// CHECK-NEXT: %[[R:.*]]:2 = mpt.scan conditional 4294967296 carry(%[[G]], %[[X]] : tensor<i1>, tensor<4xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i1>, %[[V:.*]]: tensor<4xf32>):
// CHECK-NEXT:   %[[N:.*]] = mpt.sin %[[V]]
// CHECK-NEXT:   %[[T:.*]] = mpt.reduce %[[N]]
// CHECK-NEXT:   %[[H:.*]] = mpt.compare %[[T]], %[[L]]
// CHECK-NEXT:   mpt.yield %[[H]], %[[N]]
// CHECK:      return %[[R]]#1
"func.func"() <{function_type = (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>, sym_name = "while"}> ({
^bb0(%x: tensor<4xf32> loc("x"), %limit: tensor<f32> loc("limit")):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %r:2 = "stablehlo.while"(%x, %limit) ({
  ^bb0(%a: tensor<4xf32>, %l: tensor<f32>):
    %s = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 0>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = "stablehlo.add"(%p, %q) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %g = "stablehlo.compare"(%s, %l) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%g) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4xf32>, %l: tensor<f32>):
    %b = "stablehlo.sine"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    "stablehlo.return"(%b, %l) : (tensor<4xf32>, tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
  "func.return"(%r#0) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

// The user's word for an op's precision, which jax.experimental.xla_metadata puts there.
// CHECK-LABEL: func.func @precision(
// CHECK:      %[[A:.*]] = mpt.tanh %{{.*}} {mpt.precision = "f32"}
// CHECK:      %[[B:.*]] = mpt.tanh %[[A]] :
// CHECK:      mpt.tanh %[[B]] {mpt.precision = "low"}
"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "precision"}> ({
^bb0(%x: tensor<4xf32> loc("x")):
  %a = "stablehlo.tanh"(%x) {mhlo.frontend_attributes = {mpt.precision = "f32"}} : (tensor<4xf32>) -> tensor<4xf32>
  %b = "stablehlo.tanh"(%a) {mhlo.frontend_attributes = {other = "f32"}} : (tensor<4xf32>) -> tensor<4xf32>
  %c = "stablehlo.tanh"(%b) {mhlo.frontend_attributes = {mpt.precision = "low"}} : (tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%c) : (tensor<4xf32>) -> ()
}) : () -> ()
