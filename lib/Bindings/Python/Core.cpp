//===- Core.cpp - The Python module mpt._core -------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Python classes over MPT's C API. Compiling and running release the GIL; a lock for
/// each context and each program keeps other threads out meanwhile. Memory that Python
/// sees belongs to a program's handle, which lives until the last view of it is gone.
///
//===----------------------------------------------------------------------===//

#include "mpt-c/Module.h"
#include "mpt-c/Registration.h"
#include "mpt-c/Step.h"

#include "mlir-c/Diagnostics.h"
#include "mlir-c/IR.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>
#include <unordered_map>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

MlirStringRef toRef(std::string_view text) {
  return mlirStringRefCreate(text.data(), text.size());
}
std::string toString(MlirStringRef text) { return std::string(text.data, text.length); }

//===----------------------------------------------------------------------===//
// Errors and diagnostics
//===----------------------------------------------------------------------===//

struct Note {
  MlirDiagnosticSeverity severity;
  std::string message, file;
  intptr_t line = 0, column = 0;
};

nb::object toPython(const Note &note) {
  const char *severity = note.severity == MlirDiagnosticError     ? "error"
                         : note.severity == MlirDiagnosticWarning ? "warning"
                         : note.severity == MlirDiagnosticNote    ? "note"
                                                                  : "remark";
  return nb::module_::import_("mpt._diagnostics")
      .attr("Diagnostic")(severity, note.message, note.file, note.line, note.column);
}

nb::list toPython(const std::vector<Note> &notes) {
  nb::list list;
  for (const Note &note : notes)
    list.append(toPython(note));
  return list;
}

