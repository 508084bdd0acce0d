func.func @f(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>, %n: tensor<i32>) -> (tensor<512x512xf32>,tensor<512x512xf32>) {
%v0 = "stablehlo.multiply"(%a,%a) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v1 = "stablehlo.negate"(%a) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v2 = "foo.bar"(%v0) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v3 = "stablehlo.add"(%b,%v0) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v4 = "stablehlo.exponential"(%v2) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v5 = "stablehlo.power"(%v4,%v4) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v6 = "stablehlo.dot"(%v4,%v0) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v7 = "stablehlo.maximum"(%v4,%v2) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v8 = "stablehlo.add"(%v6,%v6) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v9 = "stablehlo.reshape"(%v3) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v10 = "stablehlo.reshape"(%v6) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v11 = "stablehlo.transpose"(%v7) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v12 = "foo.bar"(%v10) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v13 = "stablehlo.maximum"(%v12,%v12) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v14 = "stablehlo.dot"(%v10,%v12) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v15 = "stablehlo.transpose"(%v11) : (tensor<512x512xf32>) -> tensor<512x512xf32>
%v16 = "stablehlo.power"(%v13,%v13) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
%v17 = "stablehlo.multiply"(%v13,%v15) : (tensor<512x512xf32>,tensor<512x512xf32>) -> tensor<512x512xf32>
return %v16,%v17 : tensor<512x512xf32>,tensor<512x512xf32> }
