#include "stretto/schedule/draw.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>

#include "stretto/base/error.h"
#include "stretto/cli/commands.h"
#include "stretto/cli/print_line.h"
#include "stretto/cli/shape_arguments.h"
#include "stretto/program/arguments.h"
#include "stretto/program/output_file.h"

namespace stretto::cli {
namespace {

struct DrawArguments {
  ShapeArguments shape;
  std::string format;
  std::string file;
  bool as_json = false;
};

std::string format_of(const DrawArguments& arguments) {
  if (!arguments.format.empty()) {
    if (arguments.format == "svg" || arguments.format == "dot") return arguments.format;
    throw Error(ErrorCode::bad_input, "--format is '" + arguments.format + "', but must be svg or dot");
  }
  const std::string extension = std::filesystem::path(arguments.file).extension().string();
  if (extension == ".dot" || extension == ".gv") return "dot";
  if (extension.empty() || extension == ".svg") return "svg";
  throw Error(ErrorCode::bad_input,
              "the name '" + arguments.file + "' says neither svg nor dot, all that is drawn; add --format svg or dot");
}

/// What is drawn, and how.
struct Drawing {
  const schedule::Algorithm& algorithm;
  schedule::Shape shape;
  std::string format;
  std::string document;
};

/// An Error is about the arguments.
Drawing drawing_of(const DrawArguments& arguments) {
  Drawing drawing{.algorithm = arguments.shape.chosen(),
                  .shape = arguments.shape.shape(schedule::max_drawn_size),
                  .format = format_of(arguments),
                  .document = {}};
  const auto draw = drawing.format == "svg" ? schedule::draw_svg : schedule::draw_dot;
  drawing.document = draw(drawing.algorithm, drawing.shape);
  return drawing;
}

void run_draw(const DrawArguments& arguments) {
  const auto [algorithm, shape, format, document] = program::refusing([&] { return drawing_of(arguments); });
  if (!arguments.file.empty()) program::replace_file(arguments.file, document);
  if (arguments.as_json) {
    nlohmann::ordered_json object = json_of(algorithm, shape);
    object["rounds"] = algorithm.rounds(shape);
    object["format"] = format;
    if (arguments.file.empty()) {
      object["document"] = document;
    } else {
      object["file"] = arguments.file;
      object["file_bytes"] = document.size();
    }
    print_line(object);
  } else if (arguments.file.empty()) {
    std::cout << document;
  } else {
    std::cout << arguments.file << ": " << algorithm.name() << ", " << describe(shape) << '\n';
  }
}

}  // namespace

void add_draw_command(program::Arguments& stretto) {
  const auto arguments = std::make_shared<DrawArguments>();
  program::Arguments& command = stretto.command("draw", "Draw the rounds of a collective as SVG or DOT", [arguments] {
    run_draw(*arguments);
    return 0;
  });
  arguments->shape.add_to(command);
  command.option("--format", arguments->format, "svg or dot; default: as FILE is named, or svg");
  command.option("-o,--output", arguments->file, "File to write; default: standard output");
  command.flag("--json", arguments->as_json, "Print one JSON object; it holds the picture unless -o is given");
  command.footer(list_of_algorithms() +
                 "Time runs down, each node is a lane, each message an arrow. Examples:\n"
                 "  stretto draw recursive_doubling --nodes 8 -o butterfly.svg\n"
                 "  stretto draw binomial_reduce --nodes 13 --root 2 -o tree.svg\n"
                 "  stretto draw ring_allgather --nodes 6 --format dot | dot -Tpdf > ring.pdf");
}

}  // namespace stretto::cli