[[noreturn]] void raise(const std::string &text, const std::vector<Note> &notes = {}) {
  nb::object type = nb::module_::import_("mpt._diagnostics").attr("Error");
  nb::object error = type(text, toPython(notes));
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

/// Raises mpt.Error, and frees `error`, unless that is null.
void check(MptError error) {
  if (mptErrorIsNull(error))
    return;
  std::string text = toString(mptErrorGetText(error));
  std::vector<Note> notes;
  for (intptr_t i = 0, e = mptErrorGetNumDiagnostics(error); i < e; ++i) {
    MptDiagnostic found = mptErrorGetDiagnostic(error, i);
    notes.push_back({found.severity, toString(found.message), toString(found.file),
                     found.line, found.column});
  }
  mptErrorDestroy(error);
  raise(text, notes);
}

/// Sets file and line of `note` to the first place in a file that `location` holds.
bool findPlace(MlirLocation location, Note &note) {
  if (mlirLocationIsAFileLineColRange(location)) {
    MlirStringRef file =
        mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
    note.file = toString(file);
    note.line = mlirLocationFileLineColRangeGetStartLine(location);
    note.column = mlirLocationFileLineColRangeGetStartColumn(location);
    return true;
  }
  if (mlirLocationIsAName(location))
    return findPlace(mlirLocationNameGetChildLoc(location), note);
  if (mlirLocationIsACallSite(location))
    return findPlace(mlirLocationCallSiteGetCallee(location), note);
  if (!mlirLocationIsAFused(location))
    return false;
  std::vector<MlirLocation> parts(mlirLocationFusedGetNumLocations(location));
  if (!parts.empty())
    mlirLocationFusedGetLocations(location, parts.data());
  for (MlirLocation part : parts)
    if (findPlace(part, note))
      return true;
  return false;
}

void appendText(MlirStringRef text, void *to) {
  static_cast<std::string *>(to)->append(text.data, text.length);
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

/// A context, and the warnings and remarks of what runs in it.
struct Context {
  Context() {
    mptRegisterAllPasses();
    MlirDialectRegistry registry = mlirDialectRegistryCreate();
    mptRegisterAllDialects(registry);
    context = mlirContextCreateWithRegistry(registry, /*threadingEnabled=*/true);
    mlirDialectRegistryDestroy(registry);
    // What --mpt-convert-torch reads.
    mlirContextSetAllowUnregisteredDialects(context, true);
    mlirContextAttachDiagnosticHandler(context, collect, &notes, nullptr);
  }
  ~Context() { mlirContextDestroy(context); }
  Context(const Context &) = delete;

  static MlirLogicalResult collect(MlirDiagnostic diagnostic, void *notes) {
    Note note;
    note.severity = mlirDiagnosticGetSeverity(diagnostic);
    mlirDiagnosticPrint(diagnostic, appendText, &note.message);
    findPlace(mlirDiagnosticGetLocation(diagnostic), note);
    static_cast<std::vector<Note> *>(notes)->push_back(std::move(note));
    for (intptr_t i = 0, e = mlirDiagnosticGetNumNotes(diagnostic); i < e; ++i)
      (void)collect(mlirDiagnosticGetNote(diagnostic, i), notes);
    return mlirLogicalResultSuccess();
  }

  MlirContext context;
  std::vector<Note> notes;
  std::mutex mutex;
};

class Module {
public:
  Module(std::string_view text, std::string_view name)
      : context(std::make_shared<Context>()) {
    check(run([&] {
      return mptModuleParse(context->context, toRef(text), toRef(name), &module);
    }));
  }
  Module(std::shared_ptr<Context> context, MlirModule module)
      : context(std::move(context)), module(module) {}
  ~Module() {
    if (!mlirModuleIsNull(module))
      mlirModuleDestroy(module);
  }
  Module(const Module &) = delete;

  /// What a failed pass leaves is good for printing at best.
  void checkWhole() const {
    if (isBroken)
      raise("a pipeline has failed on this module and left it half done; parse it again, "
            "or run passes on a clone()");
  }

  Module *clone() {
    checkWhole();
    MlirOperation copy = mlirOperationClone(mlirModuleGetOperation(module));
    return new Module(context, mlirModuleFromOperation(copy));
  }

  std::string print(bool hasLocations) {
    std::string text;
    MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
    if (hasLocations)
      mlirOpPrintingFlagsEnableDebugInfo(flags, /*enable=*/true, /*prettyForm=*/false);
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> lock(context->mutex);
      mlirOperationPrintWithFlags(mlirModuleGetOperation(module), flags, appendText,
                                  &text);
    }
    mlirOpPrintingFlagsDestroy(flags);
    return text;
  }

  nb::list runPipeline(std::string_view pipeline) {
    checkWhole();
    MptError error = run([&] { return mptModuleRunPipeline(module, toRef(pipeline)); });
    isBroken = !mptErrorIsNull(error);
    check(error);
    return toPython(context->notes);
  }

  nb::list compile(std::string_view path, const std::vector<std::string> &options) {
    checkWhole();
    std::vector<MlirStringRef> refs;
    for (const std::string &option : options)
      refs.push_back(toRef(option));
    check(run([&] {
      return mptModuleCompile(module, static_cast<intptr_t>(refs.size()), refs.data(),
                              toRef(path));
    }));
    return toPython(context->notes);
  }

  /// Calls `function` without the GIL, and forgets the notes of earlier calls.
  template <typename Function>
  MptError run(Function &&function) {
    nb::gil_scoped_release release;
    std::lock_guard<std::mutex> lock(context->mutex);
    context->notes.clear();
    return function();
  }

  std::shared_ptr<Context> context;
  MlirModule module = {nullptr};
  bool isBroken = false;
};

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

using nb::dlpack::dtype_code;

struct ElementType {
  const char *name, *inPython;
  dtype_code code;
  uint8_t bits;
};
constexpr ElementType elementTypes[] = {
    {"f64", "numpy.float64", dtype_code::Float, 64},
    {"f32", "numpy.float32", dtype_code::Float, 32},
    {"f16", "numpy.float16", dtype_code::Float, 16},
    {"bf16", "torch.bfloat16", dtype_code::Bfloat, 16},
    {"f8e4m3fn", "torch.float8_e4m3fn", dtype_code::Float8_E4M3FN, 8},
    {"f8e5m2", "torch.float8_e5m2", dtype_code::Float8_E5M2, 8},
    {"i64", "numpy.int64", dtype_code::Int, 64},
    {"i32", "numpy.int32", dtype_code::Int, 32},
    {"i16", "numpy.int16", dtype_code::Int, 16},
    {"i8", "numpy.int8", dtype_code::Int, 8},
    {"u8", "numpy.uint8", dtype_code::UInt, 8},
    {"i1", "bool", dtype_code::Bool, 8}};

const ElementType &getElementType(const MptTensorInfo &info) {
  for (const ElementType &type : elementTypes)
    if (std::string_view(info.type.data, info.type.length) == type.name)
      return type;
  raise("tensor '" + toString(info.name) + "': arrays cannot hold " +
        toString(info.type));
}
nb::dlpack::dtype getType(const MptTensorInfo &info) {
  const ElementType &type = getElementType(info);
  return {static_cast<uint8_t>(type.code), type.bits, 1};
}

std::string describe(nb::dlpack::dtype found) {
  for (const ElementType &type : elementTypes)
    if (found.code == static_cast<uint8_t>(type.code) && found.bits == type.bits &&
        found.lanes == 1)
      return type.name;
  return "elements of DLPack's type " + std::to_string(found.code) + " with " +
         std::to_string(found.bits) + " bits";
}

template <typename Shape>
std::string describe(std::string type, Shape &&shape, size_t rank) {
  type += "[";
  for (size_t i = 0; i < rank; ++i)
    type += (i ? ", " : "") + std::to_string(shape(i));
  return type + "]";
}
std::string describe(const MptTensorInfo &info) {
  return describe(
      toString(info.type), [&](size_t i) { return info.shape[i]; }, info.rank);
}

using AnyArray = nb::ndarray<nb::ro>;
using Array = nb::ndarray<nb::array_api>;

/// `object` as an array of `info`'s type and shape in packed rows in this machine's
/// memory; no copy. It may also lie in the memory of the GPU that `step` runs on, if that
/// is given.
AnyArray importArray(nb::handle object, const MptTensorInfo &info,
                     const MptStep *step = nullptr) {
  auto fail = [&](const std::string &found, const std::string &remedy) {
    raise("'" + toString(info.name) + "': expected " + describe(info) + ", found " +
          found + remedy);
  };
  AnyArray array;
  if (!nb::try_cast(object, array, /*convert=*/false)) {
    PyErr_Clear();
    fail("an object of type " + nb::cast<std::string>(nb::str(object.type())),
         ", which gives no array by __dlpack__ or the buffer protocol");
  }
  std::string found = describe(
      describe(array.dtype()), [&](size_t i) { return array.shape(i); }, array.ndim());
  const int device = array.device_type();
  int gpu = -1;
  if (device == nb::device::cuda::value && step)
    check(mptStepGetCudaDevice(*step, &gpu));
  if (gpu >= 0 && array.device_id() != gpu)
    fail(found + " on cuda:" + std::to_string(array.device_id()),
         "; the program runs on cuda:" + std::to_string(gpu) + ": copy it there");
  if (device != nb::device::cpu::value && device != nb::device::cuda_host::value &&
      (device != nb::device::cuda::value || gpu < 0))
    fail(found + " on another device than the CPU", "; copy it to the CPU first");
  bool fits = array.ndim() == static_cast<size_t>(info.rank);
  for (size_t i = 0; fits && i < array.ndim(); ++i)
    fits = static_cast<int64_t>(array.shape(i)) == info.shape[i];
  if (!fits)
    fail(found, "; pass an array of that shape");
  if (array.dtype() != getType(info))
    fail(found, std::string("; convert it to ") + getElementType(info).inPython);
  int64_t stride = 1;
  for (size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) > 1 && array.stride(i) != stride && info.bytes != 0)
      fail(found + " that is not contiguous",
           "; pass a contiguous copy (.contiguous(), numpy.ascontiguousarray)");
    stride *= static_cast<int64_t>(array.shape(i));
  }
  return array;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// A step, and what keeps the memory alive that its inputs are bound to, by number.
