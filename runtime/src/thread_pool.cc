#include "thread_pool.h"

#include <immintrin.h>

#include <atomic>
#include <condition_variable>
#include <system_error>
#include <thread>
#include <vector>

#include "fork.h"

namespace sparsejit {
namespace {

// Kernels follow each other within microseconds, so a worker looks for work a while before it
// sleeps: about 20 us.
constexpr int kSpins = 1000;

}  // namespace

struct ThreadPool::Workers {
  std::mutex busy;  // held by the caller whose work is running
  uint64_t generation = 0;
  std::vector<std::thread> threads;

  std::mutex mutex;  // guards sleeping, not the work itself
  std::condition_variable wake;
  const std::function<void(int)>* call = nullptr;
  std::atomic<uint64_t> round{0};  // each increment is one job, the last one is the stop
  std::atomic<int> running{0};
  std::atomic<bool> stop{false};

  void start(int count);
  void work(int thread);
  bool wait_for_round(uint64_t seen);
};

// Refused threads (limits of the process) only mean that fewer share the work: calls for missing
// threads are made by the caller.
void ThreadPool::Workers::start(int count) {
  for (int i = 1; i < count; ++i) {
    try {
      threads.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      return;
    }
  }
}

bool ThreadPool::Workers::wait_for_round(uint64_t seen) {
  for (int i = 0; i < kSpins; ++i) {
    if (round.load(std::memory_order_acquire) != seen) return !stop.load();
    _mm_pause();
  }
  std::unique_lock lock(mutex);
  wake.wait(lock, [&] { return round.load(std::memory_order_acquire) != seen; });
  return !stop.load();
}

void ThreadPool::Workers::work(int thread) {
  uint64_t seen = 0;
  while (wait_for_round(seen)) {
    seen = round.load(std::memory_order_acquire);
    (*call)(thread);
    running.fetch_sub(1, std::memory_order_release);
  }
}

ThreadPool::ThreadPool(int threads, Executor executor)
    : threads_(threads), executor_(std::move(executor)) {}

ThreadPool::~ThreadPool() {
  if (workers_ == nullptr) return;
  if (workers_->generation != fork_generation()) {
    [[maybe_unused]] auto* threads_of_the_parent = workers_.release();
    return;
  }
  {
    const std::lock_guard lock(workers_->mutex);
    workers_->stop = true;
    workers_->round.fetch_add(1, std::memory_order_release);
  }
  workers_->wake.notify_all();
  for (std::thread& thread : workers_->threads) thread.join();
}

// In a forked child the old workers do not exist; their handles can only be dropped.
ThreadPool::Workers& ThreadPool::current_workers() {
  const std::lock_guard lock(fork_lock(ForkLock::workers));
  const uint64_t generation = fork_generation();
  if (workers_ != nullptr && workers_->generation == generation) return *workers_;
  [[maybe_unused]] auto* threads_of_the_parent = workers_.release();
  workers_ = std::make_unique<Workers>();
  workers_->generation = generation;
  workers_->start(threads_);
  return *workers_;
}

void ThreadPool::run(const std::function<void(int thread)>& call) {
  if (threads_ == 1) {
    call(0);
    return;
  }
  if (executor_) {
    executor_(threads_, call);
    return;
  }
  Workers& workers = current_workers();
  const std::unique_lock busy(workers.busy, std::try_to_lock);
  const int helpers = busy ? static_cast<int>(workers.threads.size()) : 0;
  if (helpers > 0) {
    {
      const std::lock_guard lock(workers.mutex);
      workers.call = &call;
      workers.running.store(helpers, std::memory_order_relaxed);
      workers.round.fetch_add(1, std::memory_order_release);
    }
    workers.wake.notify_all();
  }
  call(0);
  for (int thread = helpers + 1; thread < threads_; ++thread) call(thread);
  for (int spins = 0; helpers > 0 && workers.running.load(std::memory_order_acquire) != 0;
       ++spins) {
    if (spins < kSpins) {
      _mm_pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace sparsejit
