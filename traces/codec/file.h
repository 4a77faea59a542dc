// Traces in files.
#pragma once

#include "traces/codec/stream.h"

#include <cstdint>
#include <expected>
#include <string>

namespace traces::codec {

/// Owns a file descriptor.
class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    ~Descriptor();
    int number() const { return number_; }

private:
    int number_;
};

class FileSource final : public Source {
public:
    static std::expected<FileSource, std::string> open(const std::string& path);
    std::expected<std::size_t, std::string> read(std::span<std::byte> into) override;

private:
    FileSource(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
    Descriptor file_;
    std::string path_;
};

/// What is written is the kernel's at once, so that a crash of the program loses none of it. Of a write that fails
/// nothing stays in the file.
class FileDestination final : public Destination {
public:
    enum class Outlives : std::uint8_t { program, machine };
    static std::expected<FileDestination, std::string> create(const std::string& path,
                                                              Outlives outlives = Outlives::program);
    Outcome write(std::span<const std::byte> bytes) override;
    Outcome keep() override;
    /// Removes the file where nothing was written. What is no regular file stays.
    void give_up() override;

private:
    FileDestination(Descriptor file, std::string path, Outlives outlives)
        : file_(std::move(file)), path_(std::move(path)), outlives_(outlives) {}
    Descriptor file_;
    std::string path_;
    Outlives outlives_;
    std::uint64_t size_ = 0; ///< with the last write that did not fail
};

} // namespace traces::codec
