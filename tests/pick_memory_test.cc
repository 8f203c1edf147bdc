// What pickers remember: keys, bounds, the file, and layers that start with a remembered choice.
#include "pick_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "pick_key.h"
#include "picks_file.h"
#include "runtime_impl.h"
#include "support/child.h"
#include "support/expect_error.h"
#include "support/layer_case.h"
#include "support/plans.h"
#include "support/runtimes.h"

namespace sparsejit::test {
namespace {

constexpr const char* kFirstLine = "sparsejit picks 1\n";

// A folder of its own for each test.
class PicksFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              fmt::format("sparsejit_{}_{}", info->name(), ::getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "picks").string(); }
  void write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string content() const {
    std::ifstream in(path());
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int64_t files() const {
    return std::distance(std::filesystem::directory_iterator(folder_),
                         std::filesystem::directory_iterator());
  }

  RuntimeOptions options() {
    RuntimeOptions result = with_threads(1);
    result.picks_file = path();
    result.log = [this](const std::string& line) { log_.push_back(line); };
    return result;
  }

  std::filesystem::path folder_;
  std::vector<std::string> log_;
};

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
  add([](KeyCase& c) { c.machine.isa.name = "another"; });
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
  EXPECT_EQ(content(), std::string(kFirstLine) + "native tiled\tsome key\ndense\tanother\n");
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
    write(kFirstLine + good + bad);
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
  write(kFirstLine);
  std::filesystem::create_symlink(path(), link);
  EXPECT_EQ(write_picks_file(link, {{"key", "native"}}), "");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_NE(content().find("native\tkey"), std::string::npos);
}

using RuntimePicks = PicksFolder;

TEST_F(RuntimePicks, AreReadAtTheStartAndWrittenAtTheEnd) {
  {
    Runtime runtime(options());
    runtime.impl()->picks.remember({"key", "native"});
    EXPECT_EQ(files(), 0) << "too early";
  }
  EXPECT_EQ(content(), std::string(kFirstLine) + "native\tkey\n");
  Runtime next(options());
  EXPECT_EQ(next.impl()->picks.find("key"), "native");
  EXPECT_TRUE(log_.empty());
}

TEST_F(RuntimePicks, AreWrittenWhenAskedFor) {
  Runtime runtime(options());
  runtime.impl()->picks.remember({"key", "native"});
  EXPECT_TRUE(runtime.save_picks());
  EXPECT_EQ(content(), std::string(kFirstLine) + "native\tkey\n");
  Runtime without(with_threads(1));
  EXPECT_FALSE(without.save_picks()) << "there is no file";
}

TEST_F(RuntimePicks, ARuntimeThatLearnedNothingWritesNothing) {
  { Runtime runtime(options()); }
  EXPECT_EQ(files(), 0);
}

TEST_F(RuntimePicks, MalformedFilesGiveOneWarningAndAreReplaced) {
  write(std::string(kFirstLine) + "nonsense\n");
  {
    Runtime runtime(options());
    runtime.impl()->picks.remember({"key", "native"});
  }
  EXPECT_EQ(log_.size(), 1U);
  EXPECT_EQ(content(), std::string(kFirstLine) + "native\tkey\n");
}

TEST_F(RuntimePicks, ForeignFilesGiveOneWarningAndAreKept) {
  const std::string text = "my diary\nof\tmany days\n";
  write(text);
  {
    Runtime runtime(options());
    runtime.impl()->picks.remember({"key", "native"});
    EXPECT_FALSE(runtime.save_picks());
  }
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_.front().find(path()), std::string::npos);
  EXPECT_EQ(content(), text);
  EXPECT_EQ(files(), 1);
}

TEST_F(RuntimePicks, TwoRuntimesKeepEachOthersNews) {
  Runtime first(options());
  Runtime second(options());
  first.impl()->picks.remember({"first", "native"});
  second.impl()->picks.remember({"second", "interpreted"});
  EXPECT_TRUE(first.save_picks());
  EXPECT_TRUE(second.save_picks());
  EXPECT_EQ(read_picks_file(path()).picks,
            (std::vector<Pick>{{"second", "interpreted"}, {"first", "native"}}));
}

TEST_F(RuntimePicks, WritersAtTheSameTimeLeaveAWholeFile) {
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) EXPECT_EQ(read_picks_file(path()).problem, "");
  });
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&, writer] {
      RuntimeOptions mine = with_threads(1);
      mine.picks_file = path();
      Runtime runtime(mine);
      for (int i = 0; i < 30; ++i) {
        runtime.impl()->picks.remember({fmt::format("key {} {}", writer, i), "native"});
        EXPECT_TRUE(runtime.save_picks());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  stop = true;
  reader.join();
  EXPECT_GE(read_picks_file(path()).picks.size(), 30U);
  EXPECT_EQ(files(), 1);
}

TEST_F(RuntimePicks, ForkedChildrenMayRememberAndSave) {
  if (!children_supported()) GTEST_SKIP() << "no threads in forked children here";
  Runtime runtime(options());
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    for (int i = 0; !stop; ++i) {
      runtime.impl()->picks.remember({fmt::format("key {}", i % 100), "native"});
    }
  });
  for (int i = 0; i < 20; ++i) {
    expect_in_child([&] {
      runtime.impl()->picks.remember({"child", "native"});
      return runtime.save_picks();
    });
  }
  stop = true;
  busy.join();
  EXPECT_EQ(read_picks_file(path()).problem, "");
}

