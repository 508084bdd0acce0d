//===- Remarks.td - The catalogue of remarks -*- tablegen -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every remark that MPT's passes emit, with a name that stays. Stock backends
// make of it the enum RemarkId (mlir-tblgen -gen-enum-decls) and the table of
// texts (llvm-tblgen -gen-searchable-tables); a test holds docs/Remarks.md to it.
//
//===----------------------------------------------------------------------===//

#ifndef MPT_SUPPORT_REMARKS_TD
#define MPT_SUPPORT_REMARKS_TD

include "mlir/IR/EnumAttr.td"
include "llvm/TableGen/SearchableTable.td"

/// `kind` is one of MLIR's: passed, missed, analysis or failure. `text` says why,
/// in words that fit after "because"; `hint` is a format (llvm::formatv) of what
/// to do about it, or empty; `doc` is for the documentation.
class Remark<string symbol, int value, string suffix, string kind, string text,
             string hint, string doc, string category = "mpt.autocast">
    : EnumCase<symbol, value, suffix, 8> {
  bits<8> id = value;
  string Category = category;
  string Name = Category # "." # suffix;
  string Kind = kind;
  string Text = text;
  string Hint = hint;
  string Doc = doc;
}

//===----------------------------------------------------------------------===//
// Decisions of autocast: why an op is low
//===----------------------------------------------------------------------===//

def Allowed : Remark<"Allowed", 0, "allowed", "passed", "on the allow list", "",
  "The op's class is `allow`.">;
def AlreadyLow : Remark<"AlreadyLow", 1, "already-low", "passed",
  "was in low precision before", "",
  "The op read or made the low type before the pass ran.">;
def Between : Remark<"Between", 2, "between", "passed",
  "between ops in low precision", "",
  "The op lies on a path between two low ops, and no denied op is before it.">;
def Follows : Remark<"Follows", 3, "follows", "passed",
  "follows an op in low precision", "",
  "The op reads a low value. It is `stable`, or, under `paint`, `infer`.">;
def Neighbour : Remark<"Neighbour", 4, "neighbour", "passed",
  "next to an op in low precision", "",
  "A `clear` op that reads a low value or is read by a low op.">;
def ListInLow : Remark<"ListInLow", 5, "list-in-low", "passed",
  "works on a list with an op in low precision", "",
  "All ops that work on one list of tensors agree.">;
def LoopInLow : Remark<"LoopInLow", 6, "loop-in-low", "passed",
  "what reads it is in low precision", "",
  "A value that a loop of single ops carries has the precision of its readers.">;

//===----------------------------------------------------------------------===//
// Why an op is f32
//===----------------------------------------------------------------------===//

def Denied : Remark<"Denied", 7, "denied", "missed", "on the deny list",
  "the attribute mpt.precision = 'low' allows this op; {0}",
  "The op's class is `deny`. For the ops that keep most others in f32, and those "
  "that `explain` matches, it says what allowing the op would change. Ops without a low form "
  "(a table's `movable: false`) cannot be allowed.">;
def BehindDenied : Remark<"BehindDenied", 8, "blocked-by", "missed",
  "computed from a denied op", "denied by '{0}' at {1}; {2}",
  "A denied op comes before this one, and an `infer` op follows. `Chain` is the way "
  "from the denied op.">;
def Kept : Remark<"Kept", 9, "kept", "analysis", "kept as it is", "",
  "The attribute `mpt.precision`, the option `keep` or a table's `keep-if` says so; "
  "with `strategy=paint` also an op that makes a result of a TensorFlow function, as "
  "Grappler keeps the nodes that are fetched.">;
def ConstantRange : Remark<"ConstantRange", 10, "constant-range", "missed",
  "reads a constant that the low type cannot hold",
  "check-constants=false lets it overflow or become zero",
  "The op reads a constant that is too large for the low type or so small that "
  "it would become zero, or a value that a number too large was added to or "
  "selected into.">;
def FirstOrLast : Remark<"FirstOrLast", 11, "first-or-last", "missed",
  "in the first or the last layer", "",
  "A contraction of the first or last layers, which `keep-first-last` keeps in f32.">;
def AttentionValues : Remark<"AttentionValues", 12, "attention-values", "missed",
  "multiplies attention's probabilities by values", "",
  "Kept by `attention-pv=f32`.">;
def LongReduction : Remark<"LongReduction", 13, "long-reduction", "missed",
  "sums more elements than the limit", "", "Kept by `reduction-limit`.">;
def ProfileRange : Remark<"ProfileRange", 25, "profile-range", "missed",
  "a value that it makes or reads was recorded out of the low type's range",
  "a larger profile-underflow or a smaller profile-margin permits it",
  "The profile that `profile` names says so (mpt-run --ranges).">;
