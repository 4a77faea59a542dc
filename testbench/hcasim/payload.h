// The file a run moves, mapped read-only: a large one costs no memory of its own.
#pragma once

#include <cstddef>
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

    std::span<const std::byte> bytes() const { return bytes_; }
    /// For a person: the path, or what stands for it.
    const std::string& name() const { return name_; }

private:
    Payload(std::string name, std::span<const std::byte> bytes);
    std::string name_;
    std::span<const std::byte> bytes_;
};

} // namespace hcasim
