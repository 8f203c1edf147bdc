// BackgroundCompiler: one thread that runs jobs in turn, at the lowest priority, so that running
// steps keep the processors. The thread starts with the first job.
//
// A job is never cut in two by fork(): whoever forks waits for the one that runs, which takes
// milliseconds, and the child does the others with a thread of its own (ForkLock::background_job).
// Of all runtimes of a process one job runs at a time. Jobs that nobody holds any more are dropped:
// a thread that gets no processor may fall behind the masks that change. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace sparsejit {

class BackgroundJob {
 public:
  virtual ~BackgroundJob() = default;
  virtual void run() noexcept = 0;
};

class BackgroundCompiler {
 public:
  BackgroundCompiler();
  BackgroundCompiler(const BackgroundCompiler&) = delete;
  BackgroundCompiler& operator=(const BackgroundCompiler&) = delete;
  // Waits for the job that runs and drops the others.
  ~BackgroundCompiler();

  // Throws std::system_error where the system refuses a thread; the job is then dropped.
  void submit(const std::shared_ptr<BackgroundJob>& job);
  // To be called while waiting for a job: in a forked child, starts a thread for the jobs left.
  void keep_going();

 private:
  struct Worker;
  void start_if_needed();

  std::unique_ptr<Worker> worker_;
  std::atomic<uint64_t> generation_;  // of the process whose thread `worker_` is
};

}  // namespace sparsejit
