#include "stretto/base/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "stretto/base/edit_distance.h"
#include "stretto/base/error.h"
#include "stretto/base/units.h"

namespace stretto {
namespace {

constexpr std::string_view prefix = "STRETTO_";

constexpr std::uint64_t least_staging_bytes = std::uint64_t{8} << 10U;  // what is taken at least
constexpr std::uint64_t least_segment_bytes = std::uint64_t{1} << 20U;  // a piece that segments grow by

constexpr std::array settings_table{
    SettingInfo{"STRETTO_FABRIC", SettingKind::text, "local:1",
                "what connects the nodes: local:N, sim:N,option=value,... or cluster"},
    SettingInfo{"STRETTO_NETWORK", SettingKind::text, "tcp",
                "what connects hosts: tcp, tcp/INTERFACE (such as tcp/eth0), or ucx; the same on all"},
    SettingInfo{"STRETTO_WORKERS", SettingKind::count, "0",
                "worker threads of a process; 0: as many as it may use cores, or as its share of its host's cores", 0,
                4096},
    SettingInfo{"STRETTO_BIND", SettingKind::count, "0",
                "1: each worker thread keeps to one core, its own where the job's processes have enough of them", 0, 1},
    SettingInfo{"STRETTO_LOG", SettingKind::log_level, "warning",
                "least level that is logged: trace, debug, info, warning, error or off"},
    SettingInfo{"STRETTO_SEGMENT_BYTES", SettingKind::bytes, "64GiB",
                "address space of a node's segment; memory is taken only as it is used", least_segment_bytes},
    SettingInfo{"STRETTO_STAGING_BYTES", SettingKind::bytes, "1MiB",
                "of the segment, through which large data in memory that peers cannot reach pass, for each message",
                least_staging_bytes},
    SettingInfo{"STRETTO_PROCESS_READS", SettingKind::text, "auto",
                "whether processes of a host read each other's ordinary memory: auto (where they may, and it is fast), "
                "on (where they may), off"},
    SettingInfo{"STRETTO_STALL_SECONDS", SettingKind::count, "30",
                "what waits for other nodes for so long is told in the log; 0: nothing is"},
    SettingInfo{"STRETTO_TUNING", SettingKind::text, "",
                "file of costs, by `stretto tune`, that schedules are chosen by; default: the built-in ones"},
    SettingInfo{"STRETTO_REPRODUCIBLE", SettingKind::count, "0",
                "1: reductions give the same bits whatever schedules serve them, as CollectiveOptions::reproducible", 0,
                1},
    SettingInfo{"STRETTO_CHECK_CALLS", SettingKind::count, "0",
                "1: for debugging: members of a collective compare also where in the source they call it", 0, 1},
    SettingInfo{"STRETTO_JOB_RANK", SettingKind::count, "", "this process's rank; set by stretto run"},
    SettingInfo{"STRETTO_JOB_SIZE", SettingKind::count, "", "processes of the job; set by stretto run"},
    SettingInfo{"STRETTO_JOB_ENDPOINT", SettingKind::text, "", "where the launcher listens; set by stretto run"},
    SettingInfo{"STRETTO_JOB_SECRET_FD", SettingKind::count, "",
                "descriptor from which the job's secret is read; set by stretto run"},
    SettingInfo{"STRETTO_HOST_ID", SettingKind::text, "",
                "tells hosts apart; default: derived from the machine and its namespaces"},
    SettingInfo{"STRETTO_TEST_DATA", SettingKind::text, "", "folder of data files that tests may use"},
    SettingInfo{"STRETTO_TEST_SEED", SettingKind::count, "", "the one seed that randomised tests are to run"},
    SettingInfo{"STRETTO_TEST_SEEDS", SettingKind::count, "", "how many seeds randomised tests are to run"},
};

std::string_view name_part(std::string_view line) { return line.substr(0, line.find('=')); }

[[noreturn]] void refuse_unknown(std::string_view name) {
  std::array<std::string_view, settings_table.size()> names;
  std::transform(settings_table.begin(), settings_table.end(), names.begin(),
                 [](const SettingInfo& setting) { return setting.name; });
  const std::string_view nearest = nearest_name(name, names);
  throw Error(ErrorCode::bad_input, "the environment variable " + std::string(name) + " is not a setting of Stretto; " +
                                        (nearest.empty() ? std::string("`stretto info --settings` lists them")
                                                         : "did you mean " + std::string(nearest) + "?"));
}

void check_form(const SettingInfo& setting, const std::string& value) {
  switch (setting.kind) {
    case SettingKind::text: break;
    case SettingKind::count: parse_count(value, setting.name, setting.least, setting.most); break;
    case SettingKind::bytes:
      if (parse_bytes(value, setting.name) < setting.least) {
        throw Error(ErrorCode::bad_input, std::string(setting.name) + " is '" + value + "', but must be at least " +
                                              format_bytes(setting.least));
      }
      break;
    case SettingKind::log_level: parse_log_level(value, setting.name); break;
  }
}

}  // namespace

std::string_view name_of(SettingKind kind) noexcept {
  switch (kind) {
    case SettingKind::text: return "text";
    case SettingKind::count: return "count";
    case SettingKind::bytes: return "bytes";
    case SettingKind::log_level: return "log_level";
  }
  return "unknown";
}

std::span<const SettingInfo> known_settings() noexcept { return settings_table; }

Settings::Settings(std::span<const std::string> environment) : given_(settings_table.size(), false) {
  for (const SettingInfo& setting : settings_table) values_.emplace_back(setting.default_value);

  for (const std::string& line : environment) {
    const std::string_view name = name_part(line);
    if (!name.starts_with(prefix)) continue;
    const auto* const setting = std::find_if(settings_table.begin(), settings_table.end(),
                                             [&](const SettingInfo& known) { return known.name == name; });
    if (setting == settings_table.end()) refuse_unknown(name);
    const auto index = static_cast<std::size_t>(setting - settings_table.begin());
    const std::string value = line.substr(std::min(name.size() + 1, line.size()));
    if (value.empty() || given_[index]) continue;
    check_form(*setting, value);
    values_[index] = value;
    given_[index] = true;
  }
}

Settings Settings::from_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line) lines.emplace_back(*line);
  return Settings(lines);
}

