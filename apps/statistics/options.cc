#include "statistics/options.h"

#include "stretto/base/units.h"
#include "stretto/program/arguments.h"

namespace statistics {
namespace {

using stretto::program::Arguments;
using stretto::program::refuse;

constexpr std::uint64_t most_bins = 65'536;
constexpr std::uint64_t most_repeats = 1'000'000;

constexpr const char* description =
    "Learns, derives and assesses statistics over the columns of a CSV file; every node reads its share of the rows.\n"
    "  learn   count, extremes, mean and centred moments of each column, the covariance matrix, histograms: combined\n"
    "          from all nodes, with an operator on structs\n"
    "  derive  variance, standard deviation, skewness, kurtosis, correlations\n"
    "  assess  how many standard deviations each value is from its column's mean, and each row from all means\n"
    "          (Mahalanobis' distance); what lies beyond a threshold is an outlier";

constexpr const char* footer =
    "The file: fields between commas, in double quotes or not, one row a line (LF or CR LF; blank lines do not "
    "count).\n"
    "An empty field, NA, N/A, NaN and null are missing: a column's statistics are of the values that are there, the\n"
    "covariances of the rows in which none is missing. A field that is neither that nor a number, and a line with\n"
    "another number of fields than the first, are refused with their place.\n\n"
    "Methods:\n"
    "  native     allreduce()\n"
    "  aggregate  many-to-one-to-many: a task on node 0 fetches what each node has found, combines it, and sends the\n"
    "             model to all of them\n"
    "  both       both, and how far their results are apart (rounding)\n\n"
    "Exit status: 0 all went well, 1 bad input or another error, 2 bad command line, 3 the methods' results differ by\n"
    "more than rounding.\n\n"
    "Examples:\n"
    "  statistics measurements.csv\n"
    "  STRETTO_FABRIC=local:4 statistics measurements.csv --columns height,weight --threshold 2 --deviations z.csv\n"
    "  stretto run -n 2 statistics measurements.csv --columns 2,3 --bins 50 --json\n"
    "  STRETTO_FABRIC=sim:512,latency=1.5us,overhead=0.5us,bandwidth=5GB/s statistics measurements.csv --method both";

struct Raw {
  std::string bins;
  std::string threshold;
  std::string repeat;
  Options options;
};

void declare(Arguments& arguments, Raw& raw) {
  Options& options = raw.options;
  arguments.option("file", options.source.file, "the CSV file; all nodes must see the same one").type_name("FILE.csv");
  arguments
      .option("--columns", options.source.columns,
              "names or numbers (from 1) of the columns (default: those whose first row is a number or missing)")
      .type_name("A,B,C");
  arguments.choice("--header", options.source.header,
                   {{"auto", Header::automatic}, {"yes", Header::yes}, {"no", Header::no}},
                   "whether the first line names the columns (default: auto, if it holds text and no number)");
  arguments.option("--bins", raw.bins, "of each histogram, from the least to the greatest value (default: 10)")
      .type_name("N");
  arguments.option("--threshold", raw.threshold, "what deviates by more standard deviations is an outlier (default: 3)")
      .type_name("K");
  arguments.option("--deviations", options.deviations, "write each row's deviations here, as CSV")
      .type_name("FILE.csv");
  arguments.choice(
      "--method", options.methods,
      {{"native", {Method::native}}, {"aggregate", {Method::aggregate}}, {"both", {Method::native, Method::aggregate}}},
      "how the nodes' findings are combined (default: native)");
  arguments.option("--repeat", raw.repeat, "times that combining the columns' moments is measured (default: 10)")
      .type_name("N");
  arguments.flag("--json", options.json, "print one JSON object on the last line of stdout");
}

Options checked(const Raw& raw) {
  Options options = raw.options;
  if (options.source.file.empty()) refuse("name a CSV file");
  stretto::program::refusing([&] {
    if (!raw.bins.empty()) options.bins = stretto::parse_count(raw.bins, "--bins", 1, most_bins);
    if (!raw.repeat.empty()) options.repeat = stretto::parse_count(raw.repeat, "--repeat", 1, most_repeats);
    if (!raw.threshold.empty()) options.threshold = stretto::parse_number(raw.threshold, "--threshold", 0, 1e9);
  });
  return options;
}

}  // namespace

std::string_view name_of(Method method) { return method == Method::native ? "native" : "aggregate"; }

std::variant<Options, Help> parse_options(int argc, const char* const* argv) {
  Arguments arguments("statistics", description);
  arguments.footer(footer);
  Raw raw;
  declare(arguments, raw);
  if (auto help = arguments.parse(argc, argv)) return *std::move(help);
  return checked(raw);
}

}  // namespace statistics
