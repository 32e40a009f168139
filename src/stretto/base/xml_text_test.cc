#include "stretto/base/xml_text.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(XmlText, NamesWhatHasAMeaning) {
  EXPECT_EQ(xml_text("a < b > \"c\" && 'd'"), "a &lt; b &gt; &quot;c&quot; &amp;&amp; 'd'");
  EXPECT_EQ(xml_text(""), "");
}

}  // namespace
}  // namespace stretto