def State : Remark<"State", 26, "state", "analysis",
  "updates what the step returns", "",
  "An op between an argument and a result of its type, or one that feeds it alone: "
  "parameters, moments and averages stay f32.">;
def Recurrence : Remark<"Recurrence", 27, "recurrence", "analysis",
  "adds to itself round a loop", "",
  "A sum, an average or a linear recurrence that a loop carries, with no contraction in the "
  "cycle: each iteration would round the sum of all iterations before it.">;
def NotBetween : Remark<"NotBetween", 14, "not-between", "analysis",
  "not between two ops in low precision", "",
  "No contraction comes after the op, or none before it: optimizers, losses.">;
def NoLowNeighbour : Remark<"NoLowNeighbour", 15, "no-low-neighbour", "analysis",
  "no neighbour is in low precision", "",
  "A `clear` op that touches nothing low.">;
def Promoted : Remark<"Promoted", 16, "promoted", "analysis", "reads what is f32", "",
  "Under `promote` an op runs in the widest type that it reads.">;
def FewerCasts : Remark<"FewerCasts", 17, "fewer-casts", "analysis",
  "f32 needs fewer bytes of casts", "",
  "The op might be low, but the minimum cut leaves it in f32.">;
def CostGate : Remark<"CostGate", 24, "cost-gate", "missed",
  "its casts cost more than the target gains by it", "",
  "A contraction, with a `target`; `cost-gate=false` makes it low nevertheless.">;
def ListInF32 : Remark<"ListInF32", 18, "list-in-f32", "missed",
  "works on a list that an op in f32 or one out of sight works on", "",
  "All ops that work on one list of tensors agree.">;
def LoopInF32 : Remark<"LoopInF32", 19, "loop-in-f32", "missed",
  "goes round a loop in f32", "",
  "Something in the loop cannot be low, and no cast can be placed in between.">;

//===----------------------------------------------------------------------===//
// Remarks that are not about the precision of one op
//===----------------------------------------------------------------------===//

def CastInserted : Remark<"CastInserted", 20, "cast-inserted", "analysis",
  "its maker and a reader differ", "",
  "A cast: the value, its types, the bytes read and written, the op that makes "
  "it and the first that reads it in the other type, each with its reason.">;
def ConstantCast : Remark<"ConstantCast", 28, "constant-cast", "missed",
  "the numbers of a constant are not known",
  "print the module with its resources (without --mlir-elide-resource-strings-if-larger)",
  "A constant that low ops read stays f32 and is cast each time that the module runs. "
  "`Reason` says why it was not converted, `Bytes` what the cast reads and writes.">;
def UnlistedOp : Remark<"UnlistedOp", 21, "unlisted", "missed",
  "no rule table, list or interface knows the op",
  "a row for '{0}' in a rule table (option 'rules') lets it take part",
  "Once for each op name, at the first such op: it keeps its types, and paint does "
  "not spread through it.">;

//===----------------------------------------------------------------------===//
// Padding for tensor cores
//===----------------------------------------------------------------------===//

def Padded : Remark<"Padded", 22, "padded", "passed",
  "padding a matmul saves more than it costs", "",
  "`Reason` has the sizes before and after, what padding saves at most and what it "
  "costs.", "mpt.pad-tensor-cores">;
def Unaligned : Remark<"Unaligned", 23, "unaligned", "missed",
  "sizes that do not suit the tensor cores", "",
  "A matmul that is not padded: `Reason` has the sizes that would suit, and why it is "
  "not padded.",
  "mpt.pad-tensor-cores">;

//===----------------------------------------------------------------------===//
// 8-bit floats
//===----------------------------------------------------------------------===//

def Fp8Matmul : Remark<"Fp8Matmul", 40, "product", "passed",
  "the matmul reads 8-bit floats", "",
  "`Reason` has the formats of its operands.", "mpt.fp8">;
def Fp8Kept : Remark<"Fp8Kept", 41, "kept", "missed",
  "the matmul keeps its types", "",
  "`Reason` says why it cannot read 8-bit floats.", "mpt.fp8">;

//===----------------------------------------------------------------------===//
// Rematerialization
//===----------------------------------------------------------------------===//

def Recomputed : Remark<"Recomputed", 50, "recomputed", "passed",
  "computed again instead of kept", "",
  "`Reason` has how often the op runs, the bytes that are not kept in between, and "
  "the time it takes as a fraction of the step's.", "mpt.remat">;
def RecomputedInFusion : Remark<"RecomputedInFusion", 51, "recomputed-in-fusion",
  "passed", "computed again inside the kernels that read it", "",
  "An op other than a contraction, repeated before fusion (strategy `mincut`, or "
  "`mpt.save = 'never'`): `Reason` has the bytes that need not be kept for the "
  "backward pass.", "mpt.remat">;
