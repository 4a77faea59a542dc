// A file that this process has open, and whose disk fails for a while: what has its descriptor finds one that can
// neither be read nor written nor synchronised.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace nvme_test {

class BrokenFile {
public:
    explicit BrokenFile(const std::string& path) {
        const auto wanted = std::filesystem::canonical(path);
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone; // the directory's own is one of them
            if (std::filesystem::read_symlink(entry.path(), gone) == wanted)
                file_ = std::stoi(entry.path().filename());
        }
        REQUIRE(file_ >= 0);
        std::array<int, 2> ends{};
        REQUIRE(pipe(ends.data()) == 0);
        kept_ = dup(file_);
        dup2(ends[0], file_);
        close(ends[0]), close(ends[1]);
    }
    ~BrokenFile() {
        dup2(kept_, file_);
        close(kept_);
    }
    BrokenFile(const BrokenFile&) = delete;
    BrokenFile& operator=(const BrokenFile&) = delete;

private:
    int file_ = -1, kept_ = -1;
};

} // namespace nvme_test
