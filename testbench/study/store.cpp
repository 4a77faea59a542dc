#include "testbench/study/store.h"

#include "testbench/scenario/sha256.h"
#include "testbench/study/design.h"

#include <fmt/format.h>
#include <zstd.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace study {
namespace {

using Error = std::unexpected<std::string>;

constexpr const char* schema = R"(
CREATE TABLE study(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- settings: of the axes (own), and all of them as --set takes them; result: what `run --json` wrote, as a zstd frame
CREATE TABLE point(number INTEGER PRIMARY KEY, round INTEGER NOT NULL, repetition INTEGER NOT NULL, own TEXT NOT NULL,
    settings TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, event_digest TEXT NOT NULL,
    version TEXT NOT NULL, revision TEXT NOT NULL, result BLOB);
CREATE TABLE metric(point INTEGER NOT NULL REFERENCES point, name TEXT NOT NULL, value REAL NOT NULL,
    PRIMARY KEY(point, name)) WITHOUT ROWID;
-- What depends on the machine, and is no part of the digest.
CREATE TABLE wall(point INTEGER PRIMARY KEY REFERENCES point, seconds REAL NOT NULL);
)";

std::string print_lines(const Settings& settings) {
    std::string text;
    for (const auto& [key, value] : settings)
        text += fmt::format("{}={}\n", key, value);
    return text;
}

Settings parse_lines(std::string_view text) {
    Settings settings;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto equals = std::min(line.find('='), line.size());
        settings.push_back(
            {std::string(line.substr(0, equals)), std::string(line.substr(std::min(line.size(), equals + 1)))});
    }
    return settings;
}

std::string compress(const std::string& text) {
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    const auto size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 9);
    if (ZSTD_isError(size) != 0)
        throw std::runtime_error(ZSTD_getErrorName(size));
    packed.resize(size);
    return packed;
}

/// Expands the results of a file's points. A file that was made to fill the memory is refused before it does: honest
/// text becomes some thirty times smaller, and what somebody made up thousands of times.
class Expansion {
public:
    std::string next(const std::string& packed) {
        if (packed.empty())
            return {};
        const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
        if (size > most_bytes) // also what says that it is no frame
            throw std::runtime_error("the result of a point is no zstd frame");
        taken_ += packed.size();
        given_ += size;
        if (given_ > most_bytes + most_times * taken_)
            throw std::runtime_error(fmt::format("the results of its points are more than {} MiB and {} times as large "
                                                 "as in the file, those of no sweep are",
                                                 most_bytes >> 20, most_times));
        std::string text(size, '\0');
        const auto got = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
        if (ZSTD_isError(got) != 0)
            throw std::runtime_error(ZSTD_getErrorName(got));
        return text;
    }

private:
    static constexpr unsigned long long most_bytes = 64 << 20, most_times = 256;
    unsigned long long taken_ = 0, given_ = 0;
};

/// For whoever wants to write results into a file that has something else, and for whoever wants to read them.
constexpr const char* instead_of_writing = "it stays as it is, name another one";
constexpr const char* instead_of_reading = "what is read here are results of a sweep, an SQLite file as `hcasim sweep "
                                           "STUDY.toml` writes it";

/// Of a file that exists and is not empty: whether it is one of ours. Reads it only.
std::expected<void, std::string> look_at(const std::string& path, const char* instead) {
    try {
        Database database(path, Database::Access::read);
        const auto kind = database.number("PRAGMA application_id");
        if (kind != application_id)
            return Error(fmt::format("{}: is an SQLite file, and no results of `hcasim sweep`; {}", path, instead));
        if (const auto format = database.number("PRAGMA user_version"); format != store_format)
            return Error(fmt::format("{}: has format {}, and this program reads {}; use the program that wrote it",
                                     path, format, store_format));
        auto verdict = database.text("PRAGMA quick_check(1)");
        std::ranges::replace(verdict, '\n', ' ');
        if (verdict != "ok")
            return Error(fmt::format("{}: is damaged: {}; {}", path, verdict, instead));
    } catch (const std::runtime_error& trouble) {
        return Error(fmt::format("{}: cannot be read: {}; {}", path, trouble.what(), instead));
    }
    return {};
}

/// The first line in which two differ.
std::string difference(std::string_view before, std::string_view now) {
    while (!before.empty() || !now.empty()) {
        const auto old = before.substr(0, before.find('\n')), fresh = now.substr(0, now.find('\n'));
        if (old != fresh)
            return fmt::format("it has '{}', the study '{}'", old.empty() ? "nothing" : old,
                               fresh.empty() ? "nothing" : fresh);
        before.remove_prefix(std::min(before.size(), old.size() + 1));
        now.remove_prefix(std::min(now.size(), fresh.size() + 1));
    }
    return {};
}

} // namespace

