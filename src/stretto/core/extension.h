#pragma once

#include <functional>
#include <vector>

namespace stretto {

class Node;

/// Lets a layer above core have a part of its own in every node from the node's creation on, so that its messages
/// always find a handler. A program that does not link the layer does not have the part.
using ExtendNode = std::function<void(Node&)>;

/// Called before main, by an initialiser of the layer. Returns true, for its convenience.
bool register_extension(ExtendNode extend);

const std::vector<ExtendNode>& extensions();

}  // namespace stretto
