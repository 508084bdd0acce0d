//===- MPTBase.td - The mpt dialect: types and op classes -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MPT_DIALECT_MPT_IR_MPTBASE_TD
#define MPT_DIALECT_MPT_IR_MPTBASE_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mpt/Dialect/MPT/IR/ElementwiseOpInterface.td"
include "mpt/Dialect/MPT/Interfaces/PrecisionOpInterface.td"
include "mpt/Dialect/MPT/Interfaces/DifferentiableOpInterface.td"

def MPT_Dialect : Dialect {
  let name = "mpt";
  let cppNamespace = "::mpt";
  let summary = "Training graphs: forward, backward, optimizer and loss scale";
  let description = [{
    Ops over ranked tensors with value semantics, rich enough to hold a whole
    training step in one function.

    **Storage and arithmetic.** An operand's or result's element type says how
    it is stored. Pointwise ops compute in f32 (f64 if an operand is f64) and
    round once, to the result's type. Ops that accumulate do so in `acc_type`
    (default: f32 for narrower storage, else the storage type) and round once.
    Operands and results of one op may therefore differ in float type; a
    `mpt.matmul` of bf16 operands may return f32.

    **Step functions.** A training step is one function. Its arguments carry
    `mpt.name` (unique), `mpt.role` and, for state that has a first value,
    `mpt.init`. Results carry `mpt.name`; a result with
    `mpt.updates = "<argument name>"` is the next value of that argument.
    `StepView` reads them. Roles and first values are `#mpt.role` and `#mpt.init`
    attributes, or a string and a dictionary, which passes keep and write.
    docs/Ops.md lists the roles (`MPT_StepRole`) and the kinds of init
    (`MPT_InitKind`).

    `mpt.decay = false` on a parameter exempts it from weight decay.
    `mpt.master` on a parameter asks `--mpt-master-weights` for one of `f32`,
    `bf16-stochastic-rounding`, `bf16-kahan`, `split16` and `none`, and says
    afterwards which it has. State with `mpt.low_of = "<parameter>"` holds the
    lower 16 bits of a `split16` parameter.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    /// Adds what writes and checks the version in bytecode.
    void addBytecodeInterface();

    /// Refuses an op that the dialect does not have, and says what to write in its
    /// place (suggestOp in OpReference.h).
    std::optional<ParseOpHook>
    getParseOperationHook(::llvm::StringRef opName) const override;
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def MPT_Float : AnyTypeOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2]>;
def MPT_Int : AnyTypeOf<[I1, I8, I16, I32, I64]>;
def MPT_FloatTensor : RankedTensorOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2]>;
def MPT_IntTensor : RankedTensorOf<[I1, I8, I16, I32, I64]>;
def MPT_WideIntTensor : RankedTensorOf<[I8, I16, I32, I64]>;
def MPT_BitsTensor : RankedTensorOf<[F64, F32, F16, BF16, I8, I16, I32, I64]>;
def MPT_IndexTensor : RankedTensorOf<[I32, I64]>;
def MPT_BoolTensor : RankedTensorOf<[I1]>;
def MPT_Tensor
    : RankedTensorOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2,
                      I1, I8, I16, I32, I64]>;
/// Scales of blocks. f8E8M0FNU holds powers of two and NaN, and neither sign nor zero,
/// so no op but these computes in it.
def MPT_ScaleTensor : RankedTensorOf<[F32, F8E4M3FN, F8E8M0FNU]>;
/// What may be converted to.
def MPT_CastTensor
    : RankedTensorOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2, F4E2M1FN,
                      I1, I8, I16, I32, I64]>;
/// What may be converted or held back: everything that is stored. f4E2M1FN takes a byte.
def MPT_StoredTensor
    : RankedTensorOf<[F64, F32, F16, BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F4E2M1FN,
                      I1, I8, I16, I32, I64]>;

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

class MPT_Enum<string name, string description, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, description, cases> {
  let cppNamespace = "::mpt";
  let genSpecializedAttr = 0;
}
class MPT_EnumAttr<EnumInfo info, string mnemonic>
    : EnumAttr<MPT_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def MPT_ReduceKindEnum : MPT_Enum<"ReduceKind", "what a reduction computes", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"Prod", 4, "prod">]>;
def MPT_ReduceKind : MPT_EnumAttr<MPT_ReduceKindEnum, "reduce_kind">;

def MPT_PredicateEnum : MPT_Enum<"ComparePredicate", "an ordered comparison "
    "(false with NaN, but `ne`, which is true)", [
  I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
  I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
  I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]>;
