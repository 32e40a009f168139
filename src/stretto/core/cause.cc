#include "stretto/core/cause.h"

#include <algorithm>
#include <new>

namespace stretto {

namespace {
constexpr std::size_t most_text_bytes = 1024;
}

ConstByteSpan text_of(const Cause& cause) {
  if (cause == nullptr) return {};
  const std::string& text = cause->message();
  return std::as_bytes(std::span(text.data(), std::min(text.size(), most_text_bytes)));
}

Cause cause_from(const TriggerHeader& header, ConstByteSpan text) {
  if (header.poisoned == 0) return nullptr;
  if (header.code > static_cast<std::uint8_t>(ErrorCode::internal)) {
    throw Error(ErrorCode::bad_input, "unknown error code " + std::to_string(header.code) + " in a message");
  }
  const std::string message(reinterpret_cast<const char*>(text.data()), std::min(text.size(), most_text_bytes));
  return std::make_shared<const Error>(static_cast<ErrorCode>(header.code), message);
}

Cause cause_of_current_exception(const std::string& where) {
  try {
    throw;
  } catch (const Error& error) {
    return std::make_shared<const Error>(error);
  } catch (const std::bad_alloc&) {
    return std::make_shared<const Error>(ErrorCode::out_of_resources, where + " found no memory");
  } catch (const std::exception& error) {
    return std::make_shared<const Error>(ErrorCode::poisoned, where + " threw: " + error.what());
  } catch (...) {
    return std::make_shared<const Error>(ErrorCode::poisoned, where + " threw something that is no std::exception");
  }
}

}  // namespace stretto
