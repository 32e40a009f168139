#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/base/ids.h"
#include "stretto/schedule/shape.h"

namespace stretto {

class Node;

/// A node's place in a group: 0 to size - 1.
using schedule::Rank;

/// An ordered list of different nodes: who takes part in a collective, and in which order.
///
/// A value that any node can make for itself: no communication, no registration. Two groups are the same if their
/// lists are. Copies share the list.
class Group {
 public:
  /// Throws Error(invalid_argument) for an empty list and for a node that is in it twice.
  explicit Group(std::vector<NodeId> nodes);
  Group(std::initializer_list<NodeId> nodes) : Group(std::vector<NodeId>(nodes)) {}

  /// All nodes of the job, in order.
  static Group all(const Node& node);

  Rank size() const noexcept { return static_cast<Rank>(list_->nodes.size()); }
  /// REQUIRES: rank < size().
  NodeId node(Rank rank) const noexcept { return list_->nodes[rank]; }
  /// The rank of `node`, or size() if it is no member.
  Rank rank_of(NodeId node) const noexcept {
    if (!list_->contiguous) return search(node);
    const Rank rank = node - list_->nodes.front();  // of those before the first one: a large number
    return rank < size() ? rank : size();
  }
  /// The highest node.
  NodeId last_node() const noexcept { return list_->nodes[list_->by_node.back()]; }
  bool contains(NodeId node) const noexcept { return rank_of(node) != size(); }
  std::span<const NodeId> nodes() const noexcept { return list_->nodes; }
  /// The same on every node that makes the same group.
  Hash128 hash() const noexcept { return list_->hash; }

  friend bool operator==(const Group& a, const Group& b) noexcept {
    return a.list_ == b.list_ || a.list_->nodes == b.list_->nodes;
  }

 private:
  Rank search(NodeId node) const noexcept;

  struct List {
    std::vector<NodeId> nodes;
    std::vector<Rank> by_node;  // ranks, sorted by their nodes
    bool contiguous;            // nodes[i] == nodes[0] + i
    Hash128 hash;
  };

  std::shared_ptr<const List> list_;
};

}  // namespace stretto