bool Settings::is_set(std::string_view name) const { return given_[index_of(name)]; }

const std::string& Settings::text(std::string_view name) const { return value_of(name, SettingKind::text); }

std::uint64_t Settings::count(std::string_view name) const {
  return parse_count(value_of(name, SettingKind::count), name);
}

std::uint64_t Settings::bytes(std::string_view name) const {
  return parse_bytes(value_of(name, SettingKind::bytes), name);
}

LogLevel Settings::log_level(std::string_view name) const {
  return parse_log_level(value_of(name, SettingKind::log_level), name);
}

const std::string& Settings::written(std::string_view name) const { return values_[index_of(name)]; }

std::size_t Settings::index_of(std::string_view name) const {
  for (std::size_t index = 0; index < settings_table.size(); ++index) {
    if (settings_table[index].name == name) return index;
  }
  throw Error(ErrorCode::invalid_argument,
              "the setting " + std::string(name) + " is not declared; add it to the table in base/settings.cc");
}

const std::string& Settings::value_of(std::string_view name, SettingKind kind) const {
  const std::size_t index = index_of(name);
  if (settings_table[index].kind != kind) {
    throw Error(ErrorCode::invalid_argument, "the setting " + std::string(name) + " is read as " +
                                                 std::string(name_of(kind)) + ", but declared as " +
                                                 std::string(name_of(settings_table[index].kind)));
  }
  if (values_[index].empty()) {
    throw Error(ErrorCode::invalid_state,
                "the environment variable " + std::string(name) + " is needed here, but not set");
  }
  return values_[index];
}

}  // namespace stretto
