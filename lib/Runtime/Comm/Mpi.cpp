//===- Mpi.cpp - Messages over MPI, loaded at run time ----------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// MPI has no common ABI: handles and constants are addresses of objects in OpenMPI's
/// library and numbers in MPICH's. What this file knows of a library is in one struct,
/// `OpenMpi`; the transport takes it as a parameter.
///
//===----------------------------------------------------------------------===//

#include "Communicator.h"
#include "Watchdog.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <unistd.h>

using namespace mpt::rt;

namespace {

/// The ABI of libmpi.so.40: OpenMPI 2 to 5.
struct OpenMpi {
  using Comm = void *;
  using Datatype = void *;
  using Request = void *;
  using Op = void *;
  using ErrorHandler = void *;
  static constexpr int success = 0;
  static constexpr int threadSerialized = 2;
  static constexpr int maxErrorString = 256;
  static constexpr int maxProcessorName = 256;

  // Objects of the library whose addresses are constants.
  Comm world = nullptr;
  Datatype byte = nullptr, f32 = nullptr, f64 = nullptr;
  Op sum = nullptr;
  Request requestNull = nullptr;
  ErrorHandler errorsReturn = nullptr;

  // NOLINTBEGIN(readability-identifier-naming): MPI's names.
  int (*MPI_Initialized)(int *flag) = nullptr;
  int (*MPI_Finalized)(int *flag) = nullptr;
  int (*MPI_Init_thread)(int *argc, char ***argv, int required, int *provided) = nullptr;
  int (*MPI_Query_thread)(int *provided) = nullptr;
  int (*MPI_Finalize)() = nullptr;
  int (*MPI_Comm_dup)(Comm comm, Comm *copy) = nullptr;
  int (*MPI_Comm_free)(Comm *comm) = nullptr;
  int (*MPI_Comm_rank)(Comm comm, int *rank) = nullptr;
  int (*MPI_Comm_size)(Comm comm, int *size) = nullptr;
  int (*MPI_Comm_set_errhandler)(Comm comm, ErrorHandler handler) = nullptr;
  int (*MPI_Get_processor_name)(char *name, int *length) = nullptr;
  int (*MPI_Isend)(const void *data, int count, Datatype type, int to, int tag, Comm comm,
                   Request *request) = nullptr;
  int (*MPI_Irecv)(void *data, int count, Datatype type, int from, int tag, Comm comm,
                   Request *request) = nullptr;
  int (*MPI_Iallreduce)(const void *values, void *sums, int count, Datatype type, Op op,
                        Comm comm, Request *request) = nullptr;
  int (*MPI_Test)(Request *request, int *flag, void *status) = nullptr;
  int (*MPI_Error_string)(int code, char *text, int *length) = nullptr;
  int (*MPI_Abort)(Comm comm, int code) = nullptr;
  // NOLINTEND(readability-identifier-naming)

