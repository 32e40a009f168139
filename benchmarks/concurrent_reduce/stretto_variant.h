#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "stretto/collective/collective.h"
#include "stretto/core/segment_array.h"

namespace concurrent_reduce_bench {

/// The ways in which Stretto's users may write problem.h, those of the paper's Fig. 12.
enum class Variant {
  mpi_style,  ///< one operation after the other: reduce, then broadcast where there is more than one receiver
  parallel,   ///< both reduces at once, as they are given
  balanced,   ///< both at once, planned together
};
inline constexpr Variant variants[] = {Variant::mpi_style, Variant::parallel, Variant::balanced};

const char* name_of(Variant variant) noexcept;

/// The program of problem.h at one size at one node: its vectors, in the node's segment, and what has to come out.
/// Lives in that node's main.
class Program {
 public:
  /// `listed_well`: r2's participants are listed so that the paper's better graph comes about as given; else the other
  /// one, in which ranks 1 and 2 send and receive twice in a stage.
  /// `algorithm`: of the general reduces, by name; empty: chosen.
  Program(stretto::Node& node, std::size_t bytes, bool listed_well, std::string algorithm);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  stretto::Task<> run(Variant variant);
  /// A run whose results are looked at. Throws Error(invalid_state) if they are wrong.
  stretto::Task<> check(Variant variant);

 private:
  stretto::Task<> run_mpi_style();
  stretto::Task<> run_together(stretto::Together together);

  stretto::Node& node_;
  const std::size_t count_;
  const std::string algorithm_;
  const stretto::Group all_;
  const stretto::Group pair_;
  const stretto::ReduceGroups r1_;
  const stretto::ReduceGroups r2_;
  stretto::SegmentArray<double> first_;
  stretto::SegmentArray<double> second_;
  stretto::SegmentArray<double> sum_;
  stretto::SegmentArray<double> product_;
};

}  // namespace concurrent_reduce_bench
