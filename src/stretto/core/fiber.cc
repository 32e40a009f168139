#include "stretto/core/fiber.h"

#include <boost/context/detail/fcontext.hpp>
#include <cxxabi.h>
#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "stretto/base/error.h"
#include "stretto/base/page.h"
#include "stretto/base/sanitizers.h"

#ifdef STRETTO_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef STRETTO_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace stretto {

namespace context = boost::context::detail;

namespace {

// What the C++ runtime keeps for each thread about exceptions in flight. Two fibers suspended inside a catch block
// would otherwise exchange them. The layout is fixed by the Itanium C++ ABI.
struct ExceptionState {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};

ExceptionState& exception_state() noexcept { return *reinterpret_cast<ExceptionState*>(abi::__cxa_get_globals()); }

}  // namespace

struct Fiber::State {
  context::fcontext_t where = nullptr;  // while it does not run
  Entry entry = nullptr;
  void* argument = nullptr;
  ExceptionState exceptions;
  void* mapping = nullptr;
  std::size_t mapping_bytes = 0;
  const void* stack_bottom = nullptr;
  std::size_t stack_bytes = 0;
  State* came_from = nullptr;  // whoever switched here last
  void* sanitizer_stack = nullptr;
  void* sanitizer_fiber = nullptr;

  void arrived(context::fcontext_t left) noexcept {
    came_from->where = left;
#ifdef STRETTO_ASAN
    __sanitizer_finish_switch_fiber(sanitizer_stack, &came_from->stack_bottom, &came_from->stack_bytes);
#endif
  }

  static void start(context::transfer_t transfer) {
    auto* const self = static_cast<State*>(transfer.data);
    self->arrived(transfer.fctx);
    self->entry(self->argument);
    std::terminate();  // an entry never returns
  }
};

Fiber::Fiber() : state_(std::make_unique<State>()) {
#ifdef STRETTO_TSAN
  state_->sanitizer_fiber = __tsan_get_current_fiber();
#endif
}

Fiber::Fiber(std::size_t stack_bytes, bool guarded, Entry entry, void* argument) : state_(std::make_unique<State>()) {
  State& state = *state_;
  const std::size_t guard = guarded ? page_bytes() : 0;
  stack_bytes = (stack_bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  state.mapping_bytes = stack_bytes + guard;
  state.mapping = mmap(nullptr, state.mapping_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (state.mapping == MAP_FAILED || (guarded && mprotect(state.mapping, guard, PROT_NONE) != 0)) {
    const int reason = errno;
    if (state.mapping != MAP_FAILED) munmap(state.mapping, state.mapping_bytes);
    throw Error(ErrorCode::out_of_resources, std::string("no stack for another waiting task: ") +
                                                 std::strerror(reason) + "; use coroutines where many tasks wait");
  }
  state.stack_bottom = static_cast<std::byte*>(state.mapping) + guard;
  state.stack_bytes = stack_bytes;
  state.entry = entry;
  state.argument = argument;
  state.where =
      context::make_fcontext(static_cast<std::byte*>(state.mapping) + state.mapping_bytes, stack_bytes, &State::start);
#ifdef STRETTO_TSAN
  state.sanitizer_fiber = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
  if (state_->mapping == nullptr) return;
#ifdef STRETTO_TSAN
  __tsan_destroy_fiber(state_->sanitizer_fiber);
#endif
  munmap(state_->mapping, state_->mapping_bytes);
}

void Fiber::switch_stack(Fiber& from, Fiber& to) noexcept {
  State& left = *from.state_;
  State& entered = *to.state_;
  left.exceptions = exception_state();
  exception_state() = entered.exceptions;
  entered.came_from = &left;
#ifdef STRETTO_TSAN
  __tsan_switch_to_fiber(entered.sanitizer_fiber, 0);
#endif
#ifdef STRETTO_ASAN
  __sanitizer_start_switch_fiber(&left.sanitizer_stack, entered.stack_bottom, entered.stack_bytes);
#endif
  const context::transfer_t back = context::jump_fcontext(entered.where, &entered);
  left.arrived(back.fctx);
}

}  // namespace stretto
