// One op for each row of the table of docs/StableHLO.md, "What is refused".

"func.func"() <{function_type = (tensor<4xf32>, tensor<4x4xf32>, tensor<4xi32>, tensor<4xi1>, tensor<i32>) -> tensor<4xf32>, sym_name = "no_counterpart"}> ({
^bb0(%x: tensor<4xf32>, %m: tensor<4x4xf32>, %i: tensor<4xi32>, %t: tensor<4xi1>, %n: tensor<i32>):
  %0 = "stablehlo.complex"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
  %1 = "stablehlo.tanh"(%0) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %2 = "stablehlo.sine"(%0) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  "test.use"(%1, %2) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> ()

  %10 = "stablehlo.all_reduce"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %11 = "stablehlo.all_gather"(%x) : (tensor<4xf32>) -> tensor<8xf32>
  %12 = "stablehlo.reduce_scatter"(%x) : (tensor<4xf32>) -> tensor<2xf32>
  %13 = "stablehlo.all_to_all"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %14 = "stablehlo.collective_broadcast"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %15 = "stablehlo.collective_permute"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %16 = "stablehlo.partition_id"() : () -> tensor<ui32>
  %17 = "stablehlo.replica_id"() : () -> tensor<ui32>
  %18 = "sdy.manual_computation"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  "test.use"(%10, %11, %12, %13, %14, %15, %16, %17, %18) : (tensor<4xf32>, tensor<8xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<ui32>, tensor<ui32>, tensor<4xf32>) -> ()

  %20 = "stablehlo.dynamic_reshape"(%x, %i) : (tensor<4xf32>, tensor<4xi32>) -> tensor<?xf32>
  %21 = "stablehlo.dynamic_broadcast_in_dim"(%x, %i) : (tensor<4xf32>, tensor<4xi32>) -> tensor<?x4xf32>
  %22 = "stablehlo.dynamic_iota"(%i) : (tensor<4xi32>) -> tensor<?xf32>
  %23 = "stablehlo.dynamic_gather"(%x, %i, %i) : (tensor<4xf32>, tensor<4xi32>, tensor<4xi32>) -> tensor<?xf32>
  %24 = "stablehlo.dynamic_pad"(%x, %n, %i, %i, %i) : (tensor<4xf32>, tensor<i32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<?xf32>
  %25 = "stablehlo.real_dynamic_slice"(%x, %i, %i, %i) : (tensor<4xf32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) -> tensor<?xf32>
  %26 = "stablehlo.set_dimension_size"(%x, %n) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
  "test.use"(%20, %21, %22, %23, %24, %25, %26) : (tensor<?xf32>, tensor<?x4xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<4xf32>) -> ()

  %30 = "stablehlo.after_all"() : () -> !stablehlo.token
  %31:2 = "stablehlo.infeed"(%30) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  %32 = "stablehlo.outfeed"(%x, %30) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %33 = "stablehlo.send"(%x, %30) : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  %34:2 = "stablehlo.recv"(%30) : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  "test.use"(%31#0, %32, %33, %34#0) : (tensor<4xf32>, !stablehlo.token, !stablehlo.token, tensor<4xf32>) -> ()

  %40 = "stablehlo.cholesky"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %41 = "stablehlo.triangular_solve"(%m, %x) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %42 = "stablehlo.uniform_quantize"(%x) : (tensor<4xf32>) -> tensor<4xi8>
  %43 = "stablehlo.uniform_dequantize"(%42) : (tensor<4xi8>) -> tensor<4xf32>
  %44 = "stablehlo.tuple"(%x, %i) : (tensor<4xf32>, tensor<4xi32>) -> tuple<tensor<4xf32>, tensor<4xi32>>
  %45 = "stablehlo.get_tuple_element"(%44) <{index = 0 : i32}> : (tuple<tensor<4xf32>, tensor<4xi32>>) -> tensor<4xf32>
  %46 = "stablehlo.rng"(%n, %n, %i) : (tensor<i32>, tensor<i32>, tensor<4xi32>) -> tensor<4xi32>
  %47 = "stablehlo.custom_call"(%x) <{call_target_name = "my_kernel"}> : (tensor<4xf32>) -> tensor<4xf32>
  "test.use"(%40, %41, %43, %45, %46, %47) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) -> ()

  %50 = "stablehlo.shift_left"(%t, %t) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  %52 = "stablehlo.bitcast_convert"(%t) : (tensor<4xi1>) -> tensor<4xi8>
  "test.use"(%50, %52) : (tensor<4xi1>, tensor<4xi8>) -> ()
  "func.return"(%x) : (tensor<4xf32>) -> ()
}) : () -> ()

// -----

"func.func"() <{function_type = (tensor<4xf32>, tensor<4xi64>, tensor<40000x9xi32>, tensor<30000xi32>, tensor<30000x9xi32>) -> tensor<4xf32>, sym_name = "bodies"}> ({
^bb0(%x: tensor<4xf32>, %ids: tensor<4xi64>, %table: tensor<40000x9xi32>, %rows: tensor<30000xi32>, %updates: tensor<30000x9xi32>):
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  // Bodies that are no function of scalars.
  %1 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "test.body"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %2 = "stablehlo.scatter"(%x, %ids, %x) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "test.body"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "test.body"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  %4 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "test.body"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %5 = "stablehlo.map"(%x) ({
  ^bb0(%a: tensor<f32>):
    %s = "test.body"(%a) : (tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {dimensions = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  // Too many updates to compare with each other.
  %7 = "stablehlo.scatter"(%table, %rows, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    "stablehlo.return"(%b) : (tensor<i32>) -> ()
  }) : (tensor<40000x9xi32>, tensor<30000xi32>, tensor<30000x9xi32>) -> tensor<40000x9xi32>
  // The last of the largest.
  %8 = "stablehlo.select_and_scatter"(%x, %zero, %zero) <{window_dimensions = array<i64: 4>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%s) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  "test.use"(%1, %2, %3, %4, %5, %7, %8) : (tensor<f32>, tensor<4xf32>, tensor<3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<40000x9xi32>, tensor<4xf32>) -> ()
  "func.return"(%x) : (tensor<4xf32>) -> ()
}) : () -> ()
