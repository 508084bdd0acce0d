//===- NcclRanksTest.cpp - Programs of several GPUs on the stand-in -*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Processes that exchange values by the stand-in for NCCL, which holds them to its
/// rules. They meet by TCP, as those of torchrun.
///
//===----------------------------------------------------------------------===//

#include "CUDA/NcclApi.h"
#include "ProgramBuilder.h"
#include "StandIn.h"
#include "mpt/ProgramABI/CudaProgram.h"

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mpt::rt;
namespace cuda = mpt::rt::cuda;

namespace {

/// A port that nothing uses now.
int findPort() {
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  ::bind(file, reinterpret_cast<sockaddr *>(&address), length);
  ::getsockname(file, reinterpret_cast<sockaddr *>(&address), &length);
  ::close(file);
  return ntohs(address.sin_port);
}

void setJob(int rank, int ranks, int port) {
  setenv("RANK", std::to_string(rank).c_str(), 1);
  setenv("WORLD_SIZE", std::to_string(ranks).c_str(), 1);
  setenv("MASTER_ADDR", "127.0.0.1", 1);
  setenv("MASTER_PORT", std::to_string(port).c_str(), 1);
  unsetenv("TORCHELASTIC_USE_AGENT_STORE");
}

/// Runs `body` in a process for each rank. Those that still run when rank 0 has ended,
/// and `waits` is false, are killed. Rank `lost` is to end by a signal.
void runRanks(int ranks, const std::function<void(int rank)> &body, bool waits = true,
              int lost = -1) {
  const int port = findPort();
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      setJob(rank, ranks, port);
      mpt_standin_reset();
      mpt_standin_set_device(ranks, 9, 0, int64_t(1) << 28);
      body(rank);
      EXPECT_EQ(std::string(mpt_standin_breach()), "") << "rank " << rank;
      std::fflush(stdout);
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    processes.push_back(child);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    ASSERT_EQ(waitpid(processes[rank], &status, 0), processes[rank]);
    if (rank == lost)
      EXPECT_TRUE(WIFSIGNALED(status)) << "rank " << rank;
    else if (rank == 0 || waits)
      EXPECT_EQ(status, 0) << "rank " << rank;
    if (rank == 0 && !waits)
      for (int other = 1; other < ranks; ++other)
        kill(processes[other], SIGKILL);
  }
}

struct Communicator {
  explicit Communicator(double deadline = 30)
      : rt(mpt_rt_create_communicator(deadline)) {}
  ~Communicator() { mpt_rt_destroy_communicator(rt); }
  std::string error() const { return mpt_rt_communicator_error(rt); }
  mpt_rt_communicator *rt;
};

/// A program of library calls alone.
struct Model {
  ProgramBuilder builder{1};
  std::string table;
  mpt_cuda_desc cuda = {};
  mpt_program_desc made;
  const char *nccl = MPT_STANDIN;
  int open(Context &context, const Communicator &communicator, int rank) {
    builder.program.target = "cuda sm_90";
    table = writeProgram(builder.program);
    made = describeForCuda(table, 0, cuda);
    EXPECT_EQ(mpt_rt_set_cuda_libraries(context.rt, MPT_STANDIN, MPT_STANDIN), 0);
    EXPECT_EQ(mpt_rt_set_nccl_library(context.rt, nccl), 0);
    EXPECT_EQ(mpt_rt_set_cuda_device(context.rt, rank), 0);
    EXPECT_EQ(mpt_rt_set_communicator(context.rt, communicator.rt), 0);
    return mpt_rt_open_desc(context.rt, &made);
  }
};

AllGatherCall gather(int64_t ranks, bool async = false) {
  AllGatherCall call;
  call.ranks = ranks;
  call.async = async;
  return call;
}

std::vector<float> readFloats(Context &context, const char *name, size_t count) {
  std::vector<float> values(count);
  EXPECT_EQ(mpt_rt_read_output(context.rt, name, values.data(), 4 * count), MPT_RT_OK)
      << context.error();
  return values;
}

