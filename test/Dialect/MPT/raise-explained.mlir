// Formulas that stay as they are have a remark; what only looks like them has none.
//
// RUN: mpt-opt %s --mpt-raise-ops --remarks-filter="mpt\.raise" -o %t 2>&1 | FileCheck %s --implicit-check-not=remark:
// RUN: mpt-opt %s | diff - %t

// CHECK: remark: [Missed] mpt.raise.not-raised | Category:mpt.raise | Function=dropout | Reason="mpt.dropout: the mask is made of the program's own random bits, which are kept as they are"
func.func @dropout(%x: tensor<4xf32>, %bits: tensor<4xi32>) -> tensor<4xf32> {
  %keep = mpt.constant dense<0.75> : tensor<f32>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %0 = mpt.bitcast %bits : (tensor<4xi32>) -> tensor<4xf32>
  %1 = mpt.compare %0, %keep {predicate = #mpt.predicate<lt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %2 = mpt.div %x, %keep : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = mpt.where %1, %2, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// The mask is an argument, or of numbers that are not random; others than 0 are put in; all
// is kept.
func.func @no_dropout(%x: tensor<4xf32>, %mask: tensor<4xi1>, %bits: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %keep = mpt.constant dense<0.75> : tensor<f32>
  %zero = mpt.constant dense<0.0> : tensor<f32>
  %one = mpt.constant dense<1.0> : tensor<f32>
  %0 = mpt.div %x, %keep : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = mpt.where %mask, %0, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = mpt.compare %x, %keep {predicate = #mpt.predicate<lt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %3 = mpt.where %2, %0, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = mpt.bitcast %bits : (tensor<4xi32>) -> tensor<4xf32>
  %5 = mpt.compare %4, %keep {predicate = #mpt.predicate<lt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %6 = mpt.where %5, %0, %one : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %7 = mpt.compare %4, %one {predicate = #mpt.predicate<lt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi1>
  %8 = mpt.where %7, %0, %zero : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1, %3, %6, %8 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK: remark: [Missed] mpt.raise.not-raised | Category:mpt.raise | Function=columns | Reason="mpt.gather: places are chosen along dimension 1 of the table, expected rows: the table is transposed first"
func.func @columns(%table: tensor<3x5xf32>, %ids: tensor<2xi32>) -> tensor<2x3xf32> {
  %0 = mpt.transpose %table {permutation = array<i64: 1, 0>} : (tensor<3x5xf32>) -> tensor<5x3xf32>
  %1 = mpt.gather %0, %ids : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// CHECK: remark: [Missed] mpt.raise.not-raised | Category:mpt.raise | Function=one_hot | Reason="mpt.gather: the table is multiplied by one-hot rows, expected a choice of rows"
func.func @one_hot(%table: tensor<5x3xf32>, %ids: tensor<2x1xi32>) -> tensor<2x3xf32> {
  %0 = mpt.iota {axis = 1 : i64} : () -> tensor<1x5xi32>
  %1 = mpt.compare %ids, %0 {predicate = #mpt.predicate<eq>} : (tensor<2x1xi32>, tensor<1x5xi32>) -> tensor<2x5xi1>
  %2 = mpt.cast %1 : (tensor<2x5xi1>) -> tensor<2x5xf32>
  %3 = mpt.matmul %2, %table : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// Rows of a table whose others are transposed; counters along rows are no one-hot rows.
func.func @no_lookup(%tables: tensor<5x3x2xf32>, %table: tensor<5x3xf32>, %ids: tensor<2xi32>) -> (tensor<2x2x3xf32>, tensor<2x3xf32>) {
  %0 = mpt.transpose %tables {permutation = array<i64: 0, 2, 1>} : (tensor<5x3x2xf32>) -> tensor<5x2x3xf32>
  %1 = mpt.gather %0, %ids : (tensor<5x2x3xf32>, tensor<2xi32>) -> tensor<2x2x3xf32>
  %2 = mpt.iota {axis = 0 : i64} : () -> tensor<2x1xi32>
  %3 = mpt.constant dense<[[0, 1, 0, 1, 0]]> : tensor<1x5xi32>
  %4 = mpt.compare %2, %3 {predicate = #mpt.predicate<eq>} : (tensor<2x1xi32>, tensor<1x5xi32>) -> tensor<2x5xi1>
  %5 = mpt.cast %4 : (tensor<2x5xi1>) -> tensor<2x5xf32>
  %6 = mpt.matmul %5, %table : (tensor<2x5xf32>, tensor<5x3xf32>) -> tensor<2x3xf32>
  return %1, %6 : tensor<2x2x3xf32>, tensor<2x3xf32>
}
