//===- Sockets.cpp - Messages over TCP --------------------------*- C++ -*-===//
//
// Part of the MPT project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// For ranks that torchrun started, whose programs exchange their data on GPUs: a
/// connection for each pair of ranks. All come to rank 0, which tells each where the
/// others listen; then rank i calls each rank in [1, i). A message is its length and its
/// bytes. One exchange is under way at a time.
///
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

using namespace mpt::rt;

namespace {

using Clock = std::chrono::steady_clock;

/// What a process says when it calls another. Numbers are in the machine's order: all
/// ranks run the same program.
struct Hello {
  uint64_t magic = 0x314b4e52'54504d00; // "MPTRNK1"
  int32_t rank = 0, ranks = 0;
  /// Where others can call it.
  int32_t port = 0;
  int32_t unused = 0;
  char host[256] = {};
};
/// Where a rank listens, as rank 0 sees it.
struct Place {
  sockaddr_storage address = {};
  int32_t port = 0;
  /// On the machine of rank 0, which others know by another address.
  int32_t isLocal = 0;
};

/// A file descriptor that is closed with its scope.
class Socket {
public:
  Socket(int file = -1) : file(file) {}
  Socket(Socket &&other) noexcept : file(other.release()) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(file, other.file);
    return *this;
  }
  ~Socket() {
    if (file >= 0)
      ::close(file);
  }
  int get() const { return file; }
  int release() { return std::exchange(file, -1); }
  explicit operator bool() const { return file >= 0; }

private:
  int file;
};

/// What the environment says.
struct Job {
  int32_t rank = 0, ranks = 1;
  std::string address;
  int32_t port = 0;
  std::string where() const { return address + ":" + std::to_string(port); }
};

bool readNumber(const char *name, int64_t least, int64_t most, int32_t &number,
                std::string &error) {
  const char *text = std::getenv(name);
  char *end = nullptr;
  const long value = text ? std::strtol(text, &end, 10) : 0;
  if (text && *text && !*end && value >= least && value <= most) {
    number = static_cast<int32_t>(value);
    return true;
  }
  error = std::string("expected ") + name + " to be a number from " +
          std::to_string(least) + " to " + std::to_string(most) + ", found " +
          (text ? "'" + std::string(text) + "'" : "nothing") +
          "; torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, as "
          "in 'torchrun --nproc-per-node=2 --no-python PROGRAM ..'";
  return false;
}

bool readJob(Job &job, std::string &error) {
  if (!readNumber("WORLD_SIZE", 1, 1 << 16, job.ranks, error) ||
      !readNumber("RANK", 0, job.ranks - 1, job.rank, error) ||
      !readNumber("MASTER_PORT", 1, 65534, job.port, error))
    return false;
  const char *address = std::getenv("MASTER_ADDR");
  job.address = address && *address ? address : "127.0.0.1";
  const char *agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  // torchrun's own store is there.
  if (agent && std::strcmp(agent, "True") == 0)
    ++job.port;
  return true;
}

class SocketTransport {
public:
  SocketTransport(Job job, double deadline)
      : job(std::move(job)),
        end(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(deadline))),
        seconds(deadline) {
    gethostname(host, sizeof(host) - 1);
    peers.resize(this->job.ranks);
  }

  bool open(std::string &why);
  mpt_rt_transport describe();