/// Each kind of exchange; two that overlap with a copy, as one group. The first run goes
/// call by call, the second is recorded, the third launches the graph.
TEST(NcclRanks, Exchanges) {
  for (int ranks : {2, 3})
    runRanks(ranks, [&](int rank) {
      Model model;
      ProgramBuilder &b = model.builder;
      const auto n = int64_t(ranks);
      BufferRef x = b.input("x", DataType::F32, {4}),
                h = b.input("h", DataType::F16, {3});
      BufferRef i = b.input("i", DataType::I64, {2});
      BufferRef all = b.output("all", DataType::F32, {4 * n});
      BufferRef low = b.output("low", DataType::F16, {3 * n});
      BufferRef copied = b.output("copied", DataType::F32, {4});
      BufferRef joined = b.output("joined", DataType::F32, {4 * n});
      WaitCall wait;
      wait.numXs = wait.numResults = 1;
      b.call(gather(n, /*async=*/true), {x}, all);
      b.call(gather(n, /*async=*/true), {h}, low);
      b.call(plainCopy(4), {x}, copied);
      b.call(wait, {x}, all);
      // What is joined is read.
      b.call(plainCopy(4 * n), {all}, joined);
      b.call(wait, {h}, low);
      AllReduceCall sum;
      sum.kind = ReduceKind::Sum;
      sum.order = SumOrder::Library;
      sum.ranks = n;
      sum.numXs = sum.numSums = 1;
      BufferRef total = b.output("total", DataType::F32, {4});
      b.call(sum, {x}, total);
      sum.kind = ReduceKind::Max;
      BufferRef most = b.output("most", DataType::I64, {2});
      b.call(sum, {i}, most);
      ReduceScatterCall scatter;
      scatter.kind = ReduceKind::Sum;
      scatter.order = SumOrder::Library;
      scatter.ranks = n;
      b.call(scatter, {joined}, b.output("part", DataType::F32, {4}));
      AllToAllCall exchange;
      exchange.ranks = n;
      b.call(exchange, {joined}, b.output("exchanged", DataType::F32, {4 * n}));
      BroadcastCall broadcast;
      broadcast.ranks = n;
      broadcast.root = n - 1;
      b.call(broadcast, {x}, b.output("last", DataType::F32, {4}));
      RankCall number;
      number.ranks = n;
      b.call(number, {}, b.output("rank", DataType::I64, {}));

      Communicator communicator;
      ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
      {
        Context context;
        ASSERT_EQ(model.open(context, communicator, rank), 0) << context.error();
        std::vector<float> xs(4);
        std::vector<uint16_t> hs(3);
        std::vector<int64_t> is = {10 - rank, 20 + rank};
        for (int run = 0; run < 3; ++run) {
          auto value = [&](int of, int at) { return float(100 * run + 10 * of + at); };
          for (int at = 0; at < 4; ++at)
            xs[at] = value(rank, at);
          for (int at = 0; at < 3; ++at)
            hs[at] = static_cast<uint16_t>(256 * run + 16 * rank + at);
          mpt_rt_bind(context.rt, "x", xs.data(), 16);
          mpt_rt_bind(context.rt, "h", hs.data(), 6);
          mpt_rt_bind(context.rt, "i", is.data(), 16);
          ASSERT_EQ(mpt_rt_run(context.rt), 0) << context.error();
          std::vector<float> expected, sums(4, 0);
          for (int of = 0; of < ranks; ++of)
            for (int at = 0; at < 4; ++at) {
              expected.push_back(value(of, at));
              sums[at] += value(of, at);
            }
          EXPECT_EQ(readFloats(context, "all", 4 * ranks), expected);
          EXPECT_EQ(readFloats(context, "joined", 4 * ranks), expected);
          EXPECT_EQ(readFloats(context, "copied", 4), xs);
          EXPECT_EQ(readFloats(context, "total", 4), sums);
          std::vector<float> part(expected.begin() + 4 * rank,
                                  expected.begin() + 4 * rank + 4);
          for (float &one : part)
            one *= float(ranks);
          EXPECT_EQ(readFloats(context, "part", 4), part);
          // All ranks have joined the same.
          for (int at = 0; at < 4 * ranks; ++at)
            EXPECT_EQ(readFloats(context, "exchanged", 4 * ranks)[at],
                      value(rank, at % 4));
          for (int at = 0; at < 4; ++at)
            EXPECT_EQ(readFloats(context, "last", 4)[at], value(ranks - 1, at));
          std::vector<uint16_t> lows(3 * ranks);
          mpt_rt_read_output(context.rt, "low", lows.data(), 6 * ranks);
          for (int of = 0; of < ranks; ++of)
            for (int at = 0; at < 3; ++at)
              EXPECT_EQ(lows[3 * of + at], 256 * run + 16 * of + at);
          int64_t own = -1, largest[2];
          mpt_rt_read_output(context.rt, "rank", &own, 8);
          mpt_rt_read_output(context.rt, "most", largest, 16);
          EXPECT_EQ(own, rank);
          EXPECT_EQ(largest[0], 10);
          EXPECT_EQ(largest[1], 20 + ranks - 1);
        }
        // The two that overlap are one group of NCCL's, and the rest another, in the run
        // and in the graph.
        EXPECT_EQ(mpt_standin_calls("ncclAllGather"), 4);
        EXPECT_EQ(mpt_standin_calls("ncclGroupEnd"), 4);
        EXPECT_EQ(mpt_standin_calls("cudaGraphLaunch"), 2);
        EXPECT_GT(mpt_rt_get_sent_bytes(communicator.rt), 0u);
      }
      EXPECT_EQ(mpt_standin_alive(), 0);
    });
}

