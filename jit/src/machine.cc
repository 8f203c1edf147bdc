// Reads the processor once: CPUID through Xbyak's Cpu for the ISA, sysfs for the caches. (sysconf
// and CPUID leaf 4 report the whole package's L3 under some hypervisors; sysfs the share one core
// sees, so it comes first.)
#include "sparsejit/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>
#include <xbyak/xbyak_util.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

namespace sparsejit {
namespace {

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

// "512K" in sysfs, else sysconf (0 or -1 where it cannot tell), else the model's default stands.
void read_cache(int sysfs_index, int sysconf_name, int64_t& bytes) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", sysfs_index));
  int64_t kilobytes = 0;
  char unit = 0;
  if (file >> kilobytes >> unit && kilobytes > 0 && (unit == 'K' || unit == 'M')) {
    bytes = kilobytes << (unit == 'M' ? 20 : 10);
    return;
  }
  const long value = sysconf(sysconf_name);
  if (value > 0) bytes = value;
}

// Physical cores this process may run on: threads that share one share its vector units too, so
// more of them would not help. Where the system does not say which do, each counts.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    std::ifstream file(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = fmt::format("cpu {}", cpu);
    cores.insert(siblings);
  }
  return std::max(1, static_cast<int>(cores.size()));
}

}  // namespace

MachineModel detect_machine() {
  using Xbyak::util::Cpu;
  const Cpu cpu;  // its AVX bits include the operating system's XSAVE state
  MachineModel machine;
  machine.cpu = cpu_name();
  machine.avx2_fma = cpu.has(Cpu::tAVX2) && cpu.has(Cpu::tFMA);
  machine.avx512 = cpu.has(Cpu::tAVX512F);
  const char* variable = std::getenv("SPARSEJIT_ISA");
  const std::string cap = variable == nullptr ? "" : variable;
  if (cap == "portable") machine.avx2_fma = false;
  if (machine.avx512 && machine.avx2_fma && cap != "avx2") machine.unrolled_isa = avx512_isa();
  read_cache(0, _SC_LEVEL1_DCACHE_SIZE, machine.l1_bytes);
  read_cache(2, _SC_LEVEL2_CACHE_SIZE, machine.l2_bytes);
  read_cache(3, _SC_LEVEL3_CACHE_SIZE, machine.l3_bytes);
  machine.cores = usable_cores();
  return machine;
}

}  // namespace sparsejit