/// Views of the step's own memory keep the handle alive.
struct StepHandle {
  explicit StepHandle(MptStep step) : step(step) {}
  ~StepHandle() { mptStepDestroy(step); }
  StepHandle(const StepHandle &) = delete;

  struct Bound {
    nb::object owner;
    AnyArray array;
  };
  MptStep step;
  std::unordered_map<intptr_t, Bound> bound;
};

struct TensorInfo {
  std::string name, role, type;
  std::vector<int64_t> shape;
  size_t bytes;
  std::string description;
};

class Program {
public:
  explicit Program(MptStep step)
      : handle(std::make_shared<StepHandle>(step)),
        isCuda(toString(mptStepGetTarget(step)).rfind("cuda", 0) == 0) {
    for (intptr_t i = 0, e = mptStepGetNumTensors(step); i < e; ++i)
      byName.emplace(toString(mptStepGetTensor(step, i).name), i);
  }

  bool isClosed() const { return !handle; }
  void close() { handle.reset(); }
  MptStep getStep() const {
    if (!handle)
      raise("the program is closed; open or compile it again");
    return handle->step;
  }

  std::vector<TensorInfo> tensors() const {
    std::vector<TensorInfo> all;
    for (intptr_t i = 0, e = mptStepGetNumTensors(getStep()); i < e; ++i) {
      MptTensorInfo info = mptStepGetTensor(handle->step, i);
      all.push_back({toString(info.name), toString(info.role), toString(info.type),
                     std::vector<int64_t>(info.shape, info.shape + info.rank), info.bytes,
                     describe(info)});
    }
    return all;
  }

  void bind(const std::string &name, nb::object object) {
    intptr_t index = findInput(name);
    MptTensorInfo wanted = mptStepGetTensor(handle->step, index);
    AnyArray array = importArray(object, wanted, isCuda ? &handle->step : nullptr);
    bindTo(wanted, array.data(), array.device_type() == nb::device::cuda::value);
    handle->bound[index] = {std::move(object), std::move(array)};
  }
  /// Of memory that the caller has checked.
  void bindAddress(const std::string &name, uintptr_t address, size_t bytes,
                   nb::object owner) {
    intptr_t index = findInput(name);
    MptTensorInfo wanted = mptStepGetTensor(handle->step, index);
    if (bytes != wanted.bytes)
      raise("'" + name + "': expected " + std::to_string(wanted.bytes) +
            " bytes, found " + std::to_string(bytes));
    bindTo(wanted, reinterpret_cast<const void *>(address));
    handle->bound[index] = {std::move(owner), AnyArray()};
  }

