// ThreadPool: runs one function on a fixed number of threads, the caller's included.
//
//     pool.run([&](int thread) { ... });     thread = 0 .. threads()-1, each exactly once
//
// Which thread does what never influences a result in this project, so a pool that is busy with
// another caller simply runs the calls one after the other on the calling thread. With one thread
// no thread is ever created; otherwise workers start at the first use. After fork() the child
// starts workers of its own. Calls must not throw.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "sparsejit/runtime.h"

namespace sparsejit {

class ThreadPool {
 public:
  // With an executor the pool has no threads of its own.
  explicit ThreadPool(int threads, Executor executor = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  void run(const std::function<void(int thread)>& call);

 private:
  struct Workers;
  Workers& current_workers();

  const int threads_;
  const Executor executor_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace sparsejit
