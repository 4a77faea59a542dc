// A drive whose files lie in a folder of their own, and which can be taken down and made again on them.
#pragma once

#include "testbench/unit/model/nvme/controller_bench.h"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include <unistd.h>

namespace nvme_test {

using abi::nvme::AdminOpcode;
using abi::nvme::Feature;
using abi::nvme::IoOpcode;

struct Folder {
    std::string path = (std::filesystem::temp_directory_path() / "hcasim_drive_XXXXXX").string();
    Folder() { REQUIRE(mkdtemp(path.data()) != nullptr); }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::map<std::string, std::string> content() const {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::directory_iterator(path))
            files[entry.path().filename()] = read(entry.path());
        return files;
    }
    static std::string read(const std::string& file) {
        std::ifstream stream(file, std::ios::binary | std::ios::ate);
        std::string bytes(stream ? static_cast<std::size_t>(stream.tellg()) : 0, '\0');
        stream.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return bytes;
    }
    static void write(const std::string& file, const std::string& bytes) {
        std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    }
};

struct DriveInFiles {
    Folder folder;
    NvmeConfig config = small();
    std::unique_ptr<Bench> bench;

    explicit DriveInFiles(std::uint8_t format = 0, Protection protection = Protection::none) {
        auto& first = config.space.namespaces[0];
        first.file = medium();
        first.format = format, first.protection = protection;
        config.space.capacity = 16 << 20;
        again();
    }
    std::string medium() const { return folder.path + "/disk"; }
    std::string state() const { return medium() + ".nvme"; }
    std::string marks() const { return medium() + ".marks"; }

    /// The process ends, and another one begins on the same files.
    void again() {
        bench.reset();
        bench = std::make_unique<Bench>(config);
        bench->enable();
        bench->create_pair(1);
    }
    /// What a drive says that does not begin on these files; empty: it does.
    std::string refusal() {
        bench.reset();
        try {
            Bench other(config);
            return {};
        } catch (const std::exception& why) {
            return why.what();
        }
    }
    Status admin(AdminOpcode opcode, std::uint32_t nsid, std::uint32_t cdw10 = 0, std::uint32_t cdw11 = 0) {
        return bench->ask(0, opcode, nsid, cdw10, cdw11);
    }
    /// The number of a namespace of so many blocks, attached.
    std::uint32_t create(std::uint64_t blocks, std::uint8_t format = 0) {
        abi::Block<abi::nvme::CreateNamespace> wanted;
        wanted.view().set<"nsze">(blocks).set<"ncap">(blocks).set<"flbas">(format);
        bench->memory.poke(Bench::buffer, wanted.bytes);
        const auto answer =
            bench->submit(0, Bench::command(static_cast<std::uint8_t>(AdminOpcode::namespace_management)));
        REQUIRE(answer.view().get<"status">() == Status::success);
        const auto nsid = answer.view().get<"dw0">();
        attach(nsid, true);
        return nsid;
    }
    void attach(std::uint32_t nsid, bool is_attached) {
        std::array<std::byte, 4> list{std::byte{1}};
        bench->memory.poke(Bench::buffer, list);
        REQUIRE(admin(AdminOpcode::namespace_attachment, nsid, is_attached ? 0 : 1) == Status::success);
    }
    Status write(std::uint32_t nsid, std::uint64_t lba, int value, std::uint32_t cdw12 = 0) {
        bench->memory.poke(Bench::buffer, std::vector<std::byte>(4096, static_cast<std::byte>(value)));
        return io(IoOpcode::write, nsid, lba, cdw12);
    }
    Status io(IoOpcode opcode, std::uint32_t nsid, std::uint64_t lba, std::uint32_t cdw12 = 0) {
        auto block = Bench::command(static_cast<std::uint8_t>(opcode), nsid, static_cast<std::uint32_t>(lba), 0, cdw12);
        block.view().set<"mptr">(Bench::buffer + 0x8000).set<"cdw14">(static_cast<std::uint32_t>(lba));
        return bench->submit(1, block).view().get<"status">();
    }
    Status read(std::uint32_t nsid, std::uint64_t lba, std::uint32_t cdw12 = 0) {
        return io(IoOpcode::read, nsid, lba, cdw12);
    }
    int first_byte(std::uint32_t nsid, std::uint64_t lba) {
        REQUIRE(read(nsid, lba) == Status::success);
        return std::to_integer<int>(bench->memory.peek(Bench::buffer, 1)[0]);
    }
    /// One range of Dataset Management, deallocated.
    Status deallocate(std::uint32_t nsid, std::uint64_t lba, std::uint32_t blocks) {
        abi::Block<abi::nvme::DsmRange> range;
        range.view().set<"nlb">(blocks).set<"slba">(lba);
        bench->memory.poke(Bench::buffer, range.bytes);
        return bench->ask(1, IoOpcode::dataset_management, nsid, 0, 4);
    }
    template <class Log> abi::Block<Log> log(abi::nvme::LogPage page) {
        constexpr auto dwords = static_cast<std::uint32_t>(Log::size / 4 - 1);
        REQUIRE(admin(AdminOpcode::get_log_page, 0xffff'ffff, dwords << 16 | static_cast<std::uint32_t>(page)) ==
                Status::success);
        abi::Block<Log> block;
        bench->memory.peek(Bench::buffer, block.bytes);
        return block;
    }
    /// The newest result of a self-test.
    abi::Block<abi::nvme::SelfTestResult> newest_test() {
        const auto page = log<abi::nvme::SelfTestLog>(abi::nvme::LogPage::self_test);
        abi::Block<abi::nvme::SelfTestResult> entry;
        std::ranges::copy(std::span(page.bytes).subspan(4, entry.bytes.size()), entry.bytes.begin());
        return entry;
    }
    model::nvme::Namespace& space(std::uint32_t nsid = 1) { return *bench->controller.namespaces().allocated(nsid); }
};

} // namespace nvme_test