  void setStream(uintptr_t stream) {
    call([&](MptStep step) {
      return mptStepSetCudaStream(step, reinterpret_cast<void *>(stream));
    });
  }
  void run() {
    call([](MptStep step) { return mptStepRun(step); });
  }

  void setProfiling(bool on) {
    call([&](MptStep step) { return mptStepSetProfiling(step, on); });
  }
  intptr_t countProfiled() const { return mptStepGetNumProfiled(getStep()); }
  std::string profile(const std::string &format, const std::string &title) const {
    const std::pair<const char *, MptProfileFormat> formats[] = {
        {"text", MptProfileFormatText},
        {"json", MptProfileFormatJSON},
        {"html", MptProfileFormatHTML}};
    for (auto [name, value] : formats)
      if (format == name) {
        std::string text;
        check(mptStepPrintProfile(getStep(), value, toRef(title), appendText, &text));
        return text;
      }
    raise("profile: expected the format text, json or html, found '" + format + "'");
  }

  /// The program's own memory.
  Array view(const std::string &name) {
    intptr_t index = find(name);
    MptTensorInfo found = mptStepGetTensor(handle->step, index);
    void *data = nullptr;
    int gpu = -1;
    if (isCuda) {
      call([&](MptStep step) { return mptStepGetDeviceData(step, index, &data); });
      check(mptStepGetCudaDevice(handle->step, &gpu));
    } else {
      check(mptStepGetData(handle->step, index, &data));
    }
    if (!data && found.bytes)
      raise("'" + name + "' is not bound");
    auto *held = new std::shared_ptr<StepHandle>(handle);
    nb::capsule owner(held, [](void *pointer) noexcept {
      delete static_cast<std::shared_ptr<StepHandle> *>(pointer);
    });
    return wrap(found, data, owner, gpu);
  }

  nb::object read(const std::string &name, nb::object out) {
    MptTensorInfo found = mptStepGetTensor(getStep(), find(name));
    if (isInput(found))
      raise("'" + name + "' is an input: the memory that it is bound to is yours");
    if (!out.is_none()) {
      importArray(out, found);
      nb::ndarray<> array;
      if (!nb::try_cast(out, array, /*convert=*/false)) {
        PyErr_Clear();
        raise("'" + name +
              "': out: expected an array that can be written, found one "
              "that is read-only");
      }
      copyOut(found, array.data());
      return out;
    }
    auto *memory = new char[std::max<size_t>(found.bytes, 1)];
    nb::capsule owner(
        memory, [](void *pointer) noexcept { delete[] static_cast<char *>(pointer); });
    copyOut(found, memory);
    return nb::cast(wrap(found, memory, owner));
  }

  void keep(const std::vector<std::string> &names) {
    std::vector<intptr_t> tensors;
    for (const std::string &name : names)
      tensors.push_back(find(name));
    call([&](MptStep step) {
      return mptStepKeepResults(step, tensors.data(),
                                static_cast<intptr_t>(tensors.size()));
    });
  }
  uint64_t countRuns() const { return mptStepGetNumRuns(getStep()); }
  Array readResult(const std::string &name, uint64_t run) {
    const intptr_t index = find(name);
    MptTensorInfo found = mptStepGetTensor(handle->step, index);
    auto *memory = new char[std::max<size_t>(found.bytes, 1)];
    nb::capsule owner(
        memory, [](void *pointer) noexcept { delete[] static_cast<char *>(pointer); });
    call([&](MptStep step) {
      return mptStepReadResult(step, run, index, memory, found.bytes);
    });
    return wrap(found, memory, owner);
  }

  void write(const std::string &name, nb::object object) {
    MptTensorInfo found = mptStepGetTensor(getStep(), find(name));
    AnyArray array = importArray(object, found);
    const void *data = array.data() ? array.data() : this;
    call([&](MptStep step) {
      return mptStepWriteState(step, found.name, data, found.bytes);
    });
  }

  void initialize(uint64_t seed, std::string_view file) {
    call([&](MptStep step) { return mptStepInitialize(step, seed, toRef(file)); });
  }