def MPT_Predicate : MPT_EnumAttr<MPT_PredicateEnum, "predicate">;

def MPT_EpilogueEnum : MPT_Enum<"Epilogue", "the epilogue of a matmul "
    "or convolution", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Relu", 1, "relu">,
  I32EnumAttrCase<"Gelu", 2, "gelu_tanh">]>;
def MPT_Epilogue : MPT_EnumAttr<MPT_EpilogueEnum, "epilogue">;

def MPT_LossReductionEnum : MPT_Enum<"LossReduction", "how rows of a loss "
    "become one number", [
  I32EnumAttrCase<"Mean", 0, "mean">, I32EnumAttrCase<"Sum", 1, "sum">]>;
def MPT_LossReduction : MPT_EnumAttr<MPT_LossReductionEnum, "loss_reduction">;

def MPT_CollectiveKindEnum : MPT_Enum<"CollectiveKind", "what ranks compute of their "
    "values", [
  I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"Any", 4, "any">]>;
def MPT_CollectiveKind : MPT_EnumAttr<MPT_CollectiveKindEnum, "collective_kind">;

def MPT_CollectiveOrderEnum : MPT_Enum<"CollectiveOrder", "the order in which values of "
    "ranks are added", [
  I32EnumAttrCase<"Rank", 0, "rank">, I32EnumAttrCase<"Library", 1, "library">]>;
def MPT_CollectiveOrder : MPT_EnumAttr<MPT_CollectiveOrderEnum, "collective_order">;

def MPT_GeluKindEnum : MPT_Enum<"GeluApproximation", "GELU's formula", [
  I32EnumAttrCase<"Erf", 0, "none">, I32EnumAttrCase<"Tanh", 1, "tanh">]>;
def MPT_GeluKind : MPT_EnumAttr<MPT_GeluKindEnum, "gelu">;

def MPT_ScaleRuleEnum : MPT_Enum<"ScaleRule", "how the scale of a block follows from "
    "its largest magnitude", [
  I32EnumAttrCase<"Largest", 0, "largest">,
  I32EnumAttrCase<"PowerOfTwo", 1, "power_of_two">,
  I32EnumAttrCase<"OcpMX", 2, "ocp_mx">]>;
def MPT_ScaleRule : MPT_EnumAttr<MPT_ScaleRuleEnum, "scale_rule">;

// The numbers are those of cublasLtMatmulMatrixScale_t.
def MPT_GemmScalingEnum : MPT_Enum<"GemmScaling", "how cuBLASLt scales an 8-bit operand, "
    "and how the scales lie in memory", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Vec16UE4M3", 1, "vec16_ue4m3">,
  I32EnumAttrCase<"Vec32UE8M0", 2, "vec32_ue8m0">,
  I32EnumAttrCase<"Vec128F32", 4, "vec128_32f">,
  I32EnumAttrCase<"Block128F32", 5, "blk128x128_32f">]>;
def MPT_GemmScaling : MPT_EnumAttr<MPT_GemmScalingEnum, "gemm_scaling">;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

def MPT_Target : AttrDef<MPT_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the machine that a step is planned for";
  let description = [{
    `machine` is `cpu` (any), `x86_64` or `cuda`. `chips` are the processors that code is
    made for: for `x86_64` one, as in clang's `-mcpu`; for `cuda` any number of
    architectures, as ptxas names them. Planning sizes workspaces by it, and chooses what
    GPU libraries do.

    Example: `#mpt.target<cpu>`, `#mpt.target<cuda, [sm_80, sm_90]>`.
  }];
  let parameters = (ins StringRefParameter<"cpu, x86_64 or cuda">:$machine,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$chips);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The target that an option or a program's table spells in words: "cuda sm_80
    /// sm_90", "x86_64 znver4", "cpu"; "" is "cpu". Null, after an error, for others.
    static TargetAttr fromText(::llvm::StringRef text,
        ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
        ::mlir::MLIRContext *context);
    /// The words of fromText.
    std::string getText() const;
    bool isCuda() const { return getMachine() == "cuda"; }
  }];
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

