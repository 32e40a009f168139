#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/preparation.h"
#include "stretto/collective/stream.h"

namespace stretto {

/// How the last calls were prepared. Mostly a call is what one with the same group, form, length and key was before:
/// then nothing is looked for by way of five objects, each of which lies where the one before says, which takes longer
/// than to compare. Under the node's baton.
class RecentCalls {
 public:
  struct Prepared {
    Stream* stream;
    Preparation* preparation;  ///< null: none is known

    bool is_of(std::uint64_t stream_id) const noexcept { return preparation != nullptr && stream->id() == stream_id; }
  };

  /// How a simple call that names no algorithm was prepared; or nulls.
  Prepared find_simple(const Group& group, const CollectiveCall& call,
                       const CollectiveOptions& options) const noexcept {
    for (const Prepared& recent : last_[set_of(&group, call, options)]) {
      const bool is_of_stream = recent.is_of(Stream::id_of(group, options.mixed_key()));
      if (is_of_stream && recent.preparation->key.is_of_simple(call)) return recent;
    }
    return {};
  }
  /// What is not known is found by `search(stream id)`.
  template <class Search>
  Prepared find(const Group& group, const CollectiveCall& call, const CollectiveOptions& options, const Named& named,
                Search&& search) noexcept {
    const std::uint64_t stream_id = Stream::id_of(group, options.mixed_key());
    // The group of what is planned may be a copy.
    const void* const of_whom = call.set == nullptr ? static_cast<const void*>(&group) : call.set.get();
    Set& set = last_[set_of(of_whom, call, options)];
    for (const Prepared& recent : set) {
      if (recent.is_of(stream_id) && recent.preparation->key.is_of(call, named)) return recent;
    }
    const Prepared found = search(stream_id);
    if (found.preparation != nullptr) set = {found, set.front()};
    return found;
  }

  /// That one goes.
  void forget(const Preparation& preparation) noexcept {
    for (Set& set : last_) {
      for (Prepared& each : set) {
        if (each.preparation == &preparation) each = {};
      }
    }
  }

 private:
  // Those that would have one place: calls of two kinds may take turns.
  using Set = std::array<Prepared, 2>;
  static constexpr std::size_t sets = 8;

  // Of what is at hand without a look at memory.
  static std::size_t set_of(const void* of_whom, const CollectiveCall& call,
                            const CollectiveOptions& options) noexcept {
    return (reinterpret_cast<std::uintptr_t>(call.form) / 32 ^ reinterpret_cast<std::uintptr_t>(of_whom) / 16 ^
            call.input.size() / 8 ^ options.mixed_key()) %
           sets;
  }

  std::array<Set, sets> last_{};
};

}  // namespace stretto