  void save(std::string_view path, int64_t attempt, int64_t skipped, uint64_t seed,
            int64_t batch, int64_t rows, uint64_t epoch, int64_t index, bool background) {
    MptTrainingPosition position = {attempt, skipped, seed, batch, rows, epoch, index};
    call([&](MptStep step) {
      return (background ? mptStepBeginCheckpoint
                         : mptStepSaveCheckpoint)(step, toRef(path), &position);
    });
  }
  void finishSave() {
    call([](MptStep step) { return mptStepFinishCheckpoint(step); });
  }
  void setWholeDigest(std::string_view digest) {
    call([&](MptStep step) { return mptStepSetWholeDigest(step, toRef(digest)); });
  }
  nb::dict load(std::string_view path) {
    MptTrainingPosition position = {};
    call([&](MptStep step) {
      return mptStepLoadCheckpoint(step, toRef(path), &position);
    });
    nb::dict found;
    found["attempt"] = position.attempt;
    found["skipped"] = position.skipped;
    found["seed"] = position.seed;
    found["batch"] = position.batch;
    found["rows"] = position.rows;
    found["epoch"] = position.epoch;
    found["index"] = position.index;
    return found;
  }

private:
  /// Calls `function` without the GIL. Another thread may close the program meanwhile.
  template <typename Function>
  void call(Function &&function) {
    MptStep step = getStep();
    std::shared_ptr<StepHandle> held = handle;
    MptError error;
    {
      nb::gil_scoped_release release;
      std::lock_guard<std::mutex> lock(mutex);
      error = function(step);
    }
    check(error);
  }

  static bool isInput(const MptTensorInfo &info) {
    std::string_view role(info.role.data, info.role.length);
    return role == "input" || role == "target";
  }
  intptr_t find(const std::string &name) const {
    getStep();
    auto found = byName.find(name);
    if (found == byName.end())
      raise("the program has no tensor named '" + name + "'");
    return found->second;
  }
  intptr_t findInput(const std::string &name) const {
    intptr_t index = find(name);
    MptTensorInfo found = mptStepGetTensor(handle->step, index);
    if (!isInput(found))
      raise("'" + name + "' is not an input of the program: its role is " +
            toString(found.role));
    return index;
  }
  void bindTo(const MptTensorInfo &wanted, const void *data, bool isOnDevice = false) {
    // An empty tensor may have no address.
    call([&](MptStep step) {
      return (isOnDevice ? mptStepBindDevice : mptStepBind)(
          step, wanted.name, data || wanted.bytes ? data : this, wanted.bytes);
    });
  }
  void copyOut(const MptTensorInfo &found, void *data) {
    const bool isOutput =
        std::string_view(found.role.data, found.role.length) == "output";
    call([&](MptStep step) {
      return (isOutput ? mptStepReadOutput : mptStepReadState)(
          step, found.name, data ? data : this, found.bytes);
    });
  }
  /// On the host, or on the GPU of a number.
  static Array wrap(const MptTensorInfo &info, void *data, nb::handle owner,
                    int gpu = -1) {
    std::vector<size_t> shape(info.shape, info.shape + info.rank);
    return Array(data, shape.size(), shape.data(), owner, nullptr, getType(info),
                 gpu < 0 ? nb::device::cpu::value : nb::device::cuda::value,
                 std::max(gpu, 0));
  }

  std::shared_ptr<StepHandle> handle;
  bool isCuda;
  /// Where an output has the name of other state, the state.
  std::unordered_map<std::string, intptr_t> byName;
  std::mutex mutex;
};

/// The processes that mpirun or torchrun started. There is one for the whole process,
/// which ends with it: MPI starts once.
class Ranks {
public:
  /// At the first call, finds the other ranks.
  static Ranks &connect(double deadline, std::string_view device) {
    static Ranks ranks;
    if (ranks.ranks.ptr)
      ranks.setDeadline(deadline);
    else
      ranks.start(deadline, device);
    return ranks;
  }

  MptRanks getHandle() const { return ranks; }
  int64_t getRank() const { return mptRanksGetRank(ranks); }
  int64_t getCount() const { return mptRanksGetCount(ranks); }
  int64_t getNumNeighbors() const { return mptRanksGetNumNeighbors(ranks); }
  void setDeadline(double seconds) { check(mptRanksSetDeadline(ranks, seconds)); }
  void checkSame(std::string_view what, std::string_view text) {
    call([&] { return mptRanksCheckSame(ranks, toRef(what), toRef(text)); });
  }
  bool isSame(uint64_t number) {
    std::vector<uint64_t> all(static_cast<size_t>(getCount()));
    call([&] { return mptRanksGather(ranks, number, all.data()); });
    return std::all_of(all.begin(), all.end(),
                       [&](uint64_t other) { return other == all.front(); });
  }

private:
  template <typename Function>
  static void call(Function &&function) {
    MptError error;
    {
      nb::gil_scoped_release release;
      error = function();
    }
    check(error);
  }

