// The file a run moves, open and read where it is wanted: a large one costs no memory of its own.
#pragma once

#include "testbench/scenario/payload_source.h"

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>

namespace hcasim {

class Payload {
public:
    /// An empty path means the running program itself. The error is one line: "payload x: No such file or directory".
    static std::expected<Payload, std::string> open(const std::string& path);
    Payload(Payload&& other) noexcept;
    Payload& operator=(Payload&& other) noexcept;
    ~Payload();

    std::uint64_t size() const { return size_; }
    /// All of `into`; a file that has become shorter since it was opened is an error.
    std::expected<void, std::string> read(std::uint64_t offset, std::span<std::byte> into) const;
    /// The same for a workload; the payload outlives it and stays where it is.
    scenario::PayloadSource source() const;
    /// For a person: the path, or what stands for it.
    const std::string& name() const { return name_; }

private:
    Payload(std::string name, int file, std::uint64_t size) : name_(std::move(name)), file_(file), size_(size) {}
    std::string name_;
    int file_ = -1;
    std::uint64_t size_ = 0;
};

} // namespace hcasim
