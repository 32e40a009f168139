#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/descriptor.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/cluster/host/control.h"
#include "stretto/fabric/cluster/host/local_socket.h"
#include "stretto/fabric/cluster/host/process_memory.h"
#include "stretto/fabric/cluster/host/secret.h"
#include "stretto/fabric/cluster/watcher.h"

namespace stretto::fabric::cluster {

// How two nodes of one host come to share memory. Each *calls* on the other: it connects to the socket that the other
// published, shows the secret number that was published with it (only members of the job can read it), and is handed
// the descriptors of the other's memory. The connection stays open as long as the one who was called on lives, so that
// its end is the kernel's word for that one's death; a *goodbye* before the end says that it left in good order.

/// What a node publishes for the peers of its host.
struct HostCard {
  std::uint64_t magic = 0;
  std::int64_t process = 0;
  std::uint64_t segment_bytes = 0;
  std::uint32_t ring_lines = 0;
  std::uint32_t name_bytes = 0;
  std::array<char, 32> name{};
  Secret secret{};
  std::uint64_t secret_at = 0;  ///< its address in that process (see ProcessMemory)

  std::string_view socket_name() const noexcept { return {name.data(), name_bytes}; }
  /// Of the node's process, what it does not share.
  ProcessMemory private_memory() const noexcept { return {process, secret_at, secret}; }
};

/// `secret` stays where it is as long as the node lives.
HostCard make_card(std::string_view name, const Secret& secret, std::uint32_t ring_lines, std::size_t segment_bytes);

/// Throws Error(bad_input) for bytes that are no card.
HostCard parse_card(ConstByteSpan bytes);

/// What a caller was handed.
struct Welcome {
  Descriptor control;
  Descriptor segment;
  Descriptor doorbell;
};

/// Connects to the owner of `card` and sends the hello of `self`. The connection is `closed` when nobody listens any
/// more, or when it isn't the process that published the card.
Connection call_on(const HostCard& card, NodeId self);

/// What comes over a connection made by `call_on`.
struct Answer {
  enum class Kind : std::uint8_t {
    nothing,
    welcome,
    goodbye,
    closed,
    bad,      ///< nothing that we know
    cut_off,  ///< this process may not open what was passed
  };
  Kind kind = Kind::nothing;
  Welcome welcome;
};
Answer read_answer(int socket);

/// The one who is called on. Owned by the HostTransport; used under the node's baton.
class Door {
 public:
  /// What is of interest to the door is watched under `tag`. Throws Error(out_of_resources).
  Door(Watcher& watcher, std::uint64_t tag, const Secret& secret);

  const std::string& name() const noexcept { return name_; }

  /// From now on callers are answered: nodes for which `expected` is true are handed these descriptors, once each.
  void open(std::function<bool(NodeId)> expected, std::array<int, max_passed> descriptors);

  /// Looks at all callers; returns whether anything happened. Strangers are shown out without a word. Throws
  /// Error(out_of_resources).
  bool serve();

  bool served(NodeId node) const { return guests_.contains(node); }
  /// Whether a caller has to be tried again though its descriptor will not say so.
  bool retry_later() const noexcept { return retry_later_; }

  /// Lets nobody in any more: everyone expected has come. Guests stay.
  void close();

  /// Closes the connection of one guest, who takes it for our death; without a goodbye that is what it is to it.
  void dismiss(NodeId node) { guests_.erase(node); }
  /// Says goodbye to all guests.
  void leave();

 private:
  bool accept_callers();
  bool hear(int number);

  Watcher& watcher_;
  std::uint64_t tag_;
  Secret secret_;
  std::string name_;
  Descriptor listener_;
  std::function<bool(NodeId)> expected_;
  std::array<int, max_passed> descriptors_{};
  std::map<int, Descriptor> callers_;  // not yet known to be of the job
  std::map<int, NodeId> unanswered_;   // callers who showed the secret, while there is no room
  std::map<NodeId, Descriptor> guests_;
  bool retry_later_ = false;
};

}  // namespace stretto::fabric::cluster
