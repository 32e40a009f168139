#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "stretto/base/error.h"

namespace stretto {

/// A thread that does `work`. Where there can be no more of them, throws Error(out_of_resources): what it is for
/// (`what`), why, and what to do about it.
template <class Work>
std::thread start_thread(const std::string& what, const std::string& remedy, Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::out_of_resources, "cannot start " + what + ": " + error.what() + "; " + remedy +
                                                 ", or raise the limit of processes (ulimit -u)");
  }
}

}  // namespace stretto
