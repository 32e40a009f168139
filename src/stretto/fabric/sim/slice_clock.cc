#include "stretto/fabric/sim/slice_clock.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/sim/slice_durations.h"

namespace stretto::fabric {

namespace {

constexpr VirtualTime picoseconds_per_nanosecond = 1000;

std::string reason_of(int error) { return std::generic_category().message(error); }

// A file that is complete or not there: written beside its place, and moved there when it is finished.
class FileInTheMaking {
 public:
  explicit FileInTheMaking(const std::string& path) : path_(path), part_(path + "." + std::to_string(getpid())) {
    std::error_code none;
    if (std::filesystem::exists(path_, none) && !std::filesystem::is_regular_file(path_, none)) {
      throw Error(ErrorCode::io, "record=" + path_ + " exists and is not a regular file; name another one");
    }
    errno = 0;
    file_.open(part_, std::ios::binary | std::ios::trunc);
    if (!file_) {
      throw Error(ErrorCode::io, "record=" + path_ + ": cannot write " + part_ + ": " + reason_of(errno) +
                                     "; name a file in a folder that exists and may be written");
    }
  }
  ~FileInTheMaking() {
    std::error_code none;
    if (!finished_) std::filesystem::remove(part_, none);
  }
  FileInTheMaking(const FileInTheMaking&) = delete;
  FileInTheMaking& operator=(const FileInTheMaking&) = delete;

  void finish(const std::string& text) {
    errno = 0;
    file_ << text;
    file_.close();
    if (!file_) throw Error(ErrorCode::io, "record=" + path_ + ": cannot write " + part_ + ": " + reason_of(errno));
    std::error_code failure;
    std::filesystem::rename(part_, path_, failure);
    if (failure) {
      throw Error(ErrorCode::io, "record=" + path_ + ": cannot rename " + part_ + " to it: " + failure.message());
    }
    finished_ = true;
  }

 private:
  std::string path_;
  std::string part_;
  std::ofstream file_;
  bool finished_ = false;
};

class RecordingClock final : public SliceClock {
 public:
  RecordingClock(const SimOptions& options, std::int64_t (*cpu_nanoseconds)() noexcept)
      : file_(options.record), cpu_nanoseconds_(cpu_nanoseconds), durations_(options.nodes) {}

  void start() noexcept override { started_ = cpu_nanoseconds_(); }
  VirtualTime stop(NodeId node) override {
    const std::int64_t nanoseconds = cpu_nanoseconds_() - started_;
    durations_[node].push_back(nanoseconds);
    return nanoseconds * picoseconds_per_nanosecond;
  }
  void save() override { file_.finish(to_text(durations_)); }

 private:
  FileInTheMaking file_;
  std::int64_t (*cpu_nanoseconds_)() noexcept;
  SliceDurations durations_;
  std::int64_t started_ = 0;
};

class ReplayingClock final : public SliceClock {
 public:
  ReplayingClock(std::string name, SliceDurations durations)
      : name_(std::move(name)), durations_(std::move(durations)), used_(durations_.size(), 0) {}

  void start() noexcept override {}
  VirtualTime stop(NodeId node) override {
    const auto& of_node = durations_[node];
    if (used_[node] == of_node.size()) {
      throw Error(ErrorCode::bad_input, name_ + " holds " + std::to_string(of_node.size()) +
                                            " slices of the tasks of node " + std::to_string(node) +
                                            ", but the program runs more there: it is not the run that was recorded. "
                                            "Use the same program, input, options and seed, or record it again");
    }
    return of_node[used_[node]++] * picoseconds_per_nanosecond;
  }
  void save() override {}

 private:
  std::string name_;
  SliceDurations durations_;
  std::vector<std::size_t> used_;  // by node: how many of its slices are over
};

std::string text_of_file(const std::string& path) {
  std::error_code none;
  const bool folder = std::filesystem::is_directory(path, none);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (folder || !file) {
    throw Error(ErrorCode::io, "replay=" + path + ": cannot read the file: " + reason_of(folder ? EISDIR : errno) +
                                   "; name one that record=FILE has written");
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::unique_ptr<SliceClock> make_slice_clock(const SimOptions& options, std::int64_t (*cpu_nanoseconds)() noexcept) {
  if (!options.record.empty()) return std::make_unique<RecordingClock>(options, cpu_nanoseconds);
  if (options.replay.empty()) return nullptr;
  const std::string name = "replay=" + options.replay;
  return std::make_unique<ReplayingClock>(name,
                                          parse_slice_durations(text_of_file(options.replay), options.nodes, name));
}

}  // namespace stretto::fabric