  void start(double deadline, std::string_view device) {
    call([&] { return mptRanksConnectFor(toRef(device), deadline, &ranks); });
    // A rank that is done waits for the others. One that fails does not, whatever ends it
    // (an exception, sys.exit): mpirun sees its status, and ends them. Nor does a process
    // that a rank forked, which MPI does not know.
    process = getpid();
    on_exit(
        [](int status, void *pointer) {
          const Ranks &self = *static_cast<const Ranks *>(pointer);
          if (status == 0 && getpid() == self.process)
            mptRanksDestroy(self.ranks);
        },
        this);
  }

  MptRanks ranks = {nullptr};
  pid_t process = 0;
};

/// The options of a step, freed at the end.
class Options {
public:
  Options(int64_t threads, std::string_view device, int64_t memoryLimit,
          const Program *share, const nb::dict &cuda, const Ranks *ranks) {
    try {
      setCuda(cuda);
      check(mptStepOptionsSetThreads(options, threads));
      check(mptStepOptionsSetDevice(options, toRef(device)));
      check(mptStepOptionsSetMemoryLimit(options, memoryLimit));
      if (share)
        check(mptStepOptionsSetSharedState(options, share->getStep()));
      if (ranks)
        check(mptStepOptionsSetRanks(options, ranks->getHandle()));
    } catch (...) {
      mptStepOptionsDestroy(options);
      throw;
    }
  }
  ~Options() { mptStepOptionsDestroy(options); }
  Options(const Options &) = delete;

  MptStepOptions options = mptStepOptionsCreate();

private:
  /// Takes what is said of CUDA by the names of mpt-run's options.
  void setCuda(const nb::dict &cuda) {
    std::unordered_map<std::string, std::string> texts = {{"cudart", ""},
                                                          {"cublaslt", ""},
                                                          {"cudnn", ""},
                                                          {"nccl", ""},
                                                          {"toolkit", ""},
                                                          {"tuning_file", ""},
                                                          {"attention_variant", "mma"}};
    bool emulatedKernels = false, tunes = true;
    int32_t branches = 3;
    for (auto [key, value] : cuda) {
      const std::string name = nb::cast<std::string>(nb::str(key));
      if (auto found = texts.find(name);
          found != texts.end() && nb::isinstance<nb::str>(value))
        found->second = nb::cast<std::string>(value);
      else if (name == "emulated_kernels" && nb::isinstance<nb::bool_>(value))
        emulatedKernels = nb::cast<bool>(value);
      else if (name == "tune" && nb::isinstance<nb::bool_>(value))
        tunes = nb::cast<bool>(value);
      else if (name == "graph_branches" && nb::isinstance<nb::int_>(value) &&
               !nb::isinstance<nb::bool_>(value) && nb::try_cast(value, branches))
        continue;
      else
        raise("cuda: expected cudart, cublaslt, cudnn, nccl, toolkit, tuning_file and "
              "attention_variant as text, tune and emulated_kernels as bools and "
              "graph_branches as an integer, found " +
              nb::cast<std::string>(nb::repr(key)) + ": " +
              nb::cast<std::string>(nb::repr(value)));
    }
    check(mptStepOptionsSetCudaLibraries(options, toRef(texts["cudart"]),
                                         toRef(texts["cublaslt"]),
                                         toRef(texts["cudnn"])));
    check(mptStepOptionsSetNcclLibrary(options, toRef(texts["nccl"])));
    check(mptStepOptionsSetTuning(options, tunes, toRef(texts["tuning_file"])));
    check(mptStepOptionsUseTuningCache(options));
    check(mptStepOptionsSetGraphBranches(options, branches));
    check(
        mptStepOptionsSetCudaCompiler(options, toRef(texts["toolkit"]), emulatedKernels));
    check(mptStepOptionsSetAttentionVariant(options, toRef(texts["attention_variant"])));
  }
};

Program *createProgram(Module &module, std::string_view function, int64_t threads,
                       std::string_view device, int64_t memoryLimit, const Program *share,
                       const nb::dict &cuda, const Ranks *ranks) {
  module.checkWhole();
  Options options(threads, device, memoryLimit, share, cuda, ranks);
  MptStep step;
  check(module.run([&] {
    return mptStepCreate(module.module, toRef(function), options.options, &step);
  }));
  return new Program(step);
}

Program *openProgram(std::string_view path, int64_t threads, std::string_view device,
                     int64_t memoryLimit, const Program *share, const nb::dict &cuda,
                     const Ranks *ranks) {
  Options options(threads, device, memoryLimit, share, cuda, ranks);
  MptStep step;
  MptError error;
  {
    nb::gil_scoped_release release;
    error = mptStepOpen(toRef(path), options.options, &step);
  }
  check(error);
  return new Program(step);
}

} // namespace

