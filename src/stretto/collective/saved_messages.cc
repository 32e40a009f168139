#include "stretto/collective/saved_messages.h"

#include <algorithm>
#include <new>
#include <utility>

#include "stretto/base/arena.h"

namespace stretto {

static_assert(fabric::max_message_bytes + 64 <= arena::max_block_bytes);

void SavedMessages::add(const fabric::Message& message) {
  void* const block = arena::allocate(sizeof(Saved) + message.header.size() + message.payload.size());
  auto* const saved =
      ::new (block) Saved{nullptr, message.from, message.type, static_cast<std::uint16_t>(message.header.size()),
                          static_cast<std::uint32_t>(message.payload.size())};
  std::copy(message.header.begin(), message.header.end(), saved->bytes());
  std::copy(message.payload.begin(), message.payload.end(), saved->bytes() + message.header.size());
  append(saved);
}

void SavedMessages::append(Saved* saved) noexcept {
  saved->next = nullptr;
  (list_.first == nullptr ? list_.first : list_.last->next) = saved;
  list_.last = saved;
}

SavedMessages SavedMessages::take_from(NodeId peer) noexcept {
  SavedMessages all = std::move(*this);
  SavedMessages taken;
  while (!all.empty()) {
    Saved* const first = std::exchange(all.list_.first, all.list_.first->next);
    (first->from == peer ? taken : *this).append(first);
  }
  return taken;
}

// Null: the first one.
void SavedMessages::drop_after(Saved* before) noexcept {
  Saved*& link = before == nullptr ? list_.first : before->next;
  Saved* const dropped = link;
  link = dropped->next;
  if (list_.last == dropped) list_.last = before;
  arena::release(dropped, dropped->size());
}

}  // namespace stretto
