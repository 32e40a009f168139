#include "stretto/fabric/bootstrap/host_id.h"

#include <gtest/gtest.h>

#include <set>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

TEST(HostId, TellsApartWhatCannotShareMemory) {
  const std::set<std::string> ids{hash_host("boot", "name", "net", "pid"),   hash_host("other", "name", "net", "pid"),
                                  hash_host("boot", "other", "net", "pid"),  hash_host("boot", "name", "other", "pid"),
                                  hash_host("boot", "name", "net", "other"), hash_host("bootn", "ame", "net", "pid")};
  EXPECT_EQ(ids.size(), 6U);
  EXPECT_EQ(hash_host("boot", "name", "net", "pid"), hash_host("boot", "name", "net", "pid"));
  EXPECT_EQ(ids.begin()->size(), 32U);
}

TEST(HostId, IsTheSameForAllOnThisHost) { EXPECT_EQ(host_id({}), host_id({{"STRETTO_HOST_ID", ""}})); }

TEST(MachineId, IsTheSameWhateverTheHostIsCalled) {
  EXPECT_FALSE(machine_id("alpha").empty());
  EXPECT_EQ(machine_id("alpha"), machine_id("beta"));
}

TEST(HostId, CanBeGiven) { EXPECT_EQ(host_id({{"STRETTO_HOST_ID", "alpha"}}), "alpha"); }

TEST(HostId, RefusesATooLongOne) { EXPECT_THROW(host_id({{"STRETTO_HOST_ID", std::string(256, 'a')}}), Error); }

}  // namespace
}  // namespace stretto::fabric
