// What a controller is asked by admin commands.
#include "sw/nvme/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sw::nvme {

using abi::nvme::AdminOpcode;

namespace {

/// ASCII, filled up with spaces.
std::string text_of(std::span<const std::byte> bytes) {
    std::string text;
    for (const auto byte : bytes)
        text += static_cast<char>(byte);
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

QueuePair::Command make(AdminOpcode opcode, std::uint32_t nsid) {
    QueuePair::Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(opcode));
    command.view().set<"nsid">(nsid);
    return command;
}

} // namespace

Result<Completion> Controller::execute(Command& command, std::span<const Segment> data) {
    auto done = admin_->execute(command, data, Scheme::prp, options_.admin_timeout);
    if (!done && done.error().code == ETIMEDOUT)
        (void)disable(); // its data may come at any time, and our page serves the next command, too
    return done;
}

Result<std::uint32_t> Controller::succeed(Command& command, std::span<const Segment> data) {
    const auto done = execute(command, data);
    if (!done)
        return std::unexpected(done.error());
    if (!done->is_ok())
        return failure(EIO, fmt::format("NVMe {}: {}",
                                        abi::nvme::name(static_cast<AdminOpcode>(command.view().get<"opcode">())),
                                        describe(*done)));
    return done->result;
}

Result<std::vector<std::byte>> Controller::identify(abi::nvme::Cns cns, std::uint32_t nsid, std::uint8_t command_set) {
    auto command = make(AdminOpcode::identify, nsid);
    abi::View<abi::nvme::Identify> fields(command.bytes);
    fields.set<"cns">(static_cast<std::uint8_t>(cns));
    fields.set<"csi">(command_set);
    const std::array data{Segment{page_.bus(), abi::nvme::identify_bytes}};
    if (auto done = succeed(command, data); !done)
        return std::unexpected(done.error());
    const auto bytes = page_.bytes().first(abi::nvme::identify_bytes);
    return std::vector(bytes.begin(), bytes.end());
}

Result<std::vector<std::byte>> Controller::log_page(std::uint8_t page, std::size_t bytes, std::uint32_t nsid) {
    if (bytes == 0 || bytes % 4 != 0 || bytes > page_bytes)
        return failure(EINVAL, fmt::format("NVMe log page {:#x}: {} bytes", page, bytes));
    auto command = make(AdminOpcode::get_log_page, nsid);
    abi::View<abi::nvme::GetLogPage> fields(command.bytes);
    fields.set<"lid">(page);
    fields.set<"numdl">(static_cast<std::uint16_t>(bytes / 4 - 1));
    const std::array data{Segment{page_.bus(), bytes}};
    if (auto done = succeed(command, data); !done)
        return std::unexpected(done.error());
    return std::vector(page_.data(), page_.data() + bytes);
}

Result<std::uint32_t> Controller::set_feature(abi::nvme::Feature feature, std::uint32_t value, std::uint32_t nsid) {
    auto command = make(AdminOpcode::set_features, nsid);
    abi::View<abi::nvme::Features> fields(command.bytes);
    fields.set<"fid">(static_cast<std::uint8_t>(feature));
    fields.set<"cdw11">(value);
    return succeed(command);
}

Result<std::uint32_t> Controller::get_feature(abi::nvme::Feature feature, std::uint32_t nsid) {
    auto command = make(AdminOpcode::get_features, nsid);
    abi::View<abi::nvme::Features>(command.bytes).set<"fid">(static_cast<std::uint8_t>(feature));
    return succeed(command);
}

Result<void> Controller::learn() {
    const auto data = identify(abi::nvme::Cns::controller);
    if (!data)
        return std::unexpected(data.error());
    const abi::ConstView<abi::nvme::IdentifyController> said{std::span<const std::byte>(*data)};
    const auto has = [&](abi::nvme::OptionalAdmin command) {
        return (said.get<"oacs">() & static_cast<std::uint16_t>(command)) != 0;
    };
    facts_.serial = text_of(said.get<"sn">());
    facts_.model = text_of(said.get<"mn">());
    facts_.firmware = text_of(said.get<"fr">());
    facts_.namespaces = said.get<"nn">();
    const unsigned mdts = said.get<"mdts">();
    facts_.largest_transfer = mdts == 0 || mdts > 32 ? 0 : page_bytes << mdts;
    facts_.has_sgl = (said.get<"sgls">() & 3) != 0;
    facts_.has_shadow_doorbells = has(abi::nvme::OptionalAdmin::doorbell_buffer);
    return {};
}

Result<std::vector<std::uint32_t>> Controller::active_namespaces() {
    constexpr std::size_t most = abi::nvme::identify_bytes / 4;
    std::vector<std::uint32_t> numbers;
    for (;;) {
        const auto after = numbers.empty() ? 0 : numbers.back();
        const auto list = identify(abi::nvme::Cns::active_namespaces, after);
        if (!list)
            return std::unexpected(list.error());
        std::size_t i = 0;
        for (; i < most; ++i) {
            const auto number = abi::load<std::uint32_t, abi::Endian::little>(list->data() + 4 * i);
            if (number == 0)
                return numbers;
            if (!numbers.empty() && number <= numbers.back())
                return failure(EPROTO, fmt::format("NVMe: namespace {} in a list that ascends, behind {}", number,
                                                   numbers.back()));
            numbers.push_back(number);
        }
    }
}

Result<MemoryBuffer> Controller::enable_memory_buffer() {
    if (!registers_.get<"cmbs">())
        return failure(ENODEV, "NVMe: the controller has no memory buffer");
    registers_.set<"cre">(true); // now CMBLOC and CMBSZ say what there is
    const auto unit = page_bytes << (4 * registers_.get<"szu">());
    const auto size = registers_.get<"sz">() * unit, offset = registers_.get<"ofst">() * unit;
    const auto bar = registers_.get<"bir">();
    if (size == 0 || offset >= transport_->bar_size(bar))
        return failure(ENODEV, "NVMe: the memory buffer is empty");
    const auto address = transport_->bar_address(bar) + offset;
    constexpr std::uint32_t is_on = 3; // CRE, CMSE
    registers_.set<"cba_high">(static_cast<std::uint32_t>(address >> 32));
    registers_.set_dword<"cba_low">(static_cast<std::uint32_t>(address) | is_on); // the address is valid from here on
    if (registers_.get<"cbai">())
        return failure(EIO, fmt::format("NVMe: the memory buffer cannot be at {:#x}", address));
    return MemoryBuffer{.memory = {.bus = address,
                                   .size = static_cast<std::size_t>(std::min(size, transport_->bar_size(bar) - offset)),
                                   .function = transport_,
                                   .bar = bar,
                                   .offset = offset},
                        .takes_submissions = registers_.get<"sqs">(),
                        .takes_completions = registers_.get<"cqs">(),
                        .takes_data = registers_.get<"rds">() && registers_.get<"wds">()};
}

} // namespace sw::nvme
