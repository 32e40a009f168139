#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/collective/wire.h"
#include "stretto/fabric/fabric.h"

namespace stretto {

class CollectiveService;
class Stream;

/// A small call that is done in the call itself (decision 40): its steps in the order of their list, as long as the
/// message that is next comes while it is looked for. Nobody else hears of it until it is over or an operation takes
/// it over; what comes for it meanwhile and is not looked for is kept by its stream.
class InlineRun final : private fabric::MessageHandler {
 public:
  /// `plan` is small (see PlacedPlan), its scratch begins at `scratch`. `line`: see CallHeader.
  InlineRun(CollectiveService& service, Stream& stream, const PlacedPlan& plan, const CollectiveCall& call,
            Identity identity, std::uint32_t line, std::byte* scratch) noexcept
      : service_(service), stream_(stream), plan_(plan), call_(call), header_{identity, 0, line} {
    buffers_.set_input(call.input);
    buffers_.set_output(call.output);
    buffers_.set_scratch(scratch, plan.scratch_begin);
  }

  /// Looks for each message up to `looks` times. Returns how many steps are done; if not all, no other one has begun.
  /// Once, under the baton.
  std::uint32_t run(unsigned looks);

 private:
  void on_message(const fabric::Message& message) override;
  bool send(const PlacedStep& what);
  bool receive(const PlacedStep& what, unsigned looks);
  void combine(const PlacedStep& what) const;
  bool use(const fabric::Message& message);

  CollectiveService& service_;
  Stream& stream_;
  const PlacedPlan& plan_;
  const CollectiveCall& call_;
  CallHeader header_;
  Buffers buffers_;
  const PlacedStep* looked_for_ = nullptr;
};

}  // namespace stretto
