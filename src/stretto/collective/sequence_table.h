#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace stretto {

/// A hash table of things that have a `sequence`: a call's number among those of its stream. Open addressing; the
/// numbers in use are mostly neighbours, and lie side by side. There may be thousands of them, where a member runs
/// ahead of another one; so those that share a run of places lie in the order of the places that they want ("Robin
/// Hood": Celis, Larson and Munro, FOCS 1985), and who leaves moves only those that could not lie where they want.
template <class Entry>
class SequenceTable {
 public:
  /// The entry of that number, or null. Valid until the next `find_or_add` or `remove`.
  Entry* find(std::uint32_t sequence) noexcept {
    const std::size_t place = place_of(sequence);
    return place == nowhere ? nullptr : &places_[place].entry;
  }

  /// Whether so many more entries take no memory.
  bool has_room(std::size_t more) const noexcept { return 2 * (size_ + more) <= mask_ + 1; }
  /// Sees to that. Where there is no memory it throws, and all entries are as they were.
  void make_room(std::size_t more) {
    while (!has_room(more)) grow();
  }

  /// The entry of that number; a new one where there was none.
  Entry& find_or_add(std::uint32_t sequence) {
    if (Entry* const known = find(sequence)) return *known;
    make_room(1);
    ++size_;
    Place& wanted = places_[sequence & mask_];
    if (!wanted.used) {
      wanted.used = true;
      wanted.entry.sequence = sequence;
      return wanted.entry;
    }
    Entry entry;
    entry.sequence = sequence;
    return places_[put(std::move(entry))].entry;
  }

  /// Does nothing where it is not there.
  void remove(std::uint32_t sequence) noexcept {
    std::size_t hole = place_of(sequence);
    if (hole == nowhere) return;
    --size_;
    for (std::size_t at = (hole + 1) & mask_; places_[at].used && distance(at) > 0; at = (at + 1) & mask_) {
      places_[hole].entry = std::move(places_[at].entry);
      hole = at;
    }
    places_[hole].used = false;
    places_[hole].entry = Entry();
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

  static constexpr std::size_t nowhere = ~std::size_t{0};

  std::size_t place_of(std::uint32_t sequence) const noexcept {
    if (size_ == 0) return nowhere;
    for (std::size_t at = sequence & mask_; places_[at].used; at = (at + 1) & mask_) {
      if (places_[at].entry.sequence == sequence) return at;
    }
    return nowhere;
  }

  /// How far from the place that it wants the entry at `at` lies.
  std::size_t distance(std::size_t at) const noexcept { return (at - places_[at].entry.sequence) & mask_; }

  /// Returns its place. REQUIRES: a place is free.
  std::size_t put(Entry entry) {
    std::size_t place = entry.sequence & mask_;
    for (std::size_t far = 0; places_[place].used && distance(place) >= far; ++far) place = (place + 1) & mask_;
    // It takes the place of who lies nearer to where it wants; that one takes the next, and so on.
    std::size_t at = place;
    for (; places_[at].used; at = (at + 1) & mask_) std::swap(entry, places_[at].entry);
    places_[at].used = true;
    places_[at].entry = std::move(entry);
    return place;
  }

  void grow() {
    std::vector<Place> old(places_.empty() ? 2 : 2 * places_.size());
    old.swap(places_);
    mask_ = places_.size() - 1;
    for (Place& place : old) {
      if (place.used) put(std::move(place.entry));
    }
  }

  std::vector<Place> places_;  // a power of two, half empty
  std::size_t mask_ = 0;       // their number, less one; of none, too
  std::size_t size_ = 0;
};

}  // namespace stretto
