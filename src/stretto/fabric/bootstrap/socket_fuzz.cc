// Any text is an endpoint that is written as it is read, or an Error(bad_input).

#include <cstdint>
#include <string>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/bootstrap/socket.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace stretto;
  using namespace stretto::fabric;
  fuzz::Input input(bytes, size);
  const std::string text = input.edited(input.below(2) == 0 ? "host:4000" : "[fe80::1]:4000");
  fuzz::takes([&] {
    const HostPort endpoint = parse_endpoint(text);
    fuzz::require(!endpoint.host.empty() && !endpoint.port.empty());
    fuzz::require(text.starts_with('[') || endpoint.text() == text);
    const HostPort again = parse_endpoint(endpoint.text());
    fuzz::require(again.host == endpoint.host && again.port == endpoint.port);
  });
  return 0;
}
