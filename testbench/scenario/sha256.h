// SHA-256 of bytes that come in pieces, for comparing a payload with what arrived.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace scenario {

class Sha256 {
public:
    Sha256();
    void add(std::span<const std::byte> bytes);
    /// 64 hexadecimal digits. Once; nothing may be added afterwards.
    std::string finish();

private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256(std::span<const std::byte> bytes);

} // namespace scenario