def MPT_Mesh : AttrDef<MPT_Dialect, "Mesh"> {
  let mnemonic = "mesh";
  let summary = "the ranks that run a module, as a grid with named axes";
  let description = [{
    The attribute `mpt.mesh` of a module. Each rank runs the module's functions on data of
    its own; collectives name the axis along which ranks exchange values. Ranks are
    numbered in row-major order of the axes: the last axis changes fastest. A name is that
    of an identifier, a size is at least 1, and there are at most 2^20 ranks.

    Example: `#mpt.mesh<data = 4>`.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The number of ranks along `axis`; nullopt if the mesh has no such axis.
    std::optional<int64_t> getSize(::llvm::StringRef axis) const;
    /// The number of all ranks.
    int64_t getNumRanks() const;
  }];
}

//===----------------------------------------------------------------------===//
// Roles and first values
//===----------------------------------------------------------------------===//

def MPT_Role : AttrDef<MPT_Dialect, "Role"> {
  let mnemonic = "role";
  let summary = "what an argument of a step is for";
  let description = [{
    `#mpt.role<parameter>`; docs/Ops.md lists the roles. On an argument
    `mpt.role = "parameter"` is the same.
  }];
  let parameters = (ins "::mpt::Role":$value);
  let assemblyFormat = "`<` $value `>`";
}

def MPT_Init : AttrDef<MPT_Dialect, "Init"> {
  let mnemonic = "init";
  let summary = "how the first value of a tensor is made";
  let description = [{
    A kind and its numbers: `#mpt.init<zeros>`,
    `#mpt.init<normal {mean = 0.0 : f64, std = 0.02 : f64}>`; docs/Ops.md lists the
    kinds. Fans are integers. On an argument
    `mpt.init = {kind = "normal", mean = 0.0, std = 0.02}` is the same.
  }];
  let parameters = (ins "::mpt::InitKind":$kind,
                        OptionalParameter<"::mlir::DictionaryAttr">:$numbers);
  let assemblyFormat = "`<` $kind `` custom<InitNumbers>($numbers) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The kind and its numbers as the host and the runtime take them.
    ::mpt::InitSpec getSpec() const;
  }];
}

//===----------------------------------------------------------------------===//
// Traits
//===----------------------------------------------------------------------===//

/// A result may take the memory of an operand that dies (`mpt::InPlaceTrait`).
def MPT_InPlace : NativeOpTrait<"InPlaceTrait"> {
  let cppNamespace = "::mpt";
}
/// The op can be part of a kernel. Its record has a `scalar` body.
def MPT_Fusible : DeclareOpInterfaceMethods<ElementwiseOpInterface>;
/// The usual elementwise op: both.
def MPT_Elementwise : TraitList<[MPT_Fusible, MPT_InPlace]>;
/// The op has a gradient: `gradients` or `gradient` in its record, or, for a few long
/// ones, `buildGradients` in Gradients.cpp.
def MPT_Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

//===----------------------------------------------------------------------===//
// Op classes
//===----------------------------------------------------------------------===//

/// What other libraries call an op, or what an op is used for there. A name of
/// PyTorch's has its module: `torch.`, `Tensor.`, `F.` (torch.nn.functional), `nn.`
/// (torch.nn), `optim.` (torch.optim) or `amp.` (torch.amp). Others are bare words.
/// `how` goes on after the op's name: in which layout, with which attributes. Read by
/// tools/utils/op-docs.py, which makes docs/Ops.md, docs/FromPyTorch.md and what
/// errors suggest for unknown ops.
class OtherName<string name_, string how_ = ""> {
  string name = name_;
  string how = how_;
}

/// The groups of docs/Ops.md, in its order.
class MPT_DocGroup<int order_, string summary_, string description_> : OpDocGroup {
  int order = order_;
  let summary = summary_;
  let description = description_;
}
def MPT_LinalgDocs : MPT_DocGroup<0, "Matmul, convolution, attention, LSTM",
  "Autocast runs these in low precision (class `allow`).">;
def MPT_NNDocs : MPT_DocGroup<1, "Reductions, normalization, pooling, losses",
  "Whatever types they read and write, they compute in f32 (f64 for f64) and round "
  "once.">;
def MPT_ElementwiseDocs : MPT_DocGroup<2, "Elementwise ops, random masks, dropout", "">;
def MPT_ShapeDocs : MPT_DocGroup<3, "Constants, types, shapes and indices", "">;
def MPT_StructureDocs : MPT_DocGroup<4, "What the backward pass may do",
  "These do not change what a forward function computes.">;
def MPT_LoopDocs : MPT_DocGroup<5, "Loops", "Autocast plans what is in a body as it plans "
  "any other op.">;
def MPT_GradientDocs : MPT_DocGroup<6, "Gradients of ops",
  "`--mpt-autodiff` makes them.">;