private:
  struct Peer {
    Socket socket;
    std::string host;
    mpt_rt_message send = {}, receive = {};
    /// Bytes of lengths and of data that have gone and come.
    uint64_t sendLength = 0, receiveLength = 0;
    size_t sent = 0, received = 0;
    bool isDone() const {
      return (send.bytes == 0 || sent == 8 + send.bytes) &&
             (receive.bytes == 0 || received == 8 + receive.bytes);
    }
  };

  bool fail(std::string message) {
    error = std::move(message);
    return false;
  }
  int getMillisecondsLeft() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    return left <= 0 ? 0 : left > INT_MAX ? INT_MAX : static_cast<int>(left);
  }
  std::string describeSeconds() const {
    char text[32];
    std::snprintf(text, sizeof(text), "%g s", seconds);
    return text;
  }
  std::string name(int32_t rank) const {
    return "rank " + std::to_string(rank) +
           (peers[rank].host.empty() ? "" : " (on " + peers[rank].host + ")");
  }

  Socket listenAt(int port, int &error, int &chosen);
  Socket callAddress(const sockaddr *address, socklen_t length, int &why);
  /// Tries the addresses of a list in turn, until one answers or the deadline is over.
  Socket callAny(const addrinfo *first, const std::string &whom,
                 const std::string &where);
  Socket call(const std::string &address, int port, const std::string &whom);
  /// Sends or receives `bytes` bytes. Waits until the deadline, and no longer than `most`
  /// milliseconds at a time.
  bool transfer(const Socket &socket, void *data, size_t bytes, bool isSend,
                const std::string &whom, int most = INT_MAX);
  /// Answers calls until all of `wanted` ranks have come.
  bool accept(const Socket &listener, int32_t wanted, std::vector<Place> *places);
  bool openAsFirst();
  bool openAsOther();

  int post(const mpt_rt_message *send, const mpt_rt_message *receive, void **request);
  int test(int32_t *done, int32_t *missing);
  /// Moves what can be moved without waiting; false if the connection is of no use.
  bool move(Peer &peer);

  Job job;
  Clock::time_point end;
  double seconds;
  char host[256] = {};
  std::vector<Peer> peers;
  std::string error;
};

Socket SocketTransport::listenAt(int port, int &why, int &chosen) {
  // IPv6 sockets take IPv4 calls, too.
  for (int family : {AF_INET6, AF_INET}) {
    Socket made(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    why = errno;
    if (!made)
      continue;
    const int on = 1, off = 0;
    ::setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sockaddr_storage address = {};
    socklen_t length = sizeof(sockaddr_in);
    if (family == AF_INET6) {
      ::setsockopt(made.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
      auto &six = reinterpret_cast<sockaddr_in6 &>(address);
      six.sin6_family = AF_INET6;
      six.sin6_port = htons(static_cast<uint16_t>(port));
      length = sizeof(six);
    } else {
      auto &four = reinterpret_cast<sockaddr_in &>(address);
      four.sin_family = AF_INET;
      four.sin_port = htons(static_cast<uint16_t>(port));
    }
    auto *plain = reinterpret_cast<sockaddr *>(&address);
    if (::bind(made.get(), plain, length) == 0 &&
        ::listen(made.get(), job.ranks + 16) == 0 &&
        ::getsockname(made.get(), plain, &length) == 0) {
      chosen =
          ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6 &>(address).sin6_port
                                   : reinterpret_cast<sockaddr_in &>(address).sin_port);
      return made;
    }
    why = errno;
    if (why == EADDRINUSE)
      break;
  }
  return {};
}

/// Whether the system gave the caller the port that it calls, where nobody listens yet.
static bool isConnectedToItself(const Socket &socket, int &why) {
  sockaddr_storage own = {}, other = {};
  socklen_t ownLength = sizeof(own), otherLength = sizeof(other);
  const bool isSame =
      ::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own), &ownLength) == 0 &&
      ::getpeername(socket.get(), reinterpret_cast<sockaddr *>(&other), &otherLength) ==
          0 &&
      ownLength == otherLength && std::memcmp(&own, &other, ownLength) == 0;
  if (isSame)
    why = ECONNREFUSED;
  return isSame;
}