/// A program with one all_gather of `count` floats.
Model makeGather(int64_t ranks, int64_t count) {
  Model model;
  BufferRef x = model.builder.input("x", DataType::F32, {count});
  model.builder.call(gather(ranks), {x},
                     model.builder.output("y", DataType::F32, {ranks * count}));
  return model;
}

/// Runs it once and reads its result. Returns a status.
int runOnce(Context &context, int64_t ranks, int64_t count) {
  static std::vector<float> x(64);
  mpt_rt_bind(context.rt, "x", x.data(), 4 * count);
  if (int status = mpt_rt_run(context.rt))
    return status;
  std::vector<float> y(ranks * count);
  return mpt_rt_read_output(context.rt, "y", y.data(), y.size() * 4);
}

/// Programs that differ: both sides are named, on all ranks.
TEST(NcclRanks, ProgramsDiffer) {
  runRanks(2, [](int rank) {
    Model model = makeGather(2, rank == 0 ? 4 : 8);
    Communicator communicator;
    ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
    Context context;
    ASSERT_EQ(model.open(context, communicator, rank), 0) << context.error();
    EXPECT_EQ(runOnce(context, 2, rank == 0 ? 4 : 8), MPT_RT_COMMUNICATION_FAILED);
    EXPECT_NE(context.error().find("rank 0: call 1: all_gather of 4 f32; rank 1: call 1: "
                                   "all_gather of 8 f32"),
              std::string::npos)
        << context.error();
    // And after that nothing runs.
    EXPECT_EQ(runOnce(context, 2, rank == 0 ? 4 : 8), MPT_RT_COMMUNICATION_FAILED);
  });
}

/// All that are left name the one that is lost, whoever of them ends first.
TEST(NcclRanks, Killed) {
  runRanks(
      4,
      [](int rank) {
        Model model = makeGather(4, 4);
        Communicator communicator;
        ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
        Context context;
        ASSERT_EQ(model.open(context, communicator, rank), 0) << context.error();
        for (int run = 0; run < 3; ++run)
          ASSERT_EQ(runOnce(context, 4, 4), 0) << context.error();
        if (rank == 1)
          kill(getpid(), SIGKILL);
        EXPECT_EQ(runOnce(context, 4, 4), MPT_RT_COMMUNICATION_FAILED);
        EXPECT_NE(context.error().find("rank 1 (on "), std::string::npos)
            << "rank " << rank << ": " << context.error();
      },
      /*waits=*/true, /*lost=*/1);
}

