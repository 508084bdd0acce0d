"builtin.module"() <{sym_name = "jit_loss"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<4x4xf32>, tensor<16x4x4xf32>, tensor<16xf32>, tensor<4x4x16xf32>, tensor<4x4xf32>, tensor<16x4x4xf32>, tensor<4x4xf32>, tensor<16x4x4xf32>, tensor<2x6x16xf32>) -> tensor<f32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<4x4xf32>, %arg4: tensor<16x4x4xf32>, %arg5: tensor<16xf32>, %arg6: tensor<4x4x16xf32>, %arg7: tensor<4x4xf32>, %arg8: tensor<16x4x4xf32>, %arg9: tensor<4x4xf32>, %arg10: tensor<16x4x4xf32>, %arg11: tensor<2x6x16xf32>):
    %6 = "stablehlo.slice"(%arg11) <{limit_indices = array<i64: 2, 6, 1>, start_indices = array<i64: 0, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<2x6x16xf32>) -> tensor<2x6x1xf32>
    %7 = "stablehlo.reshape"(%6) : (tensor<2x6x1xf32>) -> tensor<2x6xf32>
    %8 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
    %9 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 1>}> : (tensor<6xi32>) -> tensor<2x6xi32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x6xi32>) -> tensor<2x6x1xi32>
    %11 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<2x6xi32>) -> tensor<2x1x6xi32>
    %12 = "stablehlo.broadcast_in_dim"(%10) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x6x1xi32>) -> tensor<2x6x6xi32>
    %13 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x1x6xi32>) -> tensor<2x6x6xi32>
    %14 = "stablehlo.compare"(%12, %13) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<2x6x6xi32>, tensor<2x6x6xi32>) -> tensor<2x6x6xi1>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64: 0, 2, 3>}> : (tensor<2x6x6xi1>) -> tensor<2x1x6x6xi1>
    %16 = "stablehlo.convert"(%15) : (tensor<2x1x6x6xi1>) -> tensor<2x1x6x6xf32>
    %17 = "stablehlo.dot_general"(%arg11, %arg8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x16xf32>, tensor<16x4x4xf32>) -> tensor<2x6x4x4xf32>
    %18 = "stablehlo.reshape"(%arg7) : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %19 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<2x6x4x4xf32>
    %20 = "stablehlo.add"(%17, %19) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %21 = "stablehlo.dot_general"(%arg11, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x16xf32>, tensor<16x4x4xf32>) -> tensor<2x6x4x4xf32>
    %22 = "stablehlo.reshape"(%arg3) : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<2x6x4x4xf32>
    %24 = "stablehlo.add"(%21, %23) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %25 = "stablehlo.dot_general"(%arg11, %arg10) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x16xf32>, tensor<16x4x4xf32>) -> tensor<2x6x4x4xf32>
    %26 = "stablehlo.reshape"(%arg9) : (tensor<4x4xf32>) -> tensor<1x1x4x4xf32>
    %27 = "stablehlo.broadcast_in_dim"(%26) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x4x4xf32>) -> tensor<2x6x4x4xf32>
    %28 = "stablehlo.add"(%25, %27) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %29 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %30 = "stablehlo.sqrt"(%29) : (tensor<f32>) -> tensor<f32>
    %31 = "stablehlo.convert"(%30) : (tensor<f32>) -> tensor<f32>
    %32 = "stablehlo.broadcast_in_dim"(%31) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x6x4x4xf32>
    %33 = "stablehlo.divide"(%20, %32) : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x6x4x4xf32>
    %34 = "stablehlo.dot_general"(%33, %24) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x4x4xf32>, tensor<2x6x4x4xf32>) -> tensor<2x4x6x6xf32>
    %35 = "stablehlo.constant"() <{value = dense<-3.40282347E+38> : tensor<f32>}> : () -> tensor<f32>
    %36 = "func.call"(%16, %34, %35) <{callee = @_where}> : (tensor<2x1x6x6xf32>, tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>
    %37 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %38 = "stablehlo.reduce"(%36, %37) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg16: tensor<f32>, %arg17: tensor<f32>):
      %65 = "stablehlo.maximum"(%arg16, %arg17) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%65) : (tensor<f32>) -> ()
    }) : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
    %39 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %40 = "stablehlo.broadcast_in_dim"(%39) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x6xf32>
    %41 = "stablehlo.maximum"(%40, %38) : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
    %42 = "stablehlo.broadcast_in_dim"(%41) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x6xf32>) -> tensor<2x4x6x1xf32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x6x1xf32>) -> tensor<2x4x6x6xf32>
    %44 = "stablehlo.subtract"(%36, %43) : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
    %45 = "stablehlo.exponential"(%44) : (tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
    %46 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %47 = "stablehlo.reduce"(%45, %46) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %64 = "stablehlo.add"(%arg14, %arg15) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%64) : (tensor<f32>) -> ()
    }) : (tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6xf32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x4x6xf32>) -> tensor<2x4x6x1xf32>
    %49 = "stablehlo.broadcast_in_dim"(%48) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x4x6x1xf32>) -> tensor<2x4x6x6xf32>
    %50 = "stablehlo.divide"(%45, %49) : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
    %51 = "stablehlo.dot_general"(%28, %50) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x4x4xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x4x6xf32>
    %52 = "stablehlo.transpose"(%51) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x4x4x6xf32>) -> tensor<2x6x4x4xf32>
    %53 = "stablehlo.dot_general"(%52, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [0, 1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x6x4x4xf32>, tensor<4x4x16xf32>) -> tensor<2x6x16xf32>
    %54 = "stablehlo.reshape"(%arg5) : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %55 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x16xf32>) -> tensor<2x6x16xf32>
    %56 = "stablehlo.add"(%53, %55) : (tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
    %57 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<192xf32>
    %58 = "stablehlo.sine"(%57) : (tensor<192xf32>) -> tensor<192xf32>
    %59 = "stablehlo.reshape"(%58) : (tensor<192xf32>) -> tensor<2x6x16xf32>
    %60 = "stablehlo.multiply"(%56, %59) : (tensor<2x6x16xf32>, tensor<2x6x16xf32>) -> tensor<2x6x16xf32>
    %61 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %62 = "stablehlo.reduce"(%60, %61) <{dimensions = array<i64: 0, 1, 2>}> ({
    ^bb0(%arg12: tensor<f32>, %arg13: tensor<f32>):
      %63 = "stablehlo.add"(%arg12, %arg13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%63) : (tensor<f32>) -> ()
    }) : (tensor<2x6x16xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%62) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x1x6x6xf32>, tensor<2x4x6x6xf32>, tensor<f32>) -> tensor<2x4x6x6xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x1x6x6xf32>, %arg1: tensor<2x4x6x6xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x1x6x6xf32>
    %2 = "stablehlo.compare"(%arg0, %1) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<2x1x6x6xf32>, tensor<2x1x6x6xf32>) -> tensor<2x1x6x6xi1>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x1x6x6xi1>) -> tensor<2x4x6x6xi1>
    %4 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x4x6x6xf32>
    %5 = "stablehlo.select"(%3, %arg1, %4) : (tensor<2x4x6x6xi1>, tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
    "func.return"(%5) : (tensor<2x4x6x6xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()

