#include "stretto/schedule/cost_table.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "stretto/base/error.h"

namespace stretto::schedule {
namespace {

constexpr std::array<std::string_view, link_count> link_names{"local", "host", "wire"};
constexpr std::string_view format_key = "stretto_costs";
constexpr int format_version = 1;

using Json = nlohmann::ordered_json;

class Reader {
 public:
  explicit Reader(std::string_view origin) : origin_(origin) {}

  CostTable read(std::string_view text) const {
    const Json document = Json::parse(text, nullptr, false);
    if (document.is_discarded() || !document.is_object()) refuse("it is no JSON object");
    const auto format = document.find(format_key);
    if (format == document.end() || *format != format_version) {
      refuse("\"" + std::string(format_key) + "\" must be " + std::to_string(format_version));
    }
    CostTable table = built_in_costs();
    for (const auto& [key, value] : document.items()) {
      if (key == format_key) continue;
      const auto* const link = std::find(link_names.begin(), link_names.end(), key);
      if (link == link_names.end()) refuse("\"" + key + "\" is no kind of link; those are local, host and wire");
      const auto index = static_cast<std::size_t>(link - link_names.begin());
      table.links[index] = read_costs(key, value);
      table.origins[index] = std::string(origin_);
    }
    return table;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::bad_input, "the costs in " + std::string(origin_) + " cannot be used: " + what +
                                          "; `stretto tune` writes such a file");
  }

  /// What is nested is not written out: that would take a stack as deep as it is.
  static std::string described(const Json& value) {
    return value.is_primitive() ? value.dump() : std::string("an ") + value.type_name();
  }

  Costs read_costs(const std::string& link, const Json& object) const {
    if (!object.is_object()) refuse("\"" + link + "\" is no object");
    Costs costs;
    for (const CostField& field : cost_fields) {
      const auto found = object.find(field.name);
      const std::string name = "\"" + link + "\"'s \"" + std::string(field.name) + "\"";
      if (found == object.end()) refuse(name + " is missing");
      if (!found->is_number() || !(found->get<double>() >= 0 && found->get<double>() <= most_cost)) {
        refuse(name + " must be seconds from 0 to 1, not " + described(*found));
      }
      costs.*field.value = found->get<double>();
    }
    if (object.size() != cost_fields.size()) refuse("\"" + link + "\" has more than the known costs");
    return costs;
  }

  std::string_view origin_;
};

}  // namespace

std::string_view name_of(Link link) noexcept { return link_names[static_cast<std::size_t>(link)]; }

Link parse_link(std::string_view text, std::string_view name) {
  const auto* const found = std::find(link_names.begin(), link_names.end(), text);
  if (found != link_names.end()) return static_cast<Link>(found - link_names.begin());
  throw Error(ErrorCode::bad_input,
              std::string(name) + " is '" + std::string(text) + "', but must be local, host or wire");
}

Costs bounded(Costs costs) noexcept {
  for (const CostField& field : cost_fields) {
    double& value = costs.*field.value;
    value = value >= 0 ? std::min(value, most_cost) : 0;
  }
  return costs;
}

CostTable parse_cost_table(std::string_view json, std::string_view origin) { return Reader(origin).read(json); }

std::string to_json(const CostTable& table) {
  Json document{{format_key, format_version}};
  for (std::size_t link = 0; link < link_count; ++link) {
    const Costs costs = bounded(table.links[link]);
    if (costs == built_in_costs().links[link]) continue;
    Json& object = document[link_names[link]] = Json::object();
    for (const CostField& field : cost_fields) object[field.name] = costs.*field.value;
  }
  return document.dump(2) + '\n';
}

}  // namespace stretto::schedule
