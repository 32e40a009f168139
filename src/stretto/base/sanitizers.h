#pragma once

// Which sanitizer the code is compiled for: STRETTO_ASAN, STRETTO_TSAN. Those who manage memory or stacks by hand have
// to tell it what they do.

#if defined(__SANITIZE_ADDRESS__)
#define STRETTO_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define STRETTO_TSAN 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STRETTO_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define STRETTO_TSAN 1
#endif
#endif
