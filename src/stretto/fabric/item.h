#pragma once

namespace stretto::fabric {

/// A piece of work for whoever holds a node's baton. Intrusive; `run` owns the item from then on.
struct Item {
  using Run = void (*)(Item*) noexcept;

  explicit Item(Run run_function) noexcept : run(run_function) {}

  Item* next = nullptr;
  Run run;
};

}  // namespace stretto::fabric