def MPT_StepDocs : MPT_DocGroup<7, "The training step",
  "The passes that make a step and its loss scale write these; a step that is "
  "written by hand may have them, too.">;
def MPT_CollectiveDocs : MPT_DocGroup<8, "Many ranks",
  "Every rank runs the same step on data of its own, and these ops exchange values between "
  "them. The attribute `mpt.mesh` of the module, such as `#mpt.mesh<data = 4>`, says how "
  "many ranks there are. Sums are f32 in mixed precision, too. No pass repeats or removes "
  "an exchange, and all ranks run one program, so they meet in one order.">;
def MPT_ProgramDocs : MPT_DocGroup<9, "Matmuls of GPU libraries",
  "Planning for a GPU makes these.">;
def MPT_BlockScaleDocs : MPT_DocGroup<9, "8-bit floats with a scale for each block",
  "`--mpt-fp8` makes these for the recipes with block scales ([FP8](FP8.md)).">;

/// Refuses discardable attributes without a dialect's prefix: no pass reads them,
/// so they are slips, such as `axis` for `axes`.
def MPT_NoUnownedAttributes : NativeOpTrait<"NoUnownedAttributes"> {
  let cppNamespace = "::mpt";
}

class MPT_Op<string mnemonic, list<Trait> traits = []>
    : Op<MPT_Dialect, mnemonic,
         !listconcat([MPT_NoUnownedAttributes], traits)> {
  list<OtherName> otherNames = [];
}

/// Whether argument `i` is an operand, which may be wrapped in `Arg`.
class MPT_IsOperand<dag arguments, int i> {
  bit yes = !or(!initialized(!getdagarg<TypeConstraint>(arguments, i)),
                !isa<TypeConstraint>(!getdagarg<OpVariable>(arguments, i).constraint));
}

