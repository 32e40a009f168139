#include "stretto/fabric/bootstrap/pmix.h"

#include <pmix.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "stretto/fabric/bootstrap/host_id.h"

namespace stretto::fabric {
namespace {

/// Error for a failed call of the library, whose own words are terse.
Error failure(const std::string& what, pmix_status_t status, ErrorCode code = ErrorCode::io) {
  return {code, what + " failed with " + ::PMIx_Error_string(status)};
}

/// A value of the library's, freed by it.
class FetchedValue {
 public:
  /// A rank's own or the job's (PMIX_RANK_WILDCARD) value; `value` stays null when there is none.
  pmix_status_t get(const pmix_proc_t& owner, const std::string& key) {
    return ::PMIx_Get(&owner, key.c_str(), nullptr, 0, &value_);
  }
  FetchedValue() = default;
  FetchedValue(const FetchedValue&) = delete;
  FetchedValue& operator=(const FetchedValue&) = delete;
  ~FetchedValue() {
    if (value_ != nullptr) PMIX_VALUE_RELEASE(value_);
  }
  const pmix_value_t& operator*() const { return *value_; }
  const pmix_value_t* operator->() const { return value_; }

 private:
  pmix_value_t* value_ = nullptr;
};

pmix_proc_t process_of(const pmix_proc_t& self, pmix_rank_t rank) {
  pmix_proc_t process = self;
  process.rank = rank;
  return process;
}

class PmixBootstrap final : public Bootstrap {
 public:
  PmixBootstrap(const pmix_proc_t& self, std::uint32_t size, std::string host)
      : self_(self), size_(size), host_(std::move(host)) {}

  /// PMIx_Finalize here would claim a clean leave, so that a failing rank looked well: the exit of the process tells.
  ~PmixBootstrap() override = default;

  NodeId rank() const override { return self_.rank; }
  std::uint32_t size() const override { return size_; }
  std::string_view host() const override { return host_; }

  void put(std::string_view key, ConstByteSpan value) override {
    check_put(key, value);
    // The library wants memory that it may write to, although it only copies.
    std::vector<char> bytes(value.size());
    std::ranges::transform(value, bytes.begin(), [](std::byte byte) { return static_cast<char>(byte); });
    pmix_value_t entry{};
    entry.type = PMIX_BYTE_OBJECT;
    entry.data.bo.bytes = bytes.data();
    entry.data.bo.size = bytes.size();
    const std::string name(key);
    const pmix_status_t status = ::PMIx_Put(PMIX_GLOBAL, name.c_str(), &entry);
    if (status != PMIX_SUCCESS) throw failure("PMIx_Put of \"" + name + "\"", status);
  }

  void fence() override {
    if (const pmix_status_t status = ::PMIx_Commit(); status != PMIX_SUCCESS) throw failure("PMIx_Commit", status);
    bool collect = true;
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    const pmix_proc_t everyone = process_of(self_, PMIX_RANK_WILDCARD);
    const pmix_status_t status = ::PMIx_Fence(&everyone, 1, &info, 1);
    PMIX_INFO_DESTRUCT(&info);
    if (status != PMIX_SUCCESS) {
      throw failure("the fence over all ranks cannot complete: PMIx_Fence", status, ErrorCode::peer_lost);
    }
  }

  std::vector<std::byte> fetch(NodeId rank, std::string_view key) override {
    check_fetch(rank, key);
    FetchedValue value;
    const pmix_status_t status = value.get(process_of(self_, rank), std::string(key));
    if (status != PMIX_SUCCESS) {
      throw failure("rank " + std::to_string(rank) + " published nothing under \"" + std::string(key) +
                        "\" (a put can be fetched after the next fence): PMIx_Get",
                    status, ErrorCode::invalid_argument);
    }
    if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size > max_value_bytes) {
      throw Error(ErrorCode::bad_input, "rank " + std::to_string(rank) + " published something else under \"" +
                                            std::string(key) + "\" than bytes, or too many of them");
    }
    const auto bytes = std::as_bytes(std::span(value->data.bo.bytes, value->data.bo.size));
    return {bytes.begin(), bytes.end()};
  }

  void abort(const Error& error) noexcept override { ::PMIx_Abort(EXIT_FAILURE, error.what(), nullptr, 0); }

  void finalize() override {
    if (const pmix_status_t status = ::PMIx_Finalize(nullptr, 0); status != PMIX_SUCCESS) {
      throw failure("PMIx_Finalize", status);
    }
  }

  int failure_descriptor() const override { return -1; }
  std::vector<PeerLoss> lost_peers() override { return {}; }

 private:
  pmix_proc_t self_;
  std::uint32_t size_;
  std::string host_;
};

std::uint32_t job_size(const pmix_proc_t& self) {
  FetchedValue value;
  const pmix_status_t status = value.get(process_of(self, PMIX_RANK_WILDCARD), PMIX_JOB_SIZE);
  if (status != PMIX_SUCCESS) throw failure("PMIx_Get of the job's size", status);
  if (value->type == PMIX_UINT32 && value->data.uint32 > self.rank && value->data.uint32 <= max_nodes) {
    return value->data.uint32;
  }
  throw Error(ErrorCode::bad_input, "the PMIx launcher names no sensible size for the job of this rank " +
                                        std::to_string(self.rank) + "; at most " + std::to_string(max_nodes) +
                                        " ranks can be served");
}

}  // namespace

std::unique_ptr<Bootstrap> join_pmix(const LauncherChoice& choice, const Environment& environment) {
  pmix_proc_t self{};
  if (const pmix_status_t status = ::PMIx_Init(&self, nullptr, 0); status != PMIX_SUCCESS) {
    throw Error(ErrorCode::not_supported,
                "the environment announces rank " + std::to_string(choice.rank) +
                    " of a PMIx job, but its launcher cannot be reached (PMIx_Init: " + ::PMIx_Error_string(status) +
                    "): start the program directly under it, or with `stretto run -n N APP`");
  }
  if (self.rank != choice.rank) {
    throw Error(ErrorCode::not_supported, "the environment announces rank " + std::to_string(choice.rank) +
                                              " (PMIX_RANK), the PMIx library says " + std::to_string(self.rank) +
                                              ": start the program directly under its launcher");
  }
  return std::make_unique<PmixBootstrap>(self, job_size(self), host_id(environment));
}

}  // namespace stretto::fabric
