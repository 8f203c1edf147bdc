// The file of picks that outlives a process (RuntimeOptions::picks_file), plain lines of text:
//
//     sparsejit picks 1
//     native<TAB>3072x768 density -13 ...        a candidate's name, a tab, a key (pick_key.h)
//
// Latest first, each line ended by a newline. A file is replaced as a whole, by rename, so readers
// and other writers see the old one or the new one. A file that does not begin with that first line
// is somebody else's and is left alone. Nothing here throws because of a file.
#pragma once

#include <string>
#include <vector>

#include "pick_memory.h"

namespace sparsejit {

struct PicksFile {
  std::vector<Pick> picks;  // none where there is a problem
  std::string problem;      // empty: none, or there is no file
  bool foreign = false;     // not ours, or not to be read: must not be replaced
};

PicksFile read_picks_file(const std::string& path);

// Returns the problem, or nothing. Does not look at what is there.
std::string write_picks_file(const std::string& path, const std::vector<Pick>& picks);

}  // namespace sparsejit
