// RUN: mpt-opt %s -split-input-file -verify-diagnostics

func.func @count(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'mpt.scan' op attribute 'trip_count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  mpt.scan 0 {
  }
  return
}

// -----

func.func @input(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected 5 slices along dimension 0 of input 0, found 'tensor<4x2xf32>'; its size there is the trip count}}
  mpt.scan 5 over(%x : tensor<4x2xf32>) {
  ^bb0(%e: tensor<2xf32>):
    mpt.yield
  }
  return
}

// -----

func.func @scalar_input(%x: tensor<f32>) {
  // expected-error @+1 {{'mpt.scan' op expected 5 slices along dimension 0 of input 0, found 'tensor<f32>'; its size there is the trip count}}
  mpt.scan 5 over(%x : tensor<f32>) {
  ^bb0(%e: tensor<f32>):
    mpt.yield
  }
  return
}

// -----

func.func @open_input(%x: tensor<?x2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected 5 slices along dimension 0 of input 0, found 'tensor<?x2xf32>'; its size there is the trip count}}
  mpt.scan 5 over(%x : tensor<?x2xf32>) {
  ^bb0(%e: tensor<2xf32>):
    mpt.yield
  }
  return
}

// -----

func.func @arguments(%c: tensor<2xf32>, %x: tensor<4x3xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected a body with arguments of the carried types, then of one slice of each input: 'tensor<2xf32>', 'tensor<3xf32>'; found 'tensor<2xf32>', 'tensor<4x3xf32>'}}
  %a = mpt.scan 4 carry(%c : tensor<2xf32>) over(%x : tensor<4x3xf32>) {
  ^bb0(%h: tensor<2xf32>, %e: tensor<4x3xf32>):
    mpt.yield %h : tensor<2xf32>
  } : tensor<2xf32>
  return
}

// -----

func.func @too_few(%c: tensor<2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected mpt.yield of 1 carried values and one slice of each further result, 2 in all, found 1}}
  %a:2 = mpt.scan 4 carry(%c : tensor<2xf32>) {
  ^bb0(%h: tensor<2xf32>):
    mpt.yield %h : tensor<2xf32>
  } : tensor<2xf32>, tensor<4x2xf32>
  return
}

// -----

func.func @no_result(%c: tensor<2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected mpt.yield of 1 carried values and one slice of each further result, 0 in all, found 0}}
  mpt.scan 4 carry(%c : tensor<2xf32>) {
  ^bb0(%h: tensor<2xf32>):
  }
  return
}

// -----

func.func @carried_type(%c: tensor<2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected carried value 0 to keep its type 'tensor<2xf32>', found 'tensor<2xbf16>' yielded and a result of 'tensor<2xf32>'}}
  %a = mpt.scan 4 carry(%c : tensor<2xf32>) {
  ^bb0(%h: tensor<2xf32>):
    %low = mpt.cast %h : (tensor<2xf32>) -> tensor<2xbf16>
    mpt.yield %low : tensor<2xbf16>
  } : tensor<2xf32>
  return
}

// -----

func.func @stacked(%c: tensor<2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected 4 slices along dimension 0 of result 0, found 'tensor<2xf32>'; its size there is the trip count}}
  %a = mpt.scan 4 {
    mpt.yield %c : tensor<2xf32>
  } : tensor<2xf32>
  return
}

// -----

func.func @slice(%c: tensor<2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected mpt.yield of a slice of result 0, 'tensor<3xf32>', found 'tensor<2xf32>'}}
  %a = mpt.scan 4 {
    mpt.yield %c : tensor<2xf32>
  } : tensor<4x3xf32>
  return
}

// -----

func.func @checkpoint_every(%c: tensor<2xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected 'checkpoint_every' to divide the trip count 4, found 3}}
  %a = mpt.scan 4 {
    mpt.yield %c : tensor<2xf32>
  } {checkpoint_every = 3 : i64} : tensor<4x2xf32>
  return
}

// -----

func.func @condition_type(%c: tensor<i32>) {
  // expected-error @+1 {{'mpt.scan' op expected the first carried value of a conditional scan to be a tensor<i1>, found 'tensor<i32>'}}
  %a = mpt.scan conditional 4 carry(%c : tensor<i32>) {
  ^bb0(%h: tensor<i32>):
    mpt.yield %h : tensor<i32>
  } : tensor<i32>
  return
}

// -----

func.func @condition_rank(%c: tensor<2xi1>) {
  // expected-error @+1 {{'mpt.scan' op expected the first carried value of a conditional scan to be a tensor<i1>, found 'tensor<2xi1>'}}
  %a = mpt.scan conditional 4 carry(%c : tensor<2xi1>) {
  ^bb0(%h: tensor<2xi1>):
    mpt.yield %h : tensor<2xi1>
  } : tensor<2xi1>
  return
}

// -----

func.func @no_condition() {
  // expected-error @+1 {{'mpt.scan' op expected the first carried value of a conditional scan to be a tensor<i1>, found 'none'}}
  mpt.scan conditional 4 {
  }
  return
}

// -----

func.func @conditional_input(%c: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'mpt.scan' op expected a conditional scan without inputs, stacked results, 'reverse' and 'checkpoint_every'}}
  %a = mpt.scan conditional 4 carry(%c : tensor<i1>) over(%x : tensor<4xf32>) {
  ^bb0(%h: tensor<i1>, %e: tensor<f32>):
    mpt.yield %h : tensor<i1>
  } : tensor<i1>
  return
}

// -----

func.func @conditional_result(%c: tensor<i1>) {
  // expected-error @+1 {{'mpt.scan' op expected a conditional scan without inputs, stacked results, 'reverse' and 'checkpoint_every'}}
  %a:2 = mpt.scan conditional 4 carry(%c : tensor<i1>) {
  ^bb0(%h: tensor<i1>):
    mpt.yield %h, %h : tensor<i1>, tensor<i1>
  } : tensor<i1>, tensor<4xi1>
  return
}

// -----

func.func @conditional_reverse(%c: tensor<i1>) {
  // expected-error @+1 {{'mpt.scan' op expected a conditional scan without inputs, stacked results, 'reverse' and 'checkpoint_every'}}
  %a = mpt.scan conditional 4 reverse carry(%c : tensor<i1>) {
  ^bb0(%h: tensor<i1>):
    mpt.yield %h : tensor<i1>
  } : tensor<i1>
  return
}
