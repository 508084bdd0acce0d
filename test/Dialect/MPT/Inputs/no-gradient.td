// A differentiable op whose record has no gradient.
include "mpt/Dialect/MPT/IR/MPTOpsPointwise.td"

def NoGradient : MPT_UnaryOp<"no_gradient", "Clear", "Clear"> {
  let scalar = [{ return x; }];
}
