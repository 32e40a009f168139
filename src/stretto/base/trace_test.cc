#include "stretto/base/trace.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace stretto {
namespace {

class Collector : public TraceSink {
 public:
  void record(const TraceRecord& record) noexcept override { names.emplace_back(record.what); }
  std::vector<std::string> names;
};

TEST(Trace, ReachesItsSinkInOrder) {
  Collector collector;
  trace(&collector, {.time = 0.5, .node = 1, .what = "task_start", .subject = 7, .detail = 0});
  trace(&collector, {.time = 0.75, .node = 1, .what = "task_end", .subject = 7, .detail = 0});
  EXPECT_EQ(collector.names, (std::vector<std::string>{"task_start", "task_end"}));
}

TEST(Trace, NeedsNoSink) { trace(nullptr, {.time = 0, .node = 0, .what = "task_start", .subject = 0, .detail = 0}); }

}  // namespace
}  // namespace stretto
