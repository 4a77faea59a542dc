// SQLite as this program uses it: statements with values in and out. Throws std::runtime_error with what the library
// says; who catches it names the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace study {

class Statement;

class Database {
public:
    enum class Access : std::uint8_t { read, write };
    /// `write` creates the file where there is none. Waits a while for others who use it.
    Database(const std::string& path, Access access);

    void execute(const std::string& sql);
    Statement prepare(std::string_view sql);
    /// The number or the text that a statement gives.
    std::int64_t number(std::string_view sql);
    std::string text(std::string_view sql);

private:
    struct Close {
        void operator()(sqlite3* database) const;
    };
    std::unique_ptr<sqlite3, Close> handle_;
};

class Statement {
public:
    Statement& bind(int place, std::int64_t value); ///< places count from 1
    Statement& bind(int place, double value);
    Statement& bind(int place, std::string_view value);
    Statement& bind_bytes(int place, std::string_view value);
    /// Whether there is a row (another one).
    bool step();
    /// For the next values.
    void reset();

    std::int64_t number(int column) const; ///< columns count from 0
    double real(int column) const;
    std::string text(int column) const; ///< of a text or of bytes; empty: null

private:
    friend class Database;
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const;
    };
    explicit Statement(sqlite3_stmt* statement) : handle_(statement) {}
    void check(int code) const;
    std::unique_ptr<sqlite3_stmt, Finalize> handle_;
};

/// All or nothing: without commit() nothing has happened.
class Transaction {
public:
    explicit Transaction(Database& database) : database_(database) { database_.execute("BEGIN IMMEDIATE"); }
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction();
    void commit();

private:
    Database& database_;
    bool is_open_ = true;
};

} // namespace study
