#include "stretto/base/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "stretto/base/error.h"

namespace stretto {
namespace {

Settings settings_of(const std::vector<std::string>& environment) { return Settings(environment); }

template <class Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorCode::internal, "nothing was thrown"};
}

TEST(Settings, HaveDefaults) {
  const Settings settings = settings_of({});
  EXPECT_EQ(settings.text("STRETTO_FABRIC"), "local:1");
  EXPECT_EQ(settings.count("STRETTO_WORKERS"), 0U);
  EXPECT_EQ(settings.bytes("STRETTO_SEGMENT_BYTES"), std::uint64_t{64} << 30U);
  EXPECT_EQ(settings.log_level("STRETTO_LOG"), LogLevel::warning);
  EXPECT_FALSE(settings.is_set("STRETTO_FABRIC"));
}

TEST(Settings, ReadTheEnvironment) {
  const Settings settings = settings_of({"HOME=/root", "STRETTO_FABRIC=sim:4,seed=7", "STRETTO_WORKERS=3",
                                         "STRETTO_SEGMENT_BYTES=1.5GiB", "STRETTO_LOG=debug", "PATH=/bin"});
  EXPECT_EQ(settings.text("STRETTO_FABRIC"), "sim:4,seed=7") << "only the first '=' separates";
  EXPECT_EQ(settings.count("STRETTO_WORKERS"), 3U);
  EXPECT_EQ(settings.bytes("STRETTO_SEGMENT_BYTES"), 1'610'612'736U);
  EXPECT_EQ(settings.log_level("STRETTO_LOG"), LogLevel::debug);
  EXPECT_TRUE(settings.is_set("STRETTO_FABRIC"));
  EXPECT_EQ(settings.written("STRETTO_SEGMENT_BYTES"), "1.5GiB");
}

TEST(Settings, TakeEmptyForUnsetAndTheFirstOfSeveral) {
  const Settings settings =
      settings_of({"STRETTO_WORKERS=", "STRETTO_FABRIC=local:2", "STRETTO_FABRIC=local:3", "STRETTO_LOG"});
  EXPECT_FALSE(settings.is_set("STRETTO_WORKERS"));
  EXPECT_EQ(settings.count("STRETTO_WORKERS"), 0U);
  EXPECT_EQ(settings.text("STRETTO_FABRIC"), "local:2");
  EXPECT_FALSE(settings.is_set("STRETTO_LOG"));
}

TEST(Settings, RefuseAnUnknownNameAndSuggestTheNearest) {
  const Error near = error_of([] { settings_of({"STRETTO_FABRICS=local:2"}); });
  EXPECT_EQ(near.code(), ErrorCode::bad_input);
  EXPECT_EQ(near.message(),
            "the environment variable STRETTO_FABRICS is not a setting of Stretto; did you mean STRETTO_FABRIC?");
  const Error far = error_of([] { settings_of({"STRETTO_COLOUR_OF_THE_SKY=blue"}); });
  EXPECT_EQ(far.message(),
            "the environment variable STRETTO_COLOUR_OF_THE_SKY is not a setting of Stretto; "
            "`stretto info --settings` lists them");
  EXPECT_EQ(error_of([] { settings_of({"STRETTO_=1"}); }).code(), ErrorCode::bad_input);
  EXPECT_EQ(error_of([] { settings_of({"STRETTO_FABRICS="}); }).code(), ErrorCode::bad_input) << "even when empty";
}

TEST(Settings, RefuseValuesOfTheWrongForm) {
  const Error error = error_of([] { settings_of({"STRETTO_WORKERS=many"}); });
  EXPECT_EQ(error.code(), ErrorCode::bad_input);
  EXPECT_TRUE(error.message().starts_with("STRETTO_WORKERS is 'many', but must be")) << error.message();
  EXPECT_EQ(error_of([] { settings_of({"STRETTO_BIND=2"}); }).message(),
            "STRETTO_BIND is '2', but must be a whole number from 0 to 1");
  EXPECT_EQ(error_of([] { settings_of({"STRETTO_SEGMENT_BYTES=lots"}); }).code(), ErrorCode::bad_input);
  EXPECT_EQ(error_of([] { settings_of({"STRETTO_STAGING_BYTES=8191"}); }).message(),
            "STRETTO_STAGING_BYTES is '8191', but must be at least 8 KiB");
  EXPECT_EQ(error_of([] { settings_of({"STRETTO_LOG=loud"}); }).code(), ErrorCode::bad_input);
}

TEST(Settings, RefuseMisuseByTheProgram) {
  const Settings settings = settings_of({});
  EXPECT_EQ(error_of([&] { settings.count("STRETTO_FABRIC"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { settings.text("STRETTO_NO_SUCH"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { settings.is_set("STRETTO_NO_SUCH"); }).code(), ErrorCode::invalid_argument);
  const Error unset = error_of([&] { settings.count("STRETTO_JOB_RANK"); });
  EXPECT_EQ(unset.code(), ErrorCode::invalid_state);
  EXPECT_EQ(unset.message(), "the environment variable STRETTO_JOB_RANK is needed here, but not set");
}

TEST(Settings, ComeFromThisProcess) {
  ASSERT_EQ(setenv("STRETTO_WORKERS", "5", 1), 0);
  EXPECT_EQ(Settings::from_environment().count("STRETTO_WORKERS"), 5U);
  ASSERT_EQ(unsetenv("STRETTO_WORKERS"), 0);
  EXPECT_FALSE(Settings::from_environment().is_set("STRETTO_WORKERS"));
}

TEST(SettingsTable, IsComplete) {
  std::set<std::string_view> names;
  std::vector<std::string> defaults;
  for (const SettingInfo& setting : known_settings()) {
    EXPECT_TRUE(setting.name.starts_with("STRETTO_")) << setting.name;
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " is declared twice";
    EXPECT_FALSE(setting.meaning.empty()) << setting.name;
    EXPECT_NE(name_of(setting.kind), "unknown") << setting.name;
    defaults.push_back(std::string(setting.name) + "=" + std::string(setting.default_value));
  }
  EXPECT_NO_THROW(settings_of(defaults)) << "each default has the form that a value must have";
}

}  // namespace
}  // namespace stretto
