// Tensors of more than 2^31 elements.
func.func @step(%r: tensor<65600x1xf32> {mpt.name = "r", mpt.role = "input"}, %c: tensor<1x32800xf32> {mpt.name = "c", mpt.role = "input"},
    %w: tensor<32800x16xbf16> {mpt.name = "w", mpt.role = "input"}, %h: tensor<65600x16xbf16> {mpt.name = "h", mpt.role = "input"},
    %t: tensor<65600xi32> {mpt.name = "t", mpt.role = "target"}, %i: tensor<6xi32> {mpt.name = "i", mpt.role = "target"},
    %u: tensor<6x32800xf32> {mpt.name = "u", mpt.role = "input"}, %k: tensor<65600xi32> {mpt.name = "k", mpt.role = "target"})
    -> (tensor<65600xf32> {mpt.name = "sums"}, tensor<32800xf32> {mpt.name = "columns"}, tensor<f32> {mpt.name = "all"},
        tensor<6x32800xbf16> {mpt.name = "rows"}, tensor<65600x16xbf16> {mpt.name = "product"}, tensor<f32> {mpt.name = "loss"},
        tensor<65600xf32> {mpt.name = "lse"}, tensor<65600x16xf32> {mpt.name = "dh"}, tensor<16x32800xf32> {mpt.name = "dw"},
        tensor<65600xf32> {mpt.name = "updates"}, tensor<65600xf32> {mpt.name = "scattered"}) {
  %rb = mpt.broadcast %r : (tensor<65600x1xf32>) -> tensor<65600x32800xf32>
  %cb = mpt.broadcast %c : (tensor<1x32800xf32>) -> tensor<65600x32800xf32>
  %s = mpt.add %rb, %cb : (tensor<65600x32800xf32>, tensor<65600x32800xf32>) -> tensor<65600x32800xf32>
  %x = mpt.cast %s : (tensor<65600x32800xf32>) -> tensor<65600x32800xbf16>
  %sums = mpt.reduce %s {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<65600x32800xf32>) -> tensor<65600xf32>
  %columns = mpt.reduce %s {axes = array<i64: 0>, kind = #mpt.reduce_kind<sum>} : (tensor<65600x32800xf32>) -> tensor<32800xf32>
  %all = mpt.reduce %s {axes = array<i64: 0, 1>, kind = #mpt.reduce_kind<sum>} : (tensor<65600x32800xf32>) -> tensor<f32>
  %rows = mpt.gather %x, %i : (tensor<65600x32800xbf16>, tensor<6xi32>) -> tensor<6x32800xbf16>
  %product = mpt.matmul %x, %w : (tensor<65600x32800xbf16>, tensor<32800x16xbf16>) -> tensor<65600x16xbf16>
  %loss, %lse = mpt.cross_entropy %x, %t : (tensor<65600x32800xbf16>, tensor<65600xi32>) -> (tensor<f32>, tensor<65600xf32>)
  %one = mpt.grad_seed : () -> tensor<f32>
  %dx = mpt.cross_entropy_grad %one, %x, %t, %lse : (tensor<f32>, tensor<65600x32800xbf16>, tensor<65600xi32>, tensor<65600xf32>) -> tensor<65600x32800xbf16>
  %dh = mpt.matmul %dx, %w : (tensor<65600x32800xbf16>, tensor<32800x16xbf16>) -> tensor<65600x16xf32>
  %dw = mpt.matmul %h, %dx {transpose_lhs} : (tensor<65600x16xbf16>, tensor<65600x32800xbf16>) -> tensor<16x32800xf32>
  %table = mpt.scatter_add %i, %u : (tensor<6xi32>, tensor<6x32800xf32>) -> tensor<65600x32800xf32>
  %updates = mpt.reduce %table {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<65600x32800xf32>) -> tensor<65600xf32>
  %far = mpt.scatter_add %k, %x : (tensor<65600xi32>, tensor<65600x32800xbf16>) -> tensor<65600x32800xf32>
  %scattered = mpt.reduce %far {axes = array<i64: 1>, kind = #mpt.reduce_kind<sum>} : (tensor<65600x32800xf32>) -> tensor<65600xf32>
  return %sums, %columns, %all, %rows, %product, %loss, %lse, %dh, %dw, %updates, %scattered : tensor<65600xf32>, tensor<32800xf32>, tensor<f32>, tensor<6x32800xbf16>, tensor<65600x16xbf16>, tensor<f32>, tensor<65600xf32>, tensor<65600x16xf32>, tensor<16x32800xf32>, tensor<65600xf32>, tensor<65600xf32>
}
