#include "testbench/study/database.h"

#include <sqlite3.h>

#include <stdexcept>

namespace study {

namespace {
constexpr int patience_ms = 10'000; ///< for another one's transaction
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Database::Database(const std::string& path, Access access) {
    sqlite3* opened = nullptr;
    // Who reads may have to take back what a killed one has begun to write.
    const auto flags = SQLITE_OPEN_READWRITE | (access == Access::read ? 0 : SQLITE_OPEN_CREATE);
    // SQLite takes ":memory:" for no file at all, and "file:..." for a URI: here both are names of files.
    const auto place = path.starts_with('/') ? path : "./" + path;
    const auto code = sqlite3_open_v2(place.c_str(), &opened, flags, nullptr);
    handle_.reset(opened);
    if (code != SQLITE_OK)
        throw std::runtime_error(opened == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(opened));
    sqlite3_busy_timeout(opened, patience_ms);
    if (access == Access::read)
        execute("PRAGMA query_only = ON");
}

void Database::execute(const std::string& sql) {
    if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(handle_.get()));
}

Statement Database::prepare(std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr) != SQLITE_OK)
        throw std::runtime_error(sqlite3_errmsg(handle_.get()));
    return Statement(statement);
}

std::int64_t Database::number(std::string_view sql) {
    auto statement = prepare(sql);
    return statement.step() ? statement.number(0) : 0;
}

std::string Database::text(std::string_view sql) {
    auto statement = prepare(sql);
    return statement.step() ? statement.text(0) : std::string();
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::check(int code) const {
    if (code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE)
        throw std::runtime_error(sqlite3_errmsg(sqlite3_db_handle(handle_.get())));
}

Statement& Statement::bind(int place, std::int64_t value) {
    return check(sqlite3_bind_int64(handle_.get(), place, value)), *this;
}
Statement& Statement::bind(int place, double value) {
    return check(sqlite3_bind_double(handle_.get(), place, value)), *this;
}
Statement& Statement::bind(int place, std::string_view value) {
    const auto size = static_cast<int>(value.size());
    return check(sqlite3_bind_text(handle_.get(), place, value.data(), size, SQLITE_TRANSIENT)), *this;
}
Statement& Statement::bind_bytes(int place, std::string_view value) {
    const auto size = static_cast<int>(value.size());
    return check(sqlite3_bind_blob(handle_.get(), place, value.data(), size, SQLITE_TRANSIENT)), *this;
}

bool Statement::step() {
    const auto code = sqlite3_step(handle_.get());
    check(code);
    return code == SQLITE_ROW;
}

void Statement::reset() {
    sqlite3_reset(handle_.get());
    sqlite3_clear_bindings(handle_.get());
}

std::int64_t Statement::number(int column) const { return sqlite3_column_int64(handle_.get(), column); }
double Statement::real(int column) const { return sqlite3_column_double(handle_.get(), column); }
std::string Statement::text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(handle_.get(), column));
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), column));
    return bytes == nullptr ? std::string() : std::string(bytes, size);
}

Transaction::~Transaction() {
    if (!is_open_)
        return;
    try {
        database_.execute("ROLLBACK");
    } catch (const std::runtime_error&) { // what failed before has done so itself
    }
}

void Transaction::commit() {
    database_.execute("COMMIT");
    is_open_ = false;
}

} // namespace study
