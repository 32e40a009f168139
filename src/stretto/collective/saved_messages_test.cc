#include "stretto/collective/saved_messages.h"

#include <gtest/gtest.h>

#include <vector>

#include "stretto/base/arena.h"
#include "stretto/base/bytes.h"

namespace stretto {
namespace {

using fabric::Message;
using fabric::MessageType;

void add(SavedMessages& saved, NodeId from, std::uint32_t header, const std::vector<std::byte>& payload) {
  saved.add({from, MessageType::test, bytes_of(header), payload});
}

TEST(SavedMessages, AreUsedInOrderAndForgotten) {
  const std::size_t before = arena::blocks_in_use();
  {
    SavedMessages saved;
    EXPECT_TRUE(saved.empty());
    add(saved, 3, 7, std::vector<std::byte>(fabric::max_message_bytes - sizeof(std::uint32_t), std::byte{1}));
    add(saved, 1, 8, {});
    add(saved, 3, 9, {std::byte{2}});
    const auto found = saved.find([](const Message& message) { return message.from == 1; });
    ASSERT_TRUE(found);
    EXPECT_EQ(fabric::read_header<std::uint32_t>(*found), 8U);
    EXPECT_FALSE(saved.find([](const Message& message) { return message.from == 2; }));

    EXPECT_TRUE(saved.take_from(2).empty());
    SavedMessages taken = saved.take_from(1);
    taken.use_all([](const Message& message) { EXPECT_EQ(fabric::read_header<std::uint32_t>(message), 8U); });
    SavedMessages moved = std::move(saved);
    std::vector<std::uint32_t> headers;
    moved.use_all([&](const Message& message) {
      EXPECT_EQ(message.from, 3U);
      headers.push_back(fabric::read_header<std::uint32_t>(message));
      if (headers.size() == 2) {
        EXPECT_EQ(message.payload[0], std::byte{2});
      }
    });
    EXPECT_EQ(headers, (std::vector<std::uint32_t>{7, 9}));
    EXPECT_TRUE(moved.empty());
    add(moved, 0, 1, {});  // destroyed with what is in it
  }
  EXPECT_EQ(arena::blocks_in_use(), before);
}

TEST(SavedMessages, AreOfferedUntilOneIsTaken) {
  const std::size_t before = arena::blocks_in_use();
  // Whichever is taken, the others stay in order, and more can be added.
  for (std::uint32_t taken = 0; taken < 3; ++taken) {
    SavedMessages saved;
    for (std::uint32_t header = 0; header < 3; ++header) add(saved, 1, header, {});
    std::vector<std::uint32_t> offered;
    const auto take = [&](const Message& message) {
      offered.push_back(fabric::read_header<std::uint32_t>(message));
      return offered.back() == taken;
    };
    EXPECT_TRUE(saved.use_one(take));
    EXPECT_EQ(offered.size(), taken + 1);
    EXPECT_FALSE(saved.use_one(take)) << "it is forgotten";
    add(saved, 1, 3, {});
    std::vector<std::uint32_t> left;
    saved.use_all([&](const Message& message) { left.push_back(fabric::read_header<std::uint32_t>(message)); });
    std::vector<std::uint32_t> expected = {0, 1, 2, 3};
    expected.erase(expected.begin() + taken);
    EXPECT_EQ(left, expected);
    EXPECT_FALSE(saved.use_one([](const Message&) { return true; })) << "there is none";
  }
  EXPECT_EQ(arena::blocks_in_use(), before);
}

}  // namespace
}  // namespace stretto
