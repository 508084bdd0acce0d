// RUN: mpt-opt %s --allow-unregistered-dialect --mpt-autocast="type=f16 mixed-results=false" --remarks-filter="mpt[.]autocast" --verify-diagnostics -o /dev/null

// expected-remark@+2 {{[Analysis] mpt.autocast.cast-inserted | Category:mpt.autocast | Function=f | Bytes=192, From=f32, Maker="keeps its type", Reader="'stablehlo.dot' low: on the allow list", Reason="its maker and a reader differ", To=f16, Value="argument 0"}}
// expected-remark@+1 {{[Analysis] mpt.autocast.cast-inserted | Category:mpt.autocast | Function=f | Bytes=96}}
func.func @f(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // expected-remark@+2 {{[Passed] mpt.autocast.allowed | Category:mpt.autocast | Function=f | Class="allow by table", Op=stablehlo.dot, Reason="on the allow list"}}
  // expected-remark@+1 {{[Analysis] mpt.autocast.cast-inserted | Category:mpt.autocast | Function=f | Bytes=192, From=f16, Maker="'stablehlo.dot' low: on the allow list", Reader="'stablehlo.exponential' f32: on the deny list", Reason="its maker and a reader differ", To=f32, Value="result 0 of stablehlo.dot"}}
  %a = "stablehlo.dot"(%x, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+1 {{[Missed] mpt.autocast.denied | Category:mpt.autocast | Function=f | BytesAdded=-384, CastsAdded=-2, Class="deny by table", LowOpsAdded=3, Op=stablehlo.exponential, Reason="on the deny list", Suggestion="the attribute mpt.precision = 'low' allows this op; allowing it removes 2 casts, 384 bytes, and 2 more ops run low"}}
  %e = "stablehlo.exponential"(%a) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark-re@+1 {{[Missed] mpt.autocast.blocked-by | Category:mpt.autocast | Function=f | Chain=stablehlo.exponential, Class="infer by table", Op=stablehlo.multiply, Reason="computed from a denied op", Suggestion="denied by 'stablehlo.exponential' at {{.*}}autocast-remarks.mlir:10:8; allowing it removes 2 casts, 384 bytes, and 2 more ops run low"}}
  %m = "stablehlo.multiply"(%e, %x) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+2 {{Chain="stablehlo.multiply <- stablehlo.exponential"}}
  // expected-remark@+1 {{[Analysis] mpt.autocast.cast-inserted | Category:mpt.autocast | Function=f | Bytes=192, From=f32, Maker="'stablehlo.add' f32: computed from a denied op"}}
  %s = "stablehlo.add"(%m, %m) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+2 {{mpt.autocast.allowed}}
  // expected-remark@+1 {{[Analysis] mpt.autocast.cast-inserted | Category:mpt.autocast | Function=f | Bytes=192, From=f16, Maker="'stablehlo.dot' low: on the allow list", Reader="'acme.mystery' keeps its type"}}
  %b = "stablehlo.dot"(%s, %w) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+1 {{[Missed] mpt.autocast.unlisted | Category:mpt.autocast | Function=f | Count=2, Op=acme.mystery, Reason="no rule table, list or interface knows the op", Suggestion="a row for 'acme.mystery' in a rule table (option 'rules') lets it take part"}}
  %r = "acme.mystery"(%b) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+1 {{[Analysis] mpt.autocast.kept | Category:mpt.autocast | Function=f | Class="infer by attribute"}}
  %k = "stablehlo.tanh"(%r) {mpt.precision = "f32"} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-remark@+1 {{[Analysis] mpt.autocast.not-between}}
  %n = "stablehlo.tanh"(%k) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %q = "acme.mystery"(%n) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %k, %q : tensor<8x4xf32>, tensor<8x4xf32>
}