Socket SocketTransport::callAddress(const sockaddr *address, socklen_t length, int &why) {
  Socket made(
      ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  why = errno;
  if (!made)
    return {};
  if (::connect(made.get(), address, length) == 0)
    return isConnectedToItself(made, why) ? Socket() : std::move(made);
  why = errno;
  if (why != EINPROGRESS)
    return {};
  pollfd file = {made.get(), POLLOUT, 0};
  // A machine that is down does not answer at all.
  const int most = std::min(getMillisecondsLeft(), 5000);
  socklen_t size = sizeof(why);
  if (::poll(&file, 1, most) <= 0) {
    why = ETIMEDOUT;
    return {};
  }
  if (::getsockopt(made.get(), SOL_SOCKET, SO_ERROR, &why, &size) != 0)
    why = errno;
  return why == 0 && !isConnectedToItself(made, why) ? std::move(made) : Socket();
}

Socket SocketTransport::callAny(const addrinfo *first, const std::string &whom,
                                const std::string &where) {
  int why = 0;
  do {
    for (const addrinfo *one = first; one; one = one->ai_next)
      if (Socket made = callAddress(one->ai_addr, one->ai_addrlen, why))
        return made;
    ::usleep(50'000);
  } while (getMillisecondsLeft() > 0);
  fail(whom + " does not answer at " + where + " within " + describeSeconds() + ": " +
       std::strerror(why) +
       "; see that it runs, that MASTER_ADDR and MASTER_PORT name rank 0's machine, and "
       "that no firewall blocks the port");
  return {};
}

Socket SocketTransport::call(const std::string &address, int port,
                             const std::string &whom) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  const std::string service = std::to_string(port);
  if (int code = ::getaddrinfo(address.c_str(), service.c_str(), &hints, &found)) {
    fail("MASTER_ADDR: no machine '" + address + "': " + ::gai_strerror(code));
    return {};
  }
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, ::freeaddrinfo);
  return callAny(found, whom, address + ":" + service);
}

bool SocketTransport::transfer(const Socket &socket, void *data, size_t bytes,
                               bool isSend, const std::string &whom, int most) {
  for (size_t at = 0; at < bytes;) {
    pollfd file = {socket.get(), static_cast<short>(isSend ? POLLOUT : POLLIN), 0};
    const int ready = ::poll(&file, 1, std::min(getMillisecondsLeft(), most));
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0)
      return fail(whom + " does not answer within " + describeSeconds());
    char *place = static_cast<char *>(data) + at;
    const ssize_t moved =
        isSend ? ::send(socket.get(), place, bytes - at, MSG_NOSIGNAL | MSG_DONTWAIT)
               : ::recv(socket.get(), place, bytes - at, MSG_DONTWAIT);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR))
      continue;
    if (moved <= 0)
      return fail(whom + " has ended the connection" +
                  (moved < 0 ? std::string(": ") + std::strerror(errno) : ""));
    at += static_cast<size_t>(moved);
  }
  return true;
}

bool SocketTransport::accept(const Socket &listener, int32_t wanted,
                             std::vector<Place> *places) {
  for (int32_t come = 0; come < wanted;) {
    pollfd file = {listener.get(), POLLIN, 0};
    const int ready = ::poll(&file, 1, getMillisecondsLeft());
    if (ready < 0 && errno == EINTR)
      continue;
    if (ready <= 0) {
      std::string missing;
      for (int32_t i = places ? 1 : job.rank + 1; i < job.ranks; ++i)
        if (!peers[i].socket)
          missing += (missing.empty() ? "" : ", ") + std::to_string(i);
      return fail("of " + std::to_string(job.ranks) + " ranks, " + missing +
                  " did not come to rank " + std::to_string(job.rank) + " (on " + host +
                  ")" + (places ? " at " + job.where() : "") + " within " +
                  describeSeconds() +
                  "; start all of them, with the same MASTER_ADDR, MASTER_PORT and "
                  "WORLD_SIZE");
    }
    sockaddr_storage address = {};
    socklen_t length = sizeof(address);
    Socket made(::accept4(listener.get(), reinterpret_cast<sockaddr *>(&address), &length,
                          SOCK_CLOEXEC));
    if (!made) {
      if (errno == EINTR || errno == EAGAIN || errno == ECONNABORTED)
        continue;
      return fail("rank " + std::to_string(job.rank) + " (on " + host +
                  ") cannot take a connection: " + std::strerror(errno));
    }
    Hello hello;
    // Others may call at this port, too, and say nothing.
    const std::string before = error;
    if (!transfer(made, &hello, sizeof(hello), /*isSend=*/false, "a caller",
                  /*most=*/2000) ||
        hello.magic != Hello().magic) {
      error = before;
      continue;
    }
    hello.host[sizeof(hello.host) - 1] = 0;
    const std::string who =
        "rank " + std::to_string(hello.rank) + " (on " + hello.host + ")";
    if (hello.ranks != job.ranks)
      return fail("all ranks need the same WORLD_SIZE: expected " +
                  std::to_string(job.ranks) + " as on rank " + std::to_string(job.rank) +
                  " (on " + host + "), found " + std::to_string(hello.ranks) + " on " +
                  who);
    if (hello.rank <= 0 || hello.rank >= job.ranks || hello.rank == job.rank ||
        peers[hello.rank].socket)
      return fail("two processes say that they are " + who +
                  "; each needs a RANK of its own");
    Peer &peer = peers[hello.rank];
    peer.socket = std::move(made);
    peer.host = hello.host;
    if (places) {
      Place &place = (*places)[hello.rank];
      place.address = address;
      place.port = hello.port;
      place.isLocal = std::strcmp(hello.host, host) == 0;
    }
    ++come;
  }
  return true;
}

