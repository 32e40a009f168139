#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/block_lengths.h"
#include "stretto/schedule/clocks.h"

/// How an algorithm's rounds are walked with one clock a rank. For those who put a price on them: simulate.cc by the
/// rules of LogGP, cost_model.cc by those of the executor.
namespace stretto::schedule {

struct Message {
  Rank from = 0;
  Rank to = 0;
  double arrival = 0;
  std::uint64_t bytes = 0;
  std::uint32_t order = 0;  ///< among those of its round
};

/// The messages of one round: sent in any order, then sorted, then received.
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
  std::vector<std::size_t> ends_;  ///< where each receiver's messages end in `sorted_`
  std::vector<bool> is_taken_;
};

/// Messages of a round, or steps of a rank in it, that are held: some two gigabytes.
inline constexpr std::size_t most_held = std::size_t{1} << 25U;

/// Advances clocks round by round: twice through each rank's steps, since what is received was sent by others first.
///
/// `Timing` has the rules; each call is for the rank and steps of the last `begin_rank`:
///     void begin_round(std::uint32_t round, std::span<const Clock> clocks);   clocks as the round begins
///     void begin_rank(Rank me, std::span<const Step> steps);                  all of its steps of the round
///     double send(Clock&, const Step&, std::uint64_t bytes);                  returns when it arrives
///     void receive(Clock&, const Step&, std::uint64_t bytes, double arrival);
///     void reduce(Clock&, std::size_t step, std::uint64_t bytes);             steps[step]
///     void copy(Clock&, std::size_t step, std::uint64_t bytes);
template <class Timing>
class Walk final : private Sink {
 public:
  /// `one_for_all`: rank 0 is followed for all, see Algorithm::rotation_symmetric. REQUIRES: the algorithm supports the
  /// shape.
  Walk(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, Timing& timing, bool one_for_all,
       std::size_t most = most_held)
      : algorithm_(algorithm),
        shape_(shape),
        lengths_(shape, bytes),
        timing_(timing),
        clocks_(one_for_all ? 1 : shape.size),
        mail_(shape.size, one_for_all),
        most_(most) {}

  /// Throws Error(invalid_argument) if the round has more messages, or a rank more steps in it, than can be held.
  void walk_round(std::uint32_t round) {
    mail_.clear();
    timing_.begin_round(round, clocks_);
    for (const Phase phase : {Phase::sending, Phase::receiving}) {
      if (phase == Phase::receiving) mail_.sort();
      for (Rank rank = 0; rank < clocks_.size(); ++rank) {
        steps_.clear();
        algorithm_.steps(shape_, rank, round, *this);
        timing_.begin_rank(rank, steps_);
        advance(rank, phase);
      }
    }
  }

  const std::vector<Clock>& clocks() const { return clocks_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  enum class Phase : std::uint8_t { sending, receiving };

  void emit(const Step& step) override {
    if (steps_.size() == most_) refuse("a rank has more than " + std::to_string(most_) + " steps");
    steps_.push_back(step);
  }

  // Up to its first receive a rank depends on nobody; from there on, on what others sent in this round.
  void advance(Rank me, Phase phase) {
    bool has_received = false;
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      has_received = has_received || steps_[at].kind == StepKind::receive;
      if (has_received == (phase == Phase::receiving)) take(me, at);
    }
  }

  void take(Rank me, std::size_t at) {
    const Step& step = steps_[at];
    Clock& clock = clocks_[me];
    switch (step.kind) {
      case StepKind::send: return send(clock, me, step);
      case StepKind::receive: return receive(clock, me, step);
      case StepKind::reduce: return timing_.reduce(clock, at, lengths_.of(step.destination()));
      case StepKind::copy: return timing_.copy(clock, at, lengths_.of(step.destination()));
    }
  }

  void send(Clock& clock, Rank me, const Step& step) {
    const std::uint64_t bytes = lengths_.of(step.source());
    if (mail_.size() == most_) refuse("there are more than " + std::to_string(most_) + " messages");
    mail_.send({.from = me, .to = step.peer, .arrival = timing_.send(clock, step, bytes), .bytes = bytes});
    ++messages_;
    bytes_ = sum_of_bytes(bytes_, bytes);
  }

  void receive(Clock& clock, Rank me, const Step& step) {
    const Message* const message = mail_.receive(step.peer, me);
    if (message == nullptr) {
      throw Error(ErrorCode::internal, std::string(algorithm_.name()) + ": rank " + std::to_string(me) + " cannot '" +
                                           describe(step) + "': nobody sends it in that round");
    }
    timing_.receive(clock, step, message->bytes, message->arrival);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                std::string(algorithm_.name()) + ", " + describe(shape_) + ": in one round " + what +
                    ", too many to be held; ask about fewer ranks, or an algorithm that sends less at a time");
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  BlockLengths lengths_;
  Timing& timing_;
  std::vector<Clock> clocks_;
  Mail mail_;
  std::vector<Step> steps_;
  std::size_t most_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace stretto::schedule