/// Every op of the dialect names its class for f16 and for bf16. The other fields
/// are C++, code of the op's class from which its methods are generated. They may
/// use its getters.
class MPT_TensorOp<string mnemonic, string f16Class, string bf16Class,
                   list<Trait> traits = [], list<Trait> purity = [Pure]>
    : MPT_Op<mnemonic, !listconcat([PrecisionOpInterface], purity, traits)> {
  /// Conditions on `index`: operands and results whose element type does not
  /// follow the op's precision.
  string fixedOperands = "false";
  string fixedResults = "false";
  /// Whether the op with low operands may return its f32 accumulator.
  string wideResults = "false";
  string elementCast = "false";
  string moreDeclarations = "";

  /// The body of `inferReturnTypes` for ops that infer their results' types;
  /// empty if a .cpp file has it. Reads `adaptor` and `context`, appends to
  /// `types`, and reports errors at `location`.
  code inferTypes = "";

  /// The computation of one element, for `MPT_Fusible` ops: statements that return
  /// the result's element. Each operand's element has the operand's name (null for one
  /// that is optional, the last, and left out), `b` is a ScalarBuilder
  /// (mpt/Dialect/MPT/IR/ScalarBuilder.h).
  code scalar = "";
  /// Floats are widened to the type of the arithmetic before `scalar` runs and its
  /// result is rounded to the result's type. If this is 0, `scalar` gets elements
  /// as they are stored and returns one as it will be stored.
  bit scalarWidens = 1;

  /// The gradients of the operands, one expression each; an empty one is zero.
  /// `dy` is the gradient of the op's first result, `b` a GradientBuilder
  /// (lib/Dialect/MPT/IR/GradientBuilder.h). Where an operand was broadcast, its
  /// gradient is summed, and it is cast to the operand's type.
  list<string> gradients = [];
  /// Statements before the expressions: values that they share, other values for `dy`,
  /// errors. Without `gradients`, the whole rule: the statements of
  /// `DifferentiableOpInterface::buildGradients`, with `b` and `dy` in addition to its
  /// arguments.
  code gradient = "";

  assert !or(!not(!empty(scalar)),
             !empty(!filter(trait, traits, !or(!eq(!cast<string>(trait), "MPT_Fusible"),
                                               !eq(!cast<string>(trait), "MPT_Elementwise"))))),
         "mpt." # mnemonic # " is elementwise: expected the computation of one "
         "element, found none; add `let scalar = [{ return ...; }]` to its record";
  assert !or(!empty(!filter(trait, traits, !eq(!cast<string>(trait), "MPT_Elementwise"))),
             !empty(!filter(trait, traits, !eq(!cast<string>(trait), "MPT_Differentiable"))),
             !not(!empty(gradients)), !not(!empty(gradient))),
         "mpt." # mnemonic # " is elementwise and differentiable: expected a gradient, "
         "found none; add `let gradients = [...]` to its record, with \"\" for zero";

  string compatibleTypes = "";
  string inferDefinition = !if(!empty(inferTypes), "", [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *context, ::std::optional<::mlir::Location> location,
        Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
  }] # inferTypes # "}");
  string scalarDefinition = !if(!empty(scalar), "", [{
    ::mlir::Value $cppClass::buildScalar(::mlir::OpBuilder &builder,
                                         ::mlir::ValueRange operands) {
      ::mpt::ScalarBuilder b(builder, *this);
      ::llvm::SmallVector<::mlir::Value> elements = }]
      # !if(scalarWidens, "b.widen(operands)", "::llvm::to_vector(operands)") # ";"
      # !foldl("", !range(!size(arguments)), text, i, text # !if(
          MPT_IsOperand<arguments, i>.yes,
          "[[maybe_unused]] ::mlir::Value " # !getdagname(arguments, i)
              # " = " # i # " < elements.size() ? elements[" # i
              # "] : ::mlir::Value();\n", ""))
      # "auto compute = [&]() -> ::mlir::Value {" # scalar # "};"
      # !if(scalarWidens, "return b.round(compute());}", "return compute();}"));
  string gradientStatements = !if(!empty(gradients), gradient,
      "if (!dy) return ::llvm::success();\n" # gradient
      # !interleave(!foreach(i, !range(!size(gradients)), !if(!empty(gradients[i]), "",
          "if (needed.size() > " # i # " && needed[" # i # "]) operandGrads[" # i
          # "] = b.sumTo(" # gradients[i]
          # ", getTensor(getOperation()->getOperand(" # i # ")));\n")), "")
      # "return ::llvm::success();");
  string gradientDefinition = !if(!and(!empty(gradient), !empty(gradients)), "", [{
    ::llvm::LogicalResult $cppClass::buildGradients(
        ::mlir::OpBuilder &builder, ::mlir::ValueRange resultGrads,
        ::llvm::ArrayRef<bool> needed,
        ::llvm::MutableArrayRef<::mlir::Value> operandGrads) {
      ::mpt::detail::GradientBuilder b(builder, getLoc());
      [[maybe_unused]] ::mlir::Value dy = resultGrads[0];
  }] # gradientStatements # "}");

  let assemblyFormat =
    "operands attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    ::mpt::PrecisionClass getPrecisionClass(::mlir::Type low) {
      return low.isF16() ? ::mpt::PrecisionClass::}] # f16Class # [{
                         : ::mpt::PrecisionClass::}] # bf16Class # [{;
    }
    bool isFixedPrecisionOperand(unsigned index) {
      return }] # fixedOperands # [{;
    }
    bool isFixedPrecisionResult(unsigned index) {
      return }] # fixedResults # [{;
    }
    bool hasWideResults() { return }] # wideResults # [{; }
    bool isElementCast() { return }] # elementCast # [{; }
  }] # moreDeclarations;
  let extraClassDefinition =
    compatibleTypes # inferDefinition # scalarDefinition # gradientDefinition;
}

/// Bodies of `inferTypes`.
class MPT_Types<code statements> {
  code body = statements;
}
/// The types of these operands (`Query` for `query`).
class MPT_TypesOf<list<string> operands> : MPT_Types<
    !interleave(!foreach(operand, operands,
        "types.push_back(adaptor.get" # operand # "().getType());\n"), "")
    # "return success();">;
/// The first operand's type.
def MPT_LikeFirst : MPT_Types<[{
  types.push_back(adaptor.getOperands()[0].getType());
  return success();
}]>;

/// Results' shapes follow from the operands; float element types default to
/// the first operand's and may be set freely.
class MPT_InferredOp<string mnemonic, string f16Class, string bf16Class,
                     list<Trait> traits = [], list<Trait> purity = [Pure]>
    : MPT_TensorOp<mnemonic, f16Class, bf16Class, !listconcat([
        InferTypeOpAdaptorWithIsCompatible], traits), purity> {
  string compatibility = "areCompatibleUpToFloatType";
  let compatibleTypes = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                            ::mlir::TypeRange actual) {
      return ::mpt::detail::}] # compatibility # [{(inferred, actual);
    }
  }];
}

#endif // MPT_DIALECT_MPT_IR_MPTBASE_TD