bool SocketTransport::openAsFirst() {
  int why = 0, chosen = 0;
  Socket listener = listenAt(job.port, why, chosen);
  if (!listener)
    return fail("rank 0 (on " + std::string(host) + ") cannot listen at port " +
                std::to_string(job.port) + ": " + std::strerror(why) +
                "; end what uses it, or choose another MASTER_PORT (torchrun "
                "--master-port)");
  std::vector<Place> places(job.ranks);
  if (!accept(listener, job.ranks - 1, &places))
    return false;
  for (int32_t i = 1; i < job.ranks; ++i)
    if (!transfer(peers[i].socket, places.data(), places.size() * sizeof(Place),
                  /*isSend=*/true, name(i)))
      return false;
  return true;
}

bool SocketTransport::openAsOther() {
  int why = 0;
  Hello hello;
  hello.rank = job.rank;
  hello.ranks = job.ranks;
  std::memcpy(hello.host, host, sizeof(host));
  Socket listener = listenAt(0, why, hello.port);
  if (!listener)
    return fail("rank " + std::to_string(job.rank) + " (on " + host +
                ") cannot listen at any port: " + std::strerror(why));
  const std::string first = "rank 0 (at " + job.where() + ")";
  std::vector<Place> places(job.ranks);
  peers[0].socket = call(job.address, job.port, "rank 0");
  if (!peers[0].socket ||
      !transfer(peers[0].socket, &hello, sizeof(hello), /*isSend=*/true, first) ||
      !transfer(peers[0].socket, places.data(), places.size() * sizeof(Place),
                /*isSend=*/false, first))
    return false;
  const bool isLocal = places[job.rank].isLocal != 0;
  for (int32_t i = 1; i < job.rank; ++i) {
    const std::string whom = "rank " + std::to_string(i);
    Place &place = places[i];
    Socket made;
    if (place.isLocal && !isLocal) {
      made = call(job.address, place.port, whom);
    } else {
      const bool isSix = place.address.ss_family == AF_INET6;
      if (isSix)
        reinterpret_cast<sockaddr_in6 &>(place.address).sin6_port =
            htons(static_cast<uint16_t>(place.port));
      else
        reinterpret_cast<sockaddr_in &>(place.address).sin_port =
            htons(static_cast<uint16_t>(place.port));
      addrinfo one = {};
      one.ai_addr = reinterpret_cast<sockaddr *>(&place.address);
      one.ai_addrlen = isSix ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
      made =
          callAny(&one, whom, "port " + std::to_string(place.port) + " of its machine");
    }
    if (!made || !transfer(made, &hello, sizeof(hello), /*isSend=*/true, whom))
      return false;
    peers[i].socket = std::move(made);
  }
  return accept(listener, job.ranks - 1 - job.rank, nullptr);
}

