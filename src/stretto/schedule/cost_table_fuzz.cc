// Whatever STRETTO_TUNING names: costs that select() may go by, and that are written and read again as they are, or an
// Error(bad_input).

#include <cstdint>

#include "stretto/base/fuzz.h"
#include "stretto/schedule/cost_table.h"

namespace {

using namespace stretto;
using namespace stretto::schedule;

// No two costs are the same.
std::string a_good_one() {
  CostTable table = built_in_costs();
  double value = 1e-9;
  for (Costs& costs : table.links) {
    for (const CostField& field : cost_fields) costs.*field.value = value *= 1.5;
  }
  return to_json(table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::string good = a_good_one();
  fuzz::Input input(bytes, size);
  const bool from_scratch = input.number() % 4 == 0;
  const std::string json = from_scratch ? std::string(input.text()) : input.edited(good);
  fuzz::takes([&] {
    const CostTable table = parse_cost_table(json, "fuzz");
    for (const Costs& costs : table.links) fuzz::require(bounded(costs) == costs);
    fuzz::require(parse_cost_table(to_json(table), "fuzz").links == table.links);
  });
  return 0;
}
