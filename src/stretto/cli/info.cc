#include <nlohmann/json.hpp>
#include <pmix.h>
#include <ucp/api/ucp.h>

#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/settings.h"
#include "stretto/base/units.h"
#include "stretto/cli/commands.h"
#include "stretto/cli/machine_report.h"
#include "stretto/cli/print_line.h"
#include "stretto/collective/kernels.h"
#include "stretto/core/runtime.h"
#include "stretto/fabric/spec.h"
#include "stretto/program/arguments.h"
#include "stretto/schedule/cost_table.h"

namespace stretto::cli {
namespace {

// Keeps the order in which keys are added, so that the JSON reads like the text.
using Json = nlohmann::ordered_json;

struct FabricReport {
  std::string name;
  std::string setting;  ///< what STRETTO_FABRIC is to be
  std::string description;
  std::vector<fabric::OptionInfo> options;
};

/// The library's own "PMIx 4.2.2rc2, ..." down to the second word.
std::string pmix_version() {
  const std::string text = PMIx_Get_version();
  const std::size_t start = text.find_first_of("0123456789");
  return start == std::string::npos ? text : text.substr(start, text.find_first_of(", ", start) - start);
}

std::vector<FabricReport> fabrics() {
  using Kind = fabric::Spec::Kind;
  return {
      {"local", "local:N", "N nodes in this process, in real time", options_of(Kind::local)},
      {"sim", "sim:N,latency=1.5us,bandwidth=5GB/s,seed=7,...", "N nodes in this process, in virtual time",
       options_of(Kind::sim)},
      {"cluster", "cluster, set by stretto run and under PMIx",
       std::string("processes; shared memory within a host, TCP or UCX ") + ucp_get_version_string() +
           " between hosts, PMIx " + pmix_version(),
       options_of(Kind::cluster)},
  };
}

/// The settings as the environment gives them, or the complaint about what is wrong with it.
struct SettingsReport {
  std::optional<Settings> settings;
  std::string complaint;
};

SettingsReport read_settings() {
  try {
    return {.settings = Settings::from_environment(), .complaint = ""};
  } catch (const Error& error) {
    return {.settings = std::nullopt, .complaint = error.message()};
  }
}

/// By which costs a job here would choose schedules.
std::string origin_of_costs(const SettingsReport& report) {
  const bool is_tuned = report.settings && report.settings->is_set("STRETTO_TUNING");
  return is_tuned ? report.settings->written("STRETTO_TUNING") : "built in; `stretto tune` measures";
}

Json settings_json(const SettingsReport& report) {
  Json list = Json::array();
  for (const SettingInfo& setting : known_settings()) {
    Json entry{{"name", setting.name},
               {"kind", name_of(setting.kind)},
               {"default", setting.default_value},
               {"meaning", setting.meaning}};
    if (report.settings) {
      entry["value"] = report.settings->written(setting.name);
      entry["is_set"] = report.settings->is_set(setting.name);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json machine_json(const MachineReport& machine) {
  Json memories = Json::array();
  for (const MemoryReport& memory : machine.memories) {
    memories.push_back({{"kind", memory.kind}, {"numa_node", memory.numa_node}, {"bytes", memory.bytes}});
  }
  return {{"processors",
           {{"model", machine.processors.model},
            {"packages", machine.processors.packages},
            {"cores", machine.processors.cores},
            {"threads", machine.processors.threads},
            {"cpus", machine.processors.cpus}}},
          {"memories", memories},
          {"huge_pages_of_segments", machine.has_huge_pages_to_share},
          {"fast_process_reads", machine.has_fast_process_reads}};
}

Json fabrics_json() {
  Json list = Json::array();
  for (const FabricReport& fabric : fabrics()) {
    Json options = Json::array();
    for (const fabric::OptionInfo& option : fabric.options) {
      options.push_back({{"name", option.name}, {"meaning", option.meaning}});
    }
    list.push_back({{"name", fabric.name},
                    {"setting", fabric.setting},
                    {"description", fabric.description},
                    {"options", options}});
  }
  return list;
}

Json info_json(const SettingsReport& settings) {
  Json object{{"version", STRETTO_VERSION}, {"fabrics", fabrics_json()}};
  object.update(machine_json(examine_machine()));
  object["operators"] = {{"instructions", kernels::name_of(kernels::best_instruction_set())}};
  object["costs"] = origin_of_costs(settings);
  object["settings"] = settings_json(settings);
  return object;
}

void print_settings(const SettingsReport& report) {
  std::size_t name_width = 0;
  std::size_t value_width = 0;
  const auto value_of = [&](const SettingInfo& setting) {
    const std::string value =
        report.settings ? report.settings->written(setting.name) : std::string(setting.default_value);
    return value.empty() ? std::string("-") : value;
  };
  for (const SettingInfo& setting : known_settings()) {
    name_width = std::max(name_width, setting.name.size());
    value_width = std::max(value_width, value_of(setting).size());
  }
  for (const SettingInfo& setting : known_settings()) {
    const bool is_set = report.settings && report.settings->is_set(setting.name);
    const char* const origin = is_set ? "set" : setting.default_value.empty() ? "unset" : "default";
    std::cout << std::left << std::setw(static_cast<int>(name_width)) << setting.name << "  "
              << std::setw(static_cast<int>(value_width)) << value_of(setting) << "  " << std::setw(7) << origin << "  "
              << setting.meaning << '\n';
  }
}

enum class With : std::uint8_t { no_options, options };

void print_fabrics(With with) {
  for (const FabricReport& fabric : fabrics()) {
    std::cout << "  " << std::left << std::setw(9) << fabric.name << fabric.description << "\n           "
              << fabric.setting << '\n';
    if (with == With::no_options) continue;
    for (const fabric::OptionInfo& option : fabric.options) {
      std::cout << "             " << std::setw(19) << option.name << option.meaning << '\n';
    }
  }
}

void print_info(const SettingsReport& settings) {
  const MachineReport machine = examine_machine();
  std::cout << "stretto " STRETTO_VERSION "\n\nfabrics (STRETTO_FABRIC; --fabrics lists their options)\n";
  print_fabrics(With::no_options);

  const ProcessorReport& processors = machine.processors;
  std::cout << "\nprocessors that this process may use\n  cpus " << processors.cpus
            << "; hardware threads: " << processors.threads << ", cores: " << processors.cores;
  if (!processors.model.empty()) std::cout << " (" << processors.model << ")";
  std::cout << "\n  instructions of the built-in operators: " << kernels::name_of(kernels::best_instruction_set());
  std::cout << "\n\nmemories\n";
  for (const MemoryReport& memory : machine.memories) {
    std::cout << "  " << memory.kind << ", NUMA node " << memory.numa_node << ": " << format_bytes(memory.bytes)
              << '\n';
  }
  std::cout << "  huge pages for segments: " << (machine.has_huge_pages_to_share ? "yes" : "no")
            << "\n  fast reads of other processes: " << (machine.has_fast_process_reads ? "yes" : "no") << '\n';

  std::cout << "\ncosts that schedules are chosen by\n  " << origin_of_costs(settings) << '\n';

  std::cout << "\nsettings given by the environment (--settings lists all)\n";
  bool any = false;
  for (const SettingInfo& setting : known_settings()) {
    if (!settings.settings || !settings.settings->is_set(setting.name)) continue;
    std::cout << "  " << setting.name << "=" << settings.settings->written(setting.name) << '\n';
    any = true;
  }
  if (!any) std::cout << "  none\n";
}

struct InfoOptions {
  bool only_settings = false;
  bool only_fabrics = false;
  bool as_json = false;
};

/// Throws what a job would.
void check_tuning(const Settings& settings) {
  if (!settings.is_set("STRETTO_TUNING")) return;
  const Tuning tuning = read_tuning(settings.text("STRETTO_TUNING"));
  schedule::parse_cost_table(tuning.text, tuning.origin);
}

void run_info(const InfoOptions& options) {
  const SettingsReport settings = read_settings();
  if (options.only_settings) {
    options.as_json ? print_line(Json{{"settings", settings_json(settings)}}) : print_settings(settings);
  } else if (options.only_fabrics) {
    options.as_json ? print_line(Json{{"fabrics", fabrics_json()}}) : print_fabrics(With::options);
  } else {
    options.as_json ? print_line(info_json(settings)) : print_info(settings);
  }
  // Said last, after the list that shows what is right.
  if (!settings.complaint.empty()) throw Error(ErrorCode::bad_input, settings.complaint);
  check_tuning(*settings.settings);
}

}  // namespace

void add_info_command(program::Arguments& stretto) {
  const auto options = std::make_shared<InfoOptions>();
  program::Arguments& command = stretto.command("info", "Show fabrics, processors, memories and settings", [options] {
    run_info(*options);
    return 0;
  });
  command.footer(
      "Exit status 1 if the environment has a STRETTO_ variable that is unknown or of the wrong form, or if\n"
      "STRETTO_TUNING names a file that cannot be used.\n"
      "Sizes are in bytes in the JSON.");
  const program::Argument settings = command.flag(
      "--settings", options->only_settings, "Show only the settings: every environment variable that Stretto reads");
  command.flag("--fabrics", options->only_fabrics, "Show only the fabrics, with all their options").excludes(settings);
  command.flag("--json", options->as_json, "Print one JSON object");
}

}  // namespace stretto::cli
