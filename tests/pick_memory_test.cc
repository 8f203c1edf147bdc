// What pickers remember: keys, bounds, the file. Who uses it: remembered_picks_test.cc.
#include "pick_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "pick_key.h"
#include "picks_file.h"
#include "support/picks_folder.h"
#include "support/plans.h"

namespace sparsejit::test {
namespace {

using PicksFileTest = PicksFolder;

// The key of a linear layer's forward pass.
struct KeyCase {
  Mask mask = Mask::random({640, 320}, 0.9, 1);
  Conv2d conv = {};
  ImageSize image = {};
  PassShape shape = {.pass = Pass::forward, .images = 16, .image = {}, .direct = {}};
  bool relu = false;
  MachineModel machine = made_up_machine();
  int threads = 1;
  std::vector<const char*> candidates = {"native", "interpreted"};

  std::string key() const {
    return pick_key({.spec = {mask, conv, image},
                     .shape = shape,
                     .relu = relu,
                     .machine = machine,
                     .threads = threads,
                     .candidates = candidates});
  }
};

TEST(PickKey, IsOneReadableLine) {
  KeyCase c;
  c.machine.cpu = "A\tCPU\n";
  EXPECT_EQ(c.key(),
            "640x320 density -13 imbalance 0 conv 1x1 0.0.0.0 1x1 1 image 1x1 forward direct 00 "
            "merged relu 0 batch 16 avx2 threads 1 of native,interpreted cpu A CPU ");
}

TEST(PickKey, SimilarMasksShareIt) {
  KeyCase a;
  KeyCase b;
  b.mask = Mask::random({640, 320}, 0.9, 2);
  EXPECT_EQ(a.key(), b.key());
}

TEST(PickKey, TellsApartWhatMayBeFasterInAnotherWay) {
  std::vector<std::string> keys;
  const auto add = [&](const std::function<void(KeyCase&)>& change) {
    KeyCase c;
    change(c);
    keys.push_back(c.key());
  };
  add([](KeyCase&) {});
  add([](KeyCase& c) { c.mask = Mask::random({640, 320}, 0.8, 1); });
  add([](KeyCase& c) { c.mask = Mask::random({640, 320}, 1.0, 1); });
  add([](KeyCase& c) { c.mask = Mask::random({320, 640}, 0.9, 1); });
  add([](KeyCase& c) { c.mask = Mask::random({640, 320, 3, 3}, 0.9, 1); });
  add([](KeyCase& c) { c.conv.stride = 2; });
  add([](KeyCase& c) { c.conv.padding = 1; });
  add([](KeyCase& c) { c.conv.groups = 2; });
  add([](KeyCase& c) { c.shape.image = {8, 8}; });
  add([](KeyCase& c) { c.shape.images = 17; });
  add([](KeyCase& c) { c.shape.direct.x = 64; });
  add([](KeyCase& c) { c.shape.direct.y = 64; });
  add([](KeyCase& c) { c.shape.pass = Pass::backward; });
  add([](KeyCase& c) {
    c.shape.pass = Pass::backward;
    c.shape.want_dx = true;
  });
  add([](KeyCase& c) {
    c.shape.pass = Pass::backward;
    c.shape.want_d_values = true;
  });
  add([](KeyCase& c) { c.relu = true; });
  add([](KeyCase& c) { c.threads = 2; });
  add([](KeyCase& c) { c.machine.cpu = "another"; });
  add([](KeyCase& c) { c.machine.unrolled_isa.name = "another"; });
  add([](KeyCase& c) { c.candidates.push_back("dense"); });
  // All weights in a tenth of the rows: the same density, another balance.
  add([](KeyCase& c) {
    std::vector<uint8_t> dense(size_t{640} * 320);
    std::fill_n(dense.begin(), 20480, uint8_t{1});
    c.mask = Mask::from_dense(dense, {640, 320});
  });
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(PickMemory, FindsWhatItWasTold) {
  PickMemory memory(10);
  EXPECT_EQ(memory.find("a"), "");
  memory.remember({"a", "native"});
  memory.remember({"b", "interpreted"});
  EXPECT_EQ(memory.find("a"), "native");
  memory.remember({"a", "interpreted"});
  EXPECT_EQ(memory.find("a"), "interpreted");
  EXPECT_EQ(memory.picks().size(), 2U);
  EXPECT_EQ(memory.changes(), 3);
  memory.remember({"a", "interpreted"});
  EXPECT_EQ(memory.changes(), 3) << "nothing new";
}

TEST(PickMemory, IsBoundedAndForgetsWhatWasNotAskedForLongest) {
  PickMemory memory(3);
  for (const char* key : {"a", "b", "c"}) memory.remember({key, "native"});
  memory.find("a");
  memory.remember({"d", "native"});
  EXPECT_EQ(memory.find("b"), "");
  EXPECT_EQ(memory.find("a"), "native");
  memory.add_older({"e", "native"});
  EXPECT_EQ(memory.find("e"), "") << "no room for what comes last";
  EXPECT_EQ(memory.picks().size(), 3U);
  PickMemory none(0);
  none.remember({"a", "native"});
  EXPECT_EQ(none.find("a"), "");
}

TEST_F(PicksFileTest, GoesThereAndBack) {
  const std::vector<Pick> picks = {{"some key", "native tiled"}, {"another", "dense"}};
  EXPECT_EQ(write_picks_file(path(), picks), "");
  EXPECT_EQ(content(), std::string(kPicksFirstLine) + "native tiled\tsome key\ndense\tanother\n");
  const PicksFile file = read_picks_file(path());
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.picks, picks);
  EXPECT_EQ(files(), 1) << "a temporary file was left";
}

TEST_F(PicksFileTest, AMissingOrEmptyFileIsNoProblem) {
  EXPECT_EQ(read_picks_file(path()).problem, "");
  write("");
  EXPECT_EQ(read_picks_file(path()).problem, "");
  EXPECT_FALSE(read_picks_file(path()).foreign);
}

TEST_F(PicksFileTest, MalformedLinesAreNamedAndNothingIsTaken) {
  const std::string good = "native\tkey\n";
  for (const std::string& bad :
       {std::string("no tab\n"), std::string("\tkey\n"), std::string("native\t\n"),
        std::string("native\tkey\twith tab\n"), std::string("\n"), std::string("native\tcut of"),
        std::string("native\tcontrol \x01\n"), "native\t" + std::string(2000, 'x') + "\n"}) {
    write(kPicksFirstLine + good + bad);
    const PicksFile file = read_picks_file(path());
    EXPECT_NE(file.problem.find("line 3"), std::string::npos) << bad << ": " << file.problem;
    EXPECT_NE(file.problem.find(path()), std::string::npos);
    EXPECT_TRUE(file.picks.empty());
    EXPECT_FALSE(file.foreign) << "it is ours and may be replaced";
  }
}

TEST_F(PicksFileTest, ForeignFilesAreToldApart) {
  for (const char* text : {"[settings]\n", "sparsejit picks 2\n", "sparsejit picks 1", "\n"}) {
    write(text);
    const PicksFile file = read_picks_file(path());
    EXPECT_TRUE(file.foreign) << text;
    EXPECT_NE(file.problem, "");
  }
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  EXPECT_TRUE(read_picks_file(path()).foreign) << "a folder";
  std::filesystem::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_TRUE(read_picks_file(path()).foreign) << "reading a pipe would wait for ever";
}

TEST_F(PicksFileTest, FoldersThatAreNotThereAreReported) {
  EXPECT_NE(write_picks_file(path() + "/no/such", {}).find("cannot be written"), std::string::npos);
}

TEST_F(PicksFileTest, LinksAreFollowed) {
  const std::string link = (folder_ / "link").string();
  write(kPicksFirstLine);
  std::filesystem::create_symlink(path(), link);
  EXPECT_EQ(write_picks_file(link, {{"key", "native"}}), "");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_NE(content().find("native\tkey"), std::string::npos);
}

}  // namespace
}  // namespace sparsejit::test