TEST(RuntimePicksOptions, ImpossibleBoundsAreNamed) {
  RuntimeOptions options;
  options.remembered_picks = -3;
  expect_error([&] { Runtime runtime(options); }, {"remembered_picks", "-3", "65536"});
}

class RememberingLayers : public PicksFolder {
 protected:
  void SetUp() override {
    if (!detect_machine().avx2_fma) GTEST_SKIP() << "this machine has no AVX2 and FMA";
    PicksFolder::SetUp();
  }

  static Layer make_layer(Runtime& runtime, uint64_t seed, LayerOptions layer_options = {}) {
    layer_options.runtime = &runtime;
    return compile_layer(Mask::random({64, 64}, 0.9, seed), layer_options);
  }
  static LayerCase case_of(const Layer& layer) { return {.mask = layer.mask(), .batch = 24}; }
  static void run(const Layer& layer, int calls) {
    for (int i = 0; i < calls; ++i) {
      expect_matches_reference(case_of(layer), run_layer(layer, case_of(layer)));
    }
  }
  static void expect_remembered(const Layer& layer) {
    for (const KernelReport& report : layer.report()) {
      EXPECT_EQ(report.reason, "remembered");
      EXPECT_NE(report.engine, Engine::automatic);
      EXPECT_EQ(report.native_seconds, 0) << "clocks were read";
    }
  }
};

constexpr int kEnoughCalls = 300;  // of three candidates at most, short and close

TEST_F(RememberingLayers, AFurtherLayerStartsWithTheChoice) {
  Runtime runtime(with_threads(1));
  const Layer first = make_layer(runtime, 1);
  run(first, kEnoughCalls);
  const Layer second = make_layer(runtime, 2);
  run(second, 2);
  expect_remembered(second);
  ASSERT_EQ(first.report().size(), second.report().size());
  for (size_t i = 0; i < first.report().size(); ++i) {
    EXPECT_EQ(first.report()[i].engine, second.report()[i].engine);
    EXPECT_EQ(first.report()[i].reason.find("measured"), 0U) << first.report()[i].reason;
  }
}

TEST_F(RememberingLayers, AMaskOfAnotherDensitySeenBeforeIsNotMeasuredAgain) {
  Runtime runtime(with_threads(1));
  Layer layer = make_layer(runtime, 1);
  run(layer, kEnoughCalls);
  layer.set_mask(Mask::random({64, 64}, 0.5, 1));
  run(layer, kEnoughCalls);
  layer.set_mask(Mask::random({64, 64}, 0.9, 2));
  run(layer, 1);
  expect_remembered(layer);
}

TEST_F(RememberingLayers, AnotherBatchIsMeasured) {
  Runtime runtime(with_threads(1));
  run(make_layer(runtime, 1), kEnoughCalls);
  const Layer layer = make_layer(runtime, 1);
  run_layer(layer, {.mask = layer.mask(), .batch = 25});
  for (const KernelReport& report : layer.report()) EXPECT_EQ(report.reason, "still measuring");
}

TEST_F(RememberingLayers, TheFileServesTheNextProcess) {
  {
    Runtime runtime(options());
    run(make_layer(runtime, 1), kEnoughCalls);
  }
  EXPECT_EQ(read_picks_file(path()).picks.size(), 2U) << "forward and backward";
  Runtime next(options());
  const Layer layer = make_layer(next, 2);
  run(layer, 1);
  expect_remembered(layer);
}

// As from a file of a runtime whose candidates were others, or edited.
TEST_F(RememberingLayers, NamesThatAreNoCandidateAreMeasuredInstead) {
  {
    Runtime runtime(options());
    run(make_layer(runtime, 1), kEnoughCalls);
  }
  std::vector<Pick> picks = read_picks_file(path()).picks;
  for (Pick& pick : picks) pick.candidate = "magic";
  EXPECT_EQ(write_picks_file(path(), picks), "");
  Runtime next(options());
  const Layer layer = make_layer(next, 2);
  run(layer, kEnoughCalls);
  for (const KernelReport& report : layer.report()) {
    EXPECT_NE(report.engine, Engine::automatic);
    EXPECT_NE(report.reason, "remembered");
  }
}

TEST_F(RememberingLayers, DeterministicLayersNeitherUseNorAddPicks) {
  Runtime runtime(with_threads(1));
  run(make_layer(runtime, 1, {.deterministic = true}), kEnoughCalls);
  EXPECT_TRUE(runtime.impl()->picks.picks().empty());
  run(make_layer(runtime, 1), kEnoughCalls);
  EXPECT_EQ(runtime.impl()->picks.picks().size(), 2U);
  const Layer layer = make_layer(runtime, 1, {.deterministic = true});
  run(layer, 1);
  for (const KernelReport& report : layer.report()) EXPECT_NE(report.reason, "remembered");
}

// What was remembered as native runs on what there is where no code can be generated.
TEST_F(RememberingLayers, AChoiceThatCannotBeMadeFallsBack) {
  std::vector<Pick> picks;
  {
    Runtime runtime(with_threads(1));
    run(make_layer(runtime, 1), kEnoughCalls);
    picks = runtime.impl()->picks.picks();
  }
  Runtime runtime(with_code_budget(0));
  for (const Pick& pick : picks) runtime.impl()->picks.remember({pick.key, "native"});
  const Layer layer = make_layer(runtime, 1);
  run(layer, 3);
  for (const KernelReport& report : layer.report()) {
    EXPECT_EQ(report.engine, Engine::interpreted);
    EXPECT_NE(report.reason.find("code budget"), std::string::npos) << report.reason;
  }
}

}  // namespace
}  // namespace sparsejit::test
