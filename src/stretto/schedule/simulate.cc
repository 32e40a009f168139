#include "stretto/schedule/simulate.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "stretto/base/error.h"

namespace stretto::schedule {
namespace {

/// Bytes in runs of blocks.
class BlockLengths {
 public:
  BlockLengths(const Shape& shape, std::uint64_t bytes)
      : bytes_(bytes), blocks_(shape.blocks), each_is_whole_(!cuts_vector(shape.operation)) {}

  std::uint64_t of(const BlockRef& ref) const {
    if (each_is_whole_) return ref.count * bytes_;
    if (blocks_ == 1 || ref.count == 0) return ref.count * bytes_;
    const std::uint32_t first = ref.buffer == Buffer::scratch ? ref.first % blocks_ : ref.first;
    const Piece last = cut(bytes_, blocks_, first + ref.count - 1);
    return last.first + last.count - cut(bytes_, blocks_, first).first;
  }
  bool are_equal() const { return each_is_whole_ || bytes_ % blocks_ == 0; }

 private:
  std::uint64_t bytes_;
  std::uint32_t blocks_;
  bool each_is_whole_;
};

/// When a rank is free, for its next step, its next send and its next receive.
struct Clock {
  double now = 0;
  double next_send = 0;
  double next_receive = 0;
};

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

/// Advances clocks by one round: twice through each rank's steps, since what is received was sent by others first.
class Walk final : public Sink {
 public:
  Walk(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& network, bool one_for_all)
      : algorithm_(algorithm),
        shape_(shape),
        lengths_(shape, bytes),
        network_(network),
        clocks_(one_for_all ? 1 : shape.size),
        mail_(shape.size, one_for_all) {}

  void walk_round(std::uint32_t round) {
    mail_.clear();
    for (const Phase phase : {Phase::sending, Phase::receiving}) {
      if (phase == Phase::receiving) mail_.sort();
      phase_ = phase;
      for (Rank rank = 0; rank < clocks_.size(); ++rank) {
        me_ = rank;
        has_received_ = false;
        algorithm_.steps(shape_, rank, round, *this);
      }
    }
  }

  const std::vector<Clock>& clocks() const { return clocks_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  enum class Phase : std::uint8_t { sending, receiving };

  void emit(const Step& step) override {
    has_received_ = has_received_ || step.kind == StepKind::receive;
    // Up to its first receive a rank depends on nobody; from there on, on what others sent in this round.
    if (has_received_ != (phase_ == Phase::receiving)) return;
    switch (step.kind) {
      case StepKind::send: return send(step);
      case StepKind::receive: return receive(step);
      case StepKind::reduce:
        clocks_[me_].now += static_cast<double>(lengths_.of(step.destination())) * network_.reduction_time;
        return;
      case StepKind::copy: return;
    }
  }

  /// What the bytes after the first add to a message.
  double streaming(std::uint64_t bytes) const {
    return bytes == 0 ? 0 : static_cast<double>(bytes - 1) * network_.byte_time;
  }

  void send(const Step& step) {
    const std::uint64_t bytes = lengths_.of(step.source());
    Clock& clock = clocks_[me_];
    const double start = std::max(clock.now, clock.next_send);
    clock.now = start + network_.overhead;
    clock.next_send = start + network_.gap + streaming(bytes);
    mail_.send(
        {.from = me_, .to = step.peer, .arrival = clock.now + streaming(bytes) + network_.latency, .bytes = bytes});
    ++messages_;
    bytes_ += bytes;
  }

  void receive(const Step& step) {
    const Message* const message = mail_.receive(step.peer, me_);
    if (message == nullptr) {
      throw Error(ErrorCode::internal, std::string(algorithm_.name()) + ": rank " + std::to_string(me_) + " cannot '" +
                                           describe(step) + "': nobody sends it in that round");
    }
    Clock& clock = clocks_[me_];
    const double start = std::max({clock.now, clock.next_receive, message->arrival});
    clock.now = start + network_.overhead;
    clock.next_receive = start + network_.gap + streaming(message->bytes);
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  BlockLengths lengths_;
  const Network& network_;
  std::vector<Clock> clocks_;
  Mail mail_;
  Phase phase_ = Phase::sending;
  Rank me_ = 0;
  bool has_received_ = false;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Prediction simulate(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& network,
                    Clocks clocks) {
  algorithm.require(shape);
  const bool one_for_all =
      clocks == Clocks::fewest && algorithm.rotation_symmetric(shape) && BlockLengths(shape, bytes).are_equal();
  Walk walk(algorithm, shape, bytes, network, one_for_all);
  Prediction prediction;
  prediction.rounds = algorithm.rounds(shape);
  prediction.used_one_clock = one_for_all;
  for (std::uint32_t round = 0; round < prediction.rounds; ++round) walk.walk_round(round);

  const std::uint64_t stands_for = one_for_all ? shape.size : 1;
  prediction.messages = walk.messages() * stands_for;
  prediction.bytes = walk.bytes() * stands_for;
  prediction.minimum = std::numeric_limits<double>::infinity();
  std::uint64_t receivers = 0;
  double sum = 0;
  for (Rank rank = 0; rank < walk.clocks().size(); ++rank) {
    if (!is_receiver(shape, rank) && !one_for_all) continue;
    const double finish = walk.clocks()[rank].now;
    prediction.minimum = std::min(prediction.minimum, finish);
    prediction.maximum = std::max(prediction.maximum, finish);
    sum += finish;
    ++receivers;
  }
  prediction.mean = sum / static_cast<double>(receivers);
  return prediction;
}

}  // namespace stretto::schedule
