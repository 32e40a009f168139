#include "stretto/fabric/bootstrap/deployment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/bootstrap/wire.h"

namespace stretto::fabric {
namespace {

constexpr std::uint32_t deployment_magic = 0x44525453;
constexpr std::size_t max_entries = std::size_t{1} << 16U;

std::uint32_t read_count(WireReader& in) {
  const auto count = in.number<std::uint32_t>();
  if (count > max_entries) throw Error(ErrorCode::bad_input, "a list of " + std::to_string(count) + " entries");
  return count;
}

// The tunables are a list with colons in between.
void switch_without_sequences(Environment& environment) {
  constexpr std::string_view name = "glibc.pthread.rseq";
  std::string& tunables = environment["GLIBC_TUNABLES"];
  if (tunables.find(name) != std::string::npos) return;
  if (!tunables.empty()) tunables += ':';
  tunables.append(name).append("=0");
}

}  // namespace

std::vector<std::byte> encode(const Deployment& deployment) {
  WireWriter body;
  body.number(deployment_magic);
  body.number(protocol_version);
  body.raw(deployment.secret.bytes());
  body.text(deployment.endpoint);
  body.number(deployment.host);
  body.number(deployment.size);
  body.number(deployment.first);
  body.number(deployment.ranks);
  body.number(static_cast<std::uint8_t>(deployment.tag));
  body.text(deployment.folder);
  body.number(static_cast<std::uint32_t>(deployment.environment.size()));
  for (const auto& [name, value] : deployment.environment) {
    body.text(name);
    body.text(value);
  }
  body.number(static_cast<std::uint32_t>(deployment.command.size()));
  for (const std::string& word : deployment.command) body.text(word);
  WireWriter frame;
  frame.blob(body.bytes());
  return std::move(frame.bytes());
}

Deployment decode_deployment(ConstByteSpan bytes) {
  WireReader in(bytes);
  if (in.number<std::uint32_t>() != deployment_magic || in.number<std::uint16_t>() != protocol_version) {
    throw Error(ErrorCode::bad_input, "this is not a deployment by `stretto run` of this version");
  }
  Deployment result{JobSecret(in.array<JobSecret::size>()), {}, 0, 0, 0, 0, false, {}, {}, {}};
  result.endpoint = in.text(max_deployment_bytes);
  result.host = in.number<std::uint32_t>();
  result.size = in.number<std::uint32_t>();
  result.first = in.number<std::uint32_t>();
  result.ranks = in.number<std::uint32_t>();
  result.tag = in.number<std::uint8_t>() != 0;
  result.folder = in.text(max_deployment_bytes);
  for (std::uint32_t left = read_count(in); left > 0; --left) {
    std::string name = in.text(max_deployment_bytes);
    result.environment.insert_or_assign(std::move(name), in.text(max_deployment_bytes));
  }
  for (std::uint32_t left = read_count(in); left > 0; --left) result.command.push_back(in.text(max_deployment_bytes));
  in.finish();
  const bool sensible = result.size <= max_nodes && result.ranks > 0 && result.ranks <= result.size &&
                        result.first <= result.size - result.ranks && !result.command.empty();
  if (!sensible) throw Error(ErrorCode::bad_input, "a deployment of no ranks, of no command, or out of range");
  return result;
}

ProcessPlan plan_rank(const Deployment& deployment, NodeId rank, const Environment& environment, int secret_descriptor,
                      unsigned cores) {
  ProcessPlan plan;
  plan.command = deployment.command;
  plan.environment = environment;
  for (const auto& [name, value] : deployment.environment) plan.environment.insert_or_assign(name, value);
  plan.environment.insert_or_assign("STRETTO_FABRIC", "cluster");
  plan.environment.insert_or_assign("STRETTO_JOB_ENDPOINT", deployment.endpoint);
  plan.environment.insert_or_assign("STRETTO_JOB_RANK", std::to_string(rank));
  plan.environment.insert_or_assign("STRETTO_JOB_SIZE", std::to_string(deployment.size));
  plan.environment.insert_or_assign("STRETTO_JOB_SECRET_FD", std::to_string(secret_descriptor));
  if (deployment.ranks > cores) switch_without_sequences(plan.environment);
  plan.folder = deployment.folder;
  plan.inherited = secret_descriptor;
  return plan;
}

Descriptor secret_file(const JobSecret& secret) {
  Descriptor file(::memfd_create("stretto-job-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw_io("memfd_create");
  const ssize_t written = ::write(file.number(), secret.bytes().data(), secret.bytes().size());
  if (written != static_cast<ssize_t>(secret.bytes().size())) throw_io("cannot write the job secret");
  if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    throw_io("cannot seal the job secret");
  }
  return file;
}

std::string tag_of(const Deployment& deployment, NodeId rank) {
  return deployment.tag ? "[" + std::to_string(rank) + "] " : "";
}

}  // namespace stretto::fabric
