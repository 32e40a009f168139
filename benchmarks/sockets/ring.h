#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sockets_bench {

/// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int number() const noexcept { return number_; }

 private:
  int number_;
};

/// How a rank hands its bytes to the kernel, and takes what comes from it.
struct Manner {
  std::string name;
  int send_buffer = 0;  ///< bytes asked for; 0: the kernel's choice
  /// Hands over all at once, in packets that a shaper's bucket lets pass and the kernel does not pace, and is woken
  /// when all has come: as little work as there can be, for the processor and for the kernel. The manner to join by
  /// last: who listens does not go back to pacing.
  bool at_once = false;
};

/// Where the ranks listen: an address for each.
struct Addresses {
  std::vector<std::string> hosts;
  int port = 0;
};

/// One rank's TCP connections to the next rank and from the one before it; with two ranks that is one connection, both
/// ways. What fails throws std::system_error.
class Ring {
 public:
  /// Listens.
  Ring(const Addresses& addresses, int rank);
  /// How to join. All ranks have to before one of them does.
  void choose(const Manner& manner);
  void join();
  /// Sends so many bytes to the next rank, and receives as many.
  void exchange(std::size_t bytes);

 private:
  Descriptor connect_to(int peer) const;
  void prepare(const Descriptor& connection) const;
  const Descriptor& incoming_connection() const noexcept;
  std::size_t send_some(std::size_t bytes);
  std::size_t receive_some(std::size_t bytes);

  const Addresses& addresses_;
  const int rank_;
  Manner manner_;
  Descriptor listener_;
  Descriptor to_next_;
  Descriptor from_previous_;  // with two ranks unused
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;
};

}  // namespace sockets_bench
