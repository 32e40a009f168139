#include "stretto/fabric/bootstrap/timer.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {

Timer::Timer(Reactor& reactor, std::function<void()> expired)
    : reactor_(reactor),
      expired_(std::move(expired)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!timer_) throw_io("timerfd_create");
  reactor_.watch(timer_.number(), POLLIN, [this](short) {
    std::uint64_t count = 0;
    if (::read(timer_.number(), &count, sizeof count) == sizeof count) expired_();
  });
}

Timer::~Timer() { reactor_.forget(timer_.number()); }

void Timer::start(std::chrono::milliseconds time) {
  const auto nonzero = std::max<std::chrono::nanoseconds>(time, std::chrono::nanoseconds(1));  // zero disarms
  const auto seconds = std::chrono::floor<std::chrono::seconds>(nonzero);
  itimerspec alarm{};
  alarm.it_value.tv_sec = seconds.count();
  alarm.it_value.tv_nsec = (nonzero - seconds).count();
  if (::timerfd_settime(timer_.number(), 0, &alarm, nullptr) != 0) throw_io("timerfd_settime");
}

}  // namespace stretto::fabric
