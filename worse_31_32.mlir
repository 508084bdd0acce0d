func.func @f(%a: tensor<32x32xf32>, %b: tensor<32x32xf32>, %n: tensor<i32>) -> (tensor<32x32xf32>,tensor<32x32xf32>) {
%v0 = "stablehlo.dot"(%b,%a) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
%v1 = "stablehlo.multiply"(%v0,%a) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
%v2 = "stablehlo.add"(%b,%b) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
%v3 = "stablehlo.dot"(%a,%b) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
%v4 = "stablehlo.negate"(%v2) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v5 = "stablehlo.reshape"(%b) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v6 = "stablehlo.transpose"(%v2) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v7 = "stablehlo.exponential"(%v4) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v8 = "stablehlo.tanh"(%v3) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v9 = "stablehlo.transpose"(%v7) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v10 = "stablehlo.dot"(%v4,%v5) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
%v11 = "stablehlo.tanh"(%v6) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v12 = "stablehlo.transpose"(%v6) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v13 = "stablehlo.power"(%v10,%v12) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
%v14 = "stablehlo.tanh"(%v11) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v15 = "stablehlo.tanh"(%v11) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%v16 = "stablehlo.tanh"(%v13) : (tensor<32x32xf32>) -> tensor<32x32xf32>
%w16:2 = "stablehlo.while"(%v13,%v13) ({
^bb0(%p: tensor<32x32xf32>,%q: tensor<32x32xf32>):
 %t = "stablehlo.constant"() {value=dense<true>:tensor<i1>} : () -> tensor<i1>
 "stablehlo.return"(%t) : (tensor<i1>)->()
},{
^bb0(%p: tensor<32x32xf32>,%q: tensor<32x32xf32>):
 %l0 = "stablehlo.reshape"(%v15) : (tensor<32x32xf32>) -> tensor<32x32xf32>
 %l1 = "stablehlo.negate"(%v16) : (tensor<32x32xf32>) -> tensor<32x32xf32>
 %l2 = "foo.bar"(%v16) : (tensor<32x32xf32>) -> tensor<32x32xf32>
 "stablehlo.return"(%l0,%q) : (tensor<32x32xf32>,tensor<32x32xf32>)->()
}) : (tensor<32x32xf32>,tensor<32x32xf32>)->(tensor<32x32xf32>,tensor<32x32xf32>)
%v17 = "stablehlo.add"(%v15,%v14) : (tensor<32x32xf32>,tensor<32x32xf32>) -> tensor<32x32xf32>
return %w16#1,%v17 : tensor<32x32xf32>,tensor<32x32xf32> }
