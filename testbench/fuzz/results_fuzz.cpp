// The results file of a study, which anybody may have damaged or made. Bit 0 of the first byte: the rest is the file as
// it stands; otherwise the rest says which values of a good file become which other ones. Whatever it is, it is refused
// with a reason, or a page and an answer can be made of it.
#include "testbench/fuzz/require.h"
#include "testbench/fuzz/tape.h"
#include "testbench/study/answer.h"
#include "testbench/study/page.h"
#include "testbench/study/read_study.h"
#include "testbench/study/store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace {

using fuzz::require;

constexpr std::string_view study_text = R"(question = "How far?"
base = "pair.toml"
objectives = ["rate"]
repetitions = 2
[[axes]]
key = "scenario.qps"
values = [1, 2, 4]
[[metrics]]
name = "rate"
value = "traffic[all].rate_bytes_per_second"
scale = 8e-9
[refine]
towards = "knee"
along = "scenario.qps"
metric = "rate"
drop = 0.05
)";

/// Removed at the end, whatever was done with it.
struct File {
    std::string path =
        (std::filesystem::temp_directory_path() / fmt::format("results_fuzz.{}.sqlite", ::getpid())).string();
    ~File() { remove(); }
    void remove() const {
        std::error_code nothing;
        for (const auto* end : {"", "-journal", "-wal", "-shm"})
            std::filesystem::remove(path + end, nothing);
    }
    void write(std::string_view bytes) const {
        remove();
        std::ofstream(path, std::ios::binary) << bytes;
    }
};

std::string good_file(const File& file) {
    file.remove();
    const auto study = study::parse_study(study_text, "fuzz.toml");
    require(study.has_value(), "the study of this program", study ? std::string() : study.error());
    {
        auto store = study::Store::open(file.path, {.file = "fuzz.toml",
                                                    .text = std::string(study_text),
                                                    .platform = "",
                                                    .identity = "scenario.qps",
                                                    .version = "1",
                                                    .revision = "a"});
        require(store.has_value(), "a file cannot be made", store ? std::string() : store.error());
        for (std::size_t number = 0; number < 6; ++number) {
            study::Outcome one{.point = {.number = number,
                                         .round = 0,
                                         .settings = {{"scenario.qps", fmt::to_string(1u << (number / 2))}},
                                         .repetition = static_cast<unsigned>(number % 2)}};
            one.metrics["rate"] = 1e9 * static_cast<double>(number + 1);
            one.event_digest = fmt::format("{:064x}", number);
            one.result = R"({"kind": "hcasim result", "transfers": {"WRITE A -> B": {"bottlenecks": []}}})";
            one.wall_seconds = 1;
            store->add(*study, one);
        }
    }
    std::ifstream in(file.path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void change(const File& file, fuzz::Tape tape) {
    sqlite3* database = nullptr;
    require(sqlite3_open(file.path.c_str(), &database) == SQLITE_OK, "the file cannot be opened");
    sqlite3_exec(database, "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA foreign_keys = OFF", nullptr,
                 nullptr, nullptr);
    constexpr std::array statements{
        "UPDATE study SET value = ? WHERE name = 'text'",
        "UPDATE study SET value = ? WHERE name = 'platform'",
        "UPDATE study SET value = ? WHERE name = 'identity'",
        "INSERT OR REPLACE INTO study VALUES('end', ?)",
        "UPDATE point SET number = ? WHERE number = (SELECT max(number) FROM point)",
        "UPDATE point SET round = ? WHERE number % 2 = 0",
        "UPDATE point SET repetition = ? WHERE number % 2 = 1",
        "UPDATE point SET own = ? WHERE number = 1",
        "UPDATE point SET status = ? WHERE number = 2",
        "UPDATE point SET reason = ? WHERE number = 3",
        "UPDATE point SET event_digest = ? WHERE number = 3",
        "UPDATE point SET version = ? WHERE number = 0",
        "UPDATE point SET result = ? WHERE number = 0",
        "UPDATE metric SET value = ? WHERE point = 4",
        "UPDATE metric SET value = ?",
        "UPDATE metric SET name = ? WHERE point = 5",
        "UPDATE wall SET seconds = ? WHERE point = 1",
        "DELETE FROM point WHERE number = ?",
        "DELETE FROM metric WHERE point > ?",
        "UPDATE study SET name = ? WHERE name = 'file'",
    };
    for (unsigned i = 0; i < 8 && !tape.is_over(); ++i) {
        sqlite3_stmt* statement = nullptr;
        const auto* const text = statements[tape.take<std::uint8_t>() % statements.size()];
        require(sqlite3_prepare_v2(database, text, -1, &statement, nullptr) == SQLITE_OK, "a statement", text);
        switch (tape.take<std::uint8_t>() % 5) {
        case 0: sqlite3_bind_int64(statement, 1, tape.take<std::int64_t>()); break;
        case 1: sqlite3_bind_double(statement, 1, tape.take<double>()); break;
        case 2: sqlite3_bind_int64(statement, 1, tape.take<std::int8_t>()); break;
        case 3:
        case 4: {
            const auto bytes = tape.take_bytes(tape.take<std::uint16_t>());
            sqlite3_bind_text(statement, 1, reinterpret_cast<const char*>(bytes.data()), static_cast<int>(bytes.size()),
                              SQLITE_TRANSIENT);
            break;
        }
        default: break;
        }
        sqlite3_step(statement); // what the schema forbids has not happened
        sqlite3_finalize(statement);
    }
    sqlite3_close(database);
}

/// As `hcasim report` does.
void report(const File& file) {
    auto store = study::Store::read(file.path);
    if (!store) {
        require(store.error().starts_with(file.path), "a refusal that does not name the file", store.error());
        return;
    }
    const auto study = study::parse_study(store->origin().text, store->origin().file);
    if (!study) {
        require(!study.error().empty(), "a refusal without a reason");
        return;
    }
    try {
        const auto outcomes = store->all_of(*study);
        const auto data = study::page_data({.study = *study,
                                            .origin = store->origin(),
                                            .outcomes = outcomes,
                                            .end = store->end(),
                                            .digest = store->digest()});
        require(!data.empty() && !study::answer(*study, outcomes).empty(), "nothing is said");
    } catch (const std::exception& trouble) {
        require(*trouble.what() != '\0', "a damage without a reason");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const File file;
    static const std::string good = good_file(file);
    fuzz::Tape tape(data, size);
    if ((tape.take<std::uint8_t>() & 1) != 0) {
        const auto rest = tape.take_bytes(size);
        file.write({reinterpret_cast<const char*>(rest.data()), rest.size()});
    } else {
        file.write(good);
        change(file, tape);
    }
    report(file);
    return 0;
}
