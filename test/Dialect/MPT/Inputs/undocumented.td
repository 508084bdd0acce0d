// Ops that the check of the documentation must not pass.
include "mpt/Dialect/MPT/IR/MPTBase.td"

def Bare : MPT_Op<"bare">;

def Other : MPT_Op<"other"> {
  let summary = "an op whose example shows another op";
  let description = [{
    ```mlir
    %y = mpt.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}

def Missing : MPT_Op<"missing"> {
  let summary = "an op whose example does not parse";
  let description = [{
    ```mlir
    %y = mpt.missing %x : (tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
}
