#include "probe.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace stretto::probe {

void say(std::string line) {
  line += '\n';
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
}
void say(const Node& node, const std::string& text) { say("node " + std::to_string(node.id()) + " " + text); }

void check(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error("wrong: " + what);
}

NodeId next_of(const Node& node) { return (node.id() + 1) % node.size(); }
NodeId last_of(const Node& node) { return node.size() - 1; }

Words words_of(NodeId node, std::size_t count, std::uint64_t round) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) words[i] = (node + 1) * 1'000'003 + round * 101 + i;
  return words;
}

Words sum_of_words(std::uint64_t nodes, std::size_t count, std::uint64_t round) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = nodes * (nodes + 1) / 2 * 1'000'003 + nodes * (round * 101 + i);
  }
  return words;
}

ErrorCode code_of(Event event) {
  try {
    event.wait();
  } catch (const Error& error) {
    return error.code();
  }
  throw std::runtime_error("wrong: an event that was poisoned triggered clean");
}

}  // namespace stretto::probe
