// Calls and unregistered ops: MLIR finds no symbol from inside an op that has one
// region and is of a dialect that it does not know. mpt-opt inlines such calls where it can.
//
// RUN: split-file %s %t
// RUN: mpt-opt %t/inlined.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" | FileCheck %s --check-prefix=INLINED
// RUN: not mpt-opt %t/inside.mlir --allow-unregistered-dialect --mpt-autocast="type=f16" 2>&1 | FileCheck %s --check-prefix=INSIDE
// RUN: not mpt-opt %t/missing.mlir --mpt-autocast="type=f16" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: mpt-opt %t/beside.mlir --allow-unregistered-dialect --mpt-autocast="type=f16 specialize-calls" | FileCheck %s --check-prefix=BESIDE
// RUN: mpt-opt %t/two.mlir --allow-unregistered-dialect --mpt-autocast="type=f16 specialize-calls" | FileCheck %s --check-prefix=TWO

//--- inlined.mlir

// INLINED: func.func @inlined
// INLINED: "acme.region"
// INLINED-NEXT: ^bb0(%[[A:.*]]: tensor<4x4xf32>):
// INLINED-NEXT: %[[B:.*]] = "acme.op"(%[[A]])
// Must stay: this module has a function of its own.
// INLINED: call @f
// INLINED: "acme.return"(%[[B]])
func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %y = "acme.op"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}
func.func @inlined(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "acme.region"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %c = func.call @f(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    builtin.module {
      func.func private @f(%z: tensor<4x4xf32>) -> tensor<4x4xf32>
      func.func @own(%z: tensor<4x4xf32>) -> tensor<4x4xf32> {
        %y = func.call @f(%z) : (tensor<4x4xf32>) -> tensor<4x4xf32>
        return %y : tensor<4x4xf32>
      }
    }
    "acme.return"(%c) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

//--- inside.mlir

// INSIDE: inside.mlir:12:10: error: 'func.call' op 'f' does not reference a valid function
// INSIDE: note: if that function is there: MLIR does not look for it from inside an op that has one region and is of an unregistered dialect; inline such calls before, where the dialect is registered
func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  cf.br ^end(%x : tensor<4x4xf32>)
^end(%y: tensor<4x4xf32>):
  return %y : tensor<4x4xf32>
}
func.func @inside(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "acme.region"(%x) ({
  ^bb0(%a: tensor<4x4xf32>):
    %c = func.call @f(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "acme.return"(%c) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

//--- missing.mlir

// Without unregistered dialects the function is just not there.
// MISSING: error: 'func.call' op 'g' does not reference a valid function
// MISSING-NOT: note: if
func.func @missing(%x: tensor<4x4xf32>) {
  func.call @g(%x) : (tensor<4x4xf32>) -> ()
  return
}

//--- beside.mlir

// Must stay: another op than a call names the function, which MLIR's own search for
// uses does not see next to an op that it does not know.
// BESIDE: func.func private @f(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32>
// BESIDE: call @f(%{{.*}}) : (tensor<4x4xf32>) -> tensor<4x4xf32>
// BESIDE: constant @f : (tensor<4x4xf32>) -> tensor<4x4xf32>
func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.dot"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
func.func @beside(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, (tensor<4x4xf32>) -> tensor<4x4xf32>) {
  %d = "stablehlo.dot"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = func.call @f(%d) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  "acme.region"() ({
    "acme.return"() : () -> ()
  }) : () -> ()
  %e = "stablehlo.dot"(%r, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %g = func.constant @f : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %e, %g : tensor<4x4xf32>, (tensor<4x4xf32>) -> tensor<4x4xf32>
}

//--- two.mlir

// An op with two regions cannot be a symbol table: calls inside it work, and their
// functions are specialised; but not one that an unknown op inside one region names.
// TWO: func.func private @f(%arg0: tensor<4x4xf16>) -> tensor<4x4xf16>
// TWO: func.func private @g(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32>
// TWO: func.call @f(%{{.*}}) : (tensor<4x4xf16>) -> tensor<4x4xf16>
func.func private @f(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.dot"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.dot"(%r, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
func.func private @g(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = "stablehlo.dot"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.dot"(%r, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}
func.func @two(%x: tensor<4x4xf32>, %n: tensor<i1>) -> tensor<4x4xf32> {
  %d = "stablehlo.dot"(%x, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.while"(%d) ({
  ^bb0(%a: tensor<4x4xf32>):
    "stablehlo.return"(%n) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<4x4xf32>):
    %c = func.call @f(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "stablehlo.return"(%c) : (tensor<4x4xf32>) -> ()
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %e = func.call @g(%r) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  "acme.region"() ({
    "acme.call"() {callee = @g} : () -> ()
  }) : () -> ()
  %h = "stablehlo.dot"(%e, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %h : tensor<4x4xf32>
}
