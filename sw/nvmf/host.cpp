#include "sw/nvmf/host.h"

#include "abi/nvme/feature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace sw::nvmf {

using abi::nvme::AdminOpcode;
using abi::nvme::FabricsType;
using abi::nvme::Register;

#define TRY(expression)                                                                                                \
    if (auto outcome = (expression); !outcome)                                                                         \
    return std::unexpected(outcome.error())

namespace {

constexpr std::uint32_t admin_entries = 32;
constexpr unsigned log_command_bytes = 6, log_completion_bytes = 4, normal_shutdown = 1;

HostQueue::Command fabrics(FabricsType type) {
    HostQueue::Command command;
    abi::View<abi::nvme::FabricsCommand>(command.bytes)
        .set<"opcode">(static_cast<std::uint8_t>(AdminOpcode::fabrics))
        .set<"fctype">(static_cast<std::uint8_t>(type));
    return command;
}

std::array<std::byte, 256> field_of(const std::string& text) {
    std::array<std::byte, 256> field{};
    std::memcpy(field.data(), text.data(), std::min(text.size(), field.size() - 1));
    return field;
}

std::uint32_t configuration(bool is_enabled, unsigned shutdown) {
    abi::Block<abi::nvme::ControllerConfiguration> block;
    block.view()
        .set<"en">(is_enabled)
        .set<"shn">(shutdown)
        .set<"iosqes">(log_command_bytes)
        .set<"iocqes">(log_completion_bytes);
    return abi::load<std::uint32_t, abi::Endian::little>(block.bytes.data());
}

abi::ConstView<abi::nvme::Registers> registers_with(Register which, std::uint64_t value,
                                                    abi::Block<abi::nvme::Registers>& into) {
    abi::store<std::uint64_t, abi::Endian::little>(into.bytes.data() + static_cast<std::uint32_t>(which), value);
    return abi::ConstView<abi::nvme::Registers>(into.bytes);
}

} // namespace

Result<std::unique_ptr<Host>> Host::connect(const RdmaPort& port, Carrier carrier, const HostOptions& options) {
    std::unique_ptr<Host> host(new Host(port, std::move(carrier), options));
    TRY(host->start());
    return host;
}

Host::~Host() { disconnect(); }

Result<void> Host::start() {
    auto page = port_.context->allocate(nvme::page_bytes);
    if (!page)
        return std::unexpected(page.error());
    page_ = std::move(*page);
    auto region = port_.context->reg_mr(
        port_.pd, page_, mlx::Access::local_write | mlx::Access::remote_read | mlx::Access::remote_write);
    if (!region)
        return std::unexpected(region.error());
    page_region_.emplace(std::move(*region));
    auto admin = connect_queue(0, admin_entries, abi::nvme::ConnectData::size);
    if (!admin)
        return std::unexpected(admin.error());
    admin_ = std::move(*admin);
    TRY(enable());
    TRY(learn());
    const auto granted = ask_for_queues();
    if (!granted)
        return std::unexpected(granted.error());
    for (unsigned i = 0; i < *granted; ++i) {
        auto queue = connect_queue(static_cast<std::uint16_t>(i + 1), std::min(options_.entries, facts_.largest_queue),
                                   facts_.in_capsule_bytes);
        if (!queue)
            return std::unexpected(queue.error());
        queues_.push_back(std::move(*queue));
    }
    return {};
}

Result<std::unique_ptr<HostQueue>> Host::connect_queue(std::uint16_t number, std::uint32_t entries,
                                                       std::uint32_t in_capsule_bytes) {
    auto queue = HostQueue::make(port_, number, entries, in_capsule_bytes);
    if (!queue)
        return queue;
    const auto reply = carrier_.connect((*queue)->request(facts_.controller));
    if (!reply)
        return std::unexpected(reply.error());
    auto done = (*queue)->connect(*reply);
    if (done)
        done = introduce(**queue);
    if (done)
        return queue;
    if (reply->is_accepted) // the target has a queue then, whatever became of ours
        end(**queue);
    return std::unexpected(done.error());
}

