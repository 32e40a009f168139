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

    bool is_of(std::uint64_t stream_id) const noexcept { return stream->id() == stream_id; }
  };

  /// How a simple call that names no algorithm was prepared; or nulls.
  Prepared find_simple(const Group& group, const CollectiveCall& call,
                       const CollectiveOptions& options) const noexcept {
    const Prepared& recent = last_[place_of(group, call, options)];
    const bool is_it = recent.preparation != nullptr && recent.is_of(Stream::id_of(group, options.mixed_key())) &&
                       recent.preparation->key.is_of_simple(call);
    return is_it ? recent : Prepared{};
  }
  /// What is not known is found by `search(stream id)`.
  template <class Search>
  const Prepared& find(const Group& group, const CollectiveCall& call, const CollectiveOptions& options,
                       const Named& named, Search&& search) noexcept {
    const std::uint64_t stream_id = Stream::id_of(group, options.mixed_key());
    Prepared& recent = last_[place_of(group, call, options)];
    const bool is_it =
        recent.preparation != nullptr && recent.is_of(stream_id) && recent.preparation->key.is_of(call, named);
    if (!is_it) recent = search(stream_id);
    return recent;
  }

  /// That one goes.
  void forget(const Preparation& preparation) noexcept {
    for (Prepared& each : last_) {
      if (each.preparation == &preparation) each = {};
    }
  }

 private:
  static constexpr std::size_t kept = 16;

  // Of what is at hand without a look at memory.
  static std::size_t place_of(const Group& group, const CollectiveCall& call,
                              const CollectiveOptions& options) noexcept {
    return (reinterpret_cast<std::uintptr_t>(call.form) / 32 ^ reinterpret_cast<std::uintptr_t>(&group) / 16 ^
            call.input.size() / 8 ^ options.mixed_key()) %
           kept;
  }

  std::array<Prepared, kept> last_{};
};

}  // namespace stretto
