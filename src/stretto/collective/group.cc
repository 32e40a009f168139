#include "stretto/collective/group.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/core/node.h"

namespace stretto {

Group::Group(std::vector<NodeId> nodes) {
  if (nodes.empty()) throw Error(ErrorCode::invalid_argument, "a group needs at least one node");
  List list;
  list.by_node.resize(nodes.size());
  std::iota(list.by_node.begin(), list.by_node.end(), Rank{0});
  std::sort(list.by_node.begin(), list.by_node.end(), [&nodes](Rank a, Rank b) { return nodes[a] < nodes[b]; });
  list.contiguous = nodes.back() == nodes.front() + (nodes.size() - 1);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const NodeId node = nodes[list.by_node[i]];
    if (node == nodes[list.by_node[i - 1]]) {
      throw Error(ErrorCode::invalid_argument, "node " + std::to_string(node) + " is in the group twice");
    }
    list.contiguous = list.contiguous && nodes[i] == nodes[i - 1] + 1;
  }
  list.hash = hash_of(nodes);
  list.nodes = std::move(nodes);
  list_ = std::make_shared<const List>(std::move(list));
}

Group Group::all(const Node& node) {
  std::vector<NodeId> nodes(node.size());
  std::iota(nodes.begin(), nodes.end(), NodeId{0});
  return Group(std::move(nodes));
}

Rank Group::search(NodeId node) const noexcept {
  const List& list = *list_;
  constexpr std::size_t few = 8;
  if (list.nodes.size() <= few) {
    return static_cast<Rank>(std::find(list.nodes.begin(), list.nodes.end(), node) - list.nodes.begin());
  }
  const auto found = std::lower_bound(list.by_node.begin(), list.by_node.end(), node,
                                      [&list](Rank rank, NodeId wanted) { return list.nodes[rank] < wanted; });
  return found != list.by_node.end() && list.nodes[*found] == node ? *found : size();
}

}  // namespace stretto
