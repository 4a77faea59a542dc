// The results of a study in one SQLite file: what the study was, and each point as soon as it is done. A file that is
// none of these, of another version, damaged, or of another study is refused and stays as it is.
#pragma once

#include "testbench/study/database.h"
#include "testbench/study/outcome.h"

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

namespace study {

/// "hcSw": what the file says of itself in its header.
inline constexpr std::int64_t application_id = 0x68635377;
/// Of the tables. Whoever reads a file refuses another one.
inline constexpr std::int64_t store_format = 1;

/// A job array that works for a study elsewhere.
struct Array {
    std::string directory{}; ///< what its tasks read and write
    std::string job{};       ///< as the scheduler has it; empty: it was about to be submitted
};

/// What is told of a study beside its points.
struct Origin {
    std::string file{};     ///< of the study, for a person
    std::string text{};     ///< of the study
    std::string platform{}; ///< the base's configuration with all keys
    std::string identity{}; ///< what decides the results, a line each
    std::string version, revision{};
};

class Store {
public:
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    Store(Store&&) = default;
    ~Store() = default;

    /// Creates the file, or goes on with one of the same study and program. The error is one line.
    static std::expected<Store, std::string> open(const std::string& path, const Origin& origin);
    /// To look into it.
    static std::expected<Store, std::string> read(const std::string& path);

    const Origin& origin() const { return origin_; }
    /// All, by number.
    std::vector<Outcome> all();
    /// The same, of which each has to be a point of the study: whoever draws them counts on its axes. Throws
    /// std::runtime_error with the first that is none.
    std::vector<Outcome> all_of(const Study& study);
    /// In one transaction: after it, the point is there whatever happens. Throws std::runtime_error.
    void add(const Study& study, const Outcome& outcome);
    /// Forgets the points that are not done, to have them run again. Returns how many.
    std::uint64_t forget_failures();
    /// Why the sweep has ended; empty: it has not.
    std::string end();
    void set_end(const std::string& why);
    /// SHA-256 of everything but wall times and the path of the study.
    std::string digest();
    std::int64_t points();

    /// Arrays that may be at work, in the order in which they were submitted. They are no part of the digest, and a
    /// file without one has no table of them.
    std::vector<Array> arrays();
    /// Notes an array, or the job of one that is noted. In one transaction.
    void note_array(const Array& array);
    void forget_array(const std::string& directory);

private:
    /// A descriptor of the file with a lock on it; -1: none. It is closed behind the database, since closing any
    /// descriptor of a file gives up the locks that SQLite has on it.
    class Lock {
    public:
        explicit Lock(int file = -1) : file_(file) {}
        Lock(Lock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
        Lock& operator=(Lock&& other) noexcept { return std::swap(file_, other.file_), *this; }
        ~Lock();

    private:
        int file_;
    };
    Store(Lock lock, Database database) : lock_(std::move(lock)), database_(std::move(database)) {}
    void load_origin();

    Lock lock_;
    Database database_;
    Origin origin_;
};

} // namespace study
