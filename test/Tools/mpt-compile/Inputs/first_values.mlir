// State of every kind of first value, and dropout, which draws from the seed.
func.func @loss(
    %w: tensor<4x300xf32> {mpt.name = "w", mpt.role = "parameter", mpt.init = {kind = "kaiming_uniform", fan_in = 4}},
    %b: tensor<300xf32> {mpt.name = "b", mpt.role = "parameter", mpt.init = #mpt.init<uniform {low = -0.1, high = 0.2}>},
    %g: tensor<300xf32> {mpt.name = "g", mpt.role = #mpt.role<parameter>, mpt.init = {kind = "ones"}},
    %v: tensor<300x300xf32> {mpt.name = "v", mpt.role = "parameter", mpt.init = {kind = "normal", mean = 0.0, std = 0.05}},
    %c: tensor<300xf32> {mpt.name = "c", mpt.role = "parameter", mpt.init = {kind = "constant", value = 0.1}},
    %u: tensor<300x1xf32> {mpt.name = "u", mpt.role = "parameter", mpt.init = {kind = "xavier_uniform", fan_in = 300, fan_out = 1}},
    %d: tensor<1xf32> {mpt.name = "d", mpt.role = "parameter", mpt.init = {kind = "trunc_normal", mean = 0.01, std = 0.02}},
    %seed: tensor<i64> {mpt.name = "seed", mpt.role = "rng"},
    %attempt: tensor<i64> {mpt.name = "attempt", mpt.role = "rng", mpt.init = #mpt.init<zeros>},
    %x: tensor<40x4xf32> {mpt.name = "x", mpt.role = "input"},
    %y: tensor<40x1xf32> {mpt.name = "y", mpt.role = "target"}) -> (tensor<f32> {mpt.name = "loss"}) {
  %h = mpt.linear %x, %w, %b : (tensor<40x4xf32>, tensor<4x300xf32>, tensor<300xf32>) -> tensor<40x300xf32>
  %s = mpt.mul %h, %g : (tensor<40x300xf32>, tensor<300xf32>) -> tensor<40x300xf32>
  %r = mpt.relu %s : (tensor<40x300xf32>) -> tensor<40x300xf32>
  %k, %mask = mpt.dropout %r, %seed, %attempt {rate = 0.1 : f64, stream = 1 : i64} : (tensor<40x300xf32>, tensor<i64>, tensor<i64>) -> (tensor<40x300xf32>, tensor<40x300xi1>)
  %l = mpt.linear %k, %v, %c : (tensor<40x300xf32>, tensor<300x300xf32>, tensor<300xf32>) -> tensor<40x300xf32>
  %t = mpt.relu %l : (tensor<40x300xf32>) -> tensor<40x300xf32>
  %o = mpt.linear %t, %u, %d : (tensor<40x300xf32>, tensor<300x1xf32>, tensor<1xf32>) -> tensor<40x1xf32>
  %loss = mpt.mse_loss %o, %y : (tensor<40x1xf32>, tensor<40x1xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