def KeptForPrice : Remark<"KeptForPrice", 52, "kept-for-price", "missed",
  "computing it again would cost more than its bytes are worth", "",
  "A value that is kept where most bytes are alive: `Reason` has its bytes, the time "
  "its op takes, and what the bytes are worth in this budget, both as fractions of the "
  "step's time.", "mpt.remat">;
def KeptAlways : Remark<"KeptAlways", 53, "kept-always", "missed",
  "must not be computed again", "",
  "A value that is kept where most bytes are alive, because the user said so, its op has "
  "effects, or nothing is known about the op.", "mpt.remat">;
def KeptForBits : Remark<"KeptForBits", 54, "kept-for-bits", "missed",
  "repeating it before fusion would change how a sum is taken", "",
  "Ops that could be repeated before fusion are not, because fusion would then put "
  "the sum named in `Reason` into a kernel that adds in another order.", "mpt.remat">;
def RematSummary : Remark<"RematSummary", 55, "summary", "analysis",
  "the function was planned for a budget", "",
  "Once for each function: bytes before and after, the budget, the predicted time as a "
  "multiple of that without rematerialization, a lower bound on it and the gap.",
  "mpt.remat">;

//===----------------------------------------------------------------------===//
// Matmuls on GPUs
//===----------------------------------------------------------------------===//

class CudaRemark<string symbol, int value, string suffix, string kind, string text,
                 string hint, string doc>
    : Remark<symbol, value, suffix, kind, text, hint, doc, "mpt.cuda">;

def EpilogueFused : CudaRemark<"EpilogueFused", 60, "epilogue", "passed",
  "part of a matmul", "",
  "`Reason` has cuBLASLt's name of the epilogue; `beta = 1` if the matmul is added to a sum.">;
def EpilogueRefused : CudaRemark<"EpilogueRefused", 61, "epilogue-refused", "missed",
  "cuBLASLt has no such epilogue", "",
  "`Reason` says what is missing and what to do about it.">;
def EpilogueShared : CudaRemark<"EpilogueShared", 62, "epilogue-shared", "missed",
  "the matmul is used without it, too",
  "an epilogue would make its other readers compute the matmul again",
  "The activation, or its gradient, stays a kernel.">;
def EpilogueCast : CudaRemark<"EpilogueCast", 63, "epilogue-cast", "missed",
  "the matmul has another type",
  "autocast's option keep, or the attribute mpt.precision, can give both one type",
  "The value is rounded between the matmul and the op that would be its epilogue.">;
def EpilogueErf : CudaRemark<"EpilogueErf", 64, "epilogue-erf", "missed",
  "cuBLASLt's GELU is the one by tanh",
  "approximate = #mpt.gelu<tanh>, where the model may change by 5e-4",
  "GELU by erf stays a kernel.">;
def EpilogueBias : CudaRemark<"EpilogueBias", 65, "epilogue-bias", "missed",
  "the bias has another type than the matmul",
  "--low-biases rounds it to the matmul's type",
  "The matmul is done in f32 and rounded by a kernel after it; a GELU after that "
  "stays a kernel, too.">;
def EpilogueSource : CudaRemark<"EpilogueSource", 66, "epilogue-source", "missed",
  "no matmul computed what the activation read",
  "",
  "A gradient of ReLU can be the epilogue of a matmul only if the ReLU is one, too, and "
  "then saves one bit per element for it.">;
def EpilogueSlow : CudaRemark<"EpilogueSlow", 67, "epilogue-slow", "missed",
  "it is slower on one of the chips",
  "",
  "`Reason` has the chip and the times by its rates, which were measured on an H200; "
  "`--epilogues=saving` takes what cuBLASLt has all the same. Before sm_90 and on sm_120 "
  "cuBLASLt does GELU in a separate kernel after the matmul.">;
def TensorCoresOff : CudaRemark<"TensorCoresOff", 68, "no-tensor-cores", "missed",
  "the matmul has operands that tensor cores do not take as they are",
  "--f32-matmuls=tf32, or mixed precision",
  "An f32 matmul that is summed exactly.">;
def TensorCoresShape : CudaRemark<"TensorCoresShape", 69, "tensor-core-shape", "missed",
  "the rows of an operand are not multiples of 16 bytes",
  "--mpt-pad-tensor-cores pads where that pays",
  "cuBLASLt's fastest kernels need such multiples. It takes slower ones, which may not "
  "use tensor cores. `Reason` has the dimensions.">;
def AttentionDecomposed : CudaRemark<"AttentionDecomposed", 70, "attention-decomposed", "missed",
  "no device function of attention takes it, or matmuls are faster",
  "",
  "It becomes matmuls and kernels, with the scores in memory. `Reason` says what is not "
  "supported, and what is.">;
def AttentionWithoutCudnn : CudaRemark<"AttentionWithoutCudnn", 78, "attention-without-cudnn",
  "missed", "cuDNN is not asked for the attention",
  "",
  "MPT's own functions do it. `Reason` has what cuDNN does not do, or not with the same numbers.">;
