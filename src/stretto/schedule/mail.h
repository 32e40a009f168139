#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "stretto/schedule/shape.h"

/// What is under way between the ranks of a schedule whose rounds are walked (walk.h).
namespace stretto::schedule {

struct Message {
  Rank from = 0;
  Rank to = 0;
  double arrival = 0;  ///< of its first byte, where a wire brings it; once it has landed, of its last one
  std::uint64_t bytes = 0;
  std::uint32_t order = 0;  ///< among those of its round
};

/// The messages of one round: sent in any order, then sorted, landed and received.
class Mail {
 public:
  /// `one_for_all`: only rank 0 sends, and what it sends to rank d stands for what rank size - d sends to it.
  Mail(Rank size, bool one_for_all) : size_(size), one_for_all_(one_for_all) {}

  void clear() { sent_.clear(); }
  std::size_t size() const { return sent_.size(); }

  void send(Message message) {
    if (one_for_all_) {
      message.from = (size_ - message.to) % size_;
      message.to = 0;
    }
    message.order = static_cast<std::uint32_t>(sent_.size());
    sent_.push_back(message);
  }

  /// Sorts by receiver, then by sender; messages of one sender to one receiver keep their order.
  void sort() {
    if (one_for_all_) {
      std::sort(sent_.begin(), sent_.end(), [](const Message& a, const Message& b) {
        return std::pair(a.from, a.order) < std::pair(b.from, b.order);
      });
      sorted_ = sent_;
      ends_.assign(1, sorted_.size());
    } else {
      // Ranks send in their order, so that sorting by receiver alone, stably, is enough.
      ends_.assign(std::size_t{size_} + 1, 0);
      for (const Message& message : sent_) ++ends_[message.to + 1];
      for (std::size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
      sorted_.resize(sent_.size());
      for (const Message& message : sent_) sorted_[ends_[message.to]++] = message;
    }
    is_taken_.assign(sorted_.size(), false);
  }

  /// `land` says of each when all of it is there, and hears of them in the order in which they arrive.
  template <class Land>
  void land_all(const Land& land) {
    by_arrival_.resize(sorted_.size());
    std::transform(sorted_.begin(), sorted_.end(), by_arrival_.begin(), [](Message& message) { return &message; });
    const auto is_earlier = [](const Message* a, const Message* b) { return a->arrival < b->arrival; };
    // Mostly ranks are alike, and so are their times.
    if (!std::is_sorted(by_arrival_.begin(), by_arrival_.end(), is_earlier)) {
      std::stable_sort(by_arrival_.begin(), by_arrival_.end(), is_earlier);
    }
    for (Message* const message : by_arrival_) message->arrival = land(std::as_const(*message));
  }

  /// The next message from `from` to `to`, or null if there is none.
  const Message* receive(Rank from, Rank to) {
    const std::size_t first = to == 0 ? 0 : ends_[to - 1];
    const auto begin = sorted_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = sorted_.begin() + static_cast<std::ptrdiff_t>(ends_[to]);
    auto message = std::lower_bound(begin, end, from, [](const Message& m, Rank rank) { return m.from < rank; });
    while (message != end && message->from == from) {
      const auto index = static_cast<std::size_t>(message - sorted_.begin());
      if (!is_taken_[index]) {
        is_taken_[index] = true;
        return &*message;
      }
      ++message;
    }
    return nullptr;
  }

 private:
  Rank size_;
  bool one_for_all_;
  std::vector<Message> sent_;
  std::vector<Message> sorted_;
  std::vector<Message*> by_arrival_;
  std::vector<std::size_t> ends_;  ///< where each receiver's messages end in `sorted_`
  std::vector<bool> is_taken_;
};

}  // namespace stretto::schedule