/// A rank that comes late, since it has read data, is not blamed for what failed on
/// another.
TEST(NcclRanks, SlowToLoad) {
  runRanks(2, [](int rank) {
    Model model = makeGather(2, 4);
    Communicator communicator;
    ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
    Context context;
    ASSERT_EQ(model.open(context, communicator, rank), 0) << context.error();
    ASSERT_EQ(runOnce(context, 2, 4), 0) << context.error();
    if (rank == 1)
      sleep(6);
    else
      mpt_standin_fail("ncclAllGather", 1, cuda::kNcclUnhandledCudaError);
    EXPECT_EQ(runOnce(context, 2, 4), MPT_RT_COMMUNICATION_FAILED);
    EXPECT_NE(context.error().find(rank == 0 ? "NCCL: unhandled cuda error"
                                             : "NCCL: remote process exited"),
              std::string::npos)
        << context.error();
    EXPECT_NE(context.error().find("; start all ranks again"), std::string::npos)
        << context.error();
    EXPECT_EQ(context.error().find("has not answered"), std::string::npos)
        << context.error();
  });
}

/// A rank that runs, but does not come.
TEST(NcclRanks, Late) {
  runRanks(
      2,
      [](int rank) {
        setenv("MPT_STANDIN_NCCL_PATIENCE", "0.2", 1);
        Model model = makeGather(2, 4);
        Communicator communicator;
        ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
        Context context;
        ASSERT_EQ(model.open(context, communicator, rank), 0) << context.error();
        // Meets the other in the first run.
        setenv("MPT_STANDIN_NCCL_PATIENCE", "20", 1);
        ASSERT_EQ(runOnce(context, 2, 4), 0) << context.error();
        setenv("MPT_STANDIN_NCCL_PATIENCE", "0.2", 1);
        if (rank == 1)
          pause();
        mpt_rt_set_deadline(communicator.rt, 0.5);
        EXPECT_EQ(runOnce(context, 2, 4), MPT_RT_COMMUNICATION_FAILED);
        EXPECT_EQ(context.error().find("rank 1 (on "), 0u) << context.error();
        EXPECT_NE(context.error().find("has not answered for 0.5 s"), std::string::npos)
            << context.error();
      },
      /*waits=*/false);
}

TEST(NcclRanks, OneGPUForBoth) {
  runRanks(2, [](int rank) {
    Model model = makeGather(2, 4);
    Communicator communicator;
    ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
    Context context;
    ASSERT_EQ(model.open(context, communicator, 0), 0) << context.error();
    EXPECT_EQ(runOnce(context, 2, 4), MPT_RT_UNSUPPORTED);
    EXPECT_NE(context.error().find("expected a GPU of its own for each rank, found the "
                                   "GPU at 0000:01:00.0 for both rank 0 (on "),
              std::string::npos)
        << context.error();
  });
}

/// What one rank lacks, all say.
TEST(NcclRanks, WithoutLibrary) {
  runRanks(2, [](int rank) {
    Model model = makeGather(2, 4);
    Communicator communicator;
    ASSERT_EQ(mpt_rt_connect_torchrun(communicator.rt), 0) << communicator.error();
    Context context;
    if (rank == 1)
      model.nccl = "/none/libnccl.so.2";
    ASSERT_EQ(model.open(context, communicator, rank), 0) << context.error();
    EXPECT_EQ(runOnce(context, 2, 4), MPT_RT_UNSUPPORTED);
    EXPECT_NE(context.error().find("cannot load /none/libnccl.so.2: "), std::string::npos)
        << context.error();
    EXPECT_EQ(context.error().find("rank 1 (on ") == 0, rank == 0) << context.error();
  });
}

