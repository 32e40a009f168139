#include "stretto/schedule/algorithm/aggregated_all_to_all.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// A run of members whose ranks follow one another.
struct Members {
  std::uint32_t first;  ///< place among the members
  Rank rank;            ///< of the first
  std::uint32_t count;
};

std::vector<Members> runs_of(std::span<const Rank> members) {
  std::vector<Members> runs;
  for (std::uint32_t place = 0; place < members.size(); ++place) {
    if (place > 0 && members[place] == members[place - 1] + 1) {
      ++runs.back().count;
    } else {
      runs.push_back({place, members[place], 1});
    }
  }
  return runs;
}

/// Rows of equal length in scratch. Each lies in one vector, as many in each as fit.
class Table {
 public:
  Table(Rank vector, std::uint32_t first_vector, Rank rows, Rank columns)
      : vector_(vector), first_vector_(first_vector), rows_(rows), columns_(columns), side_by_side_(vector / columns) {}

  std::uint32_t vectors() const { return (rows_ + side_by_side_ - 1) / side_by_side_; }
  BlockRef at(Rank row, Rank column, std::uint32_t count = 1) const {
    const std::uint32_t vector = first_vector_ + row / side_by_side_;
    return scratch(vector * vector_ + row % side_by_side_ * columns_ + column, count);
  }
  /// All rows that lie in one vector.
  BlockRef rows_in(std::uint32_t vector) const {
    const Rank first = vector * side_by_side_;
    return at(first, 0, std::min(side_by_side_, rows_ - first) * columns_);
  }

 private:
  Rank vector_;
  std::uint32_t first_vector_;
  Rank rows_;
  Rank columns_;
  Rank side_by_side_;
};

/// What a rank does for the host so many hosts further on around, and for that as many before its own.
class Exchange {
 public:
  Exchange(const Shape& shape, Rank me, Rank distance)
      : hosts_(shape.hosts),
        me_(me),
        mine_(hosts_.members(hosts_.of(me))),
        next_(hosts_.members(after(hosts_.of(me), distance, hosts_.count()))),
        last_(hosts_.members(before(hosts_.of(me), distance, hosts_.count()))),
        agent_(agent_of(mine_, distance)),
        next_agent_(agent_of(next_, distance)),
        last_agent_(agent_of(last_, distance)),
        given_(table(shape, distance, 0, mine_, next_)),
        got_(table(shape, distance, 1, last_, mine_)),
        turned_(table(shape, distance, 2, mine_, last_)) {}

  static std::uint32_t most_vectors(const Shape& shape) {
    return Table(shape.size, 0, shape.hosts.most(), shape.hosts.most()).vectors();
  }

  void give_to_agent(Sink& sink) const {
    for (const Members& run : runs_of(next_)) {
      if (agent_ == me_) {
        sink.copy(input(run.rank, run.count), given_.at(hosts_.place(me_), run.first, run.count));
      } else {
        sink.send(agent_, input(run.rank, run.count));
      }
    }
  }
  void take_as_agent(Sink& sink) const {
    if (agent_ != me_) return;
    const std::vector<Members> runs = runs_of(next_);
    for (Rank row = 0; row < mine_.size(); ++row) {
      if (mine_[row] == me_) continue;
      for (const Members& run : runs) sink.receive(mine_[row], given_.at(row, run.first, run.count));
    }
  }

  void give_to_host(Sink& sink) const {
    if (agent_ != me_) return;
    for (std::uint32_t vector = 0; vector < given_.vectors(); ++vector) sink.send(next_agent_, given_.rows_in(vector));
  }
  void take_from_host(Sink& sink) const {
    if (agent_ != me_) return;
    for (std::uint32_t vector = 0; vector < got_.vectors(); ++vector) sink.receive(last_agent_, got_.rows_in(vector));
  }