def GroupedConvolution : CudaRemark<"GroupedConvolution", 71, "grouped-convolution", "missed",
  "a convolution in groups is not a matmul",
  "",
  "It runs as loops on the device, without tensor cores. `Reason` has the number of groups.">;
def ScaledGemm : CudaRemark<"ScaledGemm", 74, "scaled-matmul", "passed",
  "cuBLASLt scales the blocks of a matmul's operands",
  "",
  "`Reason` has the dimensions and the scaling of either operand, as cuBLASLt calls it.">;
def ScaledGemmMissed : CudaRemark<"ScaledGemmMissed", 75, "scaled-matmul-refused", "missed",
  "blocks of a matmul's operands are scaled by kernels",
  "",
  "cuBLASLt cannot do it on one of the chips. `Reason` says why. Each segment of K is a "
  "matmul into f32, which a kernel scales and adds; with scales of f8E8M0FNU the operands "
  "are widened and multiplied in f32.">;
def AttentionOnCPU : Remark<"AttentionOnCPU", 72, "attention-decomposed", "missed",
  "no call of the CPU's runtime takes it, or kernels are faster",
  "",
  "It becomes matmuls and kernels, with the scores in memory. `Reason` says what is not "
  "supported, and what is.", "mpt.cpu">;
def KeptWide : Remark<"KeptWide", 84, "kept-wide", "passed",
  "what one kernel makes and reads is not rounded", "",
  "A value in half precision that stays f32, since elementwise ops of its kernel alone read it, "
  "or, rounded for others, for the next sum of gradients (`--mpt-widen-temporaries`, which "
  "`--mpt-plan-step` runs first). `Reason` names the op and "
  "the type that it would be rounded to.", "mpt.kernels">;
def Raised : Remark<"Raised", 73, "raised", "passed",
  "ops spelled its formula", "",
  "`--mpt-raise-ops`, which the imports of StableHLO and PyTorch run, replaced ops by the "
  "one that `Reason` names.",
  "mpt.raise">;
def NotRaised : Remark<"NotRaised", 76, "not-raised", "missed",
  "ops look like a formula that they are not", "",
  "`--mpt-raise-ops` left ops as they are. `Reason` names the op whose formula they look like, and "
  "what is not as in it.", "mpt.raise">;
def MatmulsJoined : CudaRemark<"MatmulsJoined", 77, "joined-matmuls", "passed",
  "matmuls that share their left operand became one",
  "",
  "`Reason` has how many, their columns, and how many microseconds that saves by the chip's "
  "rates. Their weights stay separate parameters.">;
def MatmulsNotJoined : CudaRemark<"MatmulsNotJoined", 79, "separate-matmuls", "missed",
  "matmuls that share their left operand stay apart",
  "",
  "`Reason` says why.">;
def FastAccumulation : CudaRemark<"FastAccumulation", 80, "fast-accumulation", "passed",
  "sums of the matmul's 8-bit operands may have fewer bits than f32",
  "",
  "`Reason` has the shape and the chips on which it has an effect: Ada and Hopper "
  "(`fast-accumulation` of `--mpt-fp8`).">;
def RemarkId : IntEnum<"RemarkId", "remark", [
    Allowed, AlreadyLow, Between, Follows, Neighbour, ListInLow, LoopInLow, Denied,
    BehindDenied, Kept, ConstantRange, FirstOrLast, AttentionValues, LongReduction,
    NotBetween, NoLowNeighbour, Promoted, FewerCasts, ListInF32, LoopInF32,
    CastInserted, UnlistedOp, Padded, Unaligned, CostGate, ConstantCast,
    ProfileRange, State, Recurrence, Fp8Matmul, Fp8Kept, Recomputed,
    RecomputedInFusion, KeptForPrice, KeptAlways, KeptForBits, RematSummary,
    EpilogueFused, EpilogueRefused, EpilogueShared, EpilogueCast, EpilogueErf,
    EpilogueBias, EpilogueSource, EpilogueSlow, TensorCoresOff, TensorCoresShape,
    AttentionDecomposed, GroupedConvolution, ScaledGemm, ScaledGemmMissed,
    AttentionOnCPU, KeptWide, Raised, NotRaised, AttentionWithoutCudnn,
    MatmulsJoined, MatmulsNotJoined, FastAccumulation], 8> {
  let cppNamespace = "::mpt";
}

def RemarkTable : GenericTable {
  let FilterClass = "Remark";
  let CppTypeName = "RemarkInfo";
  let Fields = ["id", "Name", "Category", "Kind", "Text", "Hint", "Doc"];
  let PrimaryKey = ["id"];
  let PrimaryKeyName = "lookupRemark";
}

#endif // MPT_SUPPORT_REMARKS_TD
