// An elementwise op whose record does not say what it computes.
include "mpt/Dialect/MPT/IR/MPTOpsPointwise.td"

def NoScalar : MPT_UnaryOp<"no_scalar", "Clear", "Clear"> {
  let gradients = [""];
}
