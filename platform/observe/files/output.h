// A file to be written, whole or not at all: what is written goes to a temporary file beside it, which takes its name
// when it is finished, so that nobody reads half of it and what stood there before is lost only to something complete.
// What is no file (a device, a pipe, standard output) is written as it comes. Keeps the first failure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace platform::observe::files {

class Output {
public:
    enum class Appears : std::uint8_t {
        finished, ///< under its name when it is finished
        at_once,  ///< and grows: for whoever reads it while the program runs
    };
    using Outcome = std::expected<void, std::string>;

    /// "-", and whatever name standard output has, is standard output. The error names path and reason.
    static std::expected<Output, std::string> create(const std::string& path, Appears appears = Appears::finished);
    /// What stays the caller's.
    static Output borrow(std::FILE* file, std::string name = {});

    Output(Output&&) noexcept = default;
    Output& operator=(Output&&) noexcept;
    /// What is not finished by now is thrown away.
    ~Output();

    /// Called once, with the reason, when something cannot be written; the same as finish() returns.
    void on_failure(std::function<void(const std::string& why)> heard) { heard_ = std::move(heard); }
    bool write(std::string_view bytes);
    /// Gives what was written to the system; a full disk is noticed here.
    bool flush();
    bool is_good() const { return why_.empty(); }
    /// After the last write: the file is complete under its name, or this is the first thing that went wrong.
    Outcome finish();
    const std::string& name() const { return name_; }

private:
    struct Close {
        bool is_owned = false;
        void operator()(std::FILE* file) const;
    };
    Output(std::FILE* file, bool is_owned, std::string name) : file_(file, Close{is_owned}), name_(std::move(name)) {}
    bool fail(int error);
    void discard();

    std::unique_ptr<std::FILE, Close> file_;
    std::string name_;              ///< for a person
    std::string temporary_, final_; ///< empty: written in place
    std::string why_;
    std::function<void(const std::string&)> heard_;
};

/// Where a file to be created will lie: symbolic links are followed, also one whose target is not there yet.
std::string place_of(const std::string& path);
/// Whether `path` is another name of standard output: "-", "/dev/stdout", the file it is redirected to.
bool is_standard_output(const std::string& path);

} // namespace platform::observe::files
