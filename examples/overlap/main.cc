// Training in buckets: a layer's gradient is summed over all nodes while the next layer's is computed. Many steps are
// issued before the first has run: the program of docs/guide/overlap.md.

#include <array>
#include <cstdio>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"
#include "stretto/core/segment_array.h"

using namespace stretto;

constexpr std::size_t weights_of_layer = 10'000;
constexpr int steps = 30;

struct Layer {
  explicit Layer(Node& node) : gradient(node, weights_of_layer), total(node, weights_of_layer) {}

  std::vector<double> weights = std::vector<double>(weights_of_layer);
  SegmentArray<double> gradient;  // where nodes of one host reach it in place
  SegmentArray<double> total;
  Event updated;  // the weights are those of the last step that was issued
};

// Each node would have all weights of layer `index` be `index + its id`: together they agree on the mean.
void compute_gradient(Layer& layer, std::size_t index, NodeId id) {
  for (std::size_t i = 0; i < weights_of_layer; ++i) {
    layer.gradient[i] = layer.weights[i] - static_cast<double>(index) - id;
  }
}

void descend(Layer& layer, NodeId nodes) {
  for (std::size_t i = 0; i < weights_of_layer; ++i) layer.weights[i] -= 0.5 * layer.total[i] / nodes;
}

int main(int argc, char** argv) {
  return run(argc, argv, [](Node& node) -> Task<> {
    const Group everyone = Group::all(node);
    std::array<Layer, 3> layers{Layer(node), Layer(node), Layer(node)};
    for (int step = 0; step < steps; ++step) {
      for (std::size_t index = layers.size(); index-- > 0;) {  // the last layer's gradient is the first to be known
        Layer& layer = layers[index];
        const Event computed = node.spawn([&layer, index, id = node.id()] { compute_gradient(layer, index, id); },
                                          SpawnOptions().after(layer.updated));
        const Event summed =
            allreduce(node, everyone, layer.gradient, layer.total, sum, CollectiveOptions().after(computed));
        layer.updated =
            node.spawn([&layer, nodes = node.size()] { descend(layer, nodes); }, SpawnOptions().after(summed));
      }
    }
    for (const Layer& layer : layers) co_await layer.updated;
    std::printf("node %u: %.3f %.3f %.3f\n", node.id(), layers[0].weights[0], layers[1].weights[1],
                layers[2].weights[2]);
  });
}