/// The Connect command: whose queue this is, and of which controller.
Result<void> Host::introduce(HostQueue& queue) {
    const auto number = queue.number();
    auto command = fabrics(FabricsType::connect);
    abi::View<abi::nvme::Connect>(command.bytes)
        .set<"qid">(number)
        .set<"sqsize">(static_cast<std::uint16_t>(queue.entries() - 1))
        .set<"kato">(number == 0 ? options_.keep_alive_ms : 0);
    abi::View<abi::nvme::ConnectData>(page_.bytes().first(abi::nvme::ConnectData::size))
        .set<"hostid">(options_.identifier)
        .set<"cntlid">(number == 0 ? abi::nvme::any_controller : facts_.controller)
        .set<"subnqn">(field_of(options_.subsystem))
        .set<"hostnqn">(field_of(options_.name));
    const HostData data{page_region_->iova().value, abi::nvme::ConnectData::size, page_region_->lkey(),
                        page_region_->rkey()};
    const auto done = queue.execute(command, data, options_.timeout);
    if (!done)
        return std::unexpected(done.error());
    if (!done->is_ok()) {
        const auto said = name(static_cast<abi::nvme::FabricsStatus>(done->status));
        return failure(EIO, fmt::format("Connect of queue {}: {}, parameter {:#x}", number,
                                        said.empty() ? describe(*done) : std::string(said), done->result));
    }
    facts_.controller = static_cast<std::uint16_t>(done->result);
    return {};
}

void Host::end(HostQueue& queue) {
    queue.end("disconnected");
    if (carrier_.disconnect)
        carrier_.disconnect(queue.self());
}

Result<Response> Host::succeed(HostQueue& queue, Command& command, const HostData& data, const char* what) {
    auto done = queue.execute(command, data, options_.timeout);
    if (done && !done->is_ok())
        return failure(EIO, fmt::format("{}: {}", what, describe(*done)));
    return done;
}

Result<std::uint64_t> Host::property(Register which, bool is_wide) {
    auto command = fabrics(FabricsType::property_get);
    abi::View<abi::nvme::PropertyGet>(command.bytes)
        .set<"size">(is_wide ? 1 : 0)
        .set<"ofst">(static_cast<std::uint32_t>(which));
    const auto done = succeed(*admin_, command, {}, "Property Get");
    if (!done)
        return std::unexpected(done.error());
    return std::uint64_t{done->upper} << 32 | done->result;
}

Result<void> Host::set_property(Register which, std::uint32_t value) {
    auto command = fabrics(FabricsType::property_set);
    abi::View<abi::nvme::PropertySet>(command.bytes).set<"ofst">(static_cast<std::uint32_t>(which)).set<"value">(value);
    TRY(succeed(*admin_, command, {}, "Property Set"));
    return {};
}

Result<void> Host::enable() {
    const auto capabilities = property(Register::cap, true);
    if (!capabilities)
        return std::unexpected(capabilities.error());
    abi::Block<abi::nvme::Registers> registers;
    facts_.largest_queue = registers_with(Register::cap, *capabilities, registers).get<"mqes">() + 1u;
    TRY(set_property(Register::cc, configuration(true, 0)));
    for (const auto deadline = admin_->transport().now() + options_.timeout;; admin_->transport().relax()) {
        const auto status = property(Register::csts);
        if (!status)
            return std::unexpected(status.error());
        const auto view = registers_with(Register::csts, *status, registers);
        if (view.get<"rdy">())
            return {};
        if (view.get<"cfs">() || admin_->transport().now() >= deadline)
            return failure(ETIMEDOUT, "the controller does not become ready");
    }
}

Result<void> Host::shut_down() {
    TRY(set_property(Register::cc, configuration(true, normal_shutdown)));
    for (const auto deadline = admin_->transport().now() + options_.timeout;; admin_->transport().relax()) {
        const auto status = property(Register::csts);
        if (!status)
            return std::unexpected(status.error());
        abi::Block<abi::nvme::Registers> registers;
        const auto shutdown = registers_with(Register::csts, *status, registers).get<"shst">();
        if (static_cast<abi::nvme::ShutdownStatus>(shutdown) == abi::nvme::ShutdownStatus::complete)
            return {};
        if (admin_->transport().now() >= deadline)
            return failure(ETIMEDOUT, "the controller does not shut down");
    }
}