Store::Lock::~Lock() {
    if (file_ >= 0)
        ::close(file_);
}

std::expected<Store, std::string> Store::open(const std::string& path, const Origin& origin) {
    const auto file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0)
        return Error(fmt::format("{}: {}", path, std::strerror(errno)));
    Lock lock(file);
    struct stat status{};
    if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
        return Error(fmt::format("{}: is no file", path));
    if (::flock(file, LOCK_EX | LOCK_NB) != 0)
        return Error(fmt::format("{}: another sweep is writing it", path));
    const bool is_new = status.st_size == 0; // also of one that was killed before it had written anything
    if (!is_new)
        if (const auto looked = look_at(path, instead_of_writing); !looked)
            return Error(looked.error());
    try {
        Store store(std::move(lock), Database(path, Database::Access::write));
        auto& database = store.database_;
        database.execute("PRAGMA synchronous = FULL");
        if (is_new) {
            Transaction all(database);
            database.execute(schema);
            auto insert = database.prepare("INSERT INTO study VALUES(?, ?)");
            for (const auto& [name, value] :
                 {std::pair{"file", &origin.file}, std::pair{"text", &origin.text},
                  std::pair{"platform", &origin.platform}, std::pair{"identity", &origin.identity},
                  std::pair{"version", &origin.version}, std::pair{"revision", &origin.revision}}) {
                insert.bind(1, std::string_view(name)).bind(2, *value).step();
                insert.reset();
            }
            database.execute(fmt::format("PRAGMA application_id = {}", application_id));
            database.execute(fmt::format("PRAGMA user_version = {}", store_format));
            all.commit();
        }
        store.load_origin();
        if (const auto change = difference(store.origin_.identity, origin.identity); !change.empty())
            return Error(fmt::format("{}: is of another study: {}; name another file with --output", path, change));
        if (store.origin_.version != origin.version || store.origin_.revision != origin.revision)
            return Error(fmt::format("{}: is of hcasim {} ({}), this is {} ({}): points of two programs do not go "
                                     "together; name another file with --output",
                                     path, store.origin_.version, store.origin_.revision, origin.version,
                                     origin.revision));
        return store;
    } catch (const std::runtime_error& trouble) {
        return Error(fmt::format("{}: {}", path, trouble.what()));
    }
}

std::expected<Store, std::string> Store::read(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0)
        return Error(fmt::format("{}: {}", path, std::strerror(errno)));
    if (const auto looked = look_at(path, instead_of_reading); !looked)
        return Error(looked.error());
    try {
        Store store(Lock(), Database(path, Database::Access::read));
        store.load_origin();
        return store;
    } catch (const std::runtime_error& trouble) {
        return Error(fmt::format("{}: {}", path, trouble.what()));
    }
}

void Store::load_origin() {
    const auto text = [&](std::string_view name) {
        auto statement = database_.prepare("SELECT value FROM study WHERE name = ?");
        statement.bind(1, name);
        return statement.step() ? statement.text(0) : std::string();
    };
    origin_ = {.file = text("file"),
               .text = text("text"),
               .platform = text("platform"),
               .identity = text("identity"),
               .version = text("version"),
               .revision = text("revision")};
}

std::vector<Outcome> Store::all() {
    std::vector<Outcome> outcomes;
    Expansion expansion;
    auto points = database_.prepare("SELECT number, round, repetition, own, status, reason, event_digest, version, "
                                    "revision, result, seconds FROM point LEFT JOIN wall ON wall.point = number "
                                    "ORDER BY number");
    auto metrics = database_.prepare("SELECT name, value FROM metric WHERE point = ?");
    while (points.step()) {
        Outcome one{.point = {.number = static_cast<std::size_t>(points.number(0)),
                              .round = static_cast<unsigned>(points.number(1)),
                              .settings = parse_lines(points.text(3)),
                              .repetition = static_cast<unsigned>(points.number(2))},
                    .reason = points.text(5),
                    .event_digest = points.text(6),
                    .version = points.text(7),
                    .revision = points.text(8),
                    .result = expansion.next(points.text(9)),
                    .wall_seconds = points.real(10)};
        const auto named = std::ranges::find(status_names, points.text(4));
        if (named == status_names.end())
            throw std::runtime_error(
                fmt::format("point {} has the unknown status '{}'", points.number(0), points.text(4)));
        one.status = static_cast<Status>(named - status_names.begin());
        metrics.bind(1, points.number(0));
        while (metrics.step())
            one.metrics[metrics.text(0)] = metrics.real(1);
        metrics.reset();
        outcomes.push_back(std::move(one));
    }
    return outcomes;
}

