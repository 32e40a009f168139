#include "stretto/fabric/bootstrap/bootstrap.h"

#include <utility>

#include "stretto/fabric/bootstrap/in_process.h"
#include "stretto/fabric/bootstrap/launcher_choice.h"
#include "stretto/fabric/bootstrap/pmix.h"
#include "stretto/fabric/bootstrap/rendezvous_client.h"

namespace stretto::fabric {
namespace {

void check_key(std::string_view key) {
  if (!key.empty() && key.size() <= Bootstrap::max_key_bytes) return;
  throw Error(ErrorCode::invalid_argument, "bootstrap key of " + std::to_string(key.size()) + " bytes: use 1 to " +
                                               std::to_string(Bootstrap::max_key_bytes));
}

}  // namespace

Bootstrap::~Bootstrap() = default;

std::vector<std::vector<std::byte>> Bootstrap::fetch_all(std::string_view key) {
  std::vector<std::vector<std::byte>> values;
  for (NodeId rank = 0; rank < size(); ++rank) values.push_back(fetch(rank, key));
  return values;
}

void Bootstrap::check_put(std::string_view key, ConstByteSpan value) {
  check_key(key);
  if (value.size() <= max_value_bytes) return;
  throw Error(ErrorCode::invalid_argument, "bootstrap value of " + std::to_string(value.size()) + " bytes under \"" +
                                               std::string(key) + "\": at most " + std::to_string(max_value_bytes) +
                                               " can be published; send larger data over the fabric");
}

void Bootstrap::check_fetch(NodeId rank, std::string_view key) const {
  check_key(key);
  if (rank < size()) return;
  throw Error(ErrorCode::invalid_argument, "bootstrap fetch of \"" + std::string(key) + "\" from rank " +
                                               std::to_string(rank) + ": this job has ranks 0 to " +
                                               std::to_string(size() - 1));
}

std::unique_ptr<Bootstrap> connect(const Environment& environment) {
  const LauncherChoice choice = choose_launcher(environment);
  switch (choice.launcher) {
    case Launcher::rendezvous: return join_rendezvous(choice, environment);
    case Launcher::pmix: return join_pmix(choice, environment);
    case Launcher::none: break;
  }
  return std::move(make_in_process_job(1).front());
}

}  // namespace stretto::fabric
