// RUN: mpt-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{expected 'mpt.role' to be one of parameter, optimizer_state, running_stat, loss_scale, rng, schedule, input, target; found "weight"}}
func.func @role(%x: tensor<4xf32> {mpt.role = "weight"}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.role' to be one of parameter, optimizer_state, running_stat, loss_scale, rng, schedule, input, target; found 3 : i64}}
func.func @role_type(%x: tensor<4xf32> {mpt.role = 3}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.role' on an argument, found it on result 0}}
func.func private @role_result() -> (tensor<4xf32> {mpt.role = "parameter"})

// -----

// expected-error @+1 {{expected 'mpt.init' on an argument, found it on result 0}}
func.func private @init_result() -> (tensor<4xf32> {mpt.init = {kind = "zeros"}})

// -----

// expected-error @+1 {{expected 'mpt.name' to be a string that is not empty, found ""}}
func.func @name_empty(%x: tensor<4xf32> {mpt.name = ""}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.name' to be a string that is not empty, found unit}}
func.func @name_type(%x: tensor<4xf32> {mpt.name}) {
  return
}

// -----

// expected-error @+1 {{expected a 'mpt.name' of its own for every argument, found "w" on arguments 0 and 2}}
func.func @name_twice(%x: tensor<4xf32> {mpt.name = "w"}, %y: tensor<4xf32>, %z: tensor<4xf32> {mpt.name = "w"}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.updates' on a result, found it on argument 1}}
func.func @updates_argument(%x: tensor<4xf32>, %y: tensor<4xf32> {mpt.updates = "w"}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.decay' to be true or false, found "no"}}
func.func @decay(%x: tensor<4xf32> {mpt.decay = "no"}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.init' to be #mpt.init or a dictionary with 'kind' one of zeros, ones, constant, uniform, normal, trunc_normal, kaiming_uniform, xavier_uniform; found "zeros"}}
func.func @init_type(%x: tensor<4xf32> {mpt.init = "zeros"}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.init' to be #mpt.init or a dictionary with 'kind' one of zeros, ones, constant, uniform, normal, trunc_normal, kaiming_uniform, xavier_uniform; found {kind = "he"}}}
func.func @init_kind(%x: tensor<4xf32> {mpt.init = {kind = "he"}}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.init' to be #mpt.init or a dictionary with 'kind' one of zeros, ones, constant, uniform, normal, trunc_normal, kaiming_uniform, xavier_uniform; found {}}}
func.func @init_empty(%x: tensor<4xf32> {mpt.init = {}}) {
  return
}

// -----

// expected-error @+1 {{expected the number 'high' in 'mpt.init' of kind 'uniform', found none}}
func.func @init_missing(%x: tensor<4xf32> {mpt.init = {kind = "uniform", low = 0.0}}) {
  return
}

// -----

// expected-error @+1 {{expected the number 'value' in 'mpt.init' of kind 'constant', found "1"}}
func.func @init_number(%x: tensor<4xf32> {mpt.init = {kind = "constant", value = "1"}}) {
  return
}

// -----

// expected-error @+1 {{expected only mean, std in 'mpt.init' of kind 'normal', found "seed"}}
func.func @init_extra(%x: tensor<4xf32> {mpt.init = {kind = "normal", mean = 0.0, std = 1.0, seed = 3}}) {
  return
}

// -----

// expected-error @+1 {{expected fan_in > 0 in 'mpt.init' of kind 'kaiming_uniform', found {fan_in = -3 : i64}}
func.func private @init_count(tensor<4xf32> {mpt.init = {kind = "kaiming_uniform", fan_in = -3}})

// -----

// expected-error @+1 {{expected the integer 'fan_out' in 'mpt.init' of kind 'xavier_uniform', found 2.5}}
func.func private @init_fraction(tensor<4xf32> {mpt.init = {kind = "xavier_uniform", fan_in = 3, fan_out = 2.5}})

// -----

// expected-error @+1 {{expected a finite mean and std >= 0 in 'mpt.init' of kind 'normal', found}}
func.func private @init_deviation(tensor<4xf32> {mpt.init = {kind = "normal", mean = 0.0, std = -1.0}})

// -----

// expected-error @+1 {{expected a finite value in 'mpt.init' of kind 'constant', found}}
func.func private @init_nan(tensor<4xf32> {mpt.init = {kind = "constant", value = 0x7FC00000 : f32}})

// -----

// expected-error @+1 {{expected a finite mean and std >= 0 in 'mpt.init' of kind 'trunc_normal', found}}
func.func private @init_infinite(tensor<4xf32> {mpt.init = {kind = "trunc_normal", mean = 0x7F800000 : f32, std = 1.0}})

// -----

// expected-error @+1 {{expected finite low <= high in 'mpt.init' of kind 'uniform', found}}
func.func private @init_bounds(tensor<4xf32> {mpt.init = {kind = "uniform", low = 1.0, high = 0.0}})

// -----

// expected-error @+1 {{expected the number 'value' in 'mpt.init' of kind 'constant', found true}}
func.func private @init_width(tensor<4xf32> {mpt.init = {kind = "constant", value = true}})

// -----

// expected-error @+1 {{expected an argument with the 'mpt.name' "v", which 'mpt.low_of' names, found none}}
func.func private @low_of(tensor<4xi16> {mpt.name = "w.low", mpt.low_of = "v"}, tensor<4xbf16> {mpt.name = "w"})

// -----

// expected-error @+1 {{expected result 0 to update state, found 'mpt.updates' = "x", an argument with 'mpt.role' = "input", which the host gives anew in each step}}
func.func private @updates_of_input(tensor<4xf32> {mpt.name = "x", mpt.role = "input"}) -> (tensor<4xf32> {mpt.name = "y", mpt.updates = "x"})

// -----

// expected-error @+1 {{expected no number in 'mpt.init' of kind 'zeros', found "value"}}
func.func @init_none(%x: tensor<4xf32> {mpt.init = {kind = "zeros", value = 0.0}}) {
  return
}

// -----

// expected-error @+1 {{expected 'mpt.name' to be a string that is not empty, found 1 : i64}}
func.func private @result_name() -> (tensor<4xf32> {mpt.name = 1})

// -----

// expected-error @+1 {{expected 'mpt.updates' to be a string that is not empty, found ""}}
func.func private @result_updates() -> (tensor<4xf32> {mpt.updates = ""})

// -----

// expected-error @+1 {{expected a 'mpt.name' of its own for every result, found "loss" on results 0 and 1; rename one of them (passes that make a step add results with names of their own)}}
func.func private @result_names() -> (tensor<f32> {mpt.name = "loss"}, tensor<f32> {mpt.name = "loss"})

// -----

// expected-error @+1 {{expected a 'mpt.updates' of its own for every result, found "w" on results 0 and 1}}
func.func private @result_updates_twice(tensor<4xf32> {mpt.name = "w"}) -> (tensor<4xf32> {mpt.updates = "w"}, tensor<4xf32> {mpt.updates = "w"})

// -----

// expected-error @+1 {{expected result 0, which updates "w", to be of its type 'tensor<4xf32>', found 'tensor<4xf16>'}}
func.func private @updates_type(tensor<4xf32> {mpt.name = "w"}) -> (tensor<4xf16> {mpt.updates = "w"})

// -----

// expected-error @+1 {{expected an argument with the 'mpt.name' "v", which result 0 updates, found none}}
func.func private @updates_nothing(tensor<4xf32> {mpt.name = "w"}) -> (tensor<4xf32> {mpt.updates = "v"})

// -----

// What is right.
func.func private @good(tensor<4xf32> {mpt.name = "w", mpt.role = "parameter", mpt.decay = false, mpt.init = {kind = "kaiming_uniform", fan_in = 4}}, tensor<f32> {mpt.role = "input"})
    -> (tensor<f32> {mpt.name = "loss"}, tensor<4xf32> {mpt.name = "w", mpt.updates = "w"})