Result<Response> Host::execute(Command& command, std::uint32_t bytes) {
    return admin_->execute(command, {page_region_->iova().value, bytes, page_region_->lkey(), page_region_->rkey()},
                           options_.timeout);
}

Result<std::vector<std::byte>> Host::identify(abi::nvme::Cns cns, std::uint32_t nsid) {
    Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(AdminOpcode::identify)).set<"nsid">(nsid);
    abi::View<abi::nvme::Identify>(command.bytes).set<"cns">(static_cast<std::uint8_t>(cns));
    const auto done = execute(command, abi::nvme::identify_bytes);
    if (!done)
        return std::unexpected(done.error());
    if (!done->is_ok())
        return failure(EIO, "Identify: " + describe(*done));
    const auto bytes = page_.bytes().first(abi::nvme::identify_bytes);
    return std::vector(bytes.begin(), bytes.end());
}

Result<void> Host::keep_alive() {
    Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(AdminOpcode::keep_alive));
    TRY(succeed(*admin_, command, {}, "Keep Alive"));
    return {};
}

Result<void> Host::learn() {
    const auto page = identify(abi::nvme::Cns::controller);
    if (!page)
        return std::unexpected(page.error());
    const abi::ConstView<abi::nvme::IdentifyController> said{std::span<const std::byte>(*page)};
    constexpr std::uint32_t keyed = 1 << 2;
    const auto capsule = said.get<"ioccsz">() * abi::nvme::capsule_unit_bytes;
    if ((said.get<"sgls">() & keyed) == 0 || capsule < abi::nvme::command_bytes)
        return failure(ENOTSUP, "the controller is none of NVMe over RDMA: it takes no keyed data blocks");
    const unsigned mdts = said.get<"mdts">();
    facts_.largest_transfer = mdts == 0 || mdts > 32 ? 0 : nvme::page_bytes << mdts;
    // Data that would begin elsewhere than behind the command are sent by key.
    facts_.in_capsule_bytes =
        said.get<"icdoff">() == 0 ? static_cast<std::uint32_t>(capsule - abi::nvme::command_bytes) : 0;
    if (said.get<"maxcmd">() != 0)
        facts_.largest_queue = std::min<std::uint32_t>(facts_.largest_queue, said.get<"maxcmd">());
    return {};
}

Result<unsigned> Host::ask_for_queues() {
    abi::Block<abi::nvme::QueuesFeature> wanted;
    const auto last = std::max(options_.queues, 1u) - 1;
    wanted.view().set<"nsq">(last).set<"ncq">(last);
    Command command;
    command.view().set<"opcode">(static_cast<std::uint8_t>(AdminOpcode::set_features));
    abi::View<abi::nvme::Features>(command.bytes)
        .set<"fid">(static_cast<std::uint8_t>(abi::nvme::Feature::number_of_queues))
        .set<"cdw11">(abi::load<std::uint32_t, abi::Endian::little>(wanted.bytes.data()));
    const auto done = succeed(*admin_, command, {}, "Set Features");
    if (!done)
        return std::unexpected(done.error());
    abi::store<std::uint32_t, abi::Endian::little>(wanted.bytes.data(), done->result);
    return std::min({last, static_cast<unsigned>(wanted.view().get<"nsq">()),
                     static_cast<unsigned>(wanted.view().get<"ncq">())}) +
           1;
}

Result<std::vector<std::uint32_t>> Host::active_namespaces() {
    const auto list = identify(abi::nvme::Cns::active_namespaces);
    if (!list)
        return std::unexpected(list.error());
    std::vector<std::uint32_t> numbers;
    for (std::size_t at = 0; at < list->size(); at += 4) {
        const auto number = abi::load<std::uint32_t, abi::Endian::little>(list->data() + at);
        if (number == 0)
            break;
        numbers.push_back(number);
    }
    return numbers;
}

Result<nvme::Namespace> Host::open_namespace(std::uint32_t number) {
    const auto page = identify(abi::nvme::Cns::namespace_data, number);
    if (!page)
        return std::unexpected(page.error());
    return nvme::Namespace::of(number, *page);
}

void Host::disconnect() {
    if (!admin_ || std::exchange(has_left_, true))
        return;
    for (auto& queue : queues_)
        end(*queue);
    end(*admin_);
}

} // namespace sw::nvmf