std::vector<Outcome> Store::all_of(const Study& study) {
    auto outcomes = all();
    for (const auto& one : outcomes)
        if (const auto fault = fault_of(study, one.point.settings))
            throw std::runtime_error(fmt::format("point {} is none of its study: {}", one.point.number, *fault));
    return outcomes;
}

void Store::add(const Study& study, const Outcome& outcome) {
    const auto number = static_cast<std::int64_t>(outcome.point.number);
    Transaction all(database_);
    auto point = database_.prepare("INSERT INTO point VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    point.bind(1, number)
        .bind(2, std::int64_t{outcome.point.round})
        .bind(3, std::int64_t{outcome.point.repetition})
        .bind(4, print_lines(outcome.point.settings))
        .bind(5, print_lines(all_settings(study, outcome.point)))
        .bind(6, to_string(outcome.status))
        .bind(7, outcome.reason)
        .bind(8, outcome.event_digest)
        .bind(9, outcome.version)
        .bind(10, outcome.revision);
    if (!outcome.result.empty())
        point.bind_bytes(11, compress(outcome.result));
    point.step();
    auto metric = database_.prepare("INSERT INTO metric VALUES(?, ?, ?)");
    for (const auto& [name, value] : outcome.metrics) {
        metric.bind(1, number).bind(2, name).bind(3, value).step();
        metric.reset();
    }
    database_.prepare("INSERT INTO wall VALUES(?, ?)").bind(1, number).bind(2, outcome.wall_seconds).step();
    all.commit();
}

std::uint64_t Store::forget_failures() {
    Transaction all(database_);
    const auto count = database_.number("SELECT count(*) FROM point WHERE status <> 'done'");
    database_.execute("DELETE FROM metric WHERE point IN (SELECT number FROM point WHERE status <> 'done');"
                      "DELETE FROM wall WHERE point IN (SELECT number FROM point WHERE status <> 'done');"
                      "DELETE FROM point WHERE status <> 'done';"
                      "DELETE FROM study WHERE name = 'end';");
    all.commit();
    return static_cast<std::uint64_t>(count);
}

std::string Store::end() { return database_.text("SELECT value FROM study WHERE name = 'end'"); }

void Store::set_end(const std::string& why) {
    auto statement = database_.prepare("INSERT OR REPLACE INTO study VALUES('end', ?)");
    statement.bind(1, why).step();
}

std::vector<Array> Store::arrays() {
    std::vector<Array> arrays;
    if (database_.number("SELECT count(*) FROM sqlite_master WHERE name = 'array'") == 0)
        return arrays;
    auto rows = database_.prepare("SELECT directory, job FROM array ORDER BY rowid");
    while (rows.step())
        arrays.push_back({rows.text(0), rows.text(1)});
    return arrays;
}

void Store::note_array(const Array& array) {
    Transaction all(database_);
    database_.execute("CREATE TABLE IF NOT EXISTS array(directory TEXT NOT NULL UNIQUE, job TEXT NOT NULL)");
    auto statement = database_.prepare("INSERT INTO array VALUES(?, ?) "
                                       "ON CONFLICT(directory) DO UPDATE SET job = excluded.job");
    statement.bind(1, array.directory).bind(2, array.job).step();
    all.commit();
}

void Store::forget_array(const std::string& directory) {
    if (arrays().empty())
        return;
    Transaction all(database_);
    auto statement = database_.prepare("DELETE FROM array WHERE directory = ?");
    statement.bind(1, directory).step();
    statement.reset();
    if (database_.number("SELECT count(*) FROM array") == 0)
        database_.execute("DROP TABLE array");
    all.commit();
}

std::int64_t Store::points() { return database_.number("SELECT count(*) FROM point"); }

std::string Store::digest() {
    scenario::Sha256 sum;
    const auto add = [&](std::string_view text) {
        const auto framed = fmt::format("{}:{}\n", text.size(), text);
        sum.add(std::as_bytes(std::span(framed)));
    };
    for (const auto& part : {origin_.identity, origin_.version, origin_.revision, end()})
        add(part);
    for (const auto& one : all()) {
        add(fmt::format("{} {} {} {}", one.point.number, one.point.round, one.point.repetition, to_string(one.status)));
        for (const auto& text :
             {print_lines(one.point.settings), one.reason, one.event_digest, one.version, one.revision, one.result})
            add(text);
        for (const auto& [name, value] : one.metrics)
            add(fmt::format("{} {}", name, value));
    }
    return sum.finish();
}

} // namespace study