/// Ranks that do not find each other.
TEST(NcclRanks, Sockets) {
  const int port = findPort();
  setJob(0, 3, port);
  {
    Communicator alone(0.2);
    EXPECT_EQ(mpt_rt_connect_torchrun(alone.rt), MPT_RT_COMMUNICATION_FAILED);
    EXPECT_EQ(alone.error().find("of 3 ranks, 1, 2 did not come to rank 0 (on "), 0u)
        << alone.error();
    EXPECT_NE(alone.error().find("127.0.0.1:" + std::to_string(port) + " within 0.2 s"),
              std::string::npos)
        << alone.error();
  }
  setJob(1, 3, port);
  {
    Communicator alone(0.2);
    EXPECT_EQ(mpt_rt_connect_torchrun(alone.rt), MPT_RT_COMMUNICATION_FAILED);
    EXPECT_EQ(
        alone.error().find("rank 0 does not answer at 127.0.0.1:" + std::to_string(port) +
                           " within 0.2 s: Connection "
                           "refused; see that it runs"),
        0u)
        << alone.error();
  }
  setenv("RANK", "3", 1);
  {
    Communicator alone(0.2);
    EXPECT_EQ(mpt_rt_connect_torchrun(alone.rt), MPT_RT_UNSUPPORTED);
    EXPECT_EQ(alone.error().find("expected RANK to be a number from 0 to 2, found '3'"),
              0u)
        << alone.error();
  }
  const int file = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t length = sizeof(address);
  ::bind(file, reinterpret_cast<sockaddr *>(&address), length);
  ::listen(file, 1);
  ::getsockname(file, reinterpret_cast<sockaddr *>(&address), &length);
  setJob(0, 2, ntohs(address.sin_port));
  {
    Communicator alone(0.2);
    EXPECT_EQ(mpt_rt_connect_torchrun(alone.rt), MPT_RT_COMMUNICATION_FAILED);
    EXPECT_NE(alone.error().find("Address already in use; end what uses it, or choose "
                                 "another MASTER_PORT"),
              std::string::npos)
        << alone.error();
  }
  ::close(file);
  for (const char *name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    unsetenv(name);
  Communicator alone(0.2);
  EXPECT_EQ(mpt_rt_connect_torchrun(alone.rt), MPT_RT_UNSUPPORTED);
  EXPECT_EQ(
      alone.error().find("expected WORLD_SIZE to be a number from 1 to 65536, found "
                         "nothing; torchrun sets"),
      0u)
      << alone.error();
}

/// The stand-in refuses what NCCL forbids.
class NcclRules : public testing::Test {
protected:
  void SetUp() override {
    mpt_standin_reset();
    mpt_standin_set_device(2, 9, 0, int64_t(1) << 20);
    std::string error;
    ASSERT_TRUE(api.load(MPT_STANDIN, error)) << error;
    ASSERT_TRUE(device.load(MPT_STANDIN, MPT_STANDIN, error)) << error;
    cuda::NcclUniqueId id;
    api.ncclGetUniqueId(&id);
    cuda::NcclConfig config;
    ASSERT_EQ(api.ncclCommInitRankConfig(&comm, 1, id, 0, &config),
              cuda::kNcclInProgress);
    settle();
    device.cudaStreamCreateWithFlags(&stream, cuda::kNonBlocking);
    device.cudaMalloc(&memory, 256);
    data = static_cast<char *>(memory);
  }
  void settle() {
    cuda::NcclResult state = cuda::kNcclInProgress;
    while (state == cuda::kNcclInProgress)
      ASSERT_EQ(api.ncclCommGetAsyncError(comm, &state), 0);
  }
  cuda::NcclResult gather(const char *from, char *to, size_t count) {
    return api.ncclAllGather(from, to, count, cuda::NcclType::F32, comm, stream);
  }
  void expectBreach(const std::string &text) {
    EXPECT_NE(std::string(mpt_standin_breach()).find(text), std::string::npos)
        << mpt_standin_breach();
  }
  cuda::NcclApi api;
  cuda::Api device;
  cuda::NcclComm comm = nullptr;
  cuda::Stream stream = nullptr;
  void *memory = nullptr;
  char *data = nullptr;
};

TEST_F(NcclRules, InPlaceAndApart) {
  EXPECT_EQ(gather(data, data, 4), cuda::kNcclInProgress);
  settle();
  EXPECT_EQ(gather(data, data + 64, 4), cuda::kNcclInProgress);
  settle();
  EXPECT_STREQ(mpt_standin_breach(), "");
}
TEST_F(NcclRules, Overlap) {
  EXPECT_EQ(gather(data, data + 4, 4), cuda::kNcclInvalidArgument);
  expectBreach("overlap, and it is not in place");
}
TEST_F(NcclRules, MessageToItself) {
  EXPECT_EQ(api.ncclSend(data, 4, cuda::NcclType::F32, 0, comm, stream),
            cuda::kNcclInvalidUsage);
  expectBreach("a message to itself outside a group never ends");
}
/// What is sent is received, and nothing else.
TEST_F(NcclRules, Messages) {
  for (size_t received : {4, 3}) {
    EXPECT_EQ(api.ncclGroupStart(), 0);
    EXPECT_EQ(api.ncclSend(data, 4, cuda::NcclType::F32, 0, comm, stream), 0);
    EXPECT_EQ(api.ncclRecv(data + 64, received, cuda::NcclType::F32, 0, comm, stream), 0);
    EXPECT_EQ(api.ncclGroupEnd(), cuda::kNcclInProgress);
    cuda::NcclResult state = cuda::kNcclInProgress;
    while (state == cuda::kNcclInProgress)
      ASSERT_EQ(api.ncclCommGetAsyncError(comm, &state), 0);
    EXPECT_EQ(state, received == 4 ? 0 : cuda::kNcclInvalidUsage);
  }
  EXPECT_NE(
      std::string(api.ncclGetLastError(comm))
          .find("ranks differ: rank 0: call 2: send of 4 f32 to 0, receive of 3 f32 "
                "from 0"),
      std::string::npos)
      << api.ncclGetLastError(comm);
}
TEST_F(NcclRules, Outside) {
  EXPECT_EQ(gather(data, data + 64, 64), cuda::kNcclInvalidArgument);
  expectBreach("a buffer reaches outside the device's allocations");
}
TEST_F(NcclRules, GroupNotBegun) {
  EXPECT_EQ(api.ncclGroupEnd(), cuda::kNcclInvalidUsage);
  expectBreach("a group ends that was not begun");
}
TEST_F(NcclRules, NotSettled) {
  gather(data, data, 4);
  EXPECT_EQ(gather(data, data, 4), cuda::kNcclInvalidArgument);
  expectBreach("was not waited for");
}
TEST_F(NcclRules, OtherGPU) {
  device.cudaSetDevice(1);
  EXPECT_EQ(gather(data, data, 4), cuda::kNcclInvalidArgument);
  expectBreach("a communicator of GPU 0 while GPU 1 is this thread's");
}
TEST_F(NcclRules, GraphOutlivesCommunicator) {
  cuda::Graph graph = nullptr;
  device.cudaStreamBeginCapture(stream, cuda::kCaptureThreadLocal);
  gather(data, data, 4);
  settle();
  ASSERT_EQ(device.cudaStreamEndCapture(stream, &graph), 0);
  EXPECT_EQ(api.ncclCommDestroy(comm), cuda::kNcclInvalidUsage);
  expectBreach("a graph or stream still has calls of the communicator");
}
/// A side stream that the captured one does not wait for.
TEST_F(NcclRules, Unjoined) {
  cuda::Stream side = nullptr;
  cuda::Event fork = nullptr;
  cuda::Graph graph = nullptr;
  device.cudaStreamCreateWithFlags(&side, cuda::kNonBlocking);
  device.cudaEventCreateWithFlags(&fork, cuda::kEventNoTiming);
  device.cudaStreamBeginCapture(stream, cuda::kCaptureThreadLocal);
  device.cudaEventRecord(fork, stream);
  device.cudaStreamWaitEvent(side, fork, 0);
  std::swap(side, stream);
  gather(data, data, 4);
  EXPECT_EQ(device.cudaStreamEndCapture(side, &graph), 904);
  expectBreach("has not joined it");
}

} // namespace