  /// Loads the library; on failure says why.
  bool load(const std::string &given, std::string &error);
};

bool OpenMpi::load(const std::string &given, std::string &error) {
  const std::string name = given.empty() ? "libmpi.so.40" : given;
  // Its plugins look for symbols of the library among all that are loaded.
  void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    const char *why = dlerror();
    error = "cannot load " + name + (why ? std::string(": ") + why : "") +
            "; install OpenMPI (Debian: openmpi-bin), or name its libmpi.so";
    return false;
  }
  if (!dlsym(library, "ompi_mpi_comm_world")) {
    error = name +
            (dlsym(library, "MPI_Init")
                 ? " is not OpenMPI's (MPICH and those derived from it have "
                   "another ABI)"
                 : " is no library of MPI") +
            "; name the libmpi.so of OpenMPI 4 or 5";
    return false;
  }
  auto find = [&](const char *symbol, auto &target) {
    target = reinterpret_cast<std::decay_t<decltype(target)>>(dlsym(library, symbol));
    if (!target)
      error = name + " has no " + symbol + "; install OpenMPI 4 or 5";
    return target != nullptr;
  };
#define MPT_FIND(function)                                                               \
  if (!find(#function, function))                                                        \
    return false;
  MPT_FIND(MPI_Initialized)
  MPT_FIND(MPI_Finalized)
  MPT_FIND(MPI_Init_thread)
  MPT_FIND(MPI_Query_thread)
  MPT_FIND(MPI_Finalize)
  MPT_FIND(MPI_Comm_dup)
  MPT_FIND(MPI_Comm_free)
  MPT_FIND(MPI_Comm_rank)
  MPT_FIND(MPI_Comm_size)
  MPT_FIND(MPI_Comm_set_errhandler)
  MPT_FIND(MPI_Get_processor_name)
  MPT_FIND(MPI_Isend)
  MPT_FIND(MPI_Irecv)
  MPT_FIND(MPI_Iallreduce)
  MPT_FIND(MPI_Test)
  MPT_FIND(MPI_Error_string)
  MPT_FIND(MPI_Abort)
#undef MPT_FIND
  return find("ompi_mpi_comm_world", world) && find("ompi_mpi_byte", byte) &&
         find("ompi_mpi_float", f32) && find("ompi_mpi_double", f64) &&
         find("ompi_mpi_op_sum", sum) && find("ompi_request_null", requestNull) &&
         find("ompi_mpi_errors_return", errorsReturn);
}

/// Messages of a post that are under way: those received, then those sent. Or one
/// reduction.
template <typename Mpi>
struct Exchange {
  std::vector<typename Mpi::Request> requests;
  /// Those before it are complete.
  size_t next = 0;
};

/// Seconds that MPI gets at least to begin and to end, which may take it some on a busy
/// machine.
constexpr double kLeastDeadline = 20;

template <typename Mpi>
class MpiTransport {
public:
  MpiTransport(const Mpi &mpi, double deadline)
      : mpi(mpi), deadline(std::max(deadline, kLeastDeadline)) {}

  /// Initializes MPI if nobody has. On failure says why.
  bool open(std::string &error);
  mpt_rt_transport describe();

private:
  bool check(int code, const char *what);
  int post(const mpt_rt_message *send, const mpt_rt_message *receive, void **request);
  int allReduce(const void *values, void *sums, size_t count, bool isDouble,
                void **request);
  Exchange<Mpi> &makeExchange(size_t requests);
  int test(void *request, int32_t *done, int32_t *missing);
  void close(bool hasFailed);

  Mpi mpi;
  /// Of what waits in MPI itself.
  double deadline;
  typename Mpi::Comm comm = {};
  int rank = 0, ranks = 1;
  bool isOwner = false, isForAnyThread = false;
  std::string host, error;
  /// Exchanges that are over, to be used again.
  std::vector<std::unique_ptr<Exchange<Mpi>>> idle, busy;
};

template <typename Mpi>
bool MpiTransport<Mpi>::check(int code, const char *what) {
  if (code == Mpi::success)
    return true;
  char text[Mpi::maxErrorString] = {};
  int length = 0;
  if (mpi.MPI_Error_string(code, text, &length) != Mpi::success)
    length = 0;
  error = std::string(what) + ": " +
          (length ? std::string(text, length) : "error " + std::to_string(code));
  return false;
}

template <typename Mpi>
bool MpiTransport<Mpi>::open(std::string &why) {
  int isInitialized = 0, isFinalized = 0, provided = 0, length = 0;
  char name[Mpi::maxProcessorName] = {};
  bool ok = check(mpi.MPI_Initialized(&isInitialized), "MPI_Initialized") &&
            check(mpi.MPI_Finalized(&isFinalized), "MPI_Finalized");
  if (ok && isFinalized) {
    error = "MPI has been finalized in this process and cannot begin again";
    ok = false;
  }
  Watchdog watchdog("MPI_Init", deadline);
  if (ok && !isInitialized) {
    // OpenMPI with more ranks than cores yields the core each time that it is asked for a
    // message. The communicator pauses between its questions.
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", /*overwrite=*/0);
    ok = check(mpi.MPI_Init_thread(nullptr, nullptr, Mpi::threadSerialized, &provided),
               "MPI_Init_thread");
    isOwner = ok;
  }
  // What a host that has begun MPI itself asked for.
  if (ok && check(mpi.MPI_Query_thread(&provided), "MPI_Query_thread"))
    isForAnyThread = provided >= Mpi::threadSerialized;
  // Messages of the host's own stay apart.
  ok = ok && check(mpi.MPI_Comm_dup(mpi.world, &comm), "MPI_Comm_dup") &&
       check(mpi.MPI_Comm_set_errhandler(comm, mpi.errorsReturn),
             "MPI_Comm_set_errhandler") &&
       check(mpi.MPI_Comm_rank(comm, &rank), "MPI_Comm_rank") &&
       check(mpi.MPI_Comm_size(comm, &ranks), "MPI_Comm_size") &&
       check(mpi.MPI_Get_processor_name(name, &length), "MPI_Get_processor_name");
  host.assign(name, length);
  why = error;
  return ok;
}

template <typename Mpi>
Exchange<Mpi> &MpiTransport<Mpi>::makeExchange(size_t requests) {
  if (idle.empty())
    idle.push_back(std::make_unique<Exchange<Mpi>>());
  busy.push_back(std::move(idle.back()));
  idle.pop_back();
  Exchange<Mpi> &exchange = *busy.back();
  exchange.requests.assign(requests, mpi.requestNull);
  exchange.next = 0;
  return exchange;
}

template <typename Mpi>
int MpiTransport<Mpi>::allReduce(const void *values, void *sums, size_t count,
                                 bool isDouble, void **request) {
  Exchange<Mpi> &exchange = makeExchange(1);
  *request = &exchange;
  return !check(mpi.MPI_Iallreduce(values, sums, static_cast<int>(count),
                                   isDouble ? mpi.f64 : mpi.f32, mpi.sum, comm,
                                   &exchange.requests[0]),
                "MPI_Iallreduce");
}

template <typename Mpi>
int MpiTransport<Mpi>::post(const mpt_rt_message *send, const mpt_rt_message *receive,
                            void **request) {
  Exchange<Mpi> &exchange = makeExchange(2 * size_t(ranks));
  *request = &exchange;
  for (int i = 0; i < ranks; ++i)
    if (i != rank && receive[i].bytes > 0 &&
        !check(mpi.MPI_Irecv(receive[i].data, static_cast<int>(receive[i].bytes),
                             mpi.byte, i, /*tag=*/0, comm, &exchange.requests[i]),
               "MPI_Irecv"))
      return 1;
  // Not all to rank 0 first.
  for (int step = 1; step < ranks; ++step) {
    const int i = (rank + step) % ranks;
    if (send[i].bytes > 0 &&
        !check(mpi.MPI_Isend(send[i].data, static_cast<int>(send[i].bytes), mpi.byte, i,
                             /*tag=*/0, comm, &exchange.requests[ranks + i]),
               "MPI_Isend"))
      return 1;
  }
  return 0;
}

template <typename Mpi>
int MpiTransport<Mpi>::test(void *request, int32_t *done, int32_t *missing) {
  auto &exchange = *static_cast<Exchange<Mpi> *>(request);
  *done = 0;
  for (; exchange.next < exchange.requests.size(); ++exchange.next) {
    // Who is late in a reduction only the library knows.
    *missing =
        exchange.requests.size() == 1 ? -1 : static_cast<int32_t>(exchange.next % ranks);
    auto &one = exchange.requests[exchange.next];
    int flag = 1;
    if (one != mpi.requestNull &&
        !check(mpi.MPI_Test(&one, &flag, /*status=*/nullptr), "MPI_Test"))
      return 1;
    if (!flag)
      return 0;
  }
  *done = 1;
  for (auto &each : busy)
    if (each.get() == &exchange) {
      std::swap(each, busy.back());
      idle.push_back(std::move(busy.back()));
      busy.pop_back();
      break;
    }
  return 0;
}

template <typename Mpi>
void MpiTransport<Mpi>::close(bool hasFailed) {
  int isFinalized = 0;
  if (hasFailed || mpi.MPI_Finalized(&isFinalized) != Mpi::success || isFinalized)
    return; // MPI would wait for ranks that are gone.
  Watchdog watchdog("MPI_Finalize", deadline);
  mpi.MPI_Comm_free(&comm);
  if (isOwner)
    mpi.MPI_Finalize();
}

template <typename Mpi>
mpt_rt_transport MpiTransport<Mpi>::describe() {
  mpt_rt_transport transport = {};
  transport.struct_bytes = sizeof(mpt_rt_transport);
  transport.data = this;
  transport.rank = rank;
  transport.ranks = ranks;
  transport.host = host.c_str();
  transport.post = [](void *data, const mpt_rt_message *send,
                      const mpt_rt_message *receive, void **request) {
    return static_cast<MpiTransport *>(data)->post(send, receive, request);
  };
  transport.test = [](void *data, void *request, int32_t *done, int32_t *missing) {
    return static_cast<MpiTransport *>(data)->test(request, done, missing);
  };
  transport.any_thread = isForAnyThread;
  transport.all_reduce = [](void *data, const void *values, void *sums, size_t count,
                            int32_t isDouble, void **request) {
    return static_cast<MpiTransport *>(data)->allReduce(values, sums, count,
                                                        isDouble != 0, request);
  };
  transport.describe = [](void *data) {
    return static_cast<MpiTransport *>(data)->error.c_str();
  };
  transport.abort = [](void *data, int32_t status) {
    auto *self = static_cast<MpiTransport *>(data);
    self->mpi.MPI_Abort(self->comm, status);
  };
  transport.close = [](void *data, int32_t hasFailed) {
    auto *self = static_cast<MpiTransport *>(data);
    self->close(hasFailed);
    // What failed may still write into messages.
    if (!hasFailed)
      delete self;
  };
  return transport;
}

/// Why this process is not one of an MPI job; "" if it is.
std::string findWhyNotLaunched() {
  // As mpirun, and Slurm's PMIx and PMI plugins, tell their processes.
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"})
    if (std::getenv(name))
      return "";
  const char *size = std::getenv("WORLD_SIZE");
  if (size && std::getenv("RANK"))
    return "this process was started by torchrun or the like (RANK and WORLD_SIZE are "
           "set), which starts no MPI job; start it with mpirun, as in 'mpirun -n " +
           std::string(size) + " PROGRAM ..'";
  return "this process was started alone; MPI's ranks are started together by mpirun, "
         "as in 'mpirun -n 4 PROGRAM ..'";
}

} // namespace

int mpt::rt::createMpiTransport(const std::string &library, mpt_rt_transport &transport,
                                double deadline, std::string &error) {
  OpenMpi mpi;
  int isInitialized = 0;
  if (!mpi.load(library, error))
    return MPT_RT_UNSUPPORTED;
  if (mpi.MPI_Initialized(&isInitialized) == OpenMpi::success && !isInitialized)
    if (error = findWhyNotLaunched(); !error.empty())
      return MPT_RT_UNSUPPORTED;
  auto made = std::make_unique<MpiTransport<OpenMpi>>(mpi, deadline);
  if (!made->open(error))
    return MPT_RT_COMMUNICATION_FAILED;
  transport = made.release()->describe();
  return MPT_RT_OK;
}
