// Whatever stands in the environment: settings that can all be read, or an Error(bad_input).

#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/base/settings.h"

namespace {

using namespace stretto;

void require_readable(const Settings& settings, const SettingInfo& info) {
  if (!settings.is_set(info.name) && info.default_value.empty()) return;
  switch (info.kind) {
    case SettingKind::text: fuzz::require(settings.text(info.name) == settings.written(info.name)); break;
    case SettingKind::count: {
      const std::uint64_t count = settings.count(info.name);
      fuzz::require(info.least <= count && count <= info.most);
      break;
    }
    case SettingKind::bytes: fuzz::require(settings.bytes(info.name) >= info.least); break;
    case SettingKind::log_level: fuzz::require(settings.log_level(info.name) <= LogLevel::off); break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  std::vector<std::string> environment;
  while (!input.empty()) {
    const SettingInfo& info = known_settings()[input.below(known_settings().size())];
    const bool is_known = input.below(8) != 1;
    fuzz::Input changes(input.bytes(input.below(16)));
    const std::string name(info.name);
    const std::string value(info.default_value);
    environment.push_back(is_known ? name + '=' + changes.edited(value) : changes.edited(name + '=' + value));
  }
  fuzz::takes([&] {
    const Settings settings(environment);
    for (const SettingInfo& info : known_settings()) require_readable(settings, info);
  });
  return 0;
}
