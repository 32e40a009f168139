#include "stretto/schedule/hosts.h"

#include <algorithm>
#include <bit>
#include <map>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

Hosts::Hosts(std::span<const std::uint32_t> host_of) {
  auto list = std::make_shared<List>();
  std::map<std::uint32_t, std::uint32_t> numbers;
  std::vector<Rank> counts;
  for (const std::uint32_t named : host_of) {
    const std::uint32_t host = numbers.try_emplace(named, static_cast<std::uint32_t>(numbers.size())).first->second;
    if (host == counts.size()) counts.push_back(0);
    list->host_of.push_back(host);
    list->places.push_back(counts[host]++);
  }
  list->offsets.assign(1, 0);
  for (const Rank count : counts) list->offsets.push_back(list->offsets.back() + count);
  list->members.resize(host_of.size());
  for (Rank rank = 0; rank < host_of.size(); ++rank) {
    list->members[list->offsets[list->host_of[rank]] + list->places[rank]] = rank;
  }
  list->fewest = *std::min_element(counts.begin(), counts.end());
  list->most = *std::max_element(counts.begin(), counts.end());
  list->in_order = std::is_sorted(list->host_of.begin(), list->host_of.end());
  const bool alike_but_last =
      std::all_of(counts.begin(), counts.end() - 1, [&](Rank count) { return count == counts.front(); });
  list->aligned = list->in_order && alike_but_last && counts.back() <= counts.front() &&
                  (counts.size() == 1 || std::has_single_bit(counts.front()));
  list_ = std::move(list);
}

Hosts Hosts::even(Rank ranks, Rank hosts) {
  std::vector<std::uint32_t> host_of;
  for (std::uint32_t host = 0; host < hosts; ++host) host_of.insert(host_of.end(), cut(ranks, hosts, host).count, host);
  return Hosts(host_of);
}

Hosts Hosts::first(Rank count) const {
  return count == ranks() ? *this : Hosts(std::span(list_->host_of).first(count));
}

std::strong_ordering operator<=>(const Hosts& a, const Hosts& b) noexcept {
  if (a.list_ == b.list_) return std::strong_ordering::equal;
  if (!a.are_known() || !b.are_known()) return a.are_known() <=> b.are_known();
  return a.list_->host_of <=> b.list_->host_of;
}

}  // namespace stretto::schedule