NB_MODULE(_core, m) {
  m.doc() = "MPT's C API in Python.";
  m.attr("version") = toString(mptGetVersion());

  nb::class_<Module>(m, "Module", "A module of MLIR, of MPT's dialects or others.")
      .def(nb::init<std::string_view, std::string_view>(), "text"_a,
           "name"_a = "module.mlir",
           "Parses text or bytecode, and verifies it. `name` is what errors call it.")
      .def("clone", &Module::clone, "A copy.")
      .def("text", &Module::print, "locations"_a = false,
           "The module as text, with the places of ops if `locations`.")
      .def("__str__", [](Module &self) { return self.print(false); })
      .def("run", &Module::runPipeline, "pipeline"_a,
           "Runs passes, as \"mpt-autodiff,mpt-train-step{optimizer=adam}\". Returns "
           "the warnings and remarks, Diagnostic each.")
      .def("compile", &Module::compile, "path"_a,
           "options"_a = std::vector<std::string>(),
           "Compiles a function into the shared library at `path`, as mpt-compile does "
           "with `options`. Returns the warnings and remarks.")
      .def(
          "program", createProgram, "function"_a = "", "threads"_a = 0,
          "device"_a = "cpu", "memory_limit"_a = 0, "share"_a = nb::none(),
          "cuda"_a = nb::dict(), "ranks"_a = nb::none(),
          "Compiles a function (the only one, else `loss`) in this process. State that "
          "the program `share` has too, by name, type and shape, is the same memory. "
          "`cuda` may name CUDA's libraries by path (\"cudart\", \"cublaslt\", "
          "\"cudnn\", \"nccl\"), the folder of its compiler (\"toolkit\"), the file that "
          "keeps which algorithms are the fastest (\"tuning_file\"; \"tune\" False: "
          "none are measured), \"attention_variant\" (\"auto\": attention by wgmma "
          "where an sm_90 has it), how many branches of a step's CUDA graph run at "
          "once (\"graph_branches\", 1 to 3), and ask for kernels that run on the "
          "stand-in "
          "for CUDA of "
          "MPT's tests (\"emulated_kernels\"). A "
          "step of several processes exchanges values with `ranks`.");

  nb::class_<TensorInfo>(m, "TensorInfo", "What a program knows of a tensor.")
      .def_ro("name", &TensorInfo::name)
      .def_ro("role", &TensorInfo::role,
              "parameter, optimizer_state, running_stat, loss_scale, rng, schedule, "
              "input, target or output")
      .def_ro("type", &TensorInfo::type, "The element type in MLIR's spelling, as f32")
      .def_prop_ro("shape",
                   [](const TensorInfo &self) { return nb::tuple(nb::cast(self.shape)); })
      .def_ro("bytes", &TensorInfo::bytes)
      .def("__repr__", [](const TensorInfo &self) {
        return self.name + ": " + self.role + " " + self.description;
      });

  nb::class_<Ranks>(m, "Ranks",
                    "The processes that mpirun started, or torchrun for steps on GPUs, "
                    "of which this is one. All call the same methods in the same order.")
      .def_static("connect", &Ranks::connect, "deadline"_a = 600.0, "device"_a = "cpu",
                  nb::rv_policy::reference,
                  "Finds the others, to train on `device` (\"cpu\" or \"cuda\"); once "
                  "more, the same object. A rank that has not answered for `deadline` "
                  "seconds is an error. At its end, this process waits so long for the "
                  "others, by the first call's deadline.")
      .def_prop_ro("rank", &Ranks::getRank, "The number of this process, from 0.")
      .def_prop_ro("count", &Ranks::getCount, "How many there are.")
      .def_prop_ro("neighbors", &Ranks::getNumNeighbors,
                   "How many there are on this machine.")
      .def("set_deadline", &Ranks::setDeadline, "seconds"_a)
      .def("check_same", &Ranks::checkSame, "what"_a, "text"_a,
           "Raises, on every rank, unless `text` is the same on all.")
      .def("is_same", &Ranks::isSame, "number"_a,
           "Whether a number of 64 bits is the same on all ranks.");

  nb::class_<Program>(m, "Program",
                      "A compiled function with its state. Not for two threads at once: "
                      "a lock makes the second one wait.")
      .def_static("open", openProgram, "path"_a, "threads"_a = 0, "device"_a = "cpu",
                  "memory_limit"_a = 0, "share"_a = nb::none(), "cuda"_a = nb::dict(),
                  "ranks"_a = nb::none(),
                  "Opens a file that mpt-compile or Module.compile wrote. This runs code "
                  "of the file. `cuda` and `ranks` are as in Module.program.")
      .def_prop_ro("tensors", &Program::tensors,
                   "State and inputs in the order of the function's arguments, then "
                   "outputs: a list of TensorInfo.")
      .def(
          "bind", &Program::bind, "name"_a, "array"_a,
          "Binds an input to an array without a copy. It may change between runs. If the "
          "program runs on a GPU, the array may be there.")
      .def("bind_address", &Program::bindAddress, "name"_a, "address"_a, "bytes"_a,
           "owner"_a = nb::none(),
           "Binds an input to memory that `owner` keeps alive, and checks no more than "
           "its size.")
      .def(
          "set_stream", &Program::setStream, "stream"_a,
          "On a GPU: runs take their place among the work in this stream, given as the "
          "number of its cudaStream_t (torch.cuda.current_stream().cuda_stream), and the "
          "host does not wait for arrays that are bound there.")
      .def("run", &Program::run,
           "Runs once on what is bound: updates the state and makes the outputs. Other "
           "Python threads go on; Ctrl-C takes effect when the run is done.")
      .def("view", &Program::view, "name"_a,
           "State or an output as an array over the program's own memory: later runs "
           "change it, and writing to it changes state. On a GPU after the first run; "
           "what uses the array there does so in the stream of set_stream, or before the "
           "next run.")
      .def("read", &Program::read, "name"_a, "out"_a = nb::none(),
           "A copy of state, or of an output of the last run; into `out` if given.")
      .def("keep", &Program::keep, "names"_a,
           "Every run after this leaves copies of this state and these outputs, for "
           "read_result. On a GPU they are made while the next run is under way.")
      .def("read_result", &Program::readResult, "name"_a, "run"_a,
           "What a tensor of keep() was after run `run` (runs): the last one, or the one "
           "before it. On a GPU this waits for that run, and not for the one after it.")
      .def_prop_ro("runs", &Program::countRuns,
                   "Runs so far that did not fail: the number of the last one.")
      .def("write", &Program::write, "name"_a, "array"_a, "Sets state.")
      .def("initialize", &Program::initialize, "seed"_a = 0, "file"_a = "",
           "Gives all state its first values, from a .safetensors file or by mpt.init.")
      .def("save", &Program::save, "path"_a, "attempt"_a = 0, "skipped"_a = 0,
           "seed"_a = 0, "batch"_a = 0, "rows"_a = 0, "epoch"_a = 0, "index"_a = 0,
           "background"_a = false,
           "Writes a checkpoint as mpt-run does: all state, and where training stands. "
           "With `background`, from a copy of the state while the program runs on; what "
           "goes wrong there is an error of finish_save(), or of the next save or load.")
      .def("finish_save", &Program::finishSave,
           "Waits until the checkpoint that is being written in the background is there.")
      .def("load", &Program::load, "path"_a,
           "Reads a checkpoint of this step back. Returns where training stood.")
      .def("close", &Program::close,
           "Frees the program as soon as no view of its memory is left.")
      .def_prop_ro("closed", &Program::isClosed)
      .def_prop_ro(
          "target",
          [](const Program &self) { return toString(mptStepGetTarget(self.getStep())); },
          "What it was compiled for, as \"cuda sm_90\".")
      .def_prop_ro(
          "digest",
          [](const Program &self) { return toString(mptStepGetDigest(self.getStep())); },
          "What checkpoints of this step carry.")
      .def(
          "set_whole_digest", &Program::setWholeDigest, "digest"_a,
          "Says in a word what the step does to each batch as a whole: programs of "
          "another number of ranks or micro-batches with the same word read each other's "
          "checkpoints.")
      .def_prop_ro(
          "notes",
          [](const Program &self) {
            std::string text;
            mptStepGetNotes(self.getStep(), appendText, &text);
            return text;
          },
          "Lines about what was decided for a GPU: that the program has a memory budget "
          "since more does not fit, and once it has run, what CUDA's libraries refused.")
      .def("set_profiling", &Program::setProfiling, "on"_a,
           "Measures every library call and kernel of the runs that follow, until it is "
           "called with False. On the CPU it then takes about a second to measure what "
           "the "
           "machine does at most.")
      .def_prop_ro(
          "profiled_runs", &Program::countProfiled,
          "How many runs the profile is the mean of: all that were measured, or, "
          "if there were several, all but the first.")
      .def("profile", &Program::profile, "format"_a = "text", "title"_a = "profile",
           "Where these runs spent their time, as \"text\", \"json\" or \"html\".")
      .def_prop_ro(
          "arena_bytes",
          [](const Program &self) { return mptStepGetArenaBytes(self.getStep()); },
          "Memory of a run's temporary values.")
      .def_prop_ro("state_bytes", [](const Program &self) {
        return mptStepGetStateBytes(self.getStep());
      });
}