bool SocketTransport::open(std::string &why) {
  if (!(job.rank == 0 ? openAsFirst() : openAsOther())) {
    why = error;
    return false;
  }
  const int on = 1;
  for (const Peer &peer : peers)
    if (peer.socket)
      ::setsockopt(peer.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return true;
}

int SocketTransport::post(const mpt_rt_message *send, const mpt_rt_message *receive,
                          void **request) {
  *request = this;
  for (int32_t i = 0; i < job.ranks; ++i) {
    Peer &peer = peers[i];
    peer.send = i == job.rank ? mpt_rt_message() : send[i];
    peer.receive = i == job.rank ? mpt_rt_message() : receive[i];
    peer.sendLength = peer.send.bytes;
    peer.sent = peer.received = 0;
  }
  return 0;
}

bool SocketTransport::move(Peer &peer) {
  auto advance = [&](bool isSend, uint64_t &length, const mpt_rt_message &message,
                     size_t &done) {
    while (done < 8 + message.bytes) {
      const bool isLength = done < 8;
      char *place = isLength ? reinterpret_cast<char *>(&length) + done
                             : static_cast<char *>(message.data) + (done - 8);
      const size_t left = isLength ? 8 - done : 8 + message.bytes - done;
      const ssize_t moved =
          isSend ? ::send(peer.socket.get(), place, left, MSG_NOSIGNAL | MSG_DONTWAIT)
                 : ::recv(peer.socket.get(), place, left, MSG_DONTWAIT);
      if (moved < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
      if (moved <= 0)
        return fail(moved == 0 ? "it has ended the connection" : std::strerror(errno));
      done += static_cast<size_t>(moved);
      if (!isSend && done == 8 && length != message.bytes)
        return fail("expected a message of " + std::to_string(message.bytes) +
                    " bytes, found " + std::to_string(length) +
                    "; ranks do different things");
    }
    return true;
  };
  return (peer.send.bytes == 0 ||
          advance(/*isSend=*/true, peer.sendLength, peer.send, peer.sent)) &&
         (peer.receive.bytes == 0 ||
          advance(/*isSend=*/false, peer.receiveLength, peer.receive, peer.received));
}

int SocketTransport::test(int32_t *done, int32_t *missing) {
  *done = 1;
  bool hasFailed = false;
  for (int32_t i = 0; i < job.ranks; ++i) {
    if (peers[i].isDone())
      continue;
    const bool isGood = move(peers[i]);
    if (isGood && peers[i].isDone())
      continue;
    // Others get their message although one fails: else they would take this rank, which
    // ends now, for the one that is lost.
    if ((*done || !isGood) && !hasFailed)
      *missing = i;
    hasFailed |= !isGood;
    *done = 0;
  }
  return hasFailed;
}

mpt_rt_transport SocketTransport::describe() {
  mpt_rt_transport transport = {};
  transport.struct_bytes = sizeof(mpt_rt_transport);
  transport.data = this;
  transport.rank = job.rank;
  transport.ranks = job.ranks;
  transport.host = host;
  transport.post = [](void *data, const mpt_rt_message *send,
                      const mpt_rt_message *receive, void **request) {
    return static_cast<SocketTransport *>(data)->post(send, receive, request);
  };
  transport.test = [](void *data, void *, int32_t *done, int32_t *missing) {
    return static_cast<SocketTransport *>(data)->test(done, missing);
  };
  transport.describe = [](void *data) {
    return static_cast<SocketTransport *>(data)->error.c_str();
  };
  // The others see that the connections end.
  transport.abort = [](void *data, int32_t) {
    static_cast<SocketTransport *>(data)->peers.clear();
  };
  transport.close = [](void *data, int32_t) {
    delete static_cast<SocketTransport *>(data);
  };
  return transport;
}

} // namespace

int mpt::rt::createSocketTransport(mpt_rt_transport &transport, double deadline,
                                   std::string &error) {
  Job job;
  if (!readJob(job, error))
    return MPT_RT_UNSUPPORTED;
  auto made = std::make_unique<SocketTransport>(std::move(job), deadline);
  if (!made->open(error))
    return MPT_RT_COMMUNICATION_FAILED;
  transport = made.release()->describe();
  return MPT_RT_OK;
}
