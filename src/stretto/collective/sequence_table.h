#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stretto {

/// A hash table of things that have a `sequence`: a call's number among those of its stream. Open addressing; the
/// numbers in use are mostly neighbours, and lie side by side.
template <class Entry>
class SequenceTable {
 public:
  /// The entry of that number, or null. Valid until the next `add` or `remove`.
  Entry* find(std::uint32_t sequence) noexcept {
    if (places_.empty()) return nullptr;
    for (std::size_t at = sequence & mask();; at = (at + 1) & mask()) {
      if (!places_[at].used) return nullptr;
      if (places_[at].entry.sequence == sequence) return &places_[at].entry;
    }
  }

  /// REQUIRES: it is not there.
  Entry& add(std::uint32_t sequence) {
    if (2 * (size_ + 1) > places_.size()) grow();
    ++size_;
    Place& place = places_[free_place(sequence)];
    place.used = true;
    place.entry.sequence = sequence;
    return place.entry;
  }

  /// Does nothing where it is not there.
  void remove(std::uint32_t sequence) {
    Entry* const found = find(sequence);
    if (found == nullptr) return;
    --size_;
    std::size_t hole = sequence & mask();
    while (&places_[hole].entry != found) hole = (hole + 1) & mask();
    // Those behind it that could not lie where they wanted to move up.
    for (std::size_t at = (hole + 1) & mask(); places_[at].used; at = (at + 1) & mask()) {
      const std::size_t wanted = places_[at].entry.sequence & mask();
      if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
      places_[hole].entry = std::move(places_[at].entry);
      hole = at;
    }
    places_[hole] = Place();
  }

  std::size_t size() const noexcept { return size_; }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Place& place : places_) {
      if (place.used) visit(place.entry);
    }
  }

 private:
  struct Place {
    bool used = false;
    Entry entry;
  };

  std::size_t mask() const noexcept { return places_.size() - 1; }

  std::size_t free_place(std::uint32_t sequence) const noexcept {
    std::size_t at = sequence & mask();
    while (places_[at].used) at = (at + 1) & mask();
    return at;
  }

  void grow() {
    std::vector<Place> old(places_.empty() ? 8 : 2 * places_.size());
    old.swap(places_);
    for (Place& place : old) {
      if (!place.used) continue;
      Place& to = places_[free_place(place.entry.sequence)];
      to = std::move(place);
    }
  }

  std::vector<Place> places_;  // a power of two, half empty
  std::size_t size_ = 0;
};

}  // namespace stretto