  void hand_out(Sink& sink) const {
    if (agent_ != me_) return;
    const std::vector<Members> runs = runs_of(last_);
    for (Rank row = 0; row < mine_.size(); ++row) {
      const bool is_own = mine_[row] == me_;
      for (Rank i = 0; i < last_.size(); ++i) {
        sink.copy(got_.at(i, row), is_own ? output(last_[i]) : turned_.at(row, i));
      }
      if (is_own) continue;
      for (const Members& run : runs) sink.send(mine_[row], turned_.at(row, run.first, run.count));
    }
  }
  void take_from_agent(Sink& sink) const {
    if (agent_ == me_) return;
    for (const Members& run : runs_of(last_)) sink.receive(agent_, output(run.rank, run.count));
  }

 private:
  static Rank agent_of(std::span<const Rank> members, Rank distance) {
    return members[(distance - 1) % members.size()];
  }

  /// One of the three tables: those for the distances that one agent serves follow one another.
  Table table(const Shape& shape, Rank distance, std::uint32_t which, std::span<const Rank> rows,
              std::span<const Rank> columns) const {
    const std::uint32_t number = 3 * ((distance - 1) / static_cast<Rank>(mine_.size())) + which;
    return {shape.size, number * most_vectors(shape), static_cast<Rank>(rows.size()),
            static_cast<Rank>(columns.size())};
  }

  const Hosts& hosts_;
  Rank me_;
  std::span<const Rank> mine_;
  std::span<const Rank> next_;
  std::span<const Rank> last_;
  Rank agent_;
  Rank next_agent_;
  Rank last_agent_;
  Table given_;   ///< a row of each of ours, a column for each of theirs
  Table got_;     ///< a row of each of theirs, a column for each of ours
  Table turned_;  ///< that the other way round
};

/// Blocks between members of one host.
void exchange_inside(const Shape& shape, Rank me, Sink& sink) {
  const std::span<const Rank> members = shape.hosts.members(shape.hosts.of(me));
  const auto count = static_cast<Rank>(members.size());
  sink.copy(input(me), output(me));
  for (Rank distance = 1; distance < count; ++distance) {
    const Rank peer = members[after(shape.hosts.place(me), distance, count)];
    sink.send(peer, input(peer));
  }
}
void take_inside(const Shape& shape, Rank me, Sink& sink) {
  for (const Rank peer : shape.hosts.members(shape.hosts.of(me))) {
    if (peer != me) sink.receive(peer, output(peer));
  }
}

}  // namespace

std::string_view AggregatedAllToAll::source() const noexcept {
  return "Bienz, Gropp and Olson, \"Node aware sparse matrix-vector multiplication\", Journal of Parallel and "
         "Distributed Computing 130, 2019";
}

std::uint32_t AggregatedAllToAll::rounds(const Shape& shape) const { return shape.hosts.count() == 1 ? 1 : 3; }

void AggregatedAllToAll::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  std::vector<Exchange> exchanges;
  for (Rank distance = 1; distance < shape.hosts.count(); ++distance) exchanges.emplace_back(shape, me, distance);
  const auto for_each = [&](void (Exchange::*act)(Sink&) const) {
    for (const Exchange& each : exchanges) (each.*act)(sink);
  };
  if (round == 0) {
    exchange_inside(shape, me, sink);
    for_each(&Exchange::give_to_agent);
    take_inside(shape, me, sink);
    for_each(&Exchange::take_as_agent);
  } else if (round == 1) {
    for_each(&Exchange::give_to_host);
    for_each(&Exchange::take_from_host);
  } else {
    for_each(&Exchange::hand_out);
    for_each(&Exchange::take_from_agent);
  }
}

std::uint32_t AggregatedAllToAll::scratch_blocks(const Shape& shape, Rank me) const {
  const Hosts& hosts = shape.hosts;
  const auto members = static_cast<Rank>(hosts.members(hosts.of(me)).size());
  const Rank others = hosts.count() - 1;
  const Rank served = others > hosts.place(me) ? (others - hosts.place(me) - 1) / members + 1 : 0;
  return 3 * served * Exchange::most_vectors(shape) * shape.size;
}

}  // namespace stretto::schedule
