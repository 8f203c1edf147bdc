// See background_compiler.h.
#include "background_compiler.h"

#include <sys/resource.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <thread>

#include "fork.h"

namespace sparsejit {
namespace {

constexpr int kLowestPriority = 19;

std::mutex& queue_lock() { return fork_lock(ForkLock::background_queue); }

}  // namespace

// Everything but the thread is guarded by the queue's lock.
struct BackgroundCompiler::Worker {
  std::deque<std::weak_ptr<BackgroundJob>> jobs;
  std::condition_variable changed;
  bool stop = false;
  std::thread thread;

  void work();
  bool run_next();
};

// On Linux a priority belongs to a thread.
void BackgroundCompiler::Worker::work() {
  (void)setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);
  do {
    std::unique_lock lock(queue_lock());
    changed.wait(lock, [&] { return stop || !jobs.empty(); });
  } while (run_next());
}

// False when it is time to stop.
bool BackgroundCompiler::Worker::run_next() {
  const std::lock_guard running(fork_lock(ForkLock::background_job));
  std::shared_ptr<BackgroundJob> job;
  {
    const std::lock_guard lock(queue_lock());
    if (stop) return false;
    job = jobs.front().lock();
    jobs.pop_front();
  }
  if (job != nullptr) job->run();
  return true;
}

BackgroundCompiler::BackgroundCompiler()
    : worker_(std::make_unique<Worker>()), generation_(fork_generation()) {}

BackgroundCompiler::~BackgroundCompiler() {
  {
    const std::lock_guard lock(queue_lock());
    if (generation_ != fork_generation()) {
      [[maybe_unused]] auto* worker_of_the_parent = worker_.release();
      return;
    }
    worker_->stop = true;
  }
  worker_->changed.notify_all();
  if (worker_->thread.joinable()) worker_->thread.join();
}

// The queue's lock is held. A parent's thread does not exist here; what it shares with the thread
// can only be dropped, but for the jobs.
void BackgroundCompiler::start_if_needed() {
  if (generation_ != fork_generation()) {
    auto jobs = std::move(worker_->jobs);
    [[maybe_unused]] auto* worker_of_the_parent = worker_.release();
    worker_ = std::make_unique<Worker>();
    worker_->jobs = std::move(jobs);
    generation_ = fork_generation();
  }
  if (worker_->thread.joinable() || worker_->jobs.empty()) return;
  worker_->thread = std::thread([worker = worker_.get()] { worker->work(); });
}

void BackgroundCompiler::submit(const std::shared_ptr<BackgroundJob>& job) {
  const std::lock_guard lock(queue_lock());
  std::erase_if(worker_->jobs, [](const auto& queued) { return queued.expired(); });
  worker_->jobs.push_back(job);
  try {
    start_if_needed();
  } catch (...) {
    worker_->jobs.pop_back();
    throw;
  }
  worker_->changed.notify_all();
}

void BackgroundCompiler::keep_going() {
  if (generation_ == fork_generation()) return;
  const std::lock_guard lock(queue_lock());
  start_if_needed();
}

}  // namespace sparsejit
