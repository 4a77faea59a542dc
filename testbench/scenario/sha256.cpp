#include "testbench/scenario/sha256.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <new>
#include <stdexcept>

namespace scenario {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
    if (!context_)
        throw std::bad_alloc();
    if (EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
        throw std::runtime_error("OpenSSL has no SHA-256");
}

void Sha256::add(std::span<const std::byte> bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::string Sha256::finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned length = 0;
    EVP_DigestFinal_ex(context_.get(), digest.data(), &length);
    std::string text;
    for (unsigned i = 0; i < length; ++i)
        text += fmt::format("{:02x}", digest[i]);
    return text;
}

std::string sha256(std::span<const std::byte> bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.finish();
}

} // namespace scenario
