#include "stretto/base/mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/base/page.h"
#include "stretto/base/sanitizers.h"
#include "stretto/base/shared_memory.h"

namespace stretto {
namespace {

using Access = Mapping::Access;

TEST(Mapping, WhatOneWritesTheOthersSee) {
  const Descriptor file = make_shared_memory("test", 3 * huge_page_bytes);
  const Mapping writer(file.number(), 0, 3 * huge_page_bytes, Access::write);
  const Mapping reader(file.number(), 0, 3 * huge_page_bytes, Access::read);
  const Mapping part(file.number(), page_bytes(), page_bytes(), Access::read);
  for (const std::size_t at : {std::size_t{0}, page_bytes() + 7, 3 * huge_page_bytes - 1}) {
    *writer.at(at) = std::byte{42};
    EXPECT_EQ(*reader.at(at), std::byte{42}) << at;
  }
  EXPECT_EQ(*part.at(7), std::byte{42});
}

TEST(Mapping, WhatIsLargeBeginsWhereAHugePageMay) {
  const Descriptor file = make_shared_memory("test", 5 * huge_page_bytes);
  for (int i = 0; i < 4; ++i) {
    const Mapping shared(file.number(), 0, 5 * huge_page_bytes, Access::write);
    const Mapping own(-1, 0, huge_page_bytes + page_bytes(), Access::write);
    for (const Mapping* mapping : {&shared, &own}) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapping->at(0)) % huge_page_bytes, 0U);
    }
    *own.at(huge_page_bytes + page_bytes() - 1) = std::byte{1};
  }
}

TEST(Mapping, MovesAndIsUndoneOnce) {
  const Descriptor file = make_shared_memory("test", page_bytes());
  Mapping first(file.number(), 0, page_bytes(), Access::write);
  *first.at(0) = std::byte{7};
  Mapping second(std::move(first));
  Mapping third;
  third = std::move(second);
  EXPECT_EQ(*third.at(0), std::byte{7});
}

TEST(Mapping, WhatCannotBeMappedIsANamedError) {
  const Descriptor file = make_shared_memory("test", page_bytes());
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1} << 60U, ~std::size_t{0}}) {
    try {
      const Mapping mapping(-1, 0, bytes, Access::write);
      FAIL() << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
      EXPECT_NE(error.message().find(std::to_string(bytes) + " bytes"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(Mapping(file.number(), 1, page_bytes(), Access::write), Error) << "not the start of a page";
}

#if !defined(STRETTO_TSAN) && !defined(STRETTO_ASAN)  // whose shadows have pages of their own
TEST(Mapping, AHugePageIsOneForAllWhoMapIt) {
  const Descriptor file = make_shared_memory("test", huge_page_bytes);
  const Mapping owner(file.number(), 0, huge_page_bytes, Access::write);
  *owner.at(page_bytes()) = std::byte{9};
  if (!gather_into_huge_page(owner.at(0))) GTEST_SKIP() << "this system does not make huge pages of shared memory";
  const Mapping peer(file.number(), 0, huge_page_bytes, Access::write);
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
  };
  const long before = faults();
  for (const Mapping* mapping : {&owner, &peer}) {
    for (std::size_t at = 0; at < huge_page_bytes; at += page_bytes()) *mapping->at(at) |= std::byte{1};
  }
  EXPECT_LT(faults() - before, 32);
  EXPECT_EQ(*peer.at(page_bytes()), std::byte{9});
  EXPECT_EQ(*peer.at(2 * page_bytes()), std::byte{1});
}
#endif

}  // namespace
}  // namespace stretto
