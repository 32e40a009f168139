#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "stretto/base/linked.h"
#include "stretto/fabric/message.h"

namespace stretto {

/// Copies of messages that came before they could be used, oldest first. For one thread at a time.
class SavedMessages {
 public:
  SavedMessages() = default;
  SavedMessages(SavedMessages&& other) noexcept : list_(std::exchange(other.list_, {})) {}
  SavedMessages& operator=(SavedMessages&& other) noexcept {
    clear();
    list_ = std::exchange(other.list_, {});
    return *this;
  }
  ~SavedMessages() { clear(); }

  bool empty() const noexcept { return list_.first == nullptr; }

  void clear() noexcept {
    while (list_.first != nullptr) drop_first();
    list_ = {};
  }

  /// REQUIRES: the message is one that a fabric carries (see fabric::max_message_bytes).
  void add(const fabric::Message& message);

  /// Calls `use(message)` for each and forgets it.
  template <class Use>
  void use_all(Use&& use) {
    while (list_.first != nullptr) {
      use(message_of(*list_.first));
      drop_first();
    }
  }

  /// Offers them to `use(message)`, one after the other, until it takes one (returns true), and forgets that. Returns
  /// whether it took any.
  template <class Use>
  bool use_one(Use&& use) {
    Saved* before = nullptr;
    for (Saved* saved = list_.first; saved != nullptr; before = std::exchange(saved, saved->next)) {
      if (!use(message_of(*saved))) continue;
      drop_after(before);
      return true;
    }
    return false;
  }

  /// Removes that peer's messages, and returns them.
  SavedMessages take_from(NodeId peer) noexcept;

  /// The oldest one that `matches`, if there is one. Its spans are valid until it is used or forgotten.
  template <class Matches>
  std::optional<fabric::Message> find(Matches&& matches) const {
    for (const Saved* saved = list_.first; saved != nullptr; saved = saved->next) {
      const fabric::Message message = message_of(*saved);
      if (matches(message)) return message;
    }
    return std::nullopt;
  }

 private:
  // Followed by the header's bytes and the payload's.
  struct Saved {
    Saved* next;
    NodeId from;
    fabric::MessageType type;
    std::uint16_t header_bytes;
    std::uint32_t payload_bytes;

    std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
    const std::byte* bytes() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
    std::size_t size() const noexcept { return sizeof(Saved) + header_bytes + payload_bytes; }
  };

  static fabric::Message message_of(const Saved& saved) noexcept {
    return {saved.from,
            saved.type,
            {saved.bytes(), saved.header_bytes},
            {saved.bytes() + saved.header_bytes, saved.payload_bytes}};
  }
  void append(Saved* saved) noexcept;
  void drop_first() noexcept { drop_after(nullptr); }
  void drop_after(Saved* before) noexcept;

  Linked<Saved> list_;
};

}  // namespace stretto
